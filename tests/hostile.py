# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A document whose texts try to be executed, for every door that hands on what Azure said.

Somebody else writes an event's texts. Those here are templates, shell commands, escape sequences for terminals,
forged lines of metrics, halves of characters, marks that Ansible gives a meaning to. Each command would leave a file
named for the field it stood in: when all is over, the directory of proof must be empty.

Runs on Python 3.6 and later, as the core does.
"""

import json
from pathlib import Path

DOCUMENT = Path(__file__).with_name("fixtures") / "hostile.json"


def hostile_document(proof: Path, vm_name: str) -> bytes:
    """The document, as IMDS would answer it.

    :param proof: an existing directory that the texts try to leave files in
    :param vm_name: this VM, which every event hits
    """
    text = DOCUMENT.read_text(encoding="ascii")
    for placeholder, value in (("@PROOF@", str(proof)), ("@VM@", vm_name)):
        text = text.replace(placeholder, json.dumps(value)[1:-1])
    return text.encode("ascii")


def what_was_run(proof: Path) -> "list[str]":
    """The fields whose text was run, by the files that it left."""
    return sorted(path.name for path in proof.iterdir())
