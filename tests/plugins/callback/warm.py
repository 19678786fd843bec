# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prepares the process that leads a run for the hundreds that it forks, one for each task of each host.

No test sees anything of this but its time.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import marshal
import os
import tempfile
from pathlib import Path
from types import CodeType
from typing import Any

import jinja2
from ansible import constants
from ansible.plugins.callback import CallbackBase
from jinja2.environment import TemplateExpression

DOCUMENTATION = """
name: warm
type: notification
short_description: make a run cheap
description:
  - Imports the modules that WARM_IMPORTS names, as far as they are there, so that no process has to that the run forks.
  - Keeps, in the directory WARM_DIRECTORY, what Ansible puts together to send, modules with all that they import, and
    the templates that it has compiled.
author: The foghorn.azure_events contributors (!UNKNOWN)
"""

SYNTAX = (
    *("block_start_string", "block_end_string", "variable_start_string", "variable_end_string"),
    *("comment_start_string", "comment_end_string", "line_statement_prefix", "line_comment_prefix"),
    *("trim_blocks", "lstrip_blocks", "newline_sequence", "keep_trailing_newline"),
)
"""What a template's code depends on, of the settings of Jinja."""


class CallbackModule(CallbackBase):
    """Does all it does when a playbook begins."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "warm"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_start(self, _playbook: Any) -> None:
        """Prepare this process."""
        if "WARM_DIRECTORY" in os.environ:
            directory = Path(os.environ["WARM_DIRECTORY"])
            for name in ("modules", "templates"):
                (directory / name).mkdir(exist_ok=True)
            # Each run has a directory of its own for them, and putting together takes a tenth of the time of a run.
            with contextlib.suppress(FileExistsError):
                os.symlink(directory / "modules", os.path.join(constants.DEFAULT_LOCAL_TMP, "ansiballz_cache"))
            KeptTemplates(directory / "templates").install()
        for name in ["ansible.module_utils.basic", *os.environ.get("WARM_IMPORTS", "").split()]:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        # What is here now is never looked through again, which would copy it in each fork. Nor is anything else: runs
        # are short.
        gc.collect()
        gc.freeze()
        gc.disable()


class KeptTemplates:
    """Compiled templates, in files.

    Ansible compiles each template anew in each task of each host, which is a quarter of what those compute.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._compile = jinja2.Environment.compile
        self._compile_expression = jinja2.Environment.compile_expression
        self._expression: Path | None = None

    def install(self) -> None:
        """Have Jinja look here first, in this process and those that it forks."""

        def compile_(environment: jinja2.Environment, source: Any, *args: Any, **kwargs: Any) -> Any:
            return self.compile(environment, source, *args, **kwargs)

        def compile_expression(
            environment: jinja2.Environment, source: str, undefined_to_none: bool = True
        ) -> TemplateExpression:
            return self.compile_expression(environment, source, undefined_to_none)

        jinja2.Environment.compile = compile_  # type: ignore[method-assign, assignment]
        jinja2.Environment.compile_expression = compile_expression  # type: ignore[method-assign, assignment]

    def compile(self, environment: jinja2.Environment, source: Any, *args: Any, **kwargs: Any) -> Any:
        """As `jinja2.Environment.compile`."""
        file = self._expression if isinstance(source, jinja2.nodes.Template) else self._file(environment, source)
        # Those in files have a name, which is part of their code.
        if file is None or any(args) or any(kwargs.values()):
            return self._compile(environment, source, *args, **kwargs)
        code = _read(file)
        if code is None:
            code = self._compile(environment, source)
            _write(file, code)
        return code

    def compile_expression(
        self, environment: jinja2.Environment, source: str, undefined_to_none: bool = True
    ) -> TemplateExpression:
        """As `jinja2.Environment.compile_expression`, which has it parsed before it comes to `compile`."""
        file = self._file(environment, source, "expression")
        code = _read(file) if file else None
        if code is not None:
            template = environment.template_class.from_code(environment, code, environment.make_globals(None))
            return TemplateExpression(template, undefined_to_none)
        self._expression = file
        try:
            return self._compile_expression(environment, source, undefined_to_none)
        finally:
            self._expression = None

    def _file(self, environment: jinja2.Environment, source: str, kind: str = "template") -> Path | None:
        # What a backslash means depends on more than these.
        if "\\" in source:
            return None
        settings = [getattr(environment, name) for name in SYNTAX]
        key = repr((kind, type(environment).__qualname__, settings, str(source)))
        return self._directory / hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()


def _read(file: Path) -> CodeType | None:
    try:
        code: CodeType = marshal.loads(file.read_bytes())
    except FileNotFoundError:
        return None
    return code


def _write(file: Path, code: CodeType) -> None:
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as stream:
        stream.write(marshal.dumps(code))
    # Others may be reading.
    os.replace(stream.name, file)
