# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A throw-away certificate: Microsoft's libraries sign in over https only."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

_NAMES = "DNS:localhost,IP:127.0.0.1,IP:::1"


class Certificate(NamedTuple):
    """PEM files. Clients are told to trust the certificate itself (``REQUESTS_CA_BUNDLE``)."""

    certificate: Path
    private_key: Path


def make(directory: Path) -> Certificate:
    """Make one for localhost, 127.0.0.1 and ::1, valid for a month.

    Needs the command ``openssl``; raises OSError when it is missing or fails.
    """
    made = Certificate(directory / "certificate.pem", directory / "private_key.pem")
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-noenc",
        "-days",
        "30",
        "-subj",
        "/CN=azure_simulator",
    ]
    command += ["-addext", f"subjectAltName={_NAMES}", "-addext", "basicConstraints=critical,CA:TRUE"]
    command += ["-out", str(made.certificate), "-keyout", str(made.private_key)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise OSError(f"openssl cannot make a certificate in {directory}: {result.stderr.strip()}")
    made.private_key.chmod(0o600)
    return made
