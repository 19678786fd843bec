# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Options of everything that asks the Instance Metadata Service of a VM."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  endpoint:
    description:
      - Where the Instance Metadata Service (IMDS) answers, as V(http://HOST[:PORT]), without a path.
      - The default is right on every Azure VM. Another one is for rehearsals against a simulator.
      - If not set, the environment variable E(FOGHORN_IMDS_ENDPOINT) is used.
      - Proxies are never used, whatever the environment says.
    type: str
    default: http://169.254.169.254
  api_version:
    description:
      - The version of Scheduled Events to ask for.
      - Older ones leave out fields and event types. V(2024-07-09) is the newest, and the only one that has
        V(SpotRebalanceRecommendation); it is a preview that not every metadata service has.
      - If not set, the newest is asked for, and where the metadata service lacks it, V(2020-07-01).
    type: str
  timeout:
    description:
      - Seconds within which IMDS must have answered, for all requests and retries together.
      - The first request to a VM that nobody has asked for a day enables the service and may take two minutes.
      - A request whose answer does not come is sent again, after 10 seconds and then less and less often; the first for
        events after 130.
      - Above 0, up to 86400.
    type: float
    default: 150
  connect_timeout:
    description:
      - Seconds within which a connection to IMDS must be established, so that a host that is not an Azure VM fails
        soon.
      - Above 0, up to 86400.
    type: float
    default: 5
  vm_name:
    description:
      - The name of this VM in Azure, which is what events name, and is not its hostname.
      - If not set, IMDS is asked.
    type: str
"""

    AFFECTING = r"""
options:
  affecting:
    description:
      - Choose events that hit this VM (V(this_vm)), that hit only others (V(others)), or both (V(any)).
      - Azure tells every VM of an availability set or placement group about the events of all of them.
    type: str
    choices: [any, this_vm, others]
    default: any
"""
