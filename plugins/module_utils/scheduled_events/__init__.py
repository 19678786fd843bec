# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The contract of Azure Scheduled Events, as values, pure functions and one I/O edge.

Python 3.6 and later, standard library only, nothing of Ansible.

* What is an event? `document`
* Which events are meant? `selection`
* Who may approve which? `approval`
* How is IMDS asked? `client`, the only module here that does I/O
* What may a user set? `options`
* What do the modules and the lookup do, from start to end? `operations`
"""
