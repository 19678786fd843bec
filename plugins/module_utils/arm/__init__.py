# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The control plane: what Azure Resource Manager (ARM) knows of Scheduled Events.

Runs on the controller, Python 3.10 and later. azure-identity, azure-mgmt-core and requests are imported
only when a request is made, so that everything else here works, and is tested, without them.

* Which cloud, and where does it sign in? `cloud`
* Who signs in, and how? `credentials`
* How is ARM asked? `client`; what did it answer? `answers`; how does a request get there and back? `pipeline`, which
  with `credentials` is all that does I/O here
* What does a resource's notification look like, and what differs from what is wanted? `notification`
* What does its policy look like? `policy`
* Which instances come next? `rollout`
* Which events does Resource Graph list? `resource_graph`
* Which VM does somebody mean, where names repeat? `machines`
* Which hosts of the inventory do they hit? `inventory`
* What do the modules do, from start to end? `scale_set`, `virtual_machine`, `policy`, `acknowledgement`, `eviction`,
  `protection`, `repairs`, `rolling_upgrade`, `maintenance`
* Which IP configurations does a VM have, in which pools? `ip_configurations`
* How does a member leave its pools, and return? `members`; what do the modules do of it? `membership`, `gateway`
* Which machine is acted on? `target`
* What may a user set? `options`
* What can go wrong? `errors`
* What may a sign-in do? `permissions`, and `rights` for the modules that tell it
* What do all modules share: how they sign in, end and fail? `task`
"""
