"""Faults of three nodes under Patroni, etcd and HAProxy, from the files of deploy/ha: 0 lost, 0 doubled, all judged once.

high_availability.py [--kills N] [--switchovers N] [--outages N] [--seconds S] [--controls N] [--freezes N] [--minutes N]
                     [--seed N] [--dump FILE] [--strict]

Three servers store runs all the while: one reaches the leader by libpq's list of hosts, one by HAProxy, one by PgBouncer
(transaction pooling) and HAProxy. The faults:
kill -9 of the leader with its agent, a switchover, all of etcd stopped for S seconds, the synchronous standby frozen; a
control is S seconds without a fault, which tell how long this machine alone keeps a write waiting. Each reports the longest
time without an acknowledged write of either server. --minutes is the most that all of it takes. --dump: where pg_dump
writes the database when the conditions do not hold. With --strict it ends with 1 when a time is above LIMITS_S.
"""
import argparse
import bisect
import math
import os
import signal
import subprocess
import sys
import threading
import time

import ground
import nodes as machines
import page
from ground import Ledger, sql, support, want

PAUSE_S = 0.2  # of each client between two runs
# The longest times without an acknowledged write. Without etcd writing goes on: the limit is the clients' pauses on a busy machine.
LIMITS_S = {"kill": 35, "switchover": 5, "outage": 2}


class Load(Ledger):
    """Clients that store one run after the other, each until it is acknowledged."""

    def __init__(self, database, servers, seed):
        super().__init__(database, servers, seed)
        self.lock, self.over, self.threads, self.failure = threading.Lock(), threading.Event(), [], None
        self.times = [[] for _ in servers]  # guarded by lock: of each server's acknowledgements, ascending

    def client(self, way):
        try:
            while not self.over.wait(PAUSE_S):
                with self.lock:
                    n, = self.numbers(1)
                while not self.post(n, self.servers[way]):
                    self.over.wait(PAUSE_S / 4)
                with self.lock:
                    self.times[way].append(time.monotonic())
        except BaseException as error:  # pylint: disable=broad-except
            self.failure = error

    def begin(self):
        for way in range(len(self.servers)):
            for _ in range(ground.CLIENTS // 2):
                self.threads.append(threading.Thread(target=self.client, args=(way,), daemon=True))
                self.threads[-1].start()

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join(timeout=support.DEADLINE_S)
            want(not thread.is_alive(), "a client did not end")
        self.sound()

    def sound(self):
        if self.failure:
            raise self.failure

    def acknowledged_since(self, instant):
        """All servers acknowledge again."""
        self.sound()
        with self.lock:
            return all(times and times[-1] > instant for times in self.times)

    def longest(self, begin):
        """Of each server: the longest time without an acknowledgement that ended after `begin`."""
        with self.lock:
            slices = [times[max(0, bisect.bisect(times, begin) - 1):] for times in self.times]
        return [max(b - a for a, b in zip(times, times[1:])) for times in slices]


def beyond(worst):
    """A sentence for each time that is above its limit."""
    return [f"{name} by {way}: expected at most {LIMITS_S[name]} s without an acknowledged write, got {s:.1f} s"
            for name, longest in worst.items() if name in LIMITS_S
            for s, way in zip(longest, machines.WAYS) if s > LIMITS_S[name]]


class Fleet:
    """The nodes and servers under load, and the faults."""

    def __init__(self, seed):
        self.nodes = machines.Nodes(support.SOURCE, ground.programs())
        self.servers, self.worst, self.seed, self.target = [], {}, seed, ""
        self.blocks = page.blocks((support.SOURCE / "docs/how-to/high-availability.md").read_text(encoding="utf-8"))
        self.switch = next(text for _, text in self.blocks if "switchover" in text)

    def superuser(self, text, node=None):
        node = node or self.nodes.leader()
        return sql(f"host={node.address} dbname=postgres user=postgres passfile={self.nodes.passfile} connect_timeout=5", text)

    def page(self, count):
        """The next `count` blocks of the page."""
        for where, text in self.blocks[:count]:
            first, *others = self.nodes.nodes
            on = {"db1": [first], "every node": [first, *others], "other nodes": others}
            for node in on.get(where) or [self.healthy()]:
                yield page.run(text, node, self.target)
        del self.blocks[:count]

    def one(self):
        """A database as perfci begins with, and a server of it."""
        db1 = self.nodes.nodes[0]
        db1.make_database()
        db1.start_database()
        local = f"host={db1.folder}/run user=postgres dbname=postgres"
        support.until("the database answers", lambda: subprocess.run([ground.programs() + "/pg_isready", "-q", "-d", local],
                                                                     check=False).returncode == 0)
        sql(local, f"CREATE ROLE perfci LOGIN PASSWORD '{self.nodes.password}'")
        sql(local, "CREATE DATABASE perfci OWNER perfci")
        return support.Server(self.nodes.url("one"), "--public-read", environment={"PERFCI_DATABASE_UNSAFE": "0"})

    def start(self):
        alone = self.one()
        self.servers.append(alone)
        self.load = Load(self.nodes.url(machines.WAYS[0]), [alone], self.seed)
        want(not self.load.post_all(self.load.numbers(ground.COMMITS)), "stored by the one")
        self.servers.remove(alone)
        want(alone.close() == 0, "the server did not stop in order")
        list(self.page(1))  # etcd
        support.until("etcd answers", lambda: self.nodes.run(
            "etcdctl", "--endpoints=" + self.nodes.nodes[0].address + ":2379", "endpoint", "health", good=False).count("is healthy"))
        list(self.page(2))
        self.nodes.share_passwords()
        list(self.page(3))
        support.until("db1 leads", lambda: self.nodes.leader())
        list(self.page(1))
        self.healthy()
        list(self.page(2))
        self.nodes.start_proxy()
        self.nodes.start_pooler()
        self.load.servers = self.servers
        self.load.times = [[] for _ in machines.WAYS]
        for way in machines.WAYS:
            self.servers.append(support.Server(self.nodes.url(way), "--public-read", environment=self.nodes.environment(way)))
        self.load.begin()
        self.flows()

    def entered(self, node):
        """In etcd, as the standby that may lead."""
        leader = self.nodes.leader()
        members = leader.status("/cluster")[1].get("members", []) if leader else []
        return any(member["name"] == node.name and member["role"] == "sync_standby" for member in members)

    def healthy(self):
        """A leader with two standbys, one of them synchronous, and entered in etcd as such: only then another may lead."""
        def state():
            if hasattr(self, "load"):
                self.load.sound()
            leader = self.nodes.leader()
            roles = sorted(member["role"] for member in leader.status("/cluster")[1].get("members", [])) if leader else []
            try:
                return roles == ["leader", "replica", "sync_standby"] and self.superuser(
                    "SELECT string_agg(sync_state, ' ' ORDER BY sync_state) FROM pg_stat_replication WHERE state = 'streaming'",
                    leader) == "async sync" and leader
            except AssertionError:  # it was the leader a moment ago
                return None
        return support.until("a leader, a synchronous and another standby", state)

    def flows(self):
        begin = time.monotonic()
        support.until("all servers acknowledge", lambda: self.load.acknowledged_since(begin))

    def kill(self):
        old = self.healthy()
        old.kill()
        support.until("another leader", lambda: self.nodes.leader() not in (None, old))
        self.flows()
        old.start()

    def switchover(self):
        old = self.healthy()
        page.run(self.switch, old)
        support.until("another leader", lambda: self.nodes.leader() not in (None, old))

    def outage(self, seconds):
        old = self.healthy()
        self.nodes.stop_etcd()
        begin = time.monotonic()
        support.until("the outage is over", lambda: (self.load.sound(), time.monotonic() > begin + seconds)[1])
        want(self.nodes.leader() is old, "the leader lost its role without etcd")
        self.nodes.start_etcd()

    def control(self, seconds):
        self.healthy()
        begin = time.monotonic()
        support.until("the control is over", lambda: (self.load.sound(), time.monotonic() > begin + seconds)[1])

    def freeze(self):
        leader = self.healthy()
        name = self.superuser("SELECT application_name FROM pg_stat_replication WHERE sync_state = 'sync'", leader)
        standby = next(node for node in self.nodes.nodes if node.name == name)
        standby.freeze()
        try:
            self.flows()
        finally:
            standby.thaw()

    def fault(self, name, number, of, *args):
        begin = time.monotonic()
        getattr(self, name)(*args)
        self.flows()
        self.healthy()
        longest = self.load.longest(begin)
        self.worst[name] = [max(pair) for pair in zip(self.worst.get(name, longest), longest)]
        print(f"  {name} {number} of {of}: " + ", ".join(f"{s:.1f} s by {way}" for s, way in zip(longest, machines.WAYS))
              + " without an acknowledged write", flush=True)

    def finish(self, dump):
        self.load.end()
        try:
            self.load.finish()
        except AssertionError:
            if dump:
                with open(dump, "w", encoding="utf-8") as file:
                    subprocess.run([ground.programs() + "/pg_dump", "-d", self.load.database], stdout=file, check=False)
            raise
        self.back_in_time()
        for server in self.servers:
            want(server.close() == 0, "a server did not stop in order")
        self.servers.clear()
        self.back_to_one()

    def count_so_far(self):
        """A fault did not heal: the results that were stored until then are counted nevertheless."""
        if not hasattr(self, "load") or not self.load.threads or not self.nodes.leader():
            return
        try:
            self.load.end()
            self.load.counts()
            print(f"until then: {self.load.last} runs, 0 lost, 0 doubled", flush=True)
        except AssertionError as error:
            print(f"until then: {error}", flush=True)

    def back_in_time(self):
        """A base backup, and the state of the moment before a run."""
        del self.blocks[0]  # the switchover is one of the faults
        print("".join(self.page(1)), flush=True)
        count = self.superuser_of("SELECT count(*) FROM runs")
        self.target = self.superuser_of("SELECT clock_timestamp()")
        self.load.again(self.load.numbers(1))
        log = self.superuser_of("SELECT pg_walfile_name(pg_switch_wal())")
        support.until("the log is archived", lambda: self.superuser_of(
            f"SELECT substr(last_archived_wal, 9) >= substr('{log}', 9) FROM pg_stat_archiver") == "t")
        shown = "".join(self.page(1))
        want(f"{count} |" in shown, f"expected {count} runs, got: {shown}")

    def superuser_of(self, text):
        node = self.healthy()
        return sql(f"host={node.address} dbname=perfci user=postgres passfile={self.nodes.passfile}", text)

    def back_to_one(self):
        db1, *others = self.nodes.nodes
        stop, back = self.blocks
        leader = self.healthy()  # perhaps db1
        for node in sorted(others, key=lambda node: node is leader):
            support.until("db1 may take over", lambda n=node: n is not leader or self.entered(db1))
            page.run(stop[1], node)
        support.until("db1 leads", db1.leads)
        page.run(back[1], db1)
        server = support.Server(self.nodes.url("one"), "--public-read", environment={"PERFCI_DATABASE_UNSAFE": "0"})
        self.servers.append(server)
        self.load.servers, self.load.database = [server], self.nodes.url("one")
        self.load.again(self.load.numbers(1))
        self.load.counts()
        want(server.close() == 0, "the server did not stop in order")

    def close(self):
        if hasattr(self, "load"):
            self.load.over.set()
        for server in self.servers:
            if server.process.poll() is None:
                server.kill()
        self.nodes.close()


def cpu():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{os.cpu_count()} x {names[0] if names else 'unknown processor'}"


def stop(_number, _frame):
    ground.ended.set()
    raise SystemExit("ended by a signal")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, count in (("kills", 2), ("switchovers", 1), ("outages", 1), ("controls", 0), ("freezes", 1)):
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--seconds", type=float, default=25, help="that etcd is stopped; longer than Patroni's ttl")
    parser.add_argument("--minutes", type=float, default=math.inf, help="no fault begins after them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dump", help="the database goes there when the conditions do not hold")
    parser.add_argument("--strict", action="store_true", help="end with 1 beyond the limits")
    args = parser.parse_args()
    lacking = machines.missing()
    if lacking:
        print(f"high_availability: SKIPPED: {lacking}")
        return 77
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    end = time.monotonic() + 60 * args.minutes
    rounds = [("kill", args.kills), ("switchover", args.switchovers), ("outage", args.outages, args.seconds),
              ("control", args.controls, args.seconds), ("freeze", args.freezes)]
    fleet, done = Fleet(args.seed), {}
    try:
        fleet.start()
        for number in range(max(count for _, count, *_ in rounds)):
            for name, count, *more in rounds:
                if number < count and (not done or time.monotonic() < end):
                    fleet.fault(name, number + 1, count, *more)
                    done[name] = number + 1
        fleet.finish(args.dump)
    except BaseException:
        print(fleet.nodes.logs(), flush=True)
        fleet.count_so_far()
        raise
    finally:
        fleet.close()
    for name, count, *_ in rounds:
        if name in done:
            print(f"{name}: {done[name]} of {count}, longest time without an acknowledged write "
                  + ", ".join(f"{s:.1f} s by {way}" for s, way in zip(fleet.worst[name], machines.WAYS)))
    print(f"high availability: {fleet.load.last} runs, 0 lost, 0 doubled, all judged once ({cpu()})")
    missed = beyond(fleet.worst)
    for sentence in missed:
        print(f"high_availability: {sentence}")
    return 1 if missed and args.strict else 0


if __name__ == "__main__":
    sys.exit(main())
