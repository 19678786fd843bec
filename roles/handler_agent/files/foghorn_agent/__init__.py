# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""foghorn-agent: gets the machine that it runs on through whatever Azure announces.

Python 3.6 and later, standard library only.

* How does all of it run? `service` puts it together, `agent` is the loop, and beside it are the parts of that:
  `announcements`, `approvals`, `members_state`, `deadlines`, `leaving`, `recorder`, `answers`
* What is to be done? `decide`: a policy, the state as the sum of the journal's records, what follows; pure
* What does it do to the machine? `act`: the step under way, its processes, looks at connections and at the application
* What does it read and write? `io`: journal, clock, log, service manager, metadata service
* Who asks, and who is asked or told, over HTTP? `http`
* What does a person see of it? `cli`, `http.status`, `decide.explain`, `advice`
"""

__version__ = "0.1.0"
