"""Runners killed and stopped in the midst of their jobs: each job is done once, and nothing stays stuck.

lost_runners.py [--runners N] [--jobs N] [--kills N] [--stops N] [--lease SECONDS] [--work SECONDS] [--minutes M] [--seed S] [--strict]

Two servers share the database. Every tenth job waits for the one before it, every hundredth takes longer than a lease and lives by its
heartbeats. Half of the killed runners come back with the lease that they had kept, half without. Of a fifth of the questions a copy comes
late. A stopped one goes on when its lease is over and hands its result in, late: it is kept, and marked as extra. Only faults that hit a
runner with a job in hand are counted.
--strict also wants, by the database's clock, that no lease was overdue by another one: for a machine with nothing else to do.
"""
import argparse
import http.client
import json
import math
import multiprocessing
import os
import random
import shutil
import signal
import tempfile
import time

import ledger
from ledger import TELL_S, one, support, want

TOGETHER = 8  # stopped at once; the others go on


class Client:
    """A connection that is kept, and made again when it broke."""

    def __init__(self, port, token):
        self.port, self.token, self.connection = port, token, None

    def post(self, path, body):
        while True:
            try:
                if not self.connection:
                    self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=support.DEADLINE_S)
                self.connection.request("POST", path, json.dumps(body() if callable(body) else body), {"Authorization": "Bearer " + self.token})
                reply = self.connection.getresponse()
                data = reply.read()
                if reply.status < 500:
                    return reply.status, json.loads(data) if data else None
            except (OSError, http.client.HTTPException):
                pass
            self.connection.close()  # the same again: that is what the service promises to bear
            self.connection = None
            time.sleep(0.05)


def note(path, word):
    """Whole or not at all, whenever its writer is killed."""
    with open(path + ".new", "w", encoding="ascii") as file:
        file.write(word)
    os.replace(path + ".new", path)


def run_jobs(folder, name, port, token, seed, work_s):
    """A runner, until it is killed. FOLDER/NAME holds its lease, FOLDER/NAME.job what it works on, or nothing.

    Like the agent it stores the result before it posts it: after a kill it posts the same result again, and does not ask for
    work under a lease whose result may still be under way."""
    client, rng = Client(port, token), random.Random(seed)
    numbers = []  # of the questions
    kept, busy = os.path.join(folder, name), os.path.join(folder, name + ".job")

    def hand_in(lease, job, run):
        # measured nothing, so that nothing is judged, and all at one commit: what becomes of the run is the question
        status, answer = client.post("/api/v1/runs", {
            "schema": "perfci.run/1", "id": run, "project": "queue", "commit": "0" * 40, "started_at": "2026-01-02T00:00:00Z", "job_id": int(job),
            "job_fence": int(lease.split("-")[1]), "machine": {"class": "test"},
            "measurements": [{"benchmark": "b", "metric": "m", "status": "broken", "reason": "of no interest", "samples": []}]})
        want(status in (200, 201), (status, answer))
        status, answer = client.post(f"/api/v1/jobs/{job}/complete", {"lease": lease, "status": "done", "run_ids": [run]})
        want(status in (200, 409), (status, answer))
        if status == 409:
            with open(os.path.join(folder, "late"), "a", encoding="ascii") as file:
                file.write(run + "\n")
        os.unlink(kept)
        note(busy, "")

    while True:
        lease, *result = (open(kept, encoding="ascii").read() if os.path.exists(kept) else f"{rng.getrandbits(128):032x}").split()
        if result:
            hand_in(lease, *result)
            continue
        note(kept, lease)
        question = lambda: {"runner": name, "machine_class": "test", "lease": lease, "asked": numbers[-1]}
        status, answer = client.post("/api/v1/jobs/lease?wait=5", lambda: numbers.append(time.monotonic_ns() // 1000) or question())
        want(status in (200, 204), (status, answer))
        if status == 204:
            continue
        if rng.random() < 0.2:
            want(client.post("/api/v1/jobs/lease", question())[0] == 409, "a late question is answered")
        job = answer["job"]
        lease = job["lease"]  # with its number: what was kept has none, and is what a successor asks with
        note(busy, str(job["id"]))
        left = 1.4 * job["lease_s"] if job["id"] % 100 == 0 else rng.random() * work_s
        while left > 0:
            step = min(left, job["lease_s"] / 3)
            time.sleep(step)
            left -= step
            if left > 0 and client.post(f"/api/v1/jobs/{job['id']}/heartbeat", {"lease": lease})[0] == 409:
                break
        run = f"{job['id']:016x}{job['tries']:016x}"  # says which try it is of
        note(kept, f"{lease} {job['id']} {run}")
        hand_in(lease, job["id"], run)


class Fleet:
    def __init__(self, args, servers, token):
        self.args, self.servers, self.token = args, servers, token
        self.rng = random.Random(args.seed)
        self.folder = tempfile.mkdtemp(prefix="pfc-queue-")
        self.processes, self.stopped = {}, {}
        for n in range(args.runners):
            self.start(f"r{n}")

    def start(self, name):
        server = self.servers[int(name[1:]) % len(self.servers)]
        self.processes[name] = multiprocessing.Process(target=run_jobs, daemon=True, args=(
            self.folder, name, server.port, self.token, self.rng.getrandbits(64), self.args.work))
        self.processes[name].start()

    def holds(self, name):
        path = os.path.join(self.folder, name + ".job")
        return os.path.exists(path) and os.path.getsize(path) > 0

    def kill(self, name):
        """True when it had a job in hand. It comes back, with or without what it had kept."""
        self.processes[name].kill()
        self.processes[name].join()
        held = self.holds(name)
        note(os.path.join(self.folder, name + ".job"), "")
        kept = os.path.join(self.folder, name)
        if self.rng.random() < 0.5 and os.path.exists(kept):
            os.unlink(kept)
        self.start(name)
        return held

    def stop(self, name):
        os.kill(self.processes[name].pid, signal.SIGSTOP)
        self.stopped[name] = time.monotonic() + 1.5 * self.args.lease
        return self.holds(name)

    def go_on(self, everyone=False):
        for name, until in list(self.stopped.items()):
            if everyone or time.monotonic() >= until:
                os.kill(self.processes[name].pid, signal.SIGCONT)
                del self.stopped[name]

    def late(self):
        path = os.path.join(self.folder, "late")
        return set(open(path, encoding="ascii").read().split()) if os.path.exists(path) else set()

    def close(self):
        self.go_on(everyone=True)
        for process in self.processes.values():
            process.kill()
            process.join()
        shutil.rmtree(self.folder, ignore_errors=True)


def fill(database, jobs):
    support.sql(database, f"""INSERT INTO jobs (project_id, kind, sha, priority)
        SELECT p.id, (ARRAY['measure', 'nightly', 'pull_request', 'backfill', 'bisect', 'verify'])[1 + i % 6],
               lpad(to_hex(i), 40, '0'), (i * 37) % 101 FROM projects p, generate_series(1, {jobs}) i ORDER BY i;
        UPDATE jobs SET parents = ARRAY[id - 1] WHERE id % 10 = 0 AND tries = 0 AND state = 'queued'
        AND id IN (SELECT id FROM work) AND id - 1 IN (SELECT id FROM work)""")


def overdue(database):
    # what was given back has no time at all until the sweep comes by
    return float(support.sql(database, "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - lease_until)), 0) FROM work"
                                       " WHERE state = 'leased' AND lease_until > '-infinity'"))


def runs_of(server):
    """What the service says of each run: is it extra? By their ids."""
    found, cursor = {}, ""
    while cursor is not None:
        page = server.as_admin("GET", f"/api/v1/projects/queue/runs?limit=1000{cursor}").json
        found.update((run["id"], run["extra"]) for run in page["runs"])
        cursor = f"&cursor={page['next_cursor']}" if page["next_cursor"] else None
    return found


def judge_runs(database, runs, late):
    """No result is lost; what counts is what the last lease brought, and all the rest is marked."""
    want(late <= set(runs), "a late result is lost")
    tries = {job: (state, int(n)) for job, state, n in (line.split("|") for line in one(
        database, "SELECT lpad(to_hex(id), 16, '0'), state, tries FROM work").splitlines())}
    for run, extra in runs.items():
        state, last = tries[run[:16]]
        want(extra == (int(run[16:], 16) < last), (run, extra, state, last))
        want(state != "done" or run not in late or extra, (run, "refused, and counts"))
    want({job for job, (state, _) in tries.items() if state == "done"} == {run[:16] for run, extra in runs.items() if not extra
                                                                           and tries[run[:16]][0] == "done"}, "done, and nothing counts")


def judge(database, jobs):
    """Checks the invariants of every job after all faults. Returns how many are done, failed, cancelled."""
    counts = ledger.judge(database)
    want(one(database, "SELECT count(*) FROM audit a JOIN work j ON a.object = 'job ' || j.id WHERE a.action = 'complete'"
                       " AND j.state <> 'done'") == "0", "completed, and something else was made of it")
    want(one(database, "SELECT count(*) FROM work WHERE state = 'done' AND run_ids <> ARRAY[lpad(to_hex(id), 16, '0') ||"
                       " lpad(to_hex(tries), 16, '0')]") == "0", "a result of an older lease counts")
    want(one(database, "SELECT count(*) FROM work WHERE state = 'failed' AND (tries <> 3 OR reason NOT LIKE"
                       " 'the lease ran out 3 times, last with %')") == "0", "failed for no reason")
    early = one(database, "SELECT c.id, c.state, c.tries, c.started_at, c.leased_at, p.id, p.state, p.tries, p.finished_at"
                          " FROM work c JOIN work p ON p.id = ANY (c.parents) WHERE c.state = 'cancelled'"
                          " AND p.state NOT IN ('failed', 'cancelled') OR c.state = 'done' AND (p.state <> 'done' OR"
                          " c.started_at < p.finished_at)")
    want(not early, f"a child before its parent: {early}")
    want(one(database, "SELECT count(*) FROM work WHERE state = 'cancelled' AND parents = '{}'") == "0", "a job without parents is cancelled")
    want(sum(counts.values()) == jobs, counts)
    return counts["done"], counts["failed"], counts["cancelled"]


def harass(fleet, database, end):
    """All jobs, kills and stops, or as many as there is time for. Returns how many jobs there were, how many kills and stops came, and how
    long a lease was overdue at most."""
    left, worst, looked, told = {"kill": fleet.args.kills, "stop": fleet.args.stops}, 0.0, 0.0, 0.0
    more = 10 * fleet.args.runners
    # Where the time may be over first the queue is filled by and by: it is to be empty soon after.
    jobs, begin = fleet.args.jobs if end == math.inf else min(fleet.args.jobs, 5 * more), time.monotonic()
    fill(database, jobs)
    while (left["kill"] or left["stop"] or jobs < fleet.args.jobs) and time.monotonic() < end:
        if time.monotonic() > looked + 1:
            worst, looked = max(worst, overdue(database)), time.monotonic()
            queued = int(one(database, "SELECT count(*) FROM work WHERE state = 'queued'"))
            if queued < 3 * fleet.args.runners:  # the faults want work to hit
                fill(database, more)
                jobs += more
            if time.monotonic() > told + TELL_S:
                told = time.monotonic()
                print(f"  {jobs - queued} of {max(jobs, fleet.args.jobs)} jobs handed out, {fleet.args.kills - left['kill']} of {fleet.args.kills} kills,"
                      f" {fleet.args.stops - left['stop']} of {fleet.args.stops} stops ({told - begin:.0f} s)", flush=True)
        fleet.go_on()
        name = fleet.rng.choice([n for n in fleet.processes if n not in fleet.stopped])
        kinds = [k for k in left if left[k] and (k == "kill" or len(fleet.stopped) < min(TOGETHER, fleet.args.runners // 2))]
        if kinds and fleet.holds(name):
            kind = fleet.rng.choice(kinds)
            left[kind] -= fleet.kill(name) if kind == "kill" else fleet.stop(name)
        time.sleep(fleet.rng.random() * 0.1)
    return jobs, fleet.args.kills - left["kill"], fleet.args.stops - left["stop"], worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("runners", 16), ("jobs", 10000), ("kills", 500), ("stops", 500), ("lease", 2), ("seed", 1)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--work", type=float, default=0.4, help="the longest of the ordinary jobs, in seconds")
    parser.add_argument("--minutes", type=float, default=math.inf, help="the most that it takes, and what the queue holds then")
    parser.add_argument("--strict", action="store_true")
    args = parser.parse_args()
    begin = time.monotonic()
    cluster = support.Cluster()
    database = cluster.database(migrated=True)
    servers = [support.Server(database, "--lease", str(args.lease)) for _ in range(2)]
    fleet = None
    try:
        want(servers[0].as_admin("POST", "/api/v1/projects", {"name": "queue"}).status == 201, "no project")
        token = servers[0].as_admin("POST", "/api/v1/tokens", {"scopes": ["runner", "ingest"]}).json["token"]
        ledger.open_ledger(database)
        fleet = Fleet(args, servers, token)
        jobs, kills, stops, worst = harass(fleet, database, begin + 60 * args.minutes)
        fleet.go_on(everyone=True)
        support.until("every job has ended", lambda: ledger.waiting(database) == 0, 1800)
        worst = max(worst, overdue(database))
        late = fleet.late()
        runs = runs_of(servers[0])
    finally:
        if fleet:
            fleet.close()
        for server in servers:
            server.close()
    done, failed, cancelled = judge(database, jobs)
    judge_runs(database, runs, late)
    cluster.close()
    want(not args.strict or worst < args.lease, f"a lease of {args.lease} s was overdue by {worst:.1f} s")
    short = "the time was over first: " if jobs < args.jobs or kills < args.kills or stops < args.stops else ""
    print(f"queue: {short}{args.runners} runners, {jobs} jobs, {kills} kills and {stops} stops of a runner with a job: {done} done"
          f" once each, {failed} failed after three tries, {cancelled} cancelled with their parent, {len(late)} late results refused,"
          f" {sum(runs.values())} kept as extra, no lease of {args.lease} s overdue by more than {worst:.1f} s"
          f" ({time.monotonic() - begin:.0f} s, seed {args.seed})")


if __name__ == "__main__":
    main()
