# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The contract of Azure Scheduled Events, as values, pure functions and one I/O edge.

Python 3.6 and later, standard library only, nothing of Ansible.

* What is an event? `event`, and its dates `dates`
* What does the metadata service announce? `document`, which is `strict_json`
* Which parts of somebody else's text are handed on? `text`
* Which events are meant? `selection`
* Who may approve which? `approval`
* How is IMDS asked? `client`, and one request over `http_connection`: the only modules here that do I/O
* Who asks an agent, and who answers? `signature`
* What may a user set? `options`, its words `words`, its times `deadline`
* What can go wrong? `errors`
* What do the modules and the lookup do, from start to end? `operations`
"""
