# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""A server of HAProxy taken out of rotation and restored, through HAProxy's runtime API.

Python 3.6 and later, standard library only, nothing of Ansible.

* What may a user set? `options`
* Which servers are meant? `choice`
* What does an answer of HAProxy say? `answers`
* What has to be set so that a server is as it should be? `plan`
* How is HAProxy asked? `runtime_api`, the only module here that does I/O
* What does haproxy_server do, from start to end? `operations`
"""
