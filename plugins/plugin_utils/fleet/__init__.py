# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet under maintenance: in which order, who approves, and when is it over? Values and pure functions."""
