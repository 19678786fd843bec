# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is to be done? Values and pure functions: everything that is decided, and what it is decided by."""
