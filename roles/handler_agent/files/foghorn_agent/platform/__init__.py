# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between the systems that the agent runs on.

The system is chosen here and nowhere else. Its package has these modules, with the same functions for each system:

* `connections`: the established connections to some ports
* `door`: where commands by hand come in, and for whom it opens
* `files`: private files, and what makes them outlast a power cut
* `listening`: the sockets of the endpoint
* `machine`: which boot it is, how long ago it was, where things lie, how many descriptors there are
* `notify`: what the service manager is told
* `ownership`: who could change a file
* `process`: a command with its descendants
* `program`: where this program was started from, on any system
* `services`: what stops and starts services, and what is known of them
* `system_log`: the system's log, and standard error
* `verbs`: the commands that only this system has
* `wakeups`: what the process is told, and what wakes the loop
"""

import sys

from . import program

if sys.platform == "win32":
    from .windows import (
        connections,
        door,
        files,
        listening,
        machine,
        notify,
        ownership,
        process,
        services,
        system_log,
        verbs,
        wakeups,
    )
else:
    from foghorn_core.connections import established as connections
    from foghorn_core.files import ownership

    from .posix import door, files, listening, machine, notify, process, services, system_log, verbs, wakeups

__all__ = (
    "connections",
    "door",
    "files",
    "listening",
    "machine",
    "notify",
    "ownership",
    "process",
    "program",
    "services",
    "system_log",
    "verbs",
    "wakeups",
)
