# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts the agent together and runs it, until it is told to stop."""

import contextlib
import json
import os
import selectors
import signal
import sys
import time
from datetime import datetime, timezone
from typing import Mapping, Optional, Tuple

from foghorn_core.document import parse_event

from . import log as levels
from .access import Access
from .agent import Agent, Edges
from .clock import Clocks, boot_id
from .config import Config, Webhook
from .control import Control
from .endpoint import CannotListen, Endpoint
from .imds_desk import ImdsDesk
from .journal import Journal, JournalError
from .log import Log, open_log
from .members import MembersDesk
from .notify import Notifier
from .running import Running, Surroundings
from .secrets import NoSecret, read_members_secrets
from .state import Record, State, occasion, replay
from .webhooks import (
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
from .workers import Worker

_STOPPING_TIME = 10.0  # seconds that children have to end in
_LOOK_AFTER_WEBHOOKS = 0.5  # seconds
_LOOK_AFTER_CLIENTS = 1.0  # seconds
_PAUSE_AFTER_ERROR = 0.2  # seconds
_SAY_AGAIN = 60.0  # seconds until the same error is logged again
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class CannotStart(Exception):
    """The agent cannot do its work. The message says why, and what to do."""


def serve(config: Config, environment: Mapping[str, str]) -> int:
    """Run the agent until SIGTERM or SIGINT.

    :returns: the exit status
    """
    log = open_log(dict(environment))
    try:
        service = Service(config, environment, log)
    except CannotStart as error:
        log(levels.ERROR, "cannot start: %s" % error)
        return 1
    try:
        service.run()
    finally:
        service.close()
    return 0


class Service:
    """The agent with all that it needs to run as a process of its own.

    :raises CannotStart: if it cannot have its state directory, its journal or an address to listen on
    """

    def __init__(self, config: Config, environment: Mapping[str, str], log: Log) -> None:
        self._opened = contextlib.ExitStack()
        try:
            self._open(config, environment, log)
        except CannotStart:
            self.close()
            raise

    def _open(self, config: Config, environment: Mapping[str, str], log: Log) -> None:
        self._config = config
        self._log = log
        self._clocks = Clocks(time.monotonic, time.time)
        self._selector = selectors.DefaultSelector()
        self._opened.callback(self._selector.close)
        self._wake_reader, self._wake_writer = os.pipe()
        for descriptor in (self._wake_reader, self._wake_writer):
            os.set_blocking(descriptor, False)
            self._opened.callback(os.close, descriptor)
        self._selector.register(self._wake_reader, selectors.EVENT_READ)
        self._watched = -1
        self._stop_asked = False
        self._last_error = ("", 0.0)
        """What it was, and when it may be said again."""
        self._journal = Journal(config.state_directory)
        self._opened.callback(self._journal.close)
        try:
            os.makedirs(config.state_directory, mode=0o750, exist_ok=True)
            state = replay(self._journal.open())
        except (OSError, JournalError) as error:
            raise CannotStart(str(error)) from None
        around = Surroundings(config.hooks_directory, self._clocks.monotonic)
        self._webhooks = WebhookQueue([sys.executable, "-E", "-s", program(), "send-webhook"], self._clocks.monotonic)
        self._desk = ImdsDesk(config, self._clocks)
        edges = Edges(
            journal=self._journal,
            poll=Worker(self._desk.poll, "poll"),
            heard=self._desk.heard,
            approve=Worker(ImdsDesk(config, self._clocks).approve, "approve"),
            members=Worker(MembersDesk().ask, "members"),
            start_step=lambda work, vm_name: Running(work, vm_name, around),
            watch=self._watch,
            log=log,
            tell=self._tell,
        )
        for worker in (edges.poll, edges.approve, edges.members):
            self._opened.callback(worker.close)
            self._selector.register(worker.fileno(), selectors.EVENT_READ)
        self.agent = Agent(config, self._clocks, edges, state, boot_id())
        self._note_secret()
        access = Access(
            self.agent.respond,
            lambda: self.agent.state.vm_name,
            lambda: self.agent.config,
        )
        try:
            self._endpoint = Endpoint(
                config.listen, access.respond, self._selector, self._clocks.monotonic, admits=access.admits
            )
        except CannotListen as error:
            raise CannotStart(str(error)) from None
        self._opened.callback(self._endpoint.close)
        self._control = self._open_control()
        self._notifier = Notifier(environment, self._clocks.monotonic)
        self._opened.callback(self._notifier.close)

    def _note_secret(self) -> None:
        secret_file = self._config.quorum.secret_file
        if secret_file is not None:
            try:
                read_members_secrets(secret_file)
            except NoSecret as error:
                # It may still come. Until then shared events begin at their NotBefore.
                self._log(levels.ERROR, "members can neither be asked nor answered: %s" % error)

    def _open_control(self) -> Optional[Control]:
        try:
            control = Control(self._config.state_directory, self.agent.obey, self._selector)
        except OSError as error:
            # Nobody's maintenance depends on it.
            self._log(levels.ERROR, "nothing can be asked for by hand: %s" % error)
            return None
        self._opened.callback(control.close)
        return control

    def run(self) -> None:
        """Run until a signal says to stop; then end what is running, and leave the rest to the next start."""
        self._catch_signals()
        self._log(levels.NOTICE, "watching %s" % self._config.imds.endpoint)
        self._notifier.ready()
        while not self._stop_asked:
            self._turn()
        self._notifier.stopping()
        self._desk.close()
        self.agent.stop()
        self._webhooks.close()
        self._endpoint.close()
        ends = self._clocks.monotonic() + _STOPPING_TIME
        while self._clocks.monotonic() < ends and not (self.agent.is_idle() and self._webhooks.is_idle()):
            time.sleep(0.05)
        self._log(levels.NOTICE, "stopped")

    def close(self) -> None:
        """Give back all that was opened: files, sockets, threads."""
        self._opened.close()

    def _turn(self) -> None:
        try:
            seconds = self.agent.turn()
        except Exception as error:  # noqa: BLE001 - whatever it is: the machine is better off with the next turn
            seconds = self._note_error(error)
        self._notifier.sign_of_life()
        self._notifier.status("in rotation" if not self.agent.state.is_out else "out of rotation")
        self._endpoint.expire()
        if len(self._webhooks):
            for report in self._webhooks.poll():
                self._note_webhook(report)
        for key, mask in self._selector.select(self._longest_sleep(seconds)):
            if key.data == self._endpoint.handle:
                self._endpoint.handle(key, mask)
            elif self._control is not None and key.data == self._control.handle:
                try:
                    self._control.handle(key, mask)
                except Exception as error:  # noqa: BLE001 - whatever it is: one request is lost, and not the agent
                    self._note_error(error)
            elif key.fd == self._wake_reader:
                _empty(self._wake_reader)

    def _note_error(self, error: Exception) -> float:
        """Count and log what should not have happened; give the seconds until the next turn."""
        # Only here: the agent's memory is dear, and most agents never need it.
        import traceback

        self.agent.counters.add("foghorn_errors_total")
        text = "%s: %s" % (type(error).__name__, error)
        now = self._clocks.monotonic()
        if text != self._last_error[0] or now >= self._last_error[1]:
            self._last_error = text, now + _SAY_AGAIN
            trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            self._log(levels.ERROR, "this turn ended in an error that nobody foresaw: %s" % text, trace=trace)
        # What came in and was not taken wakes the loop at once, again and again.
        time.sleep(_PAUSE_AFTER_ERROR)
        return _LOOK_AFTER_CLIENTS

    def _longest_sleep(self, seconds: float) -> float:
        """How long the loop may sleep, of the seconds for which the agent has nothing to do."""
        if len(self._webhooks):
            seconds = min(seconds, _LOOK_AFTER_WEBHOOKS)
        if self._endpoint.is_busy:
            seconds = min(seconds, _LOOK_AFTER_CLIENTS)
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

    def _tell(self, record: Record, state: State) -> None:
        stage = occasion(record)
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
        trouble = report.warning if report.delivered else report.detail
        if trouble is not None:
            self._log(levels.WARNING, "webhook to %s: %s: %s" % (shown_url(report.request.url), result, trouble))

    def _catch_signals(self) -> None:
        self._opened.callback(signal.set_wakeup_fd, signal.set_wakeup_fd(self._wake_writer))
        for number in _SIGNALS:
            signal.signal(number, self._ask_to_stop)
        # Only to be woken: a child that closed its output long ago has ended.
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def _ask_to_stop(self, _number: int, _frame: object) -> None:
        self._stop_asked = True


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
    from .bodies import fields_of, fill

    one = state.find(event_ids[0]) if event_ids else None
    about = parse_event(record["event"]) if "event" in record else one.event if one is not None else None
    event_id = about.event_id if about is not None else " ".join(event_ids)
    filled = fill(webhook.body, fields_of(stage, record, about, name, event_id, time_of_it), time_of_it)
    return (filled, PLAIN_TEXT) if isinstance(filled, str) else (json.dumps(filled), PLAIN_JSON)


def program() -> str:
    """Where this program was started from: the zipapp, or in a checkout the package's directory."""
    here = os.path.dirname(os.path.abspath(__file__))
    parent = os.path.dirname(here)
    return parent if os.path.isfile(parent) else here


def _empty(descriptor: int) -> None:
    try:
        while os.read(descriptor, 4096):
            pass
    except BlockingIOError:
        pass
