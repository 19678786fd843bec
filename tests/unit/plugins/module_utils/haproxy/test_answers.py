# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does an answer of HAProxy say?"""

from typing import Any, Callable, Dict, List

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.answers import (
    AnswerError,
    Sessions,
    read_old_workers,
    read_process,
    read_servers,
    read_sessions,
    shared_sockets,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.plan import ServerState
from ansible_collections.foghorn.azure_events.tests.unit.plugins.module_utils.haproxy.scripted_haproxy import (
    STAT_COLUMNS,
    STATE_COLUMNS,
)
from hypothesis import given
from hypothesis import strategies as st

READERS: List[Callable[[str], Any]] = [read_servers, read_sessions, read_process, read_old_workers]
STATE_ROW = {
    "be_id": "3",
    "be_name": "web",
    "srv_id": "1",
    "srv_name": "web_0",
    "srv_op_state": "2",
    "srv_admin_state": "12",
    "srv_uweight": "100",
}
STAT_ROW = {"pxname": "web", "svname": "web_0", "scur": "7", "qcur": "2", "type": "2"}

# Taken down from HAProxy 2.6.12.
PROCESSES = """\
#<PID>          <type>          <reloads>       <uptime>        <version>
32103           master          1 [failed: 0]   0d00h00m26s     2.6.12-1+deb12u3
# workers
537             worker          0               0d00h00m01s     2.6.12-1+deb12u3
# old workers
32110           worker          1               0d00h00m26s     2.6.12-1+deb12u3
32118           worker          2               0d00h00m29s     2.6.12-1+deb12u3
# programs

"""
SOCKETS = """\
# socket lvl processes
unix@/run/haproxy/admin.sock admin all
ipv4@127.0.0.1:9999 admin 2
sockpair@4 admin all

"""


def state_table(columns: List[str], row: Dict[str, str]) -> str:
    return "1\n# %s\n%s\n\n" % (" ".join(columns), " ".join(row.get(column, "-") for column in columns))


def stat_table(columns: List[str], row: Dict[str, str]) -> str:
    return "# %s\n%s\n\n" % (",".join(columns), ",".join(row.get(column, "") for column in columns))


@pytest.mark.parametrize("version", sorted(STATE_COLUMNS))
def test_given_the_columns_of_a_version_when_servers_are_read_then_their_state_is_found_by_name(version: str) -> None:
    text = state_table(STATE_COLUMNS[version].split(), STATE_ROW)

    (server,) = read_servers(text)

    assert server._replace(agent_state=0) == ServerState("web", "web_0", 3, 1, 2, 12, 100)


@pytest.mark.parametrize("version", sorted(STAT_COLUMNS))
def test_given_the_columns_of_a_version_when_sessions_are_read_then_they_are_found_by_name(version: str) -> None:
    assert read_sessions(stat_table(STAT_COLUMNS[version].split(","), STAT_ROW)) == [Sessions("web", "web_0", 7, 2)]


@given(st.permutations(sorted([*STATE_ROW, "srv_agent_state", "srv_new"])))
def test_given_columns_in_any_order_when_servers_are_read_then_nothing_changes(columns: List[str]) -> None:
    row = dict(STATE_ROW, srv_agent_state="6")

    assert read_servers(state_table(columns, row)) == [ServerState("web", "web_0", 3, 1, 2, 12, 100, 6)]


def test_given_a_backup_when_sessions_are_read_then_it_is_reported() -> None:
    row = dict(STAT_ROW, bck="1")

    assert read_sessions(stat_table([*STAT_ROW, "bck"], row)) == [Sessions("web", "web_0", 7, 2, is_backup=True)]


@pytest.mark.parametrize(
    ("rise", "fall", "health", "is_checked"),
    [
        ("2", "3", "2", False),
        ("2", "3", "4", True),
        ("2", "3", "0", True),
        # It stays at that after a success.
        ("2", "1", "2", True),
        ("", "", "", True),
    ],
)
def test_given_the_health_of_a_server_when_sessions_are_read_then_it_tells_whether_it_was_checked(
    rise: str, fall: str, health: str, is_checked: bool
) -> None:
    row = dict(STAT_ROW, check_rise=rise, check_fall=fall, check_health=health)

    assert read_sessions(stat_table(list(row), row))[0].is_checked is is_checked


@given(st.permutations(sorted([*STAT_ROW, "new", "-"])))
def test_given_columns_in_any_order_when_sessions_are_read_then_nothing_changes(columns: List[str]) -> None:
    assert read_sessions(stat_table(columns, STAT_ROW)) == [Sessions("web", "web_0", 7, 2)]


@given(st.sampled_from(sorted(STATE_ROW)))
def test_given_a_column_less_when_servers_are_read_then_it_is_named(missing: str) -> None:
    columns = [column for column in STATE_ROW if column != missing]

    with pytest.raises(AnswerError, match="^%s is missing in " % missing):
        read_servers(state_table(columns, STATE_ROW))


def test_given_no_servers_when_they_are_read_then_there_are_none() -> None:
    assert read_servers("1\n# %s\n\n" % STATE_COLUMNS["2.6"]) == []


def test_given_workers_of_a_master_when_servers_are_read_then_they_are_not_among_them() -> None:
    # Taken down from HAProxy 2.0.0.
    text = (
        "1\n"
        "# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight"
        " srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state"
        " bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord\n"
        "2 web 1 web_0 127.0.0.1 2 0 1 1 1 1 0 2 0 0 0 0 - 80 -\n"
        "3 MASTER 1 old-23840 - 2 0 0 0 1 1 0 0 0 0 0 0 - 0 -\n"
        "3 MASTER 2 cur-1 - 2 0 0 0 1 1 0 0 0 0 0 0 - 0 -\n\n"
    )

    assert [server.server for server in read_servers(text)] == ["web_0"]


def test_given_rows_of_frontends_and_backends_when_sessions_are_read_then_only_servers_are_counted() -> None:
    rows = ["f,FRONTEND,,9,0", "web,BACKEND,0,9,1", "web,web_0,0,4,2"]

    assert read_sessions("# pxname,svname,qcur,scur,type\n%s\n\n" % "\n".join(rows)) == [Sessions("web", "web_0", 4, 0)]


def test_given_what_a_check_said_with_a_stray_quote_when_sessions_are_read_then_the_next_server_is_not_lost() -> None:
    rows = ['web,web_0,0,4,2,"it said', "web,web_1,0,5,2,"]

    sessions = read_sessions("# pxname,svname,qcur,scur,type,last_chk\n%s\n\n" % "\n".join(rows))

    assert [seen.current for seen in sessions] == [4, 5]


def test_given_a_state_that_is_no_number_when_servers_are_read_then_it_is_named() -> None:
    with pytest.raises(AnswerError, match="srv_admin_state is 'drain', which is not a number"):
        read_servers(state_table(sorted(STATE_ROW), dict(STATE_ROW, srv_admin_state="drain")))


def test_given_a_count_that_is_no_number_when_sessions_are_read_then_it_is_named() -> None:
    with pytest.raises(AnswerError, match="scur is 'many', which is not a number"):
        read_sessions(stat_table(sorted(STAT_ROW), dict(STAT_ROW, scur="many")))


def test_given_the_processes_of_a_reload_when_they_are_read_then_only_those_replaced_are_named() -> None:
    assert read_old_workers(PROCESSES) == [32110, 32118]


def test_given_processes_without_a_reload_when_they_are_read_then_none_is_old() -> None:
    assert read_old_workers(PROCESSES.partition("# old workers")[0]) == []


def test_given_sockets_when_they_are_read_then_those_of_one_process_and_the_masters_own_are_left_out() -> None:
    assert shared_sockets(SOCKETS) == ["unix@/run/haproxy/admin.sock"]


def test_given_no_number_of_processes_when_the_process_is_read_then_it_is_one() -> None:
    assert read_process("Name: HAProxy\nVersion: 3.0.5\nPid: 12\nnode: a:b\n\n") == (12, 1, "3.0.5", 0)


def understand(read: Callable[[str], Any], text: str) -> str:
    """Return what is wrong with a text; empty if it was read."""
    try:
        read(text)
    except AnswerError as error:
        return str(error) or "an error without a message"
    return ""


@given(st.text(), st.sampled_from(READERS))
def test_given_anything_when_it_is_read_then_it_is_understood_or_the_error_says_why_not(
    text: str, read: Callable[[str], Any]
) -> None:
    assert understand(read, text) != "an error without a message"


@given(st.sampled_from([state_table(STATE_COLUMNS["2.6"].split(), STATE_ROW), PROCESSES]), st.data())
def test_given_a_table_that_is_cut_anywhere_when_it_is_read_then_it_is_understood_or_the_error_says_why_not(
    text: str, data: Any
) -> None:
    cut = text[: data.draw(st.integers(0, len(text)))]

    assert "an error without a message" not in [understand(read, cut) for read in READERS]


@pytest.mark.parametrize(
    ("host", "expected"),
    [("10.0.0.4", "10.0.0.4"), ("fd00::4", "fd00::4"), ("127.0.0.1", "127.0.0.1 port 80"), ("::1", "::1 port 80")],
)
def test_given_an_address_when_read_then_the_port_distinguishes_machines_only_if_all_share_the_address(
    host: str, expected: str
) -> None:
    row = dict(STATE_ROW, srv_addr=host, srv_port="80")

    (server,) = read_servers(state_table(STATE_COLUMNS["2.6"].split(), row))

    assert (server.address, server.machine) == (host, expected)


def test_given_a_server_whose_name_no_longer_resolves_when_read_then_it_is_not_at_the_address_that_it_had() -> None:
    row = dict(STATE_ROW, srv_addr="10.0.0.4", srv_admin_state="33")

    (server,) = read_servers(state_table(STATE_COLUMNS["2.6"].split(), row))

    assert server.address == ""
