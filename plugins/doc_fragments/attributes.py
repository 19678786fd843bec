# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the attributes of a module mean, and what most modules support. The others say what is different."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return the changed status prediction without modifying anything.
    support: full
  diff_mode:
    description: Returns details on what has changed, or in C(check_mode) would change, when in C(diff) mode.
  idempotent:
    description: When run twice in a row outside check mode with the same arguments, the second run indicates no change.
    support: full
  platform:
    description: Target operating systems on which the module can run.
    support: full
    platforms: posix
"""

    READS_ONLY = r"""
options: {}
attributes:
  check_mode:
    details: This module reads only.
  diff_mode:
    support: N/A
    details: This module reads only.
  idempotent:
    details: This module reads only.
"""

    # Not IMDS and ARM: a name that is a file of fragments as well, Ansible takes for the file.
    ACTIONGROUP_IMDS = r"""
options: {}
attributes:
  action_group:
    description: >-
      Use C(group/foghorn.azure_events.imds) in C(module_defaults) to set the connection options once for all
      modules that ask IMDS.
    support: full
    membership:
      - foghorn.azure_events.imds
"""

    ACTIONGROUP_ARM = r"""
options: {}
attributes:
  action_group:
    description: >-
      Use C(group/foghorn.azure_events.arm) in C(module_defaults) to set the sign-in options once for all modules that
      ask ARM.
    support: full
    membership:
      - foghorn.azure_events.arm
"""
