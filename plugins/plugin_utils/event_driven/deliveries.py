# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Reads what Event Grid, Update Manager and webhooks deliver.

Maintenance comes by many ways: from Event Grid through Service Bus or Event Hubs, by a webhook or an event stream, from
the agents themselves. Each source puts it under a name of its own, one at a time or several at once. Here it becomes
one shape, and what is no maintenance of Azure's goes on as it came.

Sources: https://learn.microsoft.com/azure/event-grid/event-schema-maintenance-configuration,
https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events, and for what lifecycle hooks ask, a preview,
https://github.com/Azure/azure-rest-api-specs/pull/40499
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple

from ...module_utils.arm.lifecycle_hook_events import describe
from ...module_utils.arm.resource_graph import ListedEvent, parse_row
from ...module_utils.arm.update_run import is_run_id
from ...module_utils.scheduled_events.document import parse_event
from ...module_utils.scheduled_events.errors import DocumentError, OptionError
from ...module_utils.scheduled_events.strict_json import parse_json
from .announcement import (
    AGENT,
    KEY,
    LIFECYCLE_HOOK,
    UPDATE_MANAGER,
    Json,
    announcement,
    date,
    event_of_hook,
    fields_of,
    of_event,
    only_words_again,
    word,
)
from .dedup import DEFAULT_CAPACITY, Deduplicator
from .hosts import HostMap, group_of, read_host_map

# The keys under which the sources put what they received: Service Bus and Event Hubs, webhooks and event streams.
_WRAPPERS = ("body", "payload")
_SCHEDULED_EVENTS = frozenset(
    [
        "microsoft.maintenance/scheduledevents/write",
        "microsoft.resourcenotifications.maintenanceresources.scheduledeventemitted",
    ]
)
_HOOK_EVENTS = "microsoft.compute.virtualmachinescalesets.lifecyclehookevents"
_PHASES = {
    "microsoft.maintenance.premaintenanceevent": "pre",
    "microsoft.maintenance.postmaintenanceevent": "post",
}
# The prefix of the agent's own reports.
_OF_AGENT = "io.foghorn.azure_events."
_HOOK_PART = "/lifecyclehookevents/"
_EVENT_PART = "/providers/microsoft.maintenance/scheduledevents/"
_CONFIGURATION = re.compile(r"/maintenanceConfigurations/([\w().-]{1,128})(?:/|\Z)", re.IGNORECASE | re.ASCII)
# The longest text with JSON that is read. Service Bus itself takes at most 100 MB, and Event Grid 1 MB.
_LARGEST = 1024 * 1024  # characters
# How `{` and `[` begin there, before a quote, a bracket or white space.
_BASE64_OF_JSON = ("ey", "ew", "W3", "Ww", "Wy")
_MOST_AT_ONCE = 5000
_OPTIONS = ("remember", "hosts_pattern", "hosts_inventory", "hosts_variable")
_MOST_REMEMBERED = 1_000_000


class Heard(NamedTuple):
    """One delivery that was understood, and what identifies it."""

    announce: Callable[[], Json]
    """Made only of what is announced, because most repeated deliveries were announced before."""
    status: str
    identity: tuple[str, ...]
    vm_names: tuple[str, ...]
    group_id: str | None = None


class Translator:
    """Makes announcements of what is delivered, each once.

    :param hosts: says which hosts of the inventory are meant; None: nobody asks
    :param log: told of what looks like maintenance and cannot be read
    """

    def __init__(
        self,
        memory: Deduplicator,
        hosts: HostMap | None,
        log: Callable[[str], None],
        utc_now: Callable[[], datetime] = lambda: datetime.now(timezone.utc),
    ) -> None:
        self._memory = memory
        self._hosts = hosts
        self._log = log
        self._utc_now = utc_now

    def translate(self, event: Any) -> list[Any]:
        """Return what replaces one event of a source for the rules: the event itself, announcements, or nothing.

        Never raises: an error here would end the source, and the rulebook with it.
        """
        if not isinstance(event, dict):
            return [event]
        if KEY in event:
            return [only_words_again(event)]
        wrapper = next((name for name in _WRAPPERS if name in event), None)
        content = _unpacked(event if wrapper is None else event[wrapper])
        if wrapper is not None:
            content = _with_headers(content, event.get("meta"))
        items = content if isinstance(content, list) else [content]
        if len(items) > _MOST_AT_ONCE:
            self._log("%d events at once, more than any Azure service sends: they are passed on unread" % len(items))
            return [event]
        now = self._utc_now()
        heard = [(item, self._hear(item, now)) for item in items]
        if all(one is None for _item, one in heard):
            return [event]
        result: list[Any] = []
        for item, one in heard:
            if one is None:
                result.append(item if wrapper is None else {**event, wrapper: item})
            elif self._memory.is_news(one.status, *one.identity):
                result.append(self._finished(one))
        return result

    def _hear(self, item: Any, now: datetime) -> Heard | None:
        if not isinstance(item, dict):
            return None
        kind = item.get("type", item.get("eventType"))
        if not isinstance(kind, str):
            return None
        try:
            if kind.lower() in _SCHEDULED_EVENTS:
                return None if _is_of_cluster(item) else _scheduled_event(item, now)
            if kind.lower() == _HOOK_EVENTS:
                return _lifecycle_hook(item, now)
            if kind.lower() in _PHASES:
                return _update_manager(item, _PHASES[kind.lower()])
            if kind.startswith(_OF_AGENT) and "specversion" in item:
                return _of_agent(item, kind[len(_OF_AGENT) :], now)
        except DocumentError as error:
            self._log("an event of the type %s cannot be read, and is passed on unchanged: %s" % (kind[:100], error))
        return None

    def _finished(self, one: Heard) -> Json:
        result = one.announce()
        if self._hosts is not None and one.vm_names:
            result["meta"]["hosts"] = self._hosts(one.vm_names, one.group_id)
        return result


def open_translator(options: Mapping[str, Any], log: Callable[[str], None]) -> Translator:
    """Create the translator for these arguments of the filter.

    :raises OptionError: on the first that cannot be meant
    """
    options = {name: value for name, value in options.items() if value is not None and value != ""}
    for name in options:
        if name not in _OPTIONS:
            raise OptionError("%s: is not an option of this filter. Give one of %s" % (name, ", ".join(_OPTIONS)))
        if isinstance(options[name], str) and "{{" in options[name]:
            raise OptionError(
                "%s: %s is a template, and ansible-rulebook does not expand templates in the arguments of a "
                "filter, unlike those of a source: write the value itself" % (name, options[name][:100])
            )
    capacity = options.get("remember", DEFAULT_CAPACITY)
    if not isinstance(capacity, int) or isinstance(capacity, bool) or not 1 <= capacity <= _MOST_REMEMBERED:
        raise OptionError("remember: %r is not a number from 1 to %d" % (capacity, _MOST_REMEMBERED))
    return Translator(Deduplicator(capacity), read_host_map(options, log), log)


def _unpacked(content: Any) -> Any:
    """Parse a text that is JSON, or JSON in base 64, as queues deliver it; return anything else unchanged."""
    text = content
    if isinstance(text, bytes) and len(text) <= _LARGEST:
        text = text.decode("utf-8", "replace")
    if not isinstance(text, str) or len(text) > _LARGEST:
        return content
    text = text.lstrip("\ufeff \t\r\n")
    if text.startswith(_BASE64_OF_JSON):
        try:
            text = base64.b64decode(text, validate=True).decode("utf-8")
        except ValueError:
            return content
    if text[:1] not in ("{", "["):
        return content
    try:
        return parse_json(text)
    except DocumentError:
        return content


def _with_headers(content: Any, meta: Any) -> Any:
    """Join a CloudEvent whose attributes came as headers and whose content is only its data."""
    headers = meta.get("headers") if isinstance(meta, dict) else None
    if not isinstance(headers, dict) or not isinstance(content, dict) or "type" in content or "eventType" in content:
        return content
    attributes = {str(name).lower()[3:]: value for name, value in headers.items() if str(name).lower()[:3] == "ce-"}
    return {**attributes, "data": content} if "type" in attributes else content


def _is_of_cluster(item: Mapping[str, Any]) -> bool:
    """Whether it is about the maintenance of an AKS cluster, which Azure publishes under the same type."""
    data = item.get("data")
    info = data.get("resourceInfo") if isinstance(data, dict) else None
    kind = info.get("type") if isinstance(info, dict) else None
    return isinstance(kind, str) and kind.lower().startswith("microsoft.containerservice/")


def _scheduled_event(item: Mapping[str, Any], now: datetime) -> Heard:
    data = _data(item)
    info = _object(data, "resourceInfo")
    properties = _object(info, "properties")
    resource = info.get("id") if isinstance(info.get("id"), str) else item.get("subject")
    if not isinstance(resource, str):
        raise DocumentError("data.resourceInfo.id: expected the id of a resource")
    if _EVENT_PART not in resource.lower():
        resource += _EVENT_PART + str(properties.get("EventId"))
    row = {"id": resource, "name": info.get("name", resource.rpartition("/")[2]), "properties": properties}
    listed: ListedEvent = parse_row(row)
    event = listed.event
    return Heard(
        lambda: of_event(event, "event_grid", now, word(listed.resource_id)),
        event.event_status,
        ("scheduled_event", event.event_id),
        event.resources,
        group_of(listed.resource_id),
    )


def _lifecycle_hook(item: Mapping[str, Any], now: datetime) -> Heard:
    data = _data(item)
    properties = _object(data, "properties")
    for place, name in ((data, "name"), (data, "id"), (properties, "type"), (properties, "state")):
        if not isinstance(place.get(name), str):
            raise DocumentError("data: %s: expected a text" % name)
    if _HOOK_PART not in data["id"].lower():
        raise DocumentError("data.id: expected the id of an event of a scale set")
    try:
        event = event_of_hook(describe(data, now))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise DocumentError("data.properties: %s" % error) from None
    resource_id = data["id"][: data["id"].lower().index(_HOOK_PART)]
    return Heard(
        lambda: of_event(event, "event_grid", now, word(resource_id), LIFECYCLE_HOOK),
        event.event_status,
        (LIFECYCLE_HOOK, event.event_id),
        event.resources,
        group_of(resource_id),
    )


def _update_manager(item: Mapping[str, Any], phase: str) -> Heard:
    # Azure's own samples differ in the case of the first letter.
    data = {str(name).lower(): value for name, value in _data(item).items()}
    run = word(data.get("correlationid")) or word(item.get("id"))
    if run is None:
        raise DocumentError("data.correlationId: expected the id of a run of updates")
    configuration = word(data.get("maintenanceconfigurationid")) or ""
    name = _CONFIGURATION.search(configuration) or _CONFIGURATION.search(run)
    subscriptions = data.get("resourcesubscriptionids")
    content = {
        "kind": UPDATE_MANAGER,
        "reported_by": "event_grid",
        "phase": phase,
        # A request is made of this id: an id that is not one of a run is dropped.
        "run_id": run if is_run_id(run) else None,
        "maintenance_configuration": None if name is None else name.group(1),
        "status": word(data.get("status")),
        "start": date(data.get("startdatetime")),
        "end": date(data.get("enddatetime")),
        "cancel_before": date(data.get("cancellationcutoffdatetime")),
        "subscriptions": [one for one in map(word, subscriptions if isinstance(subscriptions, list) else ()) if one],
    }
    identity = (UPDATE_MANAGER, run, phase)
    return Heard(lambda: announcement(content, identity), phase, identity, ())


def _of_agent(item: Mapping[str, Any], stage: str, now: datetime) -> Heard:
    record = _data(item)
    told = word(item.get("id"))
    vm_name = word(item.get("subject"))
    if told is None or vm_name is None or not stage:
        raise DocumentError("expected a CloudEvent with id and subject")
    content = {
        "kind": AGENT,
        "reported_by": "agent",
        "vm_name": vm_name,
        "stage": word(stage),
        "state": word(record.get("state")),
        "at": date(item.get("time")),
        "event_id": word(record.get("event_id")),
        "event_ids": [one for one in map(word, _list(record, "event_ids")) if one],
        "how": word(record.get("how")),
    }
    event = parse_event(record["event"], "data.event") if isinstance(record.get("event"), dict) else None
    # It speaks for its own VM.
    if event is not None and event.affects(vm_name):
        content = {**fields_of(event, now), **content, "event_id": event.event_id}
    # All senders share a secret, and any of them may use the id of another: only the same again is a repetition.
    identity = (AGENT, told, json.dumps([vm_name, stage, item.get("time"), record], sort_keys=True, default=str))
    return Heard(lambda: announcement(content, identity), "told", identity, (vm_name,))


def _data(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """The data of an event; a CloudEvent may hold it as text, or in base 64."""
    return _object({"data": _unpacked(item["data"] if "data" in item else item.get("data_base64"))}, "data")


def _object(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = content.get(name)
    if not isinstance(value, dict):
        raise DocumentError("%s: expected an object" % name)
    return value


def _list(content: Mapping[str, Any], name: str) -> list[Any]:
    value = content.get(name)
    return value if isinstance(value, list) else []
