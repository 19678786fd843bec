# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""foghorn-agent: takes the machine that it runs on through the events that Azure announces.

Python 3.6 and later, standard library only.

* `service` assembles the agent, `agent` is the main loop, and these are its parts: `announcements`, `approvals`,
  `members_state`, `deadlines`, `leaving`, `recorder`, `answers`
* `decide`: all decisions; a policy, the state as the sum of the journal's records, the next step; pure
* `act`: the running step, its processes, checks of connections and of the application
* `io`: journal, clock, log, metadata service, commands by hand
* `platform`: all that differs between systems: processes, private files, services, sockets of this machine
* `http`: the server, questions to other members, webhooks
* What people see: `cli`, `http.status`, `decide.explain`, `advice`
"""

__version__ = "1.0.0"
