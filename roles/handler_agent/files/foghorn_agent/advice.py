# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Warnings about a configuration that is valid and most likely wrong."""

import ipaddress
import os
from typing import Dict, List, Set, Tuple

from foghorn_core.scheduled_events.event import ADVISORY_EVENT_TYPES, EVENT_TYPES, SCHEDULED, Event
from foghorn_core.scheduled_events.words import warning_of

from .act.steps import has_hooks, hook_commands
from .config import KNOWN_TYPES, Config, Webhook
from .decide.policy import (
    CHECK,
    COMMAND,
    DRAIN,
    HOOKS,
    NEVER,
    QUORUM,
    RESTORE,
    SHORTEST_GRACE_OF_REPAIRS,
    SHUTDOWN,
    STAGES,
    WAIT_CONNECTIONS,
    Plan,
    Rule,
    Step,
    default_plan,
    plan_for,
)
from .platform import connections, ownership, process, services

_HOOK_STAGES = (*STAGES, CHECK)


def advice_on_policies(config: Config) -> List[str]:
    """What the configured policies do although the default policies avoid it."""
    own = _own(config)
    short, longer, unheard = (
        plan_for(own, Event("sample", event_type, SCHEDULED, ("sample",), duration_in_seconds=seconds), 900.0)
        for event_type, seconds in (("Freeze", 5), ("Freeze", 60), ("Of a later version", -1))
    )
    found = []
    if short.takes_out:
        found.append(
            "%s: also drains for a freeze of a few seconds, which by default is ignored: set "
            "match.event_types, or match.longer_than" % short.rule
        )
    elif longer.shutdown is not None:
        found.append(
            "%s: shuts down for a freeze, which keeps memory and connections: set match.event_types" % longer.rule
        )
    if unheard.approve != NEVER:
        found.append(
            "%s: also approves event types that Azure may add later, whatever their impact: set match.event_types"
            % unheard.rule
        )
    found += [
        "%s: approves although no step prepares the machine, and before its balancer can notice: add a step, or a pause"
        % rule.plan.rule
        for rule in own
        if rule.plan.approve != NEVER and not _prepares(rule.plan) and rule.match.event_types != ("Freeze",)
    ]
    found += [
        "%s: match.event_types: %s" % (rule.plan.rule, warning_of(word))
        for rule in own
        for word in rule.match.unknown_types(KNOWN_TYPES)
    ]
    found += [
        "%s: drain and shutdown may take longer than %d minutes, after which automatic instance repairs of a scale set "
        "may replace the machine: suspend them, or protect it" % (rule.plan.rule, SHORTEST_GRACE_OF_REPAIRS / 60)
        for rule in own
        if _longest_way_out(rule.plan) > SHORTEST_GRACE_OF_REPAIRS
    ]
    found += [
        "%s: %s without approve: nothing is ever approved" % (rule.plan.rule, " and ".join(names))
        for rule, names in ((rule, _conditions_of(rule.plan)) for rule in own)
        if names and rule.plan.approve == NEVER
    ]
    if not config.quorum.members and config.quorum.url is None:
        found += [
            "%s: approve: quorum has no quorum.members and no quorum.url to ask: a shared event is never approved"
            % rule.plan.rule
            for rule in own
            if rule.plan.approve == QUORUM and rule.match.shared is not False
        ]
    elif all(ipaddress.ip_address(address).is_loopback for address, _port in config.listen):
        found.append("quorum: no other member can ask this machine, which listens on loopback only: set listen")
    at: Dict[str, List[str]] = {}
    for name, url in config.quorum.members.items():
        at.setdefault(url, []).append(name[0])
    # As a tunnel's end on the controller gives them.
    found += [
        "quorum.members: %s, and only one of them can answer at %s: give each its address, as in handler_agent_address"
        % (" and ".join(sorted(names)), url)
        for url, names in sorted(at.items())
        if len(names) > 1
    ]
    return found


def advice_on_machine(config: Config) -> List[str]:
    """What the steps need and this machine lacks, or users other than root can change; and what undoes a step."""
    found: List[str] = []
    hooks: Set[str] = set()
    expected_hooks = {stage for rule in _own(config) for stage, step in _steps_of(rule.plan) if step.kind == HOOKS}
    for rule in config.rules:
        for stage, step in _steps_of(rule.plan):
            if step.kind == HOOKS:
                hooks.add(stage)
            elif step.kind == WAIT_CONNECTIONS:
                uncounted = connections.problem_with_containers()
                if uncounted is not None:
                    found.append(
                        "%s: %s: connections to containers are not waited for: %s" % (rule.plan.rule, stage, uncounted)
                    )
            elif step.stops or step.starts:
                problems = services.problems_with(step.stops or step.starts)
                found += ["%s: %s: %s" % (rule.plan.rule, stage, problem) for problem in problems]
            elif step.kind == COMMAND:
                found += ["%s: %s: %s" % (rule.plan.rule, stage, problem) for problem in _problems_with(step.argv[0])]
    for rule in config.rules:
        stopped = [step.stops for stage in (DRAIN, SHUTDOWN) for step in rule.plan.steps(stage) if step.stops]
        found += [
            "%s: %s is started again by %s, which no step stops before it" % (rule.plan.rule, unit, trigger)
            for unit in stopped
            for trigger in services.active_triggers(unit)
            if trigger not in stopped
        ]
        started = [step.starts for step in rule.plan.steps(RESTORE)]
        found += [
            "%s: %s is stopped with %s, and no step of restore starts it" % (rule.plan.rule, other, unit)
            for unit in stopped
            if unit in started
            for other in services.stopped_with(unit)
            if other not in started
        ]
    found += ["state_directory: %s" % problem for problem in _problems_with_state(config.journal_directory)]
    for index, webhook in enumerate(config.webhooks):
        found += ["webhooks[%d].%s" % (index, problem) for problem in _problems_with_webhook(webhook)]
    programs = [check for check in config.ready_checks if check.kind == COMMAND]
    found += [
        "ready_checks: %s: %s" % (check.name, problem)
        for check in programs
        for problem in _problems_with(check.argv[0])
    ]
    for stage in sorted(hooks):
        problems = _problems_with_hooks(os.path.join(config.hooks_directory, stage), stage in expected_hooks)
        found += ["hooks: %s: %s" % (stage, problem) for problem in problems]
    found += [
        "hooks: %s/%s: is not read, because a stage is %s" % (config.hooks_directory, name, " or ".join(_HOOK_STAGES))
        for name in _other_directories(config.hooks_directory)
    ]
    return found


def fate_of_uncovered(config: Config, is_here: bool = True) -> Tuple[List[str], List[str]]:
    """What becomes of the events of those types that no policy of one's own is for.

    :param is_here: whether the configuration is for this machine, so that its hooks may be looked for
    :returns: what is to be known, and what is most likely not meant: that nobody approves what could be approved
    """
    directory, own = config.hooks_directory, _own(config)
    has_hook = any(has_hooks(os.path.join(directory, stage)) for stage in (DRAIN, SHUTDOWN)) or not is_here
    approved: List[str] = []
    never: List[str] = []
    for each in EVENT_TYPES:
        if each in ADVISORY_EVENT_TYPES or any(
            rule.match.event_types is None or rule.match.names(each) for rule in own
        ):
            continue
        (never if default_plan(each).approve == NEVER else approved).append(each)
    notes, warnings = [], []
    if never:
        notes.append("no policy covers %s: the hooks in %s run, and it is not approved" % (", ".join(never), directory))
    if approved and has_hook:
        fate = "the hooks in %s run, and it is approved only if one of them prepared this machine" % directory
        notes.append("no policy covers %s: %s" % (", ".join(approved), fate))
    elif approved:
        fate = "the machine is drained, and it is not approved, because no hook in %s prepares this machine" % directory
        warnings.append("no policy covers %s: %s" % (", ".join(approved), fate))
    return notes, warnings


def _prepares(plan: Plan) -> bool:
    return bool(plan.steps(DRAIN) or plan.steps(SHUTDOWN) or plan.check)


def _own(config: Config) -> List[Rule]:
    return [rule for rule in config.rules if not rule.plan.is_default]


def _conditions_of(plan: Plan) -> List[str]:
    return [name for name, value in ((CHECK, plan.check), ("approve_between", plan.approve_between)) if value]


def _longest_way_out(plan: Plan) -> float:
    return sum(step.timeout for stage in (DRAIN, SHUTDOWN) for step in plan.steps(stage))


def _steps_of(plan: Plan) -> "List[Tuple[str, Step]]":
    return [(stage, step) for stage in STAGES for step in plan.steps(stage)] + [(CHECK, step) for step in plan.check]


def _problems_with_state(directory: str) -> List[str]:
    # The agent makes what is missing.
    while not os.path.lexists(directory):
        directory = os.path.dirname(directory)
    problem = ownership.problem_with(directory)
    return [] if problem is None else ["%s: nothing is approved" % problem]


def _problems_with_webhook(webhook: Webhook) -> List[str]:
    from .http.delivery import read_secret

    found = []
    if webhook.ca_file is not None:
        found += ["ca_file: %s" % problem for problem in [ownership.problem_with(webhook.ca_file)] if problem]
    if webhook.secret_file is not None:
        try:
            read_secret(webhook.secret_file)
        except ValueError as error:
            found.append(str(error))
    return found


def _other_directories(directory: str) -> List[str]:
    """The directories beside those of the stages: the name of one may be misspelt."""
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return []
    return [name for name in names if name not in _HOOK_STAGES and os.path.isdir(os.path.join(directory, name))]


def _problems_with_hooks(directory: str, are_expected: bool) -> List[str]:
    """What is wrong with the hooks of a stage.

    :param are_expected: whether a policy of one's own runs them; the default ones run those that there are
    """
    try:
        hooks = hook_commands(directory)
    except ownership.UnsafePath as error:
        return [str(error)]
    if are_expected and not hooks:
        return ["there is none in %s" % directory]
    return [
        "%s: fails, because it is not executable: chmod +x it, or append .disabled to its name" % path
        for path in hooks
        if not process.is_executable(path)
    ]


def _problems_with(program: str) -> List[str]:
    try:
        real = ownership.check_path(program)
    except ownership.UnsafePath as error:
        return [str(error)]
    return [] if os.access(real, os.X_OK) else ["%s: cannot be executed" % program]
