# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Windows, with its service manager. No module but those named win32_… needs it to be imported."""
