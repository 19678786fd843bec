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
      - Address of the Instance Metadata Service (IMDS), as V(http://HOST[:PORT]), without a path.
      - The default is right on every Azure VM. Use another address for rehearsals with a simulator.
      - If not set, the environment variable E(FOGHORN_IMDS_ENDPOINT) is used.
      - Proxies are never used. Proxy variables of the environment are ignored.
    type: str
    default: http://169.254.169.254
  api_version:
    description:
      - The API version of Scheduled Events.
      - Older versions lack fields and event types. V(2024-07-09) is the newest, and the only one with
        V(SpotRebalanceRecommendation). It is a preview that not every metadata service has.
      - If not set, the newest version is used, or V(2020-07-01) if the metadata service does not have it.
    type: str
  timeout:
    description:
      - Seconds within which IMDS must answer, for all requests and retries together.
      - The first request for a day enables the service and may take two minutes.
      - A request without an answer is repeated after 10 seconds, and then at increasing intervals. The first request
        for events is repeated after 130 seconds.
      - Above 0, up to 86400.
    type: float
    default: 150
  connect_timeout:
    description:
      - Seconds within which a connection to IMDS must be established, so that a host outside Azure fails quickly.
      - Above 0, up to 86400.
    type: float
    default: 5
  vm_name:
    description:
      - The name of this VM in Azure. Events use this name, which is not the host name.
      - If not set, the module asks IMDS.
    type: str
"""

    AFFECTING = r"""
options:
  affecting:
    description:
      - Choose events that hit this VM (V(this_vm)), that hit only others (V(others)), or both (V(any)).
      - Azure shows the events of an availability set or placement group to all of its VMs.
    type: str
    choices: [any, this_vm, others]
    default: any
"""
