"""Faults at named points (seam.c): before and after every statement that the service sends and every answer that it gives.

What the service does is done in each trial: runs are stored (together, and alone), judged, a job is leased and completed, a notice goes
to a webhook and to a forge's comment. The client behaves as runners do: it repeats a request after no answer or 503.
"""
import collections
import http.client
import os
import random
import shutil
import sys
import tempfile
import time

from ground import COMMITS, Ledger, check, sql, support, want

sys.path.insert(0, os.path.join(os.environ["PERFCI_SOURCE_DIR"], "tests/server/http"))
import receiver  # noqa: E402

SEAM = support.TESTS / "libpfc-seam.so"
# Errors that a database may return for any statement: serialization, deadlock, lock not available, no space, an input or output error.
STATES = ("40001", "40P01", "55P03", "53100", "58030")
ROUNDS = 4  # a point that waits for another moment is passed within so many
CULPRIT = COMMITS // 2 + 1


class Notes(Ledger):
    """Every fourth run comes from another machine of the class, and one in eight has a new suite: those are stored alone."""

    def document(self, n, **more):
        if n % 4 == 0:
            more["machine"] = {"name": f"host{n}", "class": "test-cpu", "fingerprint": {"cpu": "test", "compiler": "cc 1"}}
        return super().document(n, **more)


class Life:
    def __init__(self, place, seed):
        self.place, self.random = place, random.Random(seed)
        self.folder = tempfile.mkdtemp(prefix="pfc-points-")
        self.receiver = receiver.Receiver({"/hook": [204]})
        here = f"http://127.0.0.1:{self.receiver.port}"
        for name, text in (("secret", "token-of-16-bytes\n"), ("receivers",
                           f"hook kind=webhook url={here}/hook secret={self.folder}/secret\n"
                           f"forge kind=github url={here} repo=me/kernels secret={self.folder}/secret\n")):
            with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
                file.write(text)
        self.server = place.server(place.cluster.database(), "--notify", os.path.join(self.folder, "receivers"), "--notify-retry",
                                   "0.05", "--notify-timeout", "60")
        self.ledger = Notes(self.server.database, [self.server], seed)
        self.ledger.again(self.ledger.numbers(2 * COMMITS))
        self.ledger.judged()
        self.jobs = 0
        self.killed = False

    def close(self):
        self.receiver.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def sql(self, text):
        return sql(self.server.database, text)

    # ---- what is asked of it: each step is done once it is acknowledged ----

    def ask(self, path, body, *statuses):
        """The document that came with one of `statuses`; None: ask again."""
        try:
            answer = self.server.as_admin("POST", path, body)
        except (OSError, http.client.HTTPException):
            return None
        if answer.status == 503:
            return None
        want(answer.status in statuses, f"{path}: {answer}")
        return answer.json if answer.body else {}

    def enqueue(self):
        job = self.ask("/api/v1/jobs", {"project": "demo", "kind": "measure", "commit": support.commit_id(1 + self.jobs % COMMITS),
                                        "labels": {"machine_class": f"class{self.jobs}"}}, 200, 201)
        self.job = job and job["id"]
        return bool(job)

    def lease(self):
        answer = self.ask("/api/v1/jobs/lease?wait=0", {"runner": "r", "machine_class": f"class{self.jobs}"}, 200, 204)
        if not answer:
            if self.killed:  # taken by a lease whose answer was lost: it runs out, here at once
                self.sql(f"UPDATE jobs SET lease_until = now() WHERE id = {self.job} AND state = 'leased'")
            return False
        want(answer["job"]["id"] == self.job, answer)
        self.held = {"lease": answer["job"]["lease"]}
        return True

    def heartbeat(self):
        return self.ask(f"/api/v1/jobs/{self.job}/heartbeat", {**self.held, "progress": "builds"}, 200) is not None

    def complete(self):
        return self.ask(f"/api/v1/jobs/{self.job}/complete", {**self.held, "status": "done"}, 200) is not None

    def blame(self):
        report = {"project": "demo", "metric": "time_ns", "benchmark": "gemm/f32/m64n64k64", "backend": "cpu-scalar",
                  "good": support.commit_id(1), "bad": support.commit_id(COMMITS), "verdict": "found",
                  "culprits": [{"commits": [support.commit_id(CULPRIT)], "probability": 0.99, "rel_change": 0.2, "rel_low": 0.1,
                                "rel_high": 0.3}],
                  "runs": 9, "builds": 4, "commits_measured": 4, "seconds": 12.5, "steps": [],
                  "confirmation": {"before": support.commit_id(CULPRIT - 1), "pairs": [[100.0 + n % 3, 120.0 + n % 2] for n in range(12)]}}
        return self.ask("/api/v1/bisections", report, 201) is not None

    def steps(self):
        self.jobs += 1
        runs = [lambda n=n: self.ledger.post(n, self.server) for n in self.ledger.numbers(4)]
        return [*runs, self.enqueue, self.lease, self.heartbeat, self.complete, self.blame]

    def news(self):
        """The notice becomes undelivered, and the forge has no comment."""
        self.sql("DELETE FROM jobs WHERE kind = 'notify'; UPDATE notices SET done_at = NULL, done_by = NULL, dispatched_at = NULL")
        self.receiver.calls.clear()
        self.receiver.comments.clear()

    def settled(self):
        """The service's background work is finished. Leases of a killed server expire, here soon; a living server
        returns the work that a database fault interrupted, long before its lease ends."""
        if self.killed:
            self.sql("UPDATE jobs SET lease_until = now() WHERE state = 'leased' AND kind IN ('detect', 'notify')"
                     " AND started_at < now() - interval '5 s'")
        return self.sql("SELECT count(*) FROM jobs WHERE state IN ('queued', 'leased')") == "0" and self.sql(
            "SELECT count(*) > 0 AND count(*) = count(done_at) FROM notices") == "t"

    def stands(self):
        """Remaining work and the last log lines of the server: for the message of a test that did not settle."""
        return self.sql("SELECT id, kind, state, tries, reason, not_before, lease_until, clock_timestamp() FROM jobs"
                        " WHERE state IN ('queued', 'leased') ORDER BY id LIMIT 20") + self.server.log()[-3000:]

    # ---- a trial ----

    def dead(self):
        return self.server.process.poll() is not None

    def drive(self, steps):
        """Does what is left of the steps and waits for what follows from them; False: the server died under it."""
        while steps and not self.dead():
            if support.until("an answer", lambda: steps[0]() or self.dead()) and not self.dead():
                steps.pop(0)
        support.until("it settles", lambda: self.dead() or self.settled())
        return not self.dead()

    def start(self, seam):
        fired = os.path.join(self.folder, "fired")
        if os.path.exists(fired):
            os.unlink(fired)
        self.server.environment = {"LD_PRELOAD": str(SEAM), "PERFCI_SEAM": seam, "PERFCI_SEAM_FIRED": fired,
                                   "ASAN_OPTIONS": "verify_asan_link_order=0"} if seam else {}
        self.server.start()

    def trial(self, seam):
        """True when the fault came."""
        self.server.kill()
        self.killed = seam.startswith("kill")
        self.news()
        steps, fired = [], lambda: os.path.exists(os.path.join(self.folder, "fired"))
        try:
            self.start(seam)
        except (AssertionError, OSError, http.client.HTTPException):
            want(fired(), "it did not start, for no fault of the seam's")
        for _ in range(ROUNDS):
            steps = steps or self.steps()
            if self.dead() or (self.drive(steps) and fired()):
                break
            if not self.dead():
                self.news()
        came, died = fired(), self.dead()
        if not came and not died:
            self.server.kill()  # it waits for another moment than ours; whatever comes then is no trial
            self.killed = True
            self.start(None)
        elif died:
            want(came and self.server.process.returncode == -9, f"it ended with {self.server.process.returncode}: {self.server.log()[-2000:]}")
            self.start(None)
            # Its leases expire, here at once.
            self.sql("UPDATE jobs SET lease_until = now() WHERE state = 'leased' AND kind IN ('detect', 'notify')")
        want(self.drive(steps), "it died of nothing")
        self.check()
        # Killed between a call and its commit, it calls again; nothing less is a reason to.
        want(died or len(self.receiver.to("/hook")) == 1, f"{seam}: told {len(self.receiver.to('/hook'))} times")
        return came

    def check(self):
        self.ledger.counts()
        job = self.sql(f"SELECT state, tries <= 2, count(*) OVER () FROM jobs WHERE labels ->> 'machine_class' = 'class{self.jobs}'")
        want(job == "done|t|1", f"the job is {job}")
        ids = {c["headers"]["Perfci-Delivery"] for c in self.receiver.to("/hook")}
        want(len(ids) == 1, f"the webhook received {ids}")
        want(len(self.receiver.comments) == 1, f"{len(self.receiver.comments)} comments")
        # A fault of the database is no try of a receiver.
        want(self.killed or self.sql("SELECT max(tries) FROM jobs WHERE kind = 'notify'") == "1", "a receiver's tries were used up")

    def points(self):
        """Every point that is passed from the start on, and how often."""
        file = os.path.join(self.folder, "points")
        self.server.kill()
        self.news()
        self.start(f"record {file}")
        want(self.drive(self.steps()), "it died while its points were recorded")
        # Before the check, whose own questions are no points of what is tested.
        with open(file, encoding="ascii") as lines:
            points = collections.Counter(line.strip() for line in lines)
        self.check()
        return points


def sweep(place, trials, seed, seams, first=()):
    life = Life(place, seed)
    try:
        points = life.points()
        chosen = seams(points, life.random)
        life.random.shuffle(chosen)
        chosen = [*first, *chosen]
        tried = 0
        while not trials.over():
            want(tried < 3 * trials.most + len(first), f"{trials.done} of {tried} faults came")
            seam = chosen[tried % len(chosen)]
            begin = time.monotonic()
            try:
                came = life.trial(seam)
            except AssertionError as why:
                raise AssertionError(f"{seam}: {why}\n{life.stands()}") from why
            if os.environ.get("PERFCI_FAULT_TRACE"):
                print(f"  {seam}: {time.monotonic() - begin:.1f} s", flush=True)
            tried += 1
            if came:
                trials.one()
        life.server.kill()
        life.start(None)
        life.ledger.finish()
        # Some points belong to a moment that may not come again, such as a lease that runs out: another takes their place.
        return f"{min(trials.done, len(chosen))} of {len(chosen)} points, {tried - trials.done} more were not passed again, {life.ledger.last} runs"
    finally:
        life.close()


def kill_at_points(place, trials, seed):
    """kill -9 before and after each statement and each answer: of storing, leasing, judging and telling."""
    return sweep(place, trials, seed, lambda points, rng: [
        f"kill {point} {rng.randrange(1, min(count, 4) + 1)}" for point, count in sorted(points.items())])


def errors_at_points(place, trials, seed):
    """Each statement meets a deadlock, a failed serialization, a lock that is not free, a full disk, an error of the disk."""
    return sweep(place, trials, seed, lambda points, rng: [
        f"state {state} {point.split()[1]} {rng.randrange(2, count + 2) if point.endswith('BEGIN') else rng.randrange(1, count + 1)}"
        for point, count in sorted(points.items()) for state in STATES
        if point.startswith("before ") and point.split()[1] not in ("http", "pipeline", "copy", "ROLLBACK", "SELECT", "LISTEN")],
        # after a lease is taken, before its reply is sent or its notice read: no client may have to wait for its end
        ("state 40P01 job_notify 3", "state 40001 jobs_list 3", "state 40P01 notify_content 1"))


def lost_answers(place, trials, seed):
    """The connection ends before a statement is sent, or once it was carried out and its answer is on its way: COMMIT above all."""
    def seams(points, rng):
        names = [p.split()[1] for p in points if p.startswith("before ") and p.split()[1] not in ("http", "pipeline", "LISTEN", "COPY")]
        return [f"{what} {name} {rng.randrange(1, points['before ' + name] + 1)}"
                for name in sorted(names) + ["COMMIT", "copy"] * (len(names) // 2) for what in ("lose", "cut")]
    return sweep(place, trials, seed, seams, ("lose copy 1", "cut copy 1", "lose COMMIT 2", "cut COMMIT 2", "lose notify_take 2"))


def log_fails(place, trials, seed):
    """No line of the log can be written any more, from the first or from a later one on: full disk, broken disk. Nothing else is lost."""
    ledger = place.ledger(seed)
    server = ledger.servers[0]
    for trial in trials:
        number, first = ((28, 1), (5, 1), (28, 1 + trial * 3), (5, 1 + trial * 5))[trial % 4]
        server.kill()
        size = os.path.getsize(server.log_path)
        server.environment = {"LD_PRELOAD": str(SEAM), "PERFCI_SEAM": f"fail {number} write {first} FROM",
                              "PERFCI_SEAM_FOLDER": server.log_path, "ASAN_OPTIONS": "verify_asan_link_order=0"}
        server.start()
        ledger.trial(None)
        text = server.log()[size:]
        want(text.count("\n") == first - 1, f"lines before the {first}th: {text}")
        server.environment = {}
        server.kill()
        server.start()
    ledger.finish()
    return f"{ledger.last} runs"
