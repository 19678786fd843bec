# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Files that root runs, trusts or writes. Python 3.6 and later, standard library only, nothing of Ansible.

* Could another user change what is at a path? `ownership`
* How does what is done in a directory stay in it, whoever owns it? `directory`
* How is a small file written so that it is either old or new? `writing`
"""
