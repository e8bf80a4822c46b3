"""Half clusters: names that lead nowhere, no leader or two of them, clocks that differ, standbys without space.

Each must end in a sentence that names the fault and what to do, never in a lost or doubled result.
"""
import contextlib
import glob
import json
import os
import shutil
import subprocess
import tempfile

from ground import Ledger, sql, support, want
from replicas import folder_of, pair

DAY_S = 86400
FAKETIME = "/usr/lib/*/faketime/libfaketimeMT.so.1"
SMALL = 512  # MiB of the standby's disk


def sentence(server, words, token=None, document=None):
    """The server answers 503 with these words, to a post when there is a document, else at /readyz."""
    def answer():
        got = server.call("POST", "/api/v1/runs", document, token=token) if document else server.call("GET", "/readyz")
        return got.status == 503 and all(word in got.json["error"]["message"] for word in words) and got
    return support.until(f"503 with {words}", answer)


def events(server, name):
    """The lines of the log with this event."""
    return [line for line in map(json.loads, filter(lambda text: text.startswith("{"), server.log().splitlines()))
            if name in (line.get("event"), line.get("msg"))]


def drop_connections(url):
    sql(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'perfci'")


@contextlib.contextmanager
def address(*folders):
    """A folder of sockets that leads to one of the nodes, as a proxy does: its path, and a function that turns it."""
    folder = tempfile.mkdtemp(prefix="pfc-to-", dir="/tmp")
    os.chmod(folder, 0o755)
    path = os.path.join(folder, "leader")

    def turn(to):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        os.symlink(to, path)

    turn(folders[0])
    try:
        yield path, turn
    finally:
        shutil.rmtree(folder)


def dead_names(place, trials, seed):
    """A host list with names that no name service knows: the others are used, and the log names the dead one; when all are
    dead, the answer names each."""
    database = place.cluster.database(migrated=True)
    real = folder_of(database)
    some, none = (database.replace(f"host={real}", f"host={hosts}") for hosts in (f"db8.invalid,{real}", "db8.invalid,db9.invalid"))
    ledger = Ledger(some, [place.server(some)], seed)
    for _ in trials:
        ledger.trial(None)
    named = events(ledger.servers[0], "database_host_unknown")
    want([line["host"] for line in named] == ["db8.invalid"], ledger.servers[0].log()[:2000])
    server = place.server(none, ready=False)
    support.until("both are named", lambda: all(f'"db{n}.invalid' in server.log().replace("\\", "") for n in (8, 9)))
    ledger.finish()
    return f"{ledger.last} runs"


def no_leader(place, trials, seed):
    """All nodes are up and none takes writes, as without a quorum; then the address for writing leads to a standby. Reading
    goes on, and all is taken when there is a leader again."""
    database = place.cluster.database()
    standby = pair(place)
    try:
        both = database.replace(f"host={folder_of(database)}", f"host={folder_of(database)},{standby.dir}") + " target_session_attrs=read-write"
        with address(folder_of(database)) as (path, turn):
            proxied = database.replace(f"host={folder_of(database)}", f"host={path}")
            ledger = Ledger(database, [place.server(both), place.server(proxied, "--workers", "0")], seed)
            ledger.trial(None)
            for _ in trials:
                document = ledger.document(ledger.last + 1)

                def lose(document=document):
                    turn(standby.dir)
                    for word in ("on", ""):  # the new setting holds for new connections
                        sql(place.cluster.url, f"ALTER SYSTEM SET default_transaction_read_only = {word}" if word else "SELECT pg_reload_conf()")
                    drop_connections(place.cluster.url)
                    sentence(ledger.servers[0], ("no node that was reached takes writes", "patronictl list"), ledger.token, document)
                    sentence(ledger.servers[1], ("the address for writing leads to a standby",), ledger.token, document)
                    want(ledger.servers[1].call("GET", "/api/v1/projects").status == 200, "reading goes on")

                def recover():
                    turn(folder_of(database))
                    sql(place.cluster.url, "ALTER SYSTEM RESET default_transaction_read_only")
                    sql(place.cluster.url, "SELECT pg_reload_conf()")
                    drop_connections(standby.url)

                ledger.trial(lose, count=60, recover=recover)
            ledger.finish()
            place.end_servers()
        return f"{ledger.last} runs, {ledger.refused} times 503"
    finally:
        standby.close()


@contextlib.contextmanager
def couple(place, **more):
    """The place's cluster, whose commits wait for its standby: that one, and a host list of both. The cluster is made again."""
    database = place.cluster.database()
    standby = pair(place, **more)
    try:
        sql(place.cluster.url, "ALTER SYSTEM SET synchronous_standby_names = '*'")
        sql(place.cluster.url, "SELECT pg_reload_conf()")
        support.until("it is synchronous", lambda: sql(place.cluster.url, "SELECT count(*) FROM pg_stat_replication"
                                                       " WHERE sync_state = 'sync'") == "1")
        yield standby, (database.replace(f"host={folder_of(database)}", f"host={folder_of(database)},{standby.dir}")
                        + " target_session_attrs=read-write")
    finally:
        standby.close()
        place.cluster.close()
        place.cluster = support.Cluster()


def two_leaders(place, trials, seed):
    """The standby was promoted, and the former leader comes back as a leader: a server that has used the newer one refuses
    it by its timeline, and to one that has not it acknowledges nothing, because its commits wait for a standby."""
    with couple(place) as (standby, both):
        ledger = Ledger(both, [place.server(both)], seed)
        ledger.trial(None)
        place.cluster.order("crash")
        standby.promote()
        ledger.trial(None)  # on the new timeline
        document = ledger.document(ledger.last + 1)

        def come_back():
            place.cluster.order("resume")
            drop_connections(standby.url)
            sentence(ledger.servers[0], ("two nodes take writes", "stop the former leader"), ledger.token, document)
            fresh = place.server(both, "--workers", "0", ready=False)
            support.until("the wait is named", lambda: "the wait for a standby was interrupted" in fresh.log())
            want(fresh.call("POST", "/api/v1/runs", document, token=ledger.token).status == 503, "acknowledged by the former leader")
            fresh.kill()
            place.servers.remove(fresh)

        ledger.trial(come_back, count=60, recover=lambda: place.cluster.order("crash"))
        ledger.finish()
        place.end_servers()
        trials.one()  # a cluster has one leader to lose
        return f"{ledger.last} runs, {ledger.refused} times 503"


def other_cluster(place, trials, seed):
    """The address leads to another cluster, as after a wrong entry in a proxy's list: refused with the next step, nothing is
    stored there, and all is taken when the address is right again. A server that starts there takes it as its own."""
    database = place.cluster.database()
    other = support.Cluster(own=True)
    try:
        other.count = place.cluster.count - 1  # the same name of the database
        elsewhere = other.database(migrated=True)
        with address(folder_of(database)) as (path, turn):
            ledger = Ledger(database, [place.server(database.replace(f"host={folder_of(database)}", f"host={path}"))], seed)
            server = ledger.servers[0]
            ledger.trial(None)
            for _ in trials:
                document = ledger.document(ledger.last + 1)

                def lose(document=document):
                    turn(folder_of(elsewhere))
                    drop_connections(database)
                    sentence(server, ("it is of another cluster", "correct the host list or the proxy"), ledger.token, document)

                ledger.trial(lose, count=40, recover=lambda: turn(folder_of(database)))
            want(sql(elsewhere, "SELECT count(*) FROM runs") == "0", "stored in the other cluster")
            ledger.finish()
            place.end_servers()
            turn(folder_of(elsewhere))
            place.server(elsewhere.replace(f"host={folder_of(elsewhere)}", f"host={path}"))  # returns when it is ready
            place.end_servers()
        return f"{ledger.last} runs, {ledger.refused} times 503"
    finally:
        other.close()


def clocks_apart(place, trials, seed):
    """The standby that is promoted has a clock that is a day ahead, or a day behind: the log names it, what was leased by the
    other clock becomes free, and nothing is lost, doubled or judged otherwise."""
    library = glob.glob(FAKETIME)
    want(library, "libfaketime is not installed: deploy/install.sh test")
    runs = 0
    for trial in trials:
        ahead_s = (DAY_S, -DAY_S)[trial % 2]
        with couple(place, environment={"LD_PRELOAD": library[0], "FAKETIME": f"{ahead_s:+d}", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}) as (standby, both):
            server = place.server(both, "--lease", "2")
            ledger = Ledger(both, [server], seed + trial)
            ledger.trial(None)
            made = server.as_admin("POST", "/api/v1/jobs", {"project": "demo", "kind": "measure", "commit": support.commit_id(3)})
            want(made.status == 201, made)
            leased = server.as_admin("POST", "/api/v1/jobs/lease", {"runner": "r1", "machine_class": "none"})
            want(leased.status == 200 and leased.json["job"]["id"] == made.json["id"], leased)

            def lose(standby=standby):
                place.cluster.order("crash")
                standby.promote()

            ledger.trial(lose, count=60)
            named = support.until("the clock is named", lambda s=server: events(s, "database_clock_differs"))[-1]
            want(abs(named["ahead_s"] - ahead_s) < 300, named)
            job = made.json["id"]
            support.until("the job is free", lambda b=both, j=job: sql(b, f"SELECT state FROM jobs WHERE id = {j}") == "queued")
            ledger.finish()
            runs += ledger.last
            place.end_servers()
    return f"{runs} runs"


@contextlib.contextmanager
def small_disk(skipped):
    """A file system of a few MiB, and a function that fills it or makes room."""
    folder = tempfile.mkdtemp(prefix="pfc-full-")
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL}m,mode=0777", "tmpfs", folder], capture_output=True,
                           text=True, check=False)
    if mount.returncode != 0:
        os.rmdir(folder)
        raise skipped("no right to mount a small file system: " + mount.stderr.strip())
    ballast = os.path.join(folder, "ballast")

    def fill(full):
        if not full:
            os.unlink(ballast)
            return
        with contextlib.suppress(OSError), open(ballast, "wb") as file:  # to the last byte
            while True:
                file.write(bytes(1 << 16))
                file.flush()

    try:
        yield folder, fill
    finally:
        subprocess.run(["umount", folder], check=True)
        os.rmdir(folder)


def full_standby(place, trials, seed):
    """The disk of the synchronous standby is full: nothing is acknowledged, the answer names the standby, and all is taken
    when there is space. Then it is promoted, and its disk is full as the leader's: 503, and all is taken afterwards."""
    with small_disk(trials.skipped) as (folder, fill), couple(place, folder=folder) as (standby, both):
        ledger = Ledger(both, [place.server(both)], seed)
        server = ledger.servers[0]
        ledger.trial(None)

        def full(url):
            fill(True)
            for _ in range(4):  # into segments that are not there yet
                sql(url, "SET synchronous_commit = local; SELECT pg_logical_emit_message(true, 'x', 'x'); SELECT pg_switch_wal()")

        def lose():
            full(place.cluster.url)
            sentence(server, ("the wait for a standby was interrupted", "the standby's log and disk"), ledger.token,
                     ledger.document(ledger.last))

        ledger.trial(lose, count=40, recover=lambda: fill(False))
        place.cluster.order("crash")
        standby.promote()
        ledger.trial(None)

        def lead():
            with contextlib.suppress(AssertionError):  # the disk is full: the statement of this call fails
                full(standby.url)
            support.until("503", lambda: server.call("POST", "/api/v1/runs", ledger.document(ledger.last), token=ledger.token).status == 503)
            want(server.call("GET", "/healthz").status == 200, "the process must answer")

        def room():
            fill(False)
            if standby.ended():
                standby.start()

        ledger.trial(lead, count=40, recover=room)
        ledger.finish()
        place.end_servers()
        trials.one()
        return f"{ledger.last} runs, {ledger.refused} times 503"
