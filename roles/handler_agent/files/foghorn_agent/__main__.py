# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts foghorn-agent."""

import sys

# IMDS is plain HTTP. Without this, http.client would load OpenSSL, and 4 MiB would never be used: webhooks, which
# may need it, are sent by a process of their own.
if "send-webhook" not in sys.argv:
    sys.modules["ssl"] = None  # type: ignore[assignment]

from foghorn_agent.cli import main

sys.exit(main())
