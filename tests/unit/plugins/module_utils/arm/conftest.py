# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated Azure to ask."""

from tests.simulated_cloud import cloud, https, throwaway

__all__ = ["cloud", "https", "throwaway"]
