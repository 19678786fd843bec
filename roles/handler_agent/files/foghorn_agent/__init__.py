# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""foghorn-agent: gets the machine that it runs on through whatever Azure announces.

Python 3.6 and later, standard library only.

* What will the agent do about an event? `policy`, as `config` read it
* What has been done? `state`, the sum of the journal's records. What comes next? `decisions`, pure
* What did it do? `journal`
* How does all of it run? `agent`, the loop; `steps`, `workers`, `endpoint`, `webhooks`, its edges
* What does a person see of it? `cli`, `status`, `metrics`
"""

__version__ = "0.1.0"
