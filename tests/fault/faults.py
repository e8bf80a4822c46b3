"""The faults that the service survives, each with a count of trials: 0 lost, 0 doubled, nothing to repair.

faults.py [--only NAME]... [--except NAME]... [--trials NAME=N]... [--minutes N] [--repeat] [--seed N]

All faults that need nothing but a database and a server share one cluster. --minutes is the most that all of them
take: no trial begins after a fault's share of what is left, --repeat begins again until then. Each fault says how far
it is, and ends with one line: its name, its trials, its runs. A signal ends it with the count that was reached.
"""
import argparse
import collections
import concurrent.futures
import glob
import http.client
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import ground
import halves
import interrupted
import orders
import points
import replicas
from ground import Ledger, support, want

FAULTS = {}
FAKETIME = "/usr/lib/*/faketime/libfaketimeMT.so.1"


BLOCK = 50  # trials on one database, and between two lines that say how far a fault is


class Skipped(Exception):
    """A tool or right that the fault needs and this machine lacks."""


class Ended(Exception):
    """A signal."""


class Trials:
    """The numbers of a fault's trials from 0 on, `most` of them or as many as there is time for, at least one."""

    def __init__(self, name, most, end):
        self.name, self.most, self.end = name, most, end
        self.done, self.begin, self.skipped = 0, time.monotonic(), Skipped

    def seconds(self):
        return time.monotonic() - self.begin

    def over(self):
        return self.done >= self.most or (self.done > 0 and time.monotonic() > self.end)

    def one(self):
        self.done += 1
        if self.done % BLOCK == 0 and self.done < self.most:
            print(f"  {self.name}: {self.done} of {self.most} trials, none failed ({self.seconds():.0f} s)", flush=True)

    def __iter__(self):
        while not self.over():
            yield self.done
            self.one()


def fault(trials):
    """A fault by its function's name; it is given the place, the number of trials and a seed."""
    def keep(function):
        FAULTS[function.__name__] = (function, trials)
        return function
    return keep


class Place:
    """The cluster that faults share, and what they started."""

    def __init__(self):
        self.cluster = support.Cluster()
        self.servers = []

    def server(self, database, *flags, **more):
        server = support.Server(database, "--public-read", *flags, **more)
        self.servers.append(server)
        return server

    def ledger(self, seed, servers=1, *flags):
        database = self.cluster.database(migrated=True)
        return Ledger(database, [self.server(database, *flags) for _ in range(servers)], seed)

    def end_servers(self):
        """In order, each with status 0: a fault must not leave a server that cannot stop."""
        while self.servers:
            server = self.servers.pop()
            want(server.close() == 0, "a server did not stop in order")

    def close(self):
        for server in self.servers:
            if server.process.poll() is None:
                server.kill()
        self.cluster.close(dumped=not ground.ended.is_set())  # after a signal the cluster ends without a dump, which takes long


def end(ledger):
    ledger.finish()
    return f"{ledger.last} runs, {ledger.repeated} sent again, {ledger.refused} times 503"


def in_blocks(place, trials, seed, trial):
    """Every BLOCK trials are judged, compared with the same runs undisturbed and left for an empty database: each check reads all that is
    stored, which would make a thousand trials cost a million."""
    sums = collections.Counter()

    def close(ledger):
        end(ledger)
        place.end_servers()
        sums.update(runs=ledger.last, repeated=ledger.repeated, refused=ledger.refused)

    ledger = None
    for n in trials:
        if n % BLOCK == 0:
            if ledger:
                close(ledger)
            ledger = place.ledger(seed + n)
        trial(ledger)
    close(ledger)
    return f"{sums['runs']} runs, {sums['repeated']} sent again, {sums['refused']} times 503"


@fault(20)
def kill_server(place, trials, seed):
    """kill -9 of the server at a random instant."""
    return in_blocks(place, trials, seed, lambda ledger: ledger.trial(
        ledger.servers[0].kill, recover=ledger.servers[0].start))


@fault(20)
def kill_database(place, trials, seed):
    """kill -9 of every process of PostgreSQL at a random instant."""
    return in_blocks(place, trials, seed, lambda ledger: ledger.trial(lambda: ground.kill_database(place.cluster)))


@fault(3)
def restart_database(place, trials, seed):
    """The database stopped as an administrator does it, and started again, during ingest."""
    ledger = place.ledger(seed)

    def restart():
        place.cluster.order("halt")
        want(ledger.servers[0].call("GET", "/healthz").status == 200, "the process must answer")
        place.cluster.order("resume")

    for _ in trials:
        ledger.trial(restart)
    return end(ledger)


@fault(10)
def terminate_backends(place, trials, seed):
    """pg_terminate_backend of every connection of the service at a random instant."""
    ledger = place.ledger(seed)
    for _ in trials:
        # Many, so that some are under way when psql has come so far.
        ledger.trial(lambda: ground.sql(ledger.database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                                        " WHERE datname = current_database() AND pid <> pg_backend_pid()"), count=100)
    return end(ledger)


@fault(3)
def connection_limit(place, trials, seed):
    """The role's connection limit is used up by others, then free again."""
    admin = place.cluster.database()
    role = f"limited{seed % 100000}_{len(place.servers)}_{time.monotonic_ns() % 10**9}"
    ground.sql(admin, f"CREATE ROLE {role} LOGIN; GRANT ALL ON SCHEMA public TO {role}")
    database = admin.replace("user=perfci", f"user={role}")
    ledger = Ledger(database, [place.server(database)], seed)

    def squeeze():
        ground.sql(admin, f"ALTER ROLE {role} CONNECTION LIMIT 0; SELECT pg_terminate_backend(pid) FROM"
                          f" pg_stat_activity WHERE usename = '{role}'")
        answer = support.until("a refusal", lambda: (lambda a: a if a.status == 503 else None)(
            ledger.servers[0].as_admin("POST", "/api/v1/runs", ledger.document(10**9))))
        want(answer.json["error"]["code"] == "unavailable" and "retry-after" in answer.headers, answer)

    for _ in trials:
        ledger.trial(squeeze, recover=lambda: ground.sql(admin, f"ALTER ROLE {role} CONNECTION LIMIT -1"))
    return end(ledger)


@fault(2)
def read_only(place, trials, seed):
    """The database takes no writes, as a standby that is not promoted yet: reads are answered, writes are 503, also of a server that
    starts meanwhile; when it takes them again all is taken."""
    ledger = place.ledger(seed)
    name = dict(pair.split("=", 1) for pair in ledger.database.split())["dbname"]
    late, met = [], []

    def turn(word):
        # by another database: this one would refuse to be changed
        for text in (f"ALTER DATABASE {name} SET default_transaction_read_only = {word}",
                     f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"):
            ground.sql(place.cluster.url, text)

    def squeeze():
        turn("on")
        answer = support.until("a refusal", lambda: (lambda a: a if a.status == 503 else None)(
            ledger.servers[0].as_admin("POST", "/api/v1/runs", ledger.document(10**9))))
        want(answer.json["error"]["code"] == "unavailable" and "retry-after" in answer.headers, answer)
        want(ledger.servers[0].call("GET", "/api/v1/projects").status == 200, "reading goes on")
        # Whether one of the trial's own runs comes while nothing can be written is a matter of time, so these are posted now.
        met.append(ledger.numbers(ground.CLIENTS))
        want(ledger.post_all(met[-1]) == met[-1], "a run was taken while the database was read-only")
        late.append(place.server(ledger.database, ready=False))

    def recover():
        turn("off")
        support.until("the late one is ready", lambda: late[-1].call("GET", "/readyz").status == 200)
        ledger.again(met[-1])

    for _ in trials:
        ledger.trial(squeeze, recover=recover)
    want(ledger.refused >= ground.CLIENTS * len(met), "a run was refused by another answer than 503")
    return end(ledger)


@fault(60)
def cut_connections(place, trials, seed):
    """The connection reset in every phase of an upload: request line, headers, body, before and in the answer."""
    ledger = place.ledger(seed)
    server = ledger.servers[0]
    for trial in trials:
        n, = ledger.numbers(1)
        body = json.dumps(ledger.document(n)).encode()
        head = (f"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ledger.token}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode()
        whole = head + body
        # Every 6th: all was sent and not a byte, or only the first, of the answer was read.
        at = {0: 0, 1: 5, 2: len(head) // 2, 3: len(head) + trial % len(body), 4: len(whole), 5: len(whole)}[trial % 6]
        for _ in range(1 + trial % 3):  # and some clients try, and fail, more than once
            ground.cut(server, whole[:at], trial % 6 == 5)
        ledger.again([n])
    ledger.counts()
    return end(ledger)


@fault(5)
def duplicated_reordered_stale(place, trials, seed):
    """The same runs in any order, some of them several times at once, from two servers: one state."""
    states = set()
    for trial in trials:
        ledger = place.ledger(seed + trial, 2)
        numbers = ledger.numbers(COMMITS_TWICE)
        twice = numbers + ledger.random.choices(numbers, k=len(numbers) // 2)
        ledger.random.shuffle(twice)
        want(not ledger.post_all(twice), "a run was refused")
        answer = ledger.servers[1].as_admin("POST", "/api/v1/runs", {**ledger.document(1), "suite": "another"})
        want(answer.status == 409, answer)
        ledger.finish()
        states.add(ground.state(ledger.database))
        place.end_servers()
    want(len(states) == 1, f"{len(states)} different states of one set of runs")
    return f"{trials.done} orders of {COMMITS_TWICE} runs, one state"


COMMITS_TWICE = 2 * ground.COMMITS
@fault(6)
def two_servers(place, trials, seed):
    """Two servers take the same runs at once, and one of them is killed: each run is there once."""
    ledger = place.ledger(seed, 2)
    for trial in trials:
        victim = ledger.servers[trial % 2]
        numbers = ledger.numbers(16)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            pending = [pool.submit(ledger.post, n, server) for n in numbers for server in ledger.servers]
            support.until("some answers", lambda p=pending: sum(one.done() for one in p) > 3)
            victim.kill()
            for one in pending:
                one.result(timeout=support.DEADLINE_S)
        victim.start()
        ledger.again([n for n in numbers if n not in ledger.answers])
        ledger.counts()
    return end(ledger)


@fault(4)
def migrate_at_once(place, trials, seed):
    """Servers that start together on an empty database, one of them killed: one schema, no gap, all ready."""
    for trial in trials:
        database = place.cluster.database()
        servers = [support.Server(database, "--public-read", "--workers", "0", ready=False) for _ in range(4)]
        place.servers += servers
        if trial % 2:
            servers[0].kill()
            servers[0].start(ready=False)
        for server in servers:
            support.until("ready", lambda s=server: s.call("GET", "/readyz").status == 200)
        versions = ground.sql(database, "SELECT string_agg(version::text, ',' ORDER BY version) FROM schema_migrations")
        last = servers[0].call("GET", "/version").json["schema_version"]
        want(versions == ",".join(str(v) for v in range(1, last + 1)), versions)
        ground.check(database)
        place.end_servers()
    return f"{trials.done} times 4 servers"


@fault(8)
def clock_steps(place, trials, seed):
    """The server's clock steps, forth by a day, back by two and so on, at random instants of ingest."""
    library = glob.glob(FAKETIME)
    want(library, "libfaketime is not installed: deploy/install.sh test")
    linked = subprocess.run(["ldd", support.BIN / "perfci-server"], capture_output=True, text=True, check=True).stdout
    if "libasan" in linked or "libtsan" in linked:
        raise Skipped("a sanitizer's runtime must be loaded before libfaketime")
    offset = tempfile.NamedTemporaryFile("w", prefix="pfc-clock-")

    def step(seconds):
        offset.seek(0)
        offset.truncate()
        offset.write(f"{seconds:+d}\n")
        offset.flush()

    step(0)
    with offset:
        # Only the clock of the day: the monotonic one does not step on real machines either.
        server = place.server(place.cluster.database(), environment={
            "LD_PRELOAD": library[0], "FAKETIME_TIMESTAMP_FILE": offset.name, "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1"})
        ledger = Ledger(server.database, [server], seed)
        for n in trials:
            ledger.trial(lambda: step(86400 * (n + 1) * (-1) ** n))
        ledger.finish()
        seen = [line["time"][:10] for line in map(json.loads, server.log().splitlines()) if line.get("time")]
        want(len(set(seen)) > 2, f"the server's clock never stepped: {sorted(set(seen))}")
        place.end_servers()
    return f"{ledger.last} runs, {ledger.repeated} sent again, {len(set(seen))} days seen"


@fault(2)
def disk_full(place, trials, seed):
    """No space left under the database: 503 and nothing else, and it goes on when there is space again."""
    folder = tempfile.mkdtemp(prefix="pfc-full-")
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m,mode=0777", "tmpfs", folder], capture_output=True,
                           text=True, check=False)
    if mount.returncode != 0:
        os.rmdir(folder)
        raise Skipped("no right to mount a small file system: " + mount.stderr.strip())
    try:
        return fill_disk(place, trials, seed, folder)
    finally:
        place.close()
        subprocess.run(["umount", folder], check=True)
        os.rmdir(folder)
        place.__init__()


def fill_disk(place, trials, seed, folder):
    space = os.path.join(folder, "space")
    os.mkdir(space)
    owner = os.stat(dict(p.split("=", 1) for p in place.cluster.url.split())["host"])
    os.chown(space, owner.st_uid, owner.st_gid)
    name = f"small{time.monotonic_ns()}"
    for text in (f"CREATE TABLESPACE {name} LOCATION '{space}'", f"CREATE DATABASE {name} TABLESPACE {name}"):
        ground.sql(place.cluster.url, text)
    database = place.cluster.url.replace("dbname=main", f"dbname={name}")
    ledger = Ledger(database, [place.server(database)], seed)
    ballast = os.path.join(folder, "ballast")

    def fill():
        with open(ballast, "wb") as file:
            file.write(bytes(shutil.disk_usage(folder).free))

    for _ in trials:
        refused = ledger.refused
        try:
            fill()
        except OSError:
            pass  # full to the last byte, which is what was wanted
        left = []
        while ledger.refused == refused:  # until the pages that were there are used up
            left += ledger.post_all(ledger.numbers(24))
        want(ledger.servers[0].call("GET", "/healthz").status == 200, "the process must answer")
        os.unlink(ballast)
        ledger.again(left)
        ledger.counts()
    result = end(ledger)
    place.end_servers()
    return result


FAULTS["permutations"] = (orders.permutations, 5)
FAULTS["runner_clocks"] = (orders.runner_clocks, 3)
FAULTS["cut_everywhere"] = (orders.cut_everywhere, 40)
FAULTS["log_fails"] = (points.log_fails, 4)
FAULTS["kill_at_points"] = (points.kill_at_points, 6)
FAULTS["errors_at_points"] = (points.errors_at_points, 4)
FAULTS["lost_answers"] = (points.lost_answers, 7)
FAULTS["replica"] = (replicas.replica, 1)
FAULTS["interrupted_wait"] = (interrupted.interrupted_wait, 6)
FAULTS["dead_names"] = (halves.dead_names, 1)
FAULTS["no_leader"] = (halves.no_leader, 1)
FAULTS["two_leaders"] = (halves.two_leaders, 1)
FAULTS["other_cluster"] = (halves.other_cluster, 1)
FAULTS["clocks_apart"] = (halves.clocks_apart, 2)
FAULTS["full_standby"] = (halves.full_standby, 1)
FAULTS["failover"] = (replicas.failover, 1)


def run(name, place, trials, seed):
    try:
        result = FAULTS[name][0](place, trials, seed)
        place.end_servers()
    except Skipped as why:
        print(f"fault {name}: SKIPPED, 0 trials: {why}", flush=True)
        return
    except Ended:
        print(f"fault {name}: ended by a signal after {trials.done} of {trials.most} trials, none of which failed", flush=True)
        raise
    except BaseException:
        print(f"fault {name}: FAILED after {trials.done} of {trials.most} trials (seed {seed})", flush=True)
        raise
    short = (f" of {trials.most}", " (the time was over)") if trials.done < trials.most else ("", "")
    print(f"fault {name}: {trials.done}{short[0]} trials{short[1]}, 0 lost, 0 doubled: {result} ({trials.seconds():.1f} s, seed {seed})", flush=True)


def end_by_signal(_number, _frame):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once: what was started is to be ended in peace
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ground.ended.set()
    raise Ended


def share(end, left):
    """Until when the first of `left` faults may take: what one of them leaves is for those after it."""
    now = time.monotonic()
    return end if end == math.inf else now + max(0, end - now) / left


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=sorted(FAULTS), default=[])
    parser.add_argument("--except", action="append", choices=sorted(FAULTS), default=[], dest="left_out")
    parser.add_argument("--trials", action="append", default=[], help="NAME=N or N for all")
    parser.add_argument("--minutes", type=float, default=math.inf, help="the most that all of it takes")
    parser.add_argument("--repeat", action="store_true", help="again and again, until the minutes are over")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.repeat and args.minutes == math.inf:
        parser.error("--repeat: expected --minutes")
    names = [name for name in args.only or FAULTS if name not in args.left_out]
    trials = {name: FAULTS[name][1] for name in names}
    for word in args.trials:
        name, _, count = word.rpartition("=")
        if (name and name not in trials) or not count.isdigit() or int(count) == 0:
            parser.error(f"--trials {word}: expected NAME=N or N, N above zero and NAME one of the chosen faults")
        for each in [name] if name else names:
            trials[each] = int(count)
    stop = time.monotonic() + 60 * args.minutes
    signal.signal(signal.SIGTERM, end_by_signal)
    signal.signal(signal.SIGINT, end_by_signal)
    rounds = 0
    place = Place()
    try:
        while rounds == 0 or (args.repeat and time.monotonic() < stop):
            for n, name in enumerate(names):
                run(name, place, Trials(name, trials[name], share(stop, len(names) - n)), args.seed + rounds)
            rounds += 1
    except Ended:
        return 1
    finally:
        place.close()
    print(f"{rounds} rounds of {', '.join(names)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
