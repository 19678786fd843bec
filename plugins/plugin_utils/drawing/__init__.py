# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to this collection: how a run is drawn. Pure functions, and nothing of ours is imported."""
