# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The parts of the source and the filter for Event-Driven Ansible that know nothing of ansible-rulebook but its
queue.
"""
