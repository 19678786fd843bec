# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recipes that the lab runs: what its scenario has no time for, such as a power cut at each point."""

import subprocess
from pathlib import Path

import pytest

from .recipes import hook_of, play_of, role_of, run_as_the_agent_does


@pytest.mark.parametrize("recipe", ["nginx.md", "haproxy.md"])
def test_given_a_recipe_that_stops_a_unit_gently_when_read_then_the_step_outlasts_what_the_unit_gives_itself(
    recipe: str,
) -> None:
    (drop_in,) = [
        task["ansible.builtin.copy"]["content"]
        for task in play_of(recipe)["pre_tasks"]
        if "ansible.builtin.copy" in task
    ]
    (given,) = [int(line.partition("=")[2]) for line in drop_in.splitlines() if line.startswith("TimeoutStopSec=")]
    (policy,) = role_of(recipe)["handler_agent_policies"]
    assert given < policy["shutdown"][0]["timeout"]


def run_with(stubs: str, script: str, world: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a hook of which the lab has seen that it works, among functions of the shell that stand in for programs."""
    return run_as_the_agent_does(
        stubs + script, **{"PATH": "/usr/bin:/bin", "WORLD": str(world), "FOGHORN_SECONDS_LEFT": "60", **environment}
    )


REDIS = r"""
systemctl() { return "$(cat "$WORLD/stopped")"; }
cat() { [ "$1" = /etc/foghorn/redis-password ] || /bin/cat "$@"; }
sleep() { :; }
timeout() {
    host=127.0.0.1
    [ "$3" != -h ] || host=$4
    case "$*" in
        *"INFO replication") printf 'role:%s\r\nmaster_failover_state:no-failover\r\n' "$(cat "$WORLD/$host")" ;;
        *FAILOVER*)
            echo "failover $*" >>"$WORLD/calls"
            if [ "$(cat "$WORLD/caught_up")" = yes ]; then
                echo slave >"$WORLD/127.0.0.1"
                echo master >"$WORLD/peer"
            fi
            cat "$WORLD/answer"
            ;;
        *"CONFIG REWRITE") echo "rewrite $host" >>"$WORLD/calls"; echo OK ;;
        *) exit 99 ;;
    esac
}
"""


class Redis:
    """A primary and its replica, as far as the hooks ask them."""

    def __init__(self, world: Path) -> None:
        self._world = world
        self.set(**{"127.0.0.1": "master", "peer": "slave", "stopped": "0", "caught_up": "yes", "answer": "OK"})

    def set(self, **words: str) -> None:
        for name, word in words.items():
            (self._world / name).write_text(word + "\n")

    def drain(self) -> "subprocess.CompletedProcess[str]":
        hook = hook_of("redis.md", "drain").replace("{{ redis_peer }}", "peer")
        return run_with(REDIS, hook, self._world, FOGHORN_EVENT_TYPE="Reboot")

    @property
    def calls(self) -> list[str]:
        file = self._world / "calls"
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def redis(tmp_path: Path) -> Redis:
    return Redis(tmp_path)


def test_given_a_primary_when_it_has_handed_over_then_it_is_the_first_to_remember_it(redis: Redis) -> None:
    done = redis.drain()
    assert done.returncode == 0, done.stderr
    assert redis.calls[1:] == ["rewrite 127.0.0.1", "rewrite peer"]


@pytest.mark.parametrize(
    ("caught_up", "answer"), [("no", "OK"), ("no", "ERR FAILOVER requires connected replicas."), ("no", "")]
)
def test_given_a_replica_that_is_not_fit_when_it_is_to_take_over_then_the_hook_fails_and_nothing_is_remembered(
    redis: Redis, caught_up: str, answer: str
) -> None:
    redis.set(caught_up=caught_up, answer=answer)
    assert redis.drain().returncode != 0
    assert [call for call in redis.calls if call.startswith("rewrite")] == []


def test_given_a_replica_when_its_machine_is_drained_then_no_place_is_changed(redis: Redis) -> None:
    redis.set(**{"127.0.0.1": "slave", "peer": "master"})
    assert redis.drain().returncode == 0
    assert [call for call in redis.calls if call.startswith("failover")] == []


def test_given_a_replica_whose_primary_is_gone_when_its_machine_is_drained_then_the_hook_fails(redis: Redis) -> None:
    redis.set(**{"127.0.0.1": "slave", "peer": ""})
    assert redis.drain().returncode != 0


def test_given_redis_that_does_not_run_when_its_machine_is_drained_then_there_is_nothing_to_do(redis: Redis) -> None:
    redis.set(stopped="3")
    assert redis.drain().returncode == 0
    assert redis.calls == []


# Each call of a program may be the one at which the machine loses its power. Little is forked, for it is run often.
POSTGRESQL = r"""
known() { read -r word <"$WORLD/$1" || :; }
call() {
    known calls
    calls=$((word + 1))
    echo "$calls" >"$WORLD/calls"
    [ "$calls" != "$POWER_CUT_AT" ] || kill -9 $$
}
judge() {
    known local
    [ "$word" != primary ] || known peer
    [ "$word" != primary ] || echo two primaries >>"$WORLD/mischief"
}
begin() {
    known local
    if [ "$word" = stopped ]; then
        if [ -e "$WORLD/15/main/standby.signal" ]; then echo standby; else echo primary; fi >"$WORLD/local"
    fi
    judge
}
is() { known "$1"; if [ "$word" = "$2" ]; then echo "${3:-t}"; else echo "${4-f}"; fi; }
sleep() { :; }
sync() { :; }
systemctl() {
    call
    case "$*" in
        "--quiet is-active "*) known local; [ "$word" != stopped ] ;;
        "stop "*)
            known stops
            if [ "$word" = yes ]; then echo stopped; else echo stopping; fi >"$WORLD/local"
            [ "$word" = yes ] || kill -TERM $$ ;;
        "kill --kill-who=main --signal=QUIT "*) known local; [ "$word" = stopping ] && echo stopped >"$WORLD/local" ;;
        "start "* | "--no-block start "*) begin ;;
        *) exit 99 ;;
    esac
}
runuser() {
    call
    shift 3
    where=local
    [ "$1" != timeout ] || where=peer
    case "$where $*" in
        *pg_controldata*)
            echo 'Database cluster state:               shut down'
            echo 'Latest checkpoint location:           0/5000028'
            ;;
        *touch*) : >"$2" ;;
        *pg_is_in_recovery*) is $where standby ;;
        *CHECKPOINT) ;;
        *pg_ls_archive_statusdir*) known to_archive; echo "$word" ;;
        *"slot_type = 'logical'"*) known slots; echo "$word" ;;
        *"count(*) FROM pg_replication_slots"*" = 'debezium'") known slots_of_peer; echo "$word" ;;
        *system_identifier*) known identity_of_$where; echo "$word" ;;
        *pg_current_wal_lsn*) echo 0/5000000 ;;
        *"SELECT status FROM pg_stat_wal_receiver") is peer primary streaming '' ;;
        *"count(*) FROM pg_stat_wal_receiver") known receivers; echo "$word" ;;
        *greatest*) known behind; echo "$word" ;;
        *"SHOW synchronous_standby_names") known waits_for; echo "$word" ;;
        *"pg_last_wal_replay_lsn() > '0/5000028'") known has_everything; echo "$word" ;;
        peer*pg_promote*) echo primary >"$WORLD/peer"; judge ;;
        *) exit 99 ;;
    esac
}
"""


class PostgreSQL:
    """A primary, here, and its standby, as far as the hooks ask them."""

    def __init__(self, world: Path) -> None:
        self.world = world
        (world / "15" / "main").mkdir(parents=True)
        self.set(local="primary", peer="standby", identity_of_local="7", identity_of_peer="7", receivers="1")
        self.set(behind="0", waits_for="", has_everything="t", to_archive="4", stops="yes")
        self.set(slots="debezium", slots_of_peer="1")
        (library,) = [
            task["ansible.builtin.copy"]["content"]
            for task in play_of("postgresql.md")["tasks"]
            if "ansible.builtin.copy" in task
        ]
        (world / "library").write_text(
            library.replace("{{ postgresql_peer }}", "peer").replace("/var/lib/postgresql", str(world))
        )

    def set(self, **words: str) -> None:
        for name, word in words.items():
            (self.world / name).write_text(word + "\n")

    def run(self, stage: str, power_cut_at: int = 0) -> "subprocess.CompletedProcess[str]":
        self.set(calls="0")
        hook = hook_of("postgresql.md", stage).replace("/etc/foghorn/postgresql.sh", str(self.world / "library"))
        environment = {"POWER_CUT_AT": str(power_cut_at), "FOGHORN_EVENT_TYPE": "Reboot"}
        return run_with(POSTGRESQL, hook, self.world, **environment)

    def boot(self) -> None:
        """As systemd does when the machine has its power back."""
        is_standby = (self.world / "15" / "main" / "standby.signal").exists()
        self.set(local="standby" if is_standby else "primary")

    @property
    def roles(self) -> tuple[str, str]:
        return (self.world / "local").read_text().strip(), (self.world / "peer").read_text().strip()

    @property
    def calls(self) -> int:
        return int((self.world / "calls").read_text())

    @property
    def is_under_way(self) -> bool:
        return (self.world / "15" / "main.switchover").exists()

    @property
    def had_two_primaries(self) -> bool:
        return (self.world / "mischief").exists() or self.roles == ("primary", "primary")


def drained_undisturbed(directory: Path) -> int:
    """How many programs a whole drain calls."""
    pair = PostgreSQL(directory / "undisturbed")
    assert pair.run("drain").returncode == 0
    assert pair.calls > 15
    return pair.calls


@pytest.fixture
def postgresql(tmp_path: Path) -> PostgreSQL:
    return PostgreSQL(tmp_path)


def test_given_a_primary_when_it_is_drained_then_it_follows_the_other_one(postgresql: PostgreSQL) -> None:
    done = postgresql.run("drain")
    assert done.returncode == 0, done.stderr
    assert postgresql.roles == ("standby", "primary")
    assert not postgresql.is_under_way
    assert not postgresql.had_two_primaries


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"peer": "primary"}, "is no standby"),
        ({"identity_of_peer": "8"}, "is another database"),
        ({"receivers": "0"}, "does not stream"),
        ({"behind": "16777217"}, "16777217 bytes behind"),
        ({"waits_for": "db_0"}, "would wait for this machine: db_0"),
        ({"has_everything": "f"}, "has not got all of the log"),
        ({"to_archive": "5"}, "5 files of WAL wait"),
        ({"stops": "no"}, ""),
        ({"slots_of_peer": "0"}, "has no replication slot debezium"),
    ],
)
def test_given_a_standby_that_is_not_fit_when_the_primary_is_drained_then_the_hook_fails_and_it_runs_on_as_one(
    postgresql: PostgreSQL, words: dict[str, str], reason: str
) -> None:
    postgresql.set(**words)
    done = postgresql.run("drain")
    assert done.returncode != 0
    assert reason in done.stderr
    assert postgresql.roles[0] == "primary"
    assert not postgresql.is_under_way


def test_given_a_power_cut_at_any_point_when_the_machine_is_back_then_there_is_one_primary_and_never_two(
    tmp_path: Path,
) -> None:
    calls = drained_undisturbed(tmp_path)
    for cut in range(1, calls + 1):
        pair = PostgreSQL(tmp_path / str(cut))
        assert pair.run("drain", power_cut_at=cut).returncode != 0
        pair.boot()
        assert not pair.had_two_primaries, cut
        done = pair.run("restore")
        assert done.returncode == 0, (cut, done.stderr)
        assert sorted(pair.roles) == ["primary", "standby"], cut
        assert not pair.is_under_way
        assert not pair.had_two_primaries, cut


def test_given_a_drain_that_is_killed_at_any_point_when_it_is_run_again_then_it_comes_to_its_end(
    tmp_path: Path,
) -> None:
    calls = drained_undisturbed(tmp_path)
    # Where nothing has been stopped yet, it is as if it had not begun.
    for cut in range(11, calls + 1):
        pair = PostgreSQL(tmp_path / str(cut))
        assert pair.run("drain", power_cut_at=cut).returncode != 0
        done = pair.run("drain")
        assert done.returncode == 0, (cut, done.stderr)
        assert pair.roles == ("standby", "primary"), cut
        assert not pair.is_under_way
        assert not pair.had_two_primaries


def test_given_a_standby_when_its_machine_is_drained_then_no_place_is_changed(postgresql: PostgreSQL) -> None:
    (postgresql.world / "15" / "main" / "standby.signal").touch()
    postgresql.set(local="standby", peer="primary")
    assert postgresql.run("drain").returncode == 0
    assert postgresql.roles == ("standby", "primary")


def test_given_two_primaries_when_the_machine_is_restored_then_the_hook_says_so(postgresql: PostgreSQL) -> None:
    postgresql.set(peer="primary")
    done = postgresql.run("restore")
    assert done.returncode != 0
    assert "one of both has to be stopped" in done.stderr
