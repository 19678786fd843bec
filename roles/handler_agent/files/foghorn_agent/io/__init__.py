# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does the agent read and write? The clock, the disk, the log, the service manager, the metadata service."""
