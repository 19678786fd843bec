# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The groups of hosts that do the same work, and the hosts that only balance for others.

HAProxy and Azure know: the servers of a backend or pool do the same work, and the minimum in service holds for each. A
host may serve several.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils.haproxy.choice import called, find_ambiguous
from ...module_utils.scheduled_events.text import plain

# The ways in which a balancer itself leaves rotation. The file of a probe endpoint is for the servers behind it.
_WAYS_OF_A_BALANCER = ("azure_load_balancer", "application_gateway", "command")
_UP = ("starting", "running")
_MOST_NAMED = 3
_FORGOTTEN = (
    "HAProxy keeps it out for maintenance, and the host has no record of that: another run has just taken it out, or it"
    " has a new disk, as after a Redeploy. Run again; if this is reported again, run the playbook restore"
)


class Balancers(NamedTuple):
    """What balancers report about the hosts."""

    groups: Mapping[str, Sequence[str]] = {}
    """By host, the backends and pools that it serves, in words. A host that is not in it is unknown to every
    balancer.
    """
    down: Sequence[str] = ()
    """Hosts that no balancer has in service, although nobody is known to have taken them out."""
    alone: Mapping[str, str] = {}
    """Why hosts are left alone, in words: they balance for others, and no variable says how they leave rotation."""
    peers_outside_run: Mapping[str, Sequence[str]] = {}
    """By host, the servers of its backends and pools that are not hosts of the run."""
    remarks: Sequence[str] = ()
    """Settings that are probably mistakes, in words."""
    unknown: Mapping[str, str] = {}
    """By host, the step that would fail because a balancer does not know the host, in words."""
    reborn: Sequence[str] = ()
    """Hosts that a balancer keeps out because a run had taken out another VM that was in their place before."""
    forgotten: Sequence[str] = ()
    """Hosts that a balancer keeps out because a run had taken them out, although nothing is noted on them."""


class _Server(NamedTuple):
    """A server of a backend."""

    backend: str
    server: str
    address: str
    port: int
    is_up: bool
    is_backup: bool
    is_set_out: bool
    """Whether it is drained or in maintenance."""


def pool_group(pool: str) -> str:
    """Name the group of a pool in Azure by its id, in lower case, because ids are the same in any case."""
    return "pool " + plain(pool.lower())


def read_balancers(
    hosts: Sequence[Mapping[str, Any]],
    answers: Sequence[Mapping[str, Any]],
    azure: Mapping[str, Any] | None = None,
    beyond: Mapping[str, str] | None = None,
) -> Balancers:
    """Put together what balancers say.

    :param hosts: what is known of each host, as `note_host` returns it
    :param answers: what haproxy_server_info returned of each balancer, its name in the inventory in
        `__balancer.name`
    :param azure: what vm_pool_info returned of the hosts; None if Azure was not asked
    :param beyond: by the hosts that a limit leaves out of the run, their groups: where no balancer was asked, they
        count
    """
    servers, remarks = _read_servers(answers)
    places = {host["name"]: _places(host["haproxy"], servers) for host in hosts if host.get("haproxy")}
    unknown = _find_unknown(hosts, servers)
    remarks += ["%s: %s" % (name, what) for name, what in unknown.items()]
    in_pools: dict[str, list[bool]] = {}
    groups = _groups(places)
    peers = _peers_outside_run(hosts, places, servers)
    if azure is not None:
        try:
            pools = {str(one["vm_id"]): [pool_group(str(pool)) for pool in one["pools"]] for one in azure["vms"]}
            members = {pool_group(str(one["id"])): list(map(str, one["members"])) for one in azure["pools"]}
            idle = {
                pool_group(str(one["id"])): {str(vm_id).lower(): _short(str(vm_id)) for vm_id in one["out_of_service"]}
                for one in azure["pools"]
                if "out_of_service" in one
            }
        except (AttributeError, LookupError, TypeError):
            pools, members, idle = {}, {}, {}
            remarks.append("Azure was not asked which pools hosts are in: %s" % plain(azure.get("msg") or "no answer"))
        of_members: dict[str, list[str]] = {}
        for pool, of_pool in members.items():
            for vm_id in of_pool:
                of_members.setdefault(vm_id.lower(), []).append(pool)
        ours = {str(vm_id).lower() for host in hosts for vm_id in _vm_ids(host)}
        for host in hosts:
            vm_id = (host.get("azure") or {}).get("vm_id", "")
            # A host that Azure was not asked about may be in the pools of others.
            of_vm = pools[vm_id] if vm_id in pools else of_members.get(vm_id.lower(), [])
            groups.setdefault(host["name"], []).extend(of_vm)
            for pool in of_vm:
                in_pools.setdefault(host["name"], []).append(vm_id.lower() not in idle.get(pool, ()))
            of_pools = [
                vm_id
                for pool in of_vm
                for vm_id in members.get(pool, ())
                if vm_id.lower() not in ours and vm_id.lower() not in idle.get(pool, ())
            ]
            peers.setdefault(host["name"], []).extend(map(_short, of_pools))
        absent = sorted({name for of_pool in idle.values() for vm_id, name in of_pool.items() if vm_id not in ours})
        if absent:
            remarks.append("%s: not in this run, and not in service: it does not count in its pool" % few(absent))
    for host in hosts:
        if not groups.get(host["name"]):
            of_group = [name for name, group in (beyond or {}).items() if group == (host.get("group") or "")]
            peers.setdefault(host["name"], []).extend(of_group)
    served = _served_by(hosts)
    kept_out_for = _kept_out_for(hosts, answers, servers)
    alive = {str(host.get("vm_id") or "").lower() for host in hosts}
    reborn = [name for name, vm_ids in kept_out_for.items() if vm_ids - alive]
    remarks += [
        "%s: HAProxy still keeps out the VM that was in its place before: its server is restored" % name
        for name in reborn
    ]
    return Balancers(
        groups=groups,
        peers_outside_run={name: others for name, others in peers.items() if others},
        down=[
            host["name"]
            for host in hosts
            if host["name"] not in reborn
            and _is_down(host, [*(places.get(host["name"]) or {}).values(), *in_pools.get(host["name"], ())])
        ],
        alone={
            host["name"]: _why_alone(served[host["name"]])
            for host in hosts
            if host["name"] in served and not places.get(host["name"]) and not _leaves_by_another_way(host)
        },
        remarks=remarks,
        unknown=unknown,
        reborn=reborn,
        forgotten=[
            host["name"]
            for host in hosts
            if host["name"] not in reborn and str(host.get("vm_id")).lower() in kept_out_for.get(host["name"], ())
        ],
    )


def _find_unknown(hosts: Sequence[Mapping[str, Any]], servers: Mapping[str, Sequence["_Server"]]) -> dict[str, str]:
    """By host, why the balancers that have answered could not take it out: which of their servers it is, is unclear."""
    unknown = {}
    for host in hosts:
        asked = [one["name"] for one in (host.get("haproxy") or {}).get("balancers", ()) if one["name"] in servers]
        of_host = {balancer: _of_host(host["haproxy"], servers[balancer]) for balancer in asked}
        if asked and not any(of_host.values()):
            unknown[host["name"]] = (
                "HAProxy on %s has no server %s: set load_balancer_removal_haproxy_server to its name or address"
                % (" and ".join(asked), host["haproxy"]["server"])
            )
        for balancer, found in of_host.items():
            ambiguous = find_ambiguous(found, str(host["haproxy"]["server"]))
            if ambiguous:
                unknown[host["name"]] = "load_balancer_removal_haproxy_server: on %s, %s" % (balancer, ambiguous)
    return unknown


def _kept_out_for(
    hosts: Sequence[Mapping[str, Any]], answers: Sequence[Mapping[str, Any]], servers: Mapping[str, list["_Server"]]
) -> dict[str, set[str]]:
    """By each host that nothing noted on it explains, the ids of the VMs for which balancers keep its server out."""
    recorded: dict[tuple[str, str], set[str]] = {}
    for answer in answers:
        for server, vm_id in _read_records(answer):
            if vm_id:
                recorded.setdefault((str(answer["__balancer"]["name"]), server), set()).add(vm_id.lower())

    def of_host(haproxy: Mapping[str, Any]) -> set[str]:
        return {
            vm_id
            for one in haproxy.get("balancers", ())
            if any(found.is_set_out for found in _of_host(haproxy, servers.get(one["name"], [])))
            for vm_id in recorded.get((one["name"], str(haproxy["server"])), ())
        }

    return {
        str(host["name"]): of_host(host["haproxy"])
        for host in hosts
        if host.get("vm_id") and host.get("haproxy") and not _is_explained(host)
    }


def _read_records(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Of which servers a balancer has records, each with the unique id of the VM. What cannot be read is none."""
    try:
        return [(str(one["server"]), str(one["vm_id"])) for one in answer.get("records") or ()]
    except (AttributeError, LookupError, TypeError):
        return []


def find_places(
    hosts: Sequence[Mapping[str, Any]], answers: Sequence[Mapping[str, Any]]
) -> dict[str, dict[tuple[str, str], bool]]:
    """By each host that HAProxy knows, its backends on each balancer, and whether it is in service there.

    :param hosts, answers: as `read_balancers` has them
    """
    servers, _remarks = _read_servers(answers)
    places = {host["name"]: _places(host["haproxy"], servers) for host in hosts if host.get("haproxy")}
    return {name: of_host for name, of_host in places.items() if of_host}


def _read_servers(answers: Sequence[Mapping[str, Any]]) -> tuple[dict[str, list["_Server"]], list[str]]:
    """The servers of each balancer that has answered, and messages about the other balancers."""
    servers: dict[str, list[_Server]] = {}
    remarks = []
    for answer in answers:
        balancer = str(answer["__balancer"]["name"])
        try:
            servers[balancer] = [
                _Server(
                    str(one["backend"]),
                    str(one["server"]),
                    str(one.get("address") or ""),
                    int(one.get("port") or 0),
                    _is_up(one),
                    bool(one.get("is_backup")),
                    one["effective_state"] != "ready",
                )
                for one in answer.get("servers") or ()
            ]
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            answer = {"msg": "its answer cannot be read: %r" % error}
        if not servers.get(balancer):
            servers.pop(balancer, None)
            remarks.append("%s: HAProxy was not asked: %s" % (balancer, plain(answer.get("msg") or "no answer")[:300]))
    return servers, remarks


def of_host(host: Mapping[str, Any], balancers: Balancers) -> dict[str, Any]:
    """Return what is known of a host together with what balancers say of it."""
    name = host["name"]
    group = host.get("group") or ""
    groups = [group] if group else balancers.groups.get(name) or host.get("pools") or [""]
    unmanaged = host.get("unmanaged") or ""
    return dict(
        host,
        # One with an agent does its work, whatever that has nothing configured for.
        groups=[] if name in balancers.alone or (unmanaged and not host.get("idle_agent")) else list(groups),
        needs_restore=bool(host.get("needs_restore")) or name in balancers.reborn,
        abandoned=host.get("abandoned") or (_FORGOTTEN if name in balancers.forgotten else ""),
        peers_outside_run=list(balancers.peers_outside_run.get(name, ())),
        is_down=name in balancers.down,
        skip_reason=balancers.alone.get(name) or unmanaged,
        would_fail=[*(host.get("would_fail") or ()), *([balancers.unknown[name]] if name in balancers.unknown else [])],
    )


def _vm_ids(host: Mapping[str, Any]) -> list[Any]:
    return [(host.get("azure") or {}).get("vm_id"), host.get("resource_id")]


def _short(vm_id: str) -> str:
    """The name of a VM without its resource group; an instance of a scale set is named with its scale set."""
    parts = vm_id.split("/")
    is_instance = "virtualmachinescalesets" in vm_id.lower().split("/")
    return plain(" of ".join([parts[-1], *parts[-3:-2]]) if is_instance else parts[-1])


def _is_up(server: Mapping[str, Any]) -> bool:
    """Whether a server is given new connections: many drain one by its weight."""
    has_weight = server.get("weight") is None or int(server["weight"]) > 0
    return server["effective_state"] == "ready" and server["operational_state"] in _UP and has_weight


def _places(haproxy: Mapping[str, Any], servers: Mapping[str, Sequence["_Server"]]) -> dict[tuple[str, str], bool]:
    """The backends of a host on each balancer, and whether it is in service there."""
    return {
        (one.backend, balancer["name"]): one.is_up
        for balancer in haproxy["balancers"]
        for one in _of_host(haproxy, servers.get(balancer["name"], ()))
    }


def _of_host(haproxy: Mapping[str, Any], servers: Sequence["_Server"]) -> list["_Server"]:
    """Those of the servers that are the host: by name, or else by address."""
    pool = [one for one in servers if not haproxy["backends"] or one.backend in haproxy["backends"]]
    return called(pool, str(haproxy["server"]))


def _peers_outside_run(
    hosts: Sequence[Mapping[str, Any]],
    places: Mapping[str, Mapping[tuple[str, str], bool]],
    servers: Mapping[str, Sequence["_Server"]],
) -> dict[str, list[str]]:
    """By host, the servers of its backends that are in service and not hosts of the run.

    Those that are not in service may be gone for good, or slots that are not used yet; and a backup serves only where
    nobody else does.
    """
    named = {
        (balancer, one)
        for host in hosts
        if host["name"] in places
        for balancer in (each["name"] for each in host["haproxy"]["balancers"])
        for one in _of_host(host["haproxy"], servers.get(balancer, ()))
    }
    strangers: dict[tuple[str, str], list[str]] = {}
    for balancer, of_balancer in servers.items():
        for one in of_balancer:
            place = (one.backend, balancer)
            if one.is_up and not one.is_backup and (balancer, one) not in named:
                strangers.setdefault(place, []).append(one.server)
    return {
        name: list(dict.fromkeys(other for place in of_host for other in strangers.get(place, ())))
        for name, of_host in places.items()
    }


def _groups(places: Mapping[str, Mapping[tuple[str, str], bool]]) -> dict[str, list[str]]:
    """Name the groups of each host: balancers, or backends, with exactly the same servers are one group."""
    members: dict[tuple[str, str], list[str]] = {}
    for name, of_host in places.items():
        for place in of_host:
            members.setdefault(place, []).append(name)
    labels: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for place, names in members.items():
        labels.setdefault(tuple(names), []).append(place)
    # A backend of the same name with other servers, on another balancer, is another group.
    sets_of: dict[str, int] = {}
    for of_set in labels.values():
        for backend in {backend for backend, _balancer in of_set}:
            sets_of[backend] = sets_of.get(backend, 0) + 1
    found: dict[str, list[str]] = {name: [] for name, of_host in places.items() if of_host}
    for together, of_set in labels.items():
        said = sorted(
            {backend if sets_of[backend] == 1 else "%s on %s" % (backend, balancer) for backend, balancer in of_set}
        )
        for name in together:
            found[name].append("backend " + plain(few(said)))
    return found


def _is_down(host: Mapping[str, Any], is_served: Sequence[bool]) -> bool:
    """Whether a host is out of service, and nobody is known to have taken it out.

    :param is_served: by each of its backends and pools
    """
    return bool(is_served) and not any(is_served) and not _is_explained(host)


def _is_explained(host: Mapping[str, Any]) -> bool:
    return any(host.get(reason) for reason in ("needs_restore", "is_drained", "leased", "agent"))


def _served_by(hosts: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    served: dict[str, list[str]] = {}
    for host in hosts:
        for one in (host.get("haproxy") or {}).get("balancers", ()):
            if one["name"] != host["name"]:
                served.setdefault(one["name"], []).append(host["name"])
    return served


def _leaves_by_another_way(host: Mapping[str, Any]) -> bool:
    methods = host.get("methods") or ()
    return bool(host.get("group")) or any(
        method in _WAYS_OF_A_BALANCER or (method == "health_probe" and host.get("is_confirmed")) for method in methods
    )


def _why_alone(served: Sequence[str]) -> str:
    return (
        "it is a balancer for %s, and its own balancer is not configured: set "
        "load_balancer_removal_methods for it, to [command] for example, or leave it out of "
        "handle_events_hosts" % few(served)
    )


def few(names: Sequence[str]) -> str:
    """Name the first of them, and the number of the others."""
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (" and %d more" % more if more > 0 else "")
