"""Pull requests under random events: exactly one right comment at the end of each sequence.

pull_sequences.py [--sequences N] [--seed S] [--minutes M]

Two servers share the database. A sequence pushes heads of three kinds (slower, the same, broken) to a pull request, delivers their
webhooks late, in another order, twice, or not at all, deletes comments, has commands given, makes the forge fail, and kills servers
(kill -9), which come back. A runner in this process leases the jobs, also those of bisections, and sends what its numbers are. At the
end, which is one more push, the pull request has one comment that is not replaced, it names the last head and its verdict, and the
commit status agrees. Each command has one answer, and that of a bisection says how it ended.
"""
import argparse
import os
import random
import re
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "server", "http"), os.path.join(HERE, "..", "e2e")]
import support  # noqa: E402
from hub import GitHub  # noqa: E402

BASE = "b" * 40
LEVELS = {"slow": 110.0, "same": 100.0, "broken": None}
VERDICTS = {"slow": ("regression", "failure", "1 regression"), "same": ("same", "success", "No change"),
            "broken": ("broken", "error", "is broken")}
SECRET, TOKEN = "a secret of webhooks, long enough", "ghp_0123456789012345678901234567890123456789"
ENVIRONMENT = {"PERFCI_GITHUB_WEBHOOK_SECRET": SECRET, "PERFCI_GITHUB_TOKEN": TOKEN}


def before(head):
    """The commit between the base and the head: as fast as the base."""
    return head[::-1]


class Hub(GitHub):
    """Without a repository: each head has the same merge base, and one commit before it."""

    def get_commits(self, _, number, query):
        head = self.pulls[int(number)]["head"]
        return 200, [{"sha": before(head), "parents": [{"sha": BASE}]}, {"sha": head, "parents": [{"sha": before(head)}]}]

    ROUTES = [("GET", r"{r}/pulls/(\d+)/commits(\?.*)?", get_commits)] + GitHub.ROUTES

    def git(self, *words):
        return BASE

    def get_compare(self, _, base, head):
        return 200, {"merge_base_commit": {"sha": BASE}}


class Runner(threading.Thread):
    """Leases jobs of pull requests from any server, and sends the numbers of their heads."""

    def __init__(self, servers, kinds):
        super().__init__(daemon=True)
        self.servers, self.kinds, self.stop, self.jobs, self.samples, self.random = servers, kinds, False, 0, 0, random.Random(1)

    def ask(self, path, body, *statuses):
        """The same until a server answers; servers are killed all the time."""
        while not self.stop:
            server = self.random.choice(self.servers)
            try:
                answer = server.as_admin("POST", path, body)
            except (OSError, Exception) as error:  # the server was killed: also within its answer
                if isinstance(error, AssertionError):
                    raise
                time.sleep(0.02)
                continue
            if answer.status < 500:
                assert not statuses or answer.status in statuses, f"{path}: {answer}"
                return answer
            time.sleep(0.02)
        raise SystemExit

    def run(self):
        while not self.stop:
            answer = self.ask("/api/v1/jobs/lease?wait=1", {"runner": "r", "machine_class": "test-cpu", "labels": {"tasks": "blocks"}},
                              200, 204)
            if answer.status == 200:
                self.jobs += 1
                self.measure(answer.json["job"])

    def search(self, job):
        """A job of a bisection, or of the check of its culprit."""
        done = f"/api/v1/jobs/{job['id']}/complete"
        runs = []
        for commit in filter(None, (job["commit"], job["task"].get("pair"))):
            level = LEVELS[self.kinds.get(commit, "same")]
            if level is None:
                self.ask(done, {"lease": job["lease"], "status": "broken", "reason": "the build failed"})
                return
            self.samples += 1
            run = support.run_document(0, 1, level, id=os.urandom(16).hex(), branch=job["branch"], job_id=job["id"], job_fence=job["fence"])
            run.update(commit=commit)
            run["measurements"][0].update(metric="block_ns", samples=[[level * (1 + 1e-3 * (self.samples % 7))]])
            self.ask("/api/v1/runs", run)
            runs.append(run["id"])
        self.ask(done, {"lease": job["lease"], "status": "done", "run_ids": runs})

    def measure(self, job):
        if "blocks" not in job["task"]:
            self.search(job)
            return
        head, base = job["commit"], job["task"]["blocks"]["base"]
        level = LEVELS[self.kinds[head]]
        done = f"/api/v1/jobs/{job['id']}/complete"
        if level is None:
            self.ask(done, {"lease": job["lease"], "status": "broken", "reason": "the build failed"})
            return
        session = {"id": os.urandom(16).hex(), "anchor": base, "base": base}
        runs = [self.document(job, session, place, commit, value) for place, (commit, value) in enumerate(((base, 100.0), (head, level)))]
        for run in runs:
            self.ask("/api/v1/runs", run)
        document = {**session, "branch": job["branch"], "machine_class": "test-cpu", "machine": "host", "budget_s": 10, "spent_s": 1, "blocks": 24,
                    "started_at": "2026-01-02T00:00:00Z", "finished_at": "2026-01-02T00:00:10Z", "commits": [{"commit": head, "status": "measured"}]}
        self.ask("/api/v1/projects/demo/sessions", document)
        self.ask(done, {"lease": job["lease"], "status": "done", "session": session["id"], "run_ids": [run["id"] for run in runs]})

    @staticmethod
    def document(job, session, place, commit, level):
        run = support.run_document(0, 1, level, id=os.urandom(16).hex(), branch=job["branch"], job_id=job["id"], job_fence=job["fence"])
        run.update(commit=commit, session=session)
        run["measurements"][0].update(metric="block_ns", samples=[[level * (1 + 1e-3 * ((5 * b + place) % 7))] for b in range(24)],
                                      visits=[[b, 1 - place if b % 2 else place] for b in range(24)])
        return run


class Sequence:
    def __init__(self, number, servers, hub, kinds, seed):
        self.number, self.servers, self.hub, self.kinds = number, servers, hub, kinds
        self.random = random.Random(f"{seed}/{number}")
        self.late, self.said = [], []

    def deliver(self, delivery):
        while True:
            server = self.random.choice(self.servers)
            try:
                status = self.hub.deliver(f"http://127.0.0.1:{server.port}", delivery)
            except OSError:  # killed
                status = 0
            if status == 202:
                return
            assert status in (0, 503), status
            time.sleep(0.02)

    def push(self, deliver=True):
        kind = self.random.choice(list(LEVELS))
        head = f"{self.random.getrandbits(160):040x}"
        self.kinds[head] = kind
        delivery = self.hub.push_pull(self.number, head)
        if deliver:
            self.deliver(delivery)
        else:
            self.late.append(delivery)
        self.said.append(f"push {kind}")
        return head

    def step(self):
        what = self.random.choices(["push", "late", "twice", "delete", "command", "fault", "kill", "wait"], [4, 3, 2, 2, 2, 2, 1, 4])[0]
        self.said.append(what)
        if what == "push":
            self.push(deliver=self.random.random() < 0.5)
        elif what == "late" and self.late:
            self.deliver(self.late.pop(self.random.randrange(len(self.late))))
        elif what == "twice":
            self.deliver(self.random.choice([d for d in self.hub.deliveries[-20:]]))
        elif what == "delete":
            with self.hub.lock:
                for comment in self.hub.ours(self.number)[:1]:
                    self.hub.comments.pop(comment["id"], None)
        elif what == "command":
            self.deliver(self.hub.say(self.number, self.random.choice(["/perfci rerun", "/perfci why", "/perfci help", "/perfci bisect block_ns", "/perfci bisect block_ns", "nothing"])))
        elif what == "fault":
            with self.hub.lock:
                self.hub.faults += self.random.choices([0, 500, 502, 403, 404], k=3)
        elif what == "kill":
            server = self.random.choice(self.servers)
            server.kill()
            server.start()
        elif what == "wait":
            time.sleep(self.random.random() * 0.3)  # events at another moment of the work under way, nothing waits for it

    def wrong(self, head):
        """The first thing that is not right yet; None: everything is."""
        _, state, text = VERDICTS[self.kinds[head]]
        status = self.hub.status(head)
        ours = [c for c in self.hub.ours(self.number) if "\nReplaced by " not in c["body"]]
        if not status or status[0] != state:
            return f"status {status}, expected {state}"
        if len(ours) != 1:
            return f"{len(ours)} comments"
        if head[:12] not in ours[0]["body"] or text not in ours[0]["body"]:
            return f"expected {self.kinds[head]} of {head[:12]}: {ours[0]['body']}"
        return None

    def run(self):
        self.push()
        for _ in range(self.random.randrange(4, 12)):
            self.step()
        head = self.push(deliver=self.random.random() < 0.5)  # a lost delivery is made up for by the look after --pull-poll
        with self.hub.lock:
            self.hub.faults.clear()
        try:
            support.until("one right comment", lambda: not self.wrong(head), 120)
        except AssertionError:
            with self.hub.lock:
                logs = [line for s in self.servers for line in s.log().splitlines()[-400:] if '"event":"request"' not in line]
                print(f"sequence {self.number}: {self.wrong(head)}; {self.said}", *logs, sep="\n", file=sys.stderr)
            raise
        for delivery in self.late + [self.hub.deliveries[-1]]:  # what comes too late, or once more, changes nothing
            self.deliver(delivery)
        support.until("still one right comment", lambda: not self.wrong(head), 60)
        if self.kinds[head] == "slow" and self.random.random() < 0.2:
            self.search(head)
        self.deliver(self.hub.close_pull(self.number))

    def search(self, head):
        """A bisection that nothing supersedes, through the kill of a server, to its culprit and the check of that."""
        self.deliver(self.hub.say(self.number, "/perfci bisect block_ns"))
        server = self.random.choice(self.servers)
        server.kill()
        server.start()

        ended = re.compile(rf"culprit found\.\n\n- \[`{head[:12]}`\]\S+ \+(9|10)\.\d % .*probability .*\n\nCheck of .*, confirmed\.")

        def found():  # an earlier command may search this head already
            return any(ended.search(answer) for answer in self.hub.answers(self.number))

        try:
            support.until("the culprit", found, 180)
        except AssertionError:
            print(f"sequence {self.number}: {self.hub.answers(self.number)}; {self.said}", file=sys.stderr)
            raise


def unfinished(hub, number):
    """Answers that are there twice, and those of bisections that do not say how they ended: the pull request is closed."""
    with hub.lock:
        answers = hub.answers(number)
    marks = [answer.splitlines()[0] for answer in answers]
    return len(marks) != len(set(marks)) or [a for a in answers if "are expected" in a or ": running." in a]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=0, help="begin no sequence after this time; 0: run them all")
    args = parser.parse_args()
    over = time.monotonic() + (60 * args.minutes or float("inf"))
    cluster = support.Cluster()
    hub = Hub("octo/demo", "", TOKEN, SECRET)
    url = cluster.database(migrated=True)
    flags = ("--pull-poll", "1s", "--pull-retry", "0.1s")
    servers = [support.Server(url, *flags, environment={**ENVIRONMENT, "PERFCI_GITHUB_API_URL": hub.url}) for _ in range(2)]
    kinds, done = {}, 0
    runner = Runner(servers, kinds)
    try:
        servers[0].as_admin("POST", "/api/v1/projects", {"name": "demo"})
        hub.permissions = {"maintainer": "write"}
        link = servers[0].as_admin("POST", "/api/v1/projects/demo/forge", {"forge": "github", "repo": "octo/demo", "policy": "always"})
        assert link.status == 200, link
        runner.start()
        for number in range(1, args.sequences + 1):
            if time.monotonic() > over:
                break
            Sequence(number, servers, hub, kinds, args.seed).run()
            done = number
            if number % 10 == 0:
                print(f"[{number}/{args.sequences}] {runner.jobs} jobs, {len(hub.calls)} calls", flush=True)
        for number in range(1, done + 1):
            left = [c for c in hub.ours(number) if "\nReplaced by " not in c["body"]]
            assert len(left) == 1, f"pull request {number}: {len(left)} comments at the end"
            support.until("each answer is the last one", lambda n=number: not unfinished(hub, n), 120)
        searches = [a for n in range(1, done + 1) for a in hub.answers(n) if "Bisection" in a]
        print(f"{done} sequences: one right comment each; {runner.jobs} jobs, {len(hub.calls)} calls, {len(hub.comments)} comments, "
              f"{len(searches)} bisections, {sum('culprit found' in a for a in searches)} with a culprit")
    finally:
        runner.stop = True
        for server in servers:
            server.close()
        hub.close()
        cluster.close()


if __name__ == "__main__":
    main()
