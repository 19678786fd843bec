# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts the agent together and runs it, until it is told to stop."""

import contextlib
import json
import os
import select
import selectors
import socket
import sys
import time
from datetime import datetime, timezone
from typing import Any, List, Mapping, Optional, Sequence, Tuple

from foghorn_core.scheduled_events.document import parse_event

from .act.running import Running, StepContext, say_output
from .act.steps import has_hooks
from .agent import Agent, Ports
from .config import Config, ConfigError, Webhook
from .decide.decisions import Work
from .decide.policy import CHECK
from .decide.state import Record, State, replay, topic
from .http.access import Access
from .http.endpoint import Endpoint
from .http.members import MembersSession
from .http.webhooks import (
    CLOUD_EVENT,
    PLAIN_JSON,
    PLAIN_TEXT,
    Report,
    Request,
    WebhookQueue,
    cloud_event,
    shown_url,
    wrap,
)
from .io import log as levels
from .io.clock import Clocks
from .io.config_file import ConfigFile
from .io.control import Control
from .io.disk import Disk
from .io.imds_session import ImdsSession
from .io.journal import Journal, JournalInUse
from .io.log import Log, open_log
from .io.secrets import NoSecret, read_members_secrets
from .io.workers import Worker
from .platform import door, listening, machine, notify, program, system_log, wakeups

_STOPPING_TIME = 10.0  # seconds that children have to end in
_OPENING_TIME = 5.0  # seconds that the disk has for the journal before the agent begins without it
_SHORT_WAIT = 1.0  # seconds that the disk has for what can also come later, or never
_LOOK_AFTER_WEBHOOKS = 0.5  # seconds
_LOOK_AFTER_CLIENTS = 1.0  # seconds
_LOOK_AFTER_CONFIG = 1.0  # seconds, while the one that is there cannot be used
_PAUSE_AFTER_ERROR = 0.2  # seconds
_MOST_FAILED_SELECTS = 10
_CONTROL_AGAIN = 1.0  # seconds
_SAY_AGAIN = 60.0  # seconds until the same error is logged again


class CannotStart(Exception):
    """The agent cannot do its work. The message says why, and what to do."""


def serve(path: str, environment: Mapping[str, str]) -> int:
    """Run the agent until SIGTERM or SIGINT.

    :param path: of the configuration
    :returns: the exit status
    """
    log = open_log(system_log.open_system_log(environment))
    with contextlib.ExitStack() as opened:
        signals = wakeups.Signals()
        opened.callback(signals.close)
        sockets = [opened.enter_context(sock) for sock in listening.inherited_sockets(environment)]
        # The directory is that of the unit: what the configuration says of one cannot be read when it is needed.
        kept_in = machine.state_directory_of(environment)
        file = ConfigFile(path, kept_in)
        try:
            config, error = _first_config(file, environment, log, signals, sockets, kept_in)
            while config is not None:
                service = Service(config, environment, log, signals, sockets, file, error)
                try:
                    config, error = service.run(), None
                finally:
                    service.close()
        except CannotStart as reason:
            log(levels.ERROR, "cannot start: %s" % reason)
            return 1
    return 0


def _first_config(
    file: ConfigFile,
    environment: Mapping[str, str],
    log: Log,
    signals: wakeups.Signals,
    sockets: Sequence[socket.socket],
    kept_in: Optional[str],
) -> Tuple[Optional[Config], Optional[ConfigError]]:
    """The configuration to begin with, and what is wrong with the file's if it is another one."""
    try:
        return file.load(), None
    except ConfigError as error:
        last_good = file.load_last_good()
        if last_good is not None:
            return last_good, error
        # Only here: most agents never need it.
        from .act.waiting import wait_for_config

        is_out = kept_in is not None and replay(Journal(kept_in).read()).is_out
        return wait_for_config(file, error, environment, log, signals, _again(sockets), is_out), None


def _again(sockets: Sequence[socket.socket]) -> List[socket.socket]:
    return [sock.dup() for sock in sockets]


class Service:
    """The agent with all that it needs to run as a process of its own.

    Without a journal and without an endpoint it runs all the same: both are tried again. Nothing that may wait for the
    disk is done in its loop, but for reading the configuration.

    :param signals: what the process is told
    :param sockets: those that the service manager holds open for the endpoint
    :param file: where another configuration may come from
    :param error: what is wrong with the one that is there, if this is not it
    :raises CannotStart: if another agent is running
    """

    def __init__(
        self,
        config: Config,
        environment: Mapping[str, str],
        log: Log,
        signals: wakeups.Signals,
        sockets: Sequence[socket.socket],
        file: ConfigFile,
        error: Optional[ConfigError] = None,
    ) -> None:
        self._opened = contextlib.ExitStack()
        self._signals = signals
        self._file = file
        self._next: Optional[Config] = None
        """What to begin anew with."""
        try:
            self._open(config, environment, log, sockets)
        except CannotStart:
            self.close()
            raise
        self._config_error: Optional[ConfigError] = None
        if error is not None:
            self._note_config_error(error)
        else:
            self.agent.note_configuration(None, file.modified)

    def _open(self, config: Config, environment: Mapping[str, str], log: Log, sockets: Sequence[socket.socket]) -> None:
        self._wanted = config
        """What the file says."""
        # What was really begun is really brought to its end: a dry run would restore the machine with its services
        # stopped.
        self._is_finishing = config.dry_run and replay(Journal(config.state_directory).read()).is_out
        self._config = config = config._replace(dry_run=False) if self._is_finishing else config
        """What is in force."""
        self._log = log = _dry(log) if config.dry_run else log
        self._clocks = Clocks(machine.elapsed, time.time)
        self._selector = selectors.DefaultSelector()
        self._opened.callback(self._selector.close)
        self._selector.register(self._signals, selectors.EVENT_READ)
        self._watched = -1
        self._failed_selects = 0
        self._endpoint_problem: Optional[str] = None
        self._last_error = ("", 0.0)
        """What it was, and when it may be said again."""
        self._journal = Journal(config.journal_directory)
        self._disk = Disk(self._clocks.monotonic)
        self._opened.callback(self._close_disk)
        self._selector.register(self._disk.fileno(), selectors.EVENT_READ)
        state = self._open_journal()
        self._webhooks = WebhookQueue([sys.executable, "-IS", program.path(), "send-webhook"], self._clocks.monotonic)
        self._session = ImdsSession(config, self._clocks)
        edges = Ports(
            journal=self._journal,
            disk=self._disk,
            poll=Worker(self._session.poll, "poll"),
            poll_stats=self._session.poll_stats,
            approve=Worker(ImdsSession(config, self._clocks).approve, "approve"),
            members=Worker(MembersSession().ask, "members"),
            start_step=lambda work, vm_name: Running(work, vm_name, self._surroundings()),
            has_hooks=lambda stage: has_hooks(os.path.join(self._config.hooks_directory, stage)),
            watch=self._watch,
            log=log,
            notify=self._notify,
        )
        for worker in (edges.poll, edges.approve, edges.members):
            self._opened.callback(worker.close)
            self._selector.register(worker.fileno(), selectors.EVENT_READ)
        self.agent = Agent(config, self._clocks, edges, state, machine.boot_id())
        self._note_finishing()
        self._note_secret()
        access = Access(
            self.agent.respond,
            lambda: self.agent.state.vm_name,
            lambda: self.agent.config,
        )
        runtime = machine.runtime_directory_of(environment)
        self._endpoint = Endpoint(
            config.listen,
            access.respond,
            self._selector,
            self._clocks.monotonic,
            admits=access.admits,
            inherited=_again(sockets),
            path=None if runtime is None else os.path.join(runtime, listening.SOCKET_NAME),
        )
        self._opened.callback(self._endpoint.close)
        self._control: Optional[Control] = None
        self._control_problem: Optional[str] = None
        self._beside = 0
        """Which opening of the journal the socket was made after."""
        self._next_control = self._clocks.monotonic()
        self._opened.callback(self._close_control)
        self._open_control()
        self._disk.do(self._file.keep)
        # So that commands by hand work as soon as the service manager is told that the agent is ready.
        self._wait_for_disk(_SHORT_WAIT)
        self._opened.callback(self._wait_for_disk, _SHORT_WAIT)
        self._notifier = notify.Notifier(environment, self._clocks.monotonic)
        self._opened.callback(self._notifier.close)

    def _open_journal(self) -> State:
        """Open the journal, and find out what is known."""
        results: List[Any] = []
        self._disk.do(self._journal.open, results.append)
        self._wait_for_disk(_OPENING_TIME)
        if not results:
            # Until it is known, the machine is out of rotation, as it would be without an agent that answers.
            return State(is_incomplete=True, was_out=True)
        if isinstance(results[0], JournalInUse):
            raise CannotStart(str(results[0]))
        # If it cannot be opened, the agent says so with its first record, and tries again.
        return replay(self._journal.read() if isinstance(results[0], Exception) else results[0])

    def _wait_for_disk(self, seconds: float) -> None:
        ends = self._clocks.monotonic() + seconds
        while self._disk.began is not None and self._clocks.monotonic() < ends:
            select.select([self._disk], [], [], seconds)
            self._disk.collect()

    def _close_disk(self) -> None:
        self._disk.close()
        if self._disk.began is None:
            self._journal.close()
        # Otherwise the thread has its files, and the process ends with it.

    def _note_finishing(self) -> None:
        self.agent.note_dry_run(self._is_finishing)
        if self._is_finishing:
            text = (
                "the dry run begins when the machine is back in rotation; until then the agent continues, and "
                "approves nothing"
            )
            self._log(levels.WARNING, text)

    def _note_secret(self) -> None:
        secret_file = self._config.quorum.secret_file
        if secret_file is not None:
            # Signatures need it at the first event, when another Python may be installed than the one that runs.
            import hmac  # noqa: F401

            try:
                read_members_secrets(secret_file)
            except NoSecret as error:
                # It may still come. Until then shared events begin at their NotBefore.
                self._log(levels.ERROR, "members can be neither asked nor answered: %s" % error)

    def _open_control(self) -> None:
        """Open the socket for administrative commands, if it is not open and it is time to try."""
        # If the journal was removed, so was what lay beside it.
        is_there = self._control is not None and self._beside == self._journal.openings
        if is_there or self._clocks.monotonic() < self._next_control:
            return
        self._beside = self._journal.openings
        self._next_control = float("inf")
        self._disk.do(lambda: door.listen_in(self._config.journal_directory), self._note_control)

    def _note_control(self, result: Any) -> None:
        self._next_control = self._clocks.monotonic() + _CONTROL_AGAIN
        problem = None
        self._close_control()
        if isinstance(result, Exception):
            # Nobody's maintenance depends on it. The directory may still come: from another disk, say.
            problem = "commands by hand do not work: %s" % result
        else:
            self._control = Control(result, self.agent.handle_command, self._selector)
        if problem is not None and problem != self._control_problem:
            self._log(levels.ERROR, "%s. The agent retries" % problem)
        elif problem is None and self._control_problem is not None:
            self._log(levels.NOTICE, "commands by hand work again")
        self._control_problem = problem

    def _close_control(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None

    def run(self) -> Optional[Config]:
        """Run until a signal says to stop; then end what is running, and leave the rest to the next start.

        :returns: the configuration to begin anew with at once; None for none
        """
        self._log(levels.NOTICE, "watching %s" % self._config.imds.endpoint)
        self._notifier.ready()
        # What begins anew opens the same journal: the disk has to be done with it.
        while not self._signals.stop_asked and (self._next is None or self._disk.began is not None):
            self._turn()
        if self._next is None:
            self._notifier.stopping()
        self._session.close()
        self.agent.stop()
        self._webhooks.close()
        self._endpoint.close()
        ends = self._clocks.monotonic() + _STOPPING_TIME
        while self._clocks.monotonic() < ends and not (self.agent.is_idle() and self._webhooks.is_idle()):
            time.sleep(0.05)
        self._log(levels.NOTICE, "stopped" if self._next is None else "restarting with the new configuration")
        return self._next

    def close(self) -> None:
        """Give back all that was opened: files, sockets, threads."""
        self._opened.close()

    def _turn(self) -> None:
        try:
            seconds = self.agent.turn()
        except Exception as error:  # noqa: BLE001 - whatever it is: the machine is better off with the next turn
            seconds = self._note_error(error)
        self._look_at_config()
        if self._is_finishing and not self.agent.state.is_out:
            self._next = self._wanted
        self._open_control()
        if self._control is not None:
            self._control.answer()
        self._endpoint.expire()
        self._note_endpoint()
        self._notifier.sign_of_life()
        self._notifier.status(
            "; ".join(["out of rotation" if self.agent.state.is_out else "in rotation", *self.agent.problems])
        )
        if len(self._webhooks):
            for report in self._webhooks.poll():
                self._note_webhook(report)
        for key, mask in self._select(self._longest_sleep(seconds)):
            if key.data == self._endpoint.handle:
                self._endpoint.handle(key, mask)
            elif self._control is not None and key.data == self._control.handle:
                try:
                    self._control.handle(key, mask)
                except Exception as error:  # noqa: BLE001 - whatever it is: one request is lost, and not the agent
                    self._note_error(error)
            elif key.fileobj is self._signals:
                self._signals.empty()

    def _select(self, seconds: float) -> "List[Tuple[selectors.SelectorKey, int]]":
        """Wait for what can be read or written. Where Windows has lost a socket, it fails: a step goes on to its end
        then, and an idle agent ends, to begin anew.
        """
        try:
            ready = self._selector.select(seconds)
        except OSError as error:
            self._failed_selects += 1
            if self._failed_selects >= _MOST_FAILED_SELECTS and self.agent.is_idle():
                raise
            self._note_error(error)
            return []
        self._failed_selects = 0
        return ready

    def _look_at_config(self) -> None:
        is_spoilt = self._config_error is not None and self._file.has_changed
        if not self._signals.reload_asked and not is_spoilt:
            return
        self._signals.reload_asked = False
        self._notifier.reloading()
        try:
            config = self._file.load()
        except ConfigError as error:
            self._note_config_error(error)
        else:
            self._config_error = None
            self._disk.do(self._file.keep)
            self.agent.note_configuration(None, self._file.modified)
            self._use(config)
        self._notifier.ready()

    def _use(self, config: Config) -> None:
        before, self._wanted = self._config, config
        was_finishing = self._is_finishing
        self._is_finishing = config.dry_run and not before.dry_run and self.agent.state.is_out
        self._config = config._replace(dry_run=False) if self._is_finishing else config
        if self._is_finishing != was_finishing:
            self._note_finishing()
        if self._config == before:
            self._log(levels.NOTICE, "the configuration was read again: it is unchanged")
        elif (self._config.imds, self._config.journal_directory) != (before.imds, before.journal_directory):
            # The connections, the journal and what is known of IMDS are others: that is another agent.
            self._next = config
        else:
            config = self._config
            self._log(levels.NOTICE, "the new configuration is in effect")
            self._endpoint.listen(config.listen)
            self._note_secret()
            self.agent.use(config)

    def _note_config_error(self, error: ConfigError) -> None:
        if str(error) != str(self._config_error):
            self._log(
                levels.ERROR, "the configuration cannot be used, and the last valid one stays in effect: %s" % error
            )
        self._config_error = error
        self.agent.note_configuration(str(error), self._file.modified)

    def _note_endpoint(self) -> None:
        problem = self._endpoint.problem
        if problem != self._endpoint_problem:
            if problem is not None:
                self._log(levels.ERROR, "%s. The agent retries, and handles events meanwhile" % problem)
            else:
                self._log(levels.NOTICE, "the endpoint listens on all of its addresses")
            self._endpoint_problem = problem
            self.agent.note_endpoint(problem)

    def _surroundings(self) -> StepContext:
        return StepContext(
            self._config.hooks_directory,
            # A step does not get on while the machine hibernates, nor is that its fault.
            time.monotonic,
            say=self._say,
            note_hook=self.agent.note_hook,
            may_go_on=lambda: self.agent.may_act,
            make_room=self._endpoint.make_room,
            is_dry=self._config.dry_run,
        )

    def _say(self, work: Work, program: str, output: str) -> None:
        # What looks every few seconds, and what systemd says of a unit, is told where it is used.
        if not work.is_look and work.stage != CHECK:
            say_output(self._log, work, program, output)

    def _note_error(self, error: Exception) -> float:
        """Count and log what should not have happened; give the seconds until the next turn."""
        self.agent.counters.add("foghorn_errors_total")
        text = "%s: %s" % (type(error).__name__, error)
        now = self._clocks.monotonic()
        if text != self._last_error[0] or now >= self._last_error[1]:
            self._last_error = text, now + _SAY_AGAIN
            self._log(levels.ERROR, "unexpected error in the agent's loop: %s" % text, trace=_trace_of(error))
        # What came in and was not taken wakes the loop at once, again and again.
        time.sleep(_PAUSE_AFTER_ERROR)
        return _LOOK_AFTER_CLIENTS

    def _longest_sleep(self, seconds: float) -> float:
        """How long the loop may sleep, of the seconds for which the agent has nothing to do."""
        if len(self._webhooks):
            seconds = min(seconds, _LOOK_AFTER_WEBHOOKS)
        if self._endpoint.is_busy:
            seconds = min(seconds, _LOOK_AFTER_CLIENTS)
        if self._config_error is not None:
            seconds = min(seconds, _LOOK_AFTER_CONFIG)
        if self._notifier.watchdog_interval is not None:
            seconds = min(seconds, self._notifier.watchdog_interval / 2)
        return seconds

    def _watch(self, descriptor: int) -> None:
        if self._watched >= 0:
            # Even for the same number: the file behind it may be another, and then nobody would look at it.
            self._selector.unregister(self._watched)
        self._watched = descriptor
        if descriptor >= 0:
            self._selector.register(descriptor, selectors.EVENT_READ)

    def _notify(self, record: Record, state: State) -> None:
        if self._config.dry_run:
            # Whoever hears of it may act on it.
            return
        stage = topic(record)
        for webhook in self._config.webhooks:
            if webhook.stages is not None and stage not in webhook.stages:
                continue
            if webhook.states is not None and "state" in record and record["state"] not in webhook.states:
                continue
            content, content_type = _body_of(webhook, stage, record, state)
            self._webhooks.add(
                Request(
                    webhook.url,
                    content,
                    content_type=content_type,
                    headers=webhook.headers,
                    secret_file=webhook.secret_file,
                    secret_header=webhook.secret_header,
                    secret_prefix=webhook.secret_prefix,
                    ca_file=webhook.ca_file,
                    timeout=webhook.timeout,
                    proxy=webhook.proxy,
                )
            )

    def _note_webhook(self, report: Report) -> None:
        result = "delivered" if report.delivered else "given up" if report.is_final else "tried again"
        self.agent.counters.add("foghorn_webhooks_total", result=result)
        problem = report.warning if report.delivered else report.detail
        if problem is not None:
            self._log(levels.WARNING, "webhook to %s: %s: %s" % (shown_url(report.request.url), result, problem))


def _trace_of(error: Exception) -> Optional[str]:
    try:
        # Only here: the agent's memory is dear, and most agents never need it.
        import traceback

        return "".join(traceback.format_exception(type(error), error, error.__traceback__))
    except Exception:  # noqa: BLE001 - another Python was installed, or program: it reads the source
        return None


def _dry(log: Log) -> Log:
    return lambda priority, message, **fields: log(priority, "dry run: " + message, **fields)


def _body_of(webhook: Webhook, stage: str, record: Record, state: State) -> Tuple[str, str]:
    """What a webhook is sent, and of which type that is."""
    time_of_it = datetime.fromtimestamp(record["at"], timezone.utc)
    event_ids = (
        [str(record["event_id"])] if record.get("event_id") else [str(one) for one in record.get("event_ids", ())]
    )
    name = state.vm_name or "unknown"
    if webhook.body is None:
        event = cloud_event(stage, name, " ".join(event_ids), "/foghorn-agent/%s" % name, time_of_it, record)
        return json.dumps(wrap(event, webhook.wrap)), PLAIN_JSON if webhook.wrap else CLOUD_EVENT
    # Only here: most webhooks have no body of their own.
    from .http.bodies import fields_of, fill

    one = state.find(event_ids[0]) if event_ids else None
    about = parse_event(record["event"]) if "event" in record else one.event if one is not None else None
    event_id = about.event_id if about is not None else " ".join(event_ids)
    filled = fill(webhook.body, fields_of(stage, record, about, name, event_id, time_of_it), time_of_it)
    return (filled, PLAIN_TEXT) if isinstance(filled, str) else (json.dumps(filled), PLAIN_JSON)
