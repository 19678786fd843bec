# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The words of a policy, for one machine and for many: the agent and the playbooks read them here.

Python 3.6 and later, standard library only, nothing of Ansible.

* Which events is a policy for? `match`
* At which times may be approved? `window`
* What time is it there? `zones`
* What is wrong with what the operator wrote? `reader`
"""
