"""The wait of a commit for its synchronous standby is interrupted: nothing is acknowledged before the standby has it."""
import contextlib
import hashlib
import hmac
import json
import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor

import ground
import replicas
from ground import Ledger, process, sql, support, want

SECRET = "of the webhooks here"
WAITING = "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


@contextlib.contextmanager
def frozen(standby):
    """The standby answers nothing: a commit waits for it."""
    pids = [standby.process.pid] + [int(pid) for pid in os.listdir("/proc") if pid.isdigit()
                                    and (process(pid) or ("", 0))[1] == standby.process.pid]
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def synchronous(cluster):
    """Commits of the cluster wait for its standby."""
    try:
        sql(cluster.url, "ALTER SYSTEM SET synchronous_standby_names = '*'")
        sql(cluster.url, "SELECT pg_reload_conf()")
        yield
    finally:
        sql(cluster.url, "ALTER SYSTEM RESET synchronous_standby_names")
        sql(cluster.url, "SELECT pg_reload_conf()")


class Run:
    """A run, posted under a key of its own."""
    first, again = 201, 200

    def __init__(self, ledger):
        self.ledger, self.server = ledger, ledger.servers[0]
        self.n, = ledger.numbers(1)
        self.stored = f"SELECT count(*) FROM runs WHERE run_id = '{self.n:032x}'"

    def post(self):
        return self.server.call("POST", "/api/v1/runs", self.ledger.document(self.n), token=self.ledger.token,
                                headers={"Idempotency-Key": f"key{self.n}"})

    def repeated(self, answer):
        return answer.status == 200 and self.ledger.note(self.n, answer.json)


class Session(Run):
    """A session of builds."""
    count = 0

    def __init__(self, ledger):  # pylint: disable=super-init-not-called
        self.ledger, self.server = ledger, ledger.servers[0]
        Session.count += 1
        self.document = support.session_document(Session.count, [ledger.document(1)], 1, 2, [
            {"commit": support.commit_id(3), "status": "measured"}])
        self.stored = f"SELECT count(*) FROM sessions WHERE id = '{self.document['id']}'"

    def post(self):
        return self.server.call("POST", "/api/v1/projects/demo/sessions", self.document, token=self.ledger.token)

    def repeated(self, answer):
        return answer.status == 200


class Delivery(Run):
    """A delivery of a forge's webhook."""
    count = 0

    def __init__(self, ledger):  # pylint: disable=super-init-not-called
        self.server = ledger.servers[0]
        Delivery.count += 1
        self.name = f"delivery{Delivery.count}"
        self.stored = f"SELECT count(*) FROM webhook_deliveries WHERE delivery = '{self.name}'"

    def post(self):
        body = json.dumps({"zen": "x", "hook_id": 1}).encode()
        mac = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        return self.server.call("POST", "/api/v1/webhooks/github", raw=body, headers={
            "Content-Type": "application/json", "X-GitHub-Event": "ping", "X-GitHub-Delivery": self.name,
            "X-Hub-Signature-256": "sha256=" + mac})

    def repeated(self, answer):
        return answer.status == 202 and answer.json == {"repeated": True}


KINDS = (Run, Session, Delivery)
ENDS = ("pg_cancel_backend", "pg_terminate_backend")


def interrupt(place, database, standby, post, end):
    """Interrupts the wait of a post by `end`, and that of the same sent again; then sends it once more."""
    what = f"{type(post).__name__}, {end}"
    with ThreadPoolExecutor(3) as pool, frozen(standby):
        for attempt in ("first", "second"):
            posted = pool.submit(post.post)

            def interrupted(posted=posted):
                for pid in sql(place.cluster.url, WAITING).split():
                    sql(place.cluster.url, f"SELECT {end}({pid})")
                return posted.done()

            support.until(f"the {attempt} is answered", interrupted)
            want(posted.result().status == 503, f"{what}: the {attempt}: {posted.result()}")
            want(sql(database, post.stored) == "1", f"{what}: it is stored here")
        third = pool.submit(post.post)
        support.until("the third waits", lambda: third.done() or sql(place.cluster.url, WAITING))
        want(not third.done(), f"{what}: acknowledged before the standby has it: {third.done() and third.result()}")
    want(post.repeated(third.result()), f"{what}: {third.result()}")
    want(sql(database, post.stored) == "1", f"{what}: stored twice")


def interrupted_wait(place, trials, seed):
    """The wait of a commit for its synchronous standby is cancelled, or its connection ended: neither this document nor the
    same sent again is acknowledged before the standby has it. Runs, sessions and deliveries of webhooks in turn."""
    database = place.cluster.database()
    standby = replicas.pair(place)
    unsynced = lambda: re.search(r"^perfci_database_standbys_unsynced (\d+)", server.call("GET", "/metrics").body.decode(), re.M)[1]
    try:
        server = place.server(database, "--workers", "0", environment={"PERFCI_GITHUB_WEBHOOK_SECRET": SECRET})
        support.until("the standby is counted", lambda: unsynced() == "1")
        want("standbys_not_synchronous" in server.log(), "not named in the log")
        want("may lose acknowledged" in "".join(ground.check(database)["warnings"]), "not named by the check")
        with synchronous(place.cluster):
            support.until("a commit waits for it", lambda: unsynced() == "0")
            want(not ground.check(database)["warnings"], "named by the check")
            ledger = Ledger(database, [server], seed)
            ledger.trial(None, count=4)
            for trial in trials:
                interrupt(place, database, standby, KINDS[trial // 2 % 3](ledger), ENDS[trial % 2])
            ledger.counts()
            place.end_servers()
        return f"{ledger.last} runs, {Session.count} sessions, {Delivery.count} deliveries"
    finally:
        standby.close()
