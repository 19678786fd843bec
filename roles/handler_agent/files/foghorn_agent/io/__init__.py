# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the agent reads and writes: the clock, the disk, the log, the metadata service, commands by hand."""
