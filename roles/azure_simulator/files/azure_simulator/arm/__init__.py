# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Azure Resource Manager in miniature: the owner's view of the same world that IMDS shows to the VMs.

The judge of its truth is Microsoft's own client library: the tests drive every operation with it.
"""
