"""Faults of a primary with a standby: the replica that reads go to is behind or gone, and the primary is lost."""
import contextlib
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import ground
from ground import Ledger, process, programs, sql, support, want

LAG_S = 5  # PFC_REPLICA_LAG_S of server/repo/connection/db_internal.h


def folder_of(url):
    return dict(pair.split("=", 1) for pair in url.split())["host"]


class Standby:
    """A streaming standby of a test cluster, in a folder of its own; it ends with this process."""

    def __init__(self, cluster, folder="/tmp", environment=None):
        self.dir = tempfile.mkdtemp(prefix="pfc-", dir=folder)
        self.environment = [f"{name}={value}" for name, value in (environment or {}).items()]
        self.url = self.of(cluster.url)
        self.user = []
        if os.geteuid() == 0:
            owner = pwd.getpwuid(os.stat(folder_of(cluster.url)).st_uid)
            os.chown(self.dir, owner.pw_uid, owner.pw_gid)
            self.user = ["setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups", "--pdeathsig", "QUIT"]
        self.run("pg_basebackup", "-h", folder_of(cluster.url), "-U", "perfci", "-D", self.dir + "/data", "-R", "-c", "fast",
                 "--no-sync")
        self.start()

    def of(self, database):
        """The same database of the primary's here."""
        return database.replace(f"host={folder_of(database)}", f"host={self.dir}")

    def run(self, program, *args):
        done = subprocess.run([*self.user, os.path.join(programs(), program), *args], capture_output=True, text=True, cwd="/",
                              stdin=subprocess.DEVNULL, timeout=support.DEADLINE_S, check=False)
        want(done.returncode == 0, f"{program}: {done.stderr}")

    def start(self):
        with open(os.path.join(self.dir, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [*self.user, "env", *self.environment, os.path.join(programs(), "postgres"), "-D", self.dir + "/data", "-k", self.dir,
                 "-c", "listen_addresses=", "-c", "fsync=off"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")
        ready = [os.path.join(programs(), "pg_isready"), "-q", "-h", self.dir]
        support.until("the standby answers", lambda: subprocess.run(ready, check=False).returncode == 0)

    def halt(self):
        self.process.terminate() if self.user == [] else os.kill(self.process.pid, 3)
        self.process.wait(timeout=support.DEADLINE_S)

    def promote(self):
        sql(self.url, "ALTER SYSTEM RESET synchronous_standby_names")  # it would wait for one of its own
        sql(self.url, "SELECT pg_promote()")

    def ended(self):
        """It gave up, as one without space for its log does; False when it answers again."""
        ready = [os.path.join(programs(), "pg_isready"), "-q", "-h", self.dir]
        support.until("it answers, or has ended", lambda: self.process.poll() is not None or subprocess.run(ready, check=False).returncode == 0)
        return self.process.poll() is not None

    def close(self):
        if self.process.poll() is None:
            self.halt()
        shutil.rmtree(self.dir, ignore_errors=True)


def pair(place, **more):
    """The place's cluster and a standby that has replayed all records so far."""
    standby = Standby(place.cluster, **more)
    support.until("the standby streams", lambda: sql(place.cluster.url, "SELECT count(*) FROM pg_stat_replication"
                                                     " WHERE state = 'streaming'") == "1")
    return standby


def lose_midway(database, standby, ask):
    """The replica dies while it works on a question: what the asker gets in the end."""
    lock = subprocess.Popen([os.path.join(programs(), "psql"), "-XqAt", "-v", "ON_ERROR_STOP=1", database],
                            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        # Taken on the replica as well, where it blocks readers. Nothing else sends the record of a lock on its way: no
        # commit follows it, and the rest of a page alone is not written out.
        lock.stdin.write("BEGIN; LOCK TABLE measurements IN ACCESS EXCLUSIVE MODE; SELECT pg_switch_wal();\n")
        lock.stdin.flush()
        support.until("the replica has the lock", lambda: sql(
            standby.of(database), "SELECT count(*) > 0 FROM pg_locks WHERE relation = 'measurements'::regclass AND granted"
                         " AND mode = 'AccessExclusiveLock'") == "t")
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(ask)
            support.until("the replica works on it", lambda: sql(
                standby.url, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                             " AND application_name = 'perfci'") == "1")
            standby.halt()
            lock.stdin.close()  # the primary answers
            lock.wait(timeout=support.DEADLINE_S)
            return answer.result(timeout=support.DEADLINE_S)
    finally:
        if lock.poll() is None:
            lock.kill()
        lock.wait()


@contextlib.contextmanager
def deaf(standby):
    """The standby receives nothing from its primary, and has replayed all that it received."""
    primary = sql(standby.url, "SHOW primary_conninfo").replace("'", "''")
    for conninfo, heard in (("", "0"), (primary, "1")):
        sql(standby.url, f"ALTER SYSTEM SET primary_conninfo = '{conninfo}'")
        sql(standby.url, "SELECT pg_reload_conf()")
        support.until("the standby is connected, or not", lambda n=heard: sql(
            standby.url, "SELECT count(pid) FROM pg_stat_wal_receiver") == n)
        if not conninfo:
            yield


def read_what_was_just_stored(server, number):
    """A project, its commits and its runs that the replica knows nothing of are compared, drawn and counted all the same."""
    name = f"fresh{number}"
    server.as_admin("POST", "/api/v1/projects", {"name": name})
    server.as_admin("POST", f"/api/v1/projects/{name}/commits", support.commits(1, 2))
    runs = [support.run_document(0, n, project=name, id=os.urandom(16).hex()) for n in (1, 2)]
    for run in runs:
        want(server.as_admin("POST", "/api/v1/runs", run).status == 201, "stored")
    for a, b in ((runs[0]["id"], runs[1]["id"]), (support.commit_id(1), support.commit_id(2))):
        answer = server.call("GET", f"/api/v1/compare?project={name}&a={a}&b={b}")
        want(answer.status == 200 and len(answer.json["rows"]) == 1, answer)
    fresh = server.call("GET", f"/api/v1/projects/{name}/series").json["series"][0]["id"]
    for query, count in (("", 2), (f"?from={support.commit_id(2)}", 1)):
        answer = server.call("GET", f"/api/v1/series/{fresh}{query}")
        want(answer.status == 200 and len(answer.json["columns"]["commit"]) == count, answer)
    want(server.call("GET", "/api/v1/projects").json["projects"][-1]["runs"] == 2, "counted by the primary")


def step_without_a_judge(server, number):
    """A project with a step in its only series, and no alert as long as nothing there is judged; its name."""
    name = f"stepped{number}"
    server.as_admin("POST", "/api/v1/projects", {"name": name})
    server.as_admin("POST", f"/api/v1/projects/{name}/commits", support.commits(1, 24))
    rules = [{"metric": "*", "judged": False}]
    want(server.as_admin("POST", f"/api/v1/projects/{name}/detector", {"rules": rules}).status == 200, "told")
    for n in range(1, 25):
        run = support.run_document(n, n, 100.0 if n < 13 else 130.0, project=name, id=os.urandom(16).hex())
        want(server.as_admin("POST", "/api/v1/runs", run).status == 201, "stored")
    return name


def rank_what_was_just_found(server, name):
    """An alert that the replica knows nothing of, though it has all of its series, is explained all the same."""
    want(server.as_admin("POST", f"/api/v1/projects/{name}/detector", {"rules": []}).status == 200, "told")
    alert = support.until("the alert", lambda: server.call("GET", f"/api/v1/alerts?project={name}").json["alerts"])[0]
    answer = server.call("GET", f"/api/v1/alerts/{alert['id']}/suspects")
    want(answer.status == 200 and answer.json["series"] == 1, answer)


def replica(place, trials, seed):
    """The replica is paused, goes on, loses its primary, connects again, dies in the middle of an answer and comes back: reads are answered all the while, never older
    than the limit once it was noticed."""
    database, numbers = place.cluster.database(), itertools.count()
    standby = pair(place)
    try:
        server = place.server(database, environment={"PERFCI_DATABASE_READ_URL": standby.of(database)})
        ledger = Ledger(database, [server], seed)
        ledger.again(ledger.numbers(8))
        ledger.judged()
        series = server.call("GET", "/api/v1/projects/demo/series").json["series"][0]["id"]

        def points():
            answer = server.call("GET", f"/api/v1/series/{series}")
            want(answer.status == 200, answer)
            return len(answer.json["columns"]["commit"])

        def in_use():
            has_all = points() == ledger.last
            return has_all and server.log().count("replica not used") == server.log().count("replica in use again")

        def asked_for_what_it_has():
            """While it is behind it still answers reads, and the primary answers the rest. False: that took so long that the
            replica was too far behind in the end, and nothing can be said."""
            number = next(numbers)
            stepped = step_without_a_judge(server, number)
            begin = time.monotonic()
            ledger.again(ledger.numbers(1))
            support.until("the replica is in use", in_use)
            sql(standby.url, "SELECT pg_wal_replay_pause()")
            ledger.again(ledger.numbers(1))
            before = points()
            rank_what_was_just_found(server, stepped)
            read_what_was_just_stored(server, number)
            if before == points() == ledger.last - 1:
                return True
            took = time.monotonic() - begin
            want(took > LAG_S, f"the replica was not asked, or was skipped for being behind, after {took:.1f} s")
            sql(standby.url, "SELECT pg_wal_replay_resume()")
            return False

        for trial in range(trials.most):
            support.until("the replica has all", lambda: points() == ledger.last)
            support.until("it is quick enough to tell", asked_for_what_it_has)
            support.until("the primary is asked once it is behind", lambda: points() == ledger.last)
            sql(standby.url, "SELECT pg_wal_replay_resume()")
            support.until("the replica is in use", in_use)
            with deaf(standby):
                ledger.again(ledger.numbers(1))
                support.until("the primary is asked once the replica has lost its primary", lambda: points() == ledger.last)
            support.until("the replica is in use", in_use)
            want(lose_midway(database, standby, points) == ledger.last, "asked again, the primary has all")
            ledger.again(ledger.numbers(1))
            want(points() == ledger.last, "the primary has all")
            if trial + 1 < trials.most:
                standby.start()
                support.until("the replica is in use", in_use)
            trials.one()
        ledger.finish()
        place.end_servers()
        return f"{ledger.last} runs, every read answered"
    finally:
        standby.close()


def failover(place, trials, seed):
    """The primary is lost for good under load, its synchronous standby is promoted: nothing acknowledged is lost."""
    database = place.cluster.database()
    standby = pair(place)
    try:
        sql(place.cluster.url, "ALTER SYSTEM SET synchronous_standby_names = '*'")
        sql(place.cluster.url, "SELECT pg_reload_conf()")
        support.until("it is synchronous", lambda: sql(place.cluster.url, "SELECT count(*) FROM pg_stat_replication"
                                                       " WHERE sync_state = 'sync'") == "1")
        both = (database.replace(f"host={folder_of(database)}", f"host={folder_of(database)},{standby.dir}")
                + " target_session_attrs=read-write")
        ledger = Ledger(both, [place.server(both), place.server(both, "--workers", "0")], seed)
        ledger.trial(None)
        begin = []

        def lose():
            place.cluster.order("crash")
            standby.promote()
            begin.append(time.monotonic())

        ledger.trial(lose, count=60)
        back = time.monotonic() - begin[0]
        ledger.trial(None)
        ledger.finish()
        place.end_servers()
        trials.one()  # a cluster has one primary to lose
        return f"{ledger.last} runs, {ledger.repeated} sent again, all taken {back:.1f} s after the promotion"
    finally:
        standby.close()
        place.cluster.close()
        place.cluster = support.Cluster()
