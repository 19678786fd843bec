# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the pages show is right: their YAML, the variables that they name, what they configure."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from azure_simulator import cli as simulator_cli
from azure_simulator import config as simulator_config
from foghorn_agent import cli as agent_cli
from foghorn_agent.config import parse_config

ROOT = Path(__file__).resolve().parents[3]


PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "fleets").glob("*.md")),
    *sorted((ROOT / "roles").glob("*/README.md")),
]
PREFIXES = ("graceful_shutdown", "handler_agent", "load_balancer_removal", "azure_simulator", "terminate_notifications")
# Inventory groups, a playbook, and what a role tells the tasks of its user, which are named as variables are.
NO_VARIABLES = {"handle_events_planned", "rehearse_machines", "rehearse_end", "graceful_shutdown_seconds"}


class Example(NamedTuple):
    """A block of YAML in a page."""

    page: str
    line: int
    text: str

    @property
    def content(self) -> Any:
        """What it says."""
        return yaml.safe_load(self.text)


def _examples() -> list[Example]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.finditer(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            found.append(Example(str(page.relative_to(ROOT)), text.count("\n", 0, block.start()) + 1, block.group(1)))
    return found


EXAMPLES = _examples()


def values(content: Any, name: str) -> list[Any]:
    """Return what stands under this name, at any depth."""
    if isinstance(content, dict):
        here = [content[name]] if name in content else []
        return here + [value for one in content.values() for value in values(one, name)]
    return [value for one in content for value in values(one, name)] if isinstance(content, list) else []


def options(role: str) -> set[str]:
    """Return the options of all entry points of a role."""
    specs = yaml.safe_load((ROOT / "roles" / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))
    return {name for entry in specs["argument_specs"].values() for name in entry["options"]}


def named(prefix: str, text: str) -> set[str]:
    """Return the public variables with this prefix that a text names."""
    return set(re.findall(r"(?<![\w/.])%s_\w*[a-z]\b(?![/*])" % prefix, text)) - NO_VARIABLES


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: "%s:%d" % (example.page, example.line))
def test_given_an_example_when_it_is_read_then_it_is_yaml_that_says_something(example: Example) -> None:
    assert isinstance(example.content, (dict, list))


@pytest.mark.parametrize("role", PREFIXES)
def test_given_a_variable_of_a_role_when_a_page_names_it_then_the_role_has_it(role: str) -> None:
    told = {name for page in PAGES for name in named(role, page.read_text(encoding="utf-8"))}

    assert told - options(role) == set()


def test_given_a_variable_of_handle_events_when_an_example_sets_it_then_the_playbook_has_it() -> None:
    arguments = yaml.safe_load((ROOT / "playbooks" / "vars" / "handle_events.yml").read_text(encoding="utf-8"))
    keys = {key for example in EXAMPLES if isinstance(example.content, dict) for key in example.content}
    told = {key for key in keys if key.startswith("handle_events_")}

    assert told - set(arguments["__handle_events_arguments"]) == set()


@pytest.mark.parametrize(("name", "playbook"), [("rehearsal", "rehearse"), ("upgrades", "handle_os_upgrades")])
def test_given_the_file_of_a_playbook_when_it_is_read_then_it_sets_what_the_playbook_takes_and_describes(
    name: str, playbook: str
) -> None:
    text = (ROOT / "playbooks" / "vars" / ("%s.yml" % playbook)).read_text(encoding="utf-8")
    spec = yaml.safe_load(text)["__%s_arguments" % playbook]
    (content,) = (example.content for example in EXAMPLES if example.text.startswith("# %s.yml\n" % name))

    assert [variable for variable, options in spec.items() if "description" not in options] == []
    assert set(content) <= set(spec)
    assert ArgumentSpecValidator(spec).validate(content).error_messages == []


def test_given_the_variables_of_the_rulebooks_when_they_are_compared_then_the_guide_sets_the_same() -> None:
    rulebooks = [path.read_text(encoding="utf-8") for path in (ROOT / "extensions" / "eda" / "rulebooks").glob("*.yml")]
    (told,) = (set(example.content) for example in EXAMPLES if example.text.startswith("# maintenance.yml"))

    read = re.findall(r"\{\{ (maintenance_\w+)", "\n".join(rulebooks))
    assert told == {*read, *re.findall(r"vars\.(maintenance_\w+)", "\n".join(rulebooks))}


@pytest.mark.parametrize(
    ("prefix", "page", "row"),
    [
        ("handle_events", "options.md", r"^(?:- `)?(handle_events_\w+)`?"),
        ("drain", "handle_events.md", r"^\| (`.*?) \|"),
    ],
)
def test_given_a_playbook_when_its_variables_are_looked_up_then_the_guide_has_a_row_for_each_and_no_other(
    prefix: str, page: str, row: str
) -> None:
    playbooks = [path.read_text(encoding="utf-8") for path in (ROOT / "playbooks").rglob("*.yml")]
    rows = re.findall(row, (ROOT / "docs" / page).read_text(encoding="utf-8"), re.MULTILINE)

    assert named(prefix, "\n".join(rows)) == named(prefix, "\n".join(playbooks))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_given_a_name_below_our_namespace_when_a_page_uses_it_then_the_collection_has_it(page: Path) -> None:
    plugins = [
        path.stem
        for kind in ("callback", "filter", "lookup", "modules")
        for path in (ROOT / "plugins" / kind).glob("*.*")
    ]
    others = [path.stem for path in (*(ROOT / "playbooks").glob("*.yml"), *(ROOT / "roles").iterdir())]
    others += [path.stem for path in (ROOT / "extensions" / "eda").rglob("*.*")]
    groups = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))["action_groups"]

    used = set(re.findall(r"foghorn\.azure_events\.(\w+)", page.read_text(encoding="utf-8"))) - {"NAME"}
    assert used - {*plugins, *others, *groups} == set()


@pytest.mark.parametrize(
    ("program", "main"),
    [("foghorn-agent", agent_cli.main), ("(?:azure_simulator|azure-in-miniature)", simulator_cli.main)],
)
def test_given_a_program_when_a_page_shows_a_command_of_it_then_its_help_has_that_command(
    program: str, main: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    shown = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    commands = set(re.findall(r"(?:^|[\s`(])%s ([a-z][a-z-]+)" % program, shown))
    assert len(commands) > 2

    with contextlib.suppress(SystemExit):
        main(["--help"])
    told = set(re.findall(r"^ +([a-z][a-z-]+)(?: |$)", capsys.readouterr().out, re.MULTILINE))
    assert commands - told == set()


def test_given_examples_that_configure_the_agent_when_the_agent_reads_them_then_it_finds_no_mistake() -> None:
    contents = [example.content for example in EXAMPLES]
    seen = 0
    for key in ("policies", "listen", "ready_checks", "quorum", "webhooks", "imds"):
        for value in values(contents, "handler_agent_%s" % key):
            # The secret's file is made, and named, by the role.
            secret = {"secret_file": "/etc/foghorn/members.secret"}
            parse_config({"quorum": dict(secret, **value)} if key == "quorum" else {"quorum": secret, key: value})
            seen += 1

    assert seen > 5


def test_given_examples_that_configure_the_simulator_when_it_reads_them_then_it_finds_no_mistake() -> None:
    configured = [value for example in EXAMPLES for value in values(example.content, "azure_simulator_config")]
    started = [example.content for example in EXAMPLES if example.text.startswith("# fleet.yml")]
    assert len(configured + started) > 2

    for content in configured + started:
        simulator_config.parse(content)


def test_given_examples_that_are_playbooks_when_ansible_reads_them_then_their_syntax_is_right(tmp_path: Path) -> None:
    paths = []
    for number, example in enumerate(EXAMPLES):
        content = example.content
        # The collection awx.awx is not here.
        is_readable = isinstance(content, list) and not values(content, "awx.awx.job_template")
        # Rulebooks are read in tests/integration/rulebooks.
        is_readable = is_readable and "sources" not in content[0]
        if is_readable and {"hosts", "ansible.builtin.import_playbook"} & set(content[0]):
            paths.append(tmp_path / ("%d.yml" % number))
            paths[-1].write_text(example.text, encoding="utf-8")
    assert len(paths) > 10

    command = ["ansible-playbook", "--syntax-check", "-i", "localhost,", *map(str, paths)]
    result = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stdout


def test_given_the_simulators_five_minutes_when_their_commands_are_read_then_what_it_needs_is_installed_first() -> None:
    page = (ROOT / "docs" / "simulator.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ (.+)$", page.partition("## Five minutes\n")[2].partition("\n## ")[0], re.MULTILINE)

    served = next(at for at, command in enumerate(commands) if " serve " in command)
    (installed,) = (command for command in commands[:served] if command.startswith("pip install "))
    # The configuration shown is YAML.
    source, extra = re.findall(r"'([\w/]+)\[(\w+)\]'", installed)[0]
    described = tomllib.loads((ROOT / source / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert described["optional-dependencies"][extra] == ["PyYAML"]


def test_given_pytest_when_it_is_called_by_path_as_contributing_says_then_it_finds_the_programs_beside_it() -> None:
    find = "import shutil, tests.conftest as it; it.pytest_configure(); print(shutil.which('ansible-doc'))"
    find += "; it._refusals.remove()"

    found = subprocess.run(
        [sys.executable, "-c", find],
        cwd=ROOT,
        env={**os.environ, "PATH": os.defpath},
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    ).stdout.strip()

    assert found == str(Path(sys.executable).with_name("ansible-doc")) == shutil.which("ansible-doc")
