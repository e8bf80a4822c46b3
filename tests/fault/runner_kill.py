"""kill -9 of perfci-runner and of the benchmark that it runs, at random instants: each job ends once, and each result arrives once.

runner_kill.py [--kills N] [--runners N] [--lease SECONDS] [--minutes M] [--seed S] [--outage]

The real programs: a server, runners with a spool and a work folder each, a repository, a benchmark that takes a random time. Every second
kill is of the runner with all that it started left behind, the others are of a process below a runner that measures. A killed runner starts
again at once, in its folder. Two runners each share the lock of a machine and measure one after the other, so a kill may also hit one that
waits for its turn; the pairs measure at the same time. At the end every job is done or failed with a reason, a done job has exactly one result that counts, every result whose upload was acknowledged is
stored, and no spool holds a document.

--outage: in place of the kills the server is away for one hour of the runners' clock, which runs 120 times as fast (libfaketime). Runners
finish what they have in hand, and nothing of it is lost.
"""
import argparse
import glob
import math
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time

import ledger
from ledger import TELL_S, one, support, waiting, want

FASTER = 120
FAKETIME = "/usr/lib/*/faketime/libfaketimeMT.so.1"
COMMITS = 8
# A random time, by the job's own process id, so that kills meet every state of the runner.
MEASURE = "#!/bin/sh\nsleep 0.$(($$ % 4))\nexec awk 'BEGIN { print 2.5 }'\n"


def git(folder, *args):
    env = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    return subprocess.run(["git", "-C", folder, "-c", "user.name=A", "-c", "user.email=a@b", *args], env=env, check=True, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL).stdout.strip()


def repository(folder):
    """Ids of its commits."""
    os.makedirs(folder)
    git(folder, "init", "-q", "-b", "main")
    with open(os.path.join(folder, "measure.sh"), "w", encoding="ascii") as file:
        file.write(MEASURE)
    with open(os.path.join(folder, "perfci.yaml"), "w", encoding="ascii") as file:
        file.write("project: kill\nbranch: main\nmeasure: exec sh ./measure.sh\nmetric: time_ns\nunit: ns\nbetter: lower\ntimeout: 2m\n")
    ids = []
    for n in range(COMMITS):
        with open(os.path.join(folder, "code"), "w", encoding="ascii") as file:
            file.write(str(n))
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", f"change {n}")
        ids.append(git(folder, "rev-parse", "HEAD"))
    return ids


def below(pids):
    """Processes that descend from these."""
    parents = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                text = file.read()
        except OSError:
            continue  # it has ended
        parents.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(text.split()[0]))
    found, left = [], list(pids)
    while left:
        found += parents.get(left[-1], [])
        left += parents.get(left.pop(), [])
    return found


class Runner:
    def __init__(self, folder, number, server, token, environment):
        name = f"r{number}"
        self.name, self.work, self.log = name, os.path.join(folder, name), os.path.join(folder, name + ".log")
        self.words = [support.BIN / "perfci-runner", "--url", f"http://127.0.0.1:{server.port}", "--token-file", token, "--work", self.work,
                      "--name", name, "--class", "test", "--poll", "1", "--sandbox", "off"]
        machine = {"PERFCI_MACHINE_LOCK": os.path.join(folder, f"machine{number // 2}.lock")}
        open(machine["PERFCI_MACHINE_LOCK"], "ab").close()  # a runner does not make it
        self.environment = {**{k: v for k, v in os.environ.items() if not k.startswith("PERFCI_")}, **machine, **environment}
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.words, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.start()

    def spooled(self, folder="."):
        """Documents that wait for upload; in `sent` those that the server acknowledged, in `rejected` those that it refused."""
        return glob.glob(os.path.join(self.work, "spool", folder, "*.json"))

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def fill(database, ids, count):
    support.sql(database, f"""INSERT INTO jobs (project_id, kind, sha, branch, priority)
        SELECT p.id, 'measure', (ARRAY['{"','".join(ids)}'])[1 + i % {len(ids)}], 'main', 40 FROM projects p, generate_series(1, {count}) i""")


def kill_below(runners, rng):
    """A process that one of the runners started, of its job or the job's own; False: there is none."""
    there = below(runner.process.pid for runner in runners)
    try:
        if there:
            os.kill(rng.choice(there), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return bool(there)


def harass(args, database, runners, ids, rng):
    end, told, looked = time.monotonic() + 60 * args.minutes, time.monotonic(), 0.0
    kills = {"runner": 0, "benchmark": 0}
    while sum(kills.values()) < args.kills and time.monotonic() < end:
        if time.monotonic() > looked + 1:
            looked = time.monotonic()
            if waiting(database) < 10 * len(runners):
                fill(database, ids, 10 * len(runners))
        time.sleep(rng.uniform(0, 0.8 / len(runners)))  # a random instant of the runners; each of them is hit as often
        if kills["runner"] <= kills["benchmark"]:
            rng.choice(runners).kill()
            kills["runner"] += 1
        else:
            kills["benchmark"] += kill_below(runners, rng)
        if time.monotonic() > told + TELL_S:
            told = time.monotonic()
            print(f"  {kills['runner']} kills of runners, {kills['benchmark']} of benchmarks", flush=True)
    return kills


def judge(database, runners):
    """The invariants of every job and result. Returns the numbers of done and failed jobs and of results that count for none."""
    counts = ledger.judge(database)
    want(counts["cancelled"] == 0, counts)
    # Done: its results, each stored once, and one of the last lease.
    want(one(database, "SELECT string_agg(id::text, ', ') FROM work j WHERE state = 'done' AND 1 <> (SELECT count(*) FROM runs r"
                       " WHERE r.project_id = j.project_id AND r.job_id = j.id AND r.job_fence = j.fence)") == "", "done without one result")
    want(one(database, "SELECT count(*) FROM work j CROSS JOIN unnest(j.run_ids) AS named WHERE NOT EXISTS (SELECT 1 FROM runs r"
                       " WHERE r.project_id = j.project_id AND r.run_id = named)") == "0", "a job names a result that is lost")
    want(one(database, "SELECT count(*) FROM runs r WHERE 1 <> (SELECT count(*) FROM measurements m JOIN series s ON s.project_id ="
                       " m.project_id AND s.id = m.series_id JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id"
                       " WHERE m.project_id = r.project_id AND m.run_id = r.id AND b.name <> 'canary')") == "0", "a result is not whole")
    left = [path for runner in runners for path in runner.spooled() + runner.spooled("rejected")]
    want(not left, f"documents are left: {left}")
    stored = set(one(database, "SELECT run_id FROM runs").split())
    sent = {os.path.basename(path).split("-")[1] for runner in runners for path in runner.spooled("sent")}
    want(sent and sent <= stored, f"acknowledged and lost: {sent - stored}")
    extra = one(database, "SELECT count(*) FROM runs r JOIN work j ON j.project_id = r.project_id AND j.id = r.job_id"
                          " WHERE r.job_fence < j.fence OR j.state <> 'done'")
    return counts["done"], counts["failed"], int(extra)


def outage(server, database, runners, ids):
    """One hour of the runners' clock without the server. Returns how many results waited for its return."""
    fill(database, ids, 4 * len(runners))
    support.until("every runner has a job", lambda: int(one(database, "SELECT count(*) FROM work WHERE state = 'leased'")) == len(runners))
    server.kill()
    gone = time.monotonic()
    support.until("results wait", lambda: any(runner.spooled() for runner in runners))
    support.until("an hour of the runners' clock is over", lambda: FASTER * (time.monotonic() - gone) > 3600)
    held = sum(len(runner.spooled()) for runner in runners)
    server.start()
    return held


def faster():
    library = glob.glob(FAKETIME)
    want(library, "libfaketime is not installed: deploy/install.sh test")
    return {"LD_PRELOAD": library[0], "FAKETIME": f"+0 x{FASTER}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("kills", 1000), ("runners", 2), ("lease", 3), ("seed", 1)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--minutes", type=float, default=math.inf, help="the most that the kills take")
    parser.add_argument("--outage", action="store_true")
    args = parser.parse_args()
    begin, rng = time.monotonic(), random.Random(args.seed)
    folder, cluster, runners, server = tempfile.mkdtemp(prefix="pfc-runner-kill-"), support.Cluster(), [], None
    os.chmod(folder, 0o755)
    database = cluster.database(migrated=True)
    try:
        server = support.Server(database, "--lease", str(3600 if args.outage else args.lease))
        source = os.path.join(folder, "repository")
        ids = repository(source)
        want(server.as_admin("POST", "/api/v1/projects", {"name": "kill", "repo_url": source}).status == 201, "no project")
        token = os.path.join(folder, "token")
        with open(token, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(server.as_admin("POST", "/api/v1/tokens", {"scopes": ["runner"]}).json["token"])
        ledger.open_ledger(database)
        runners = [Runner(folder, n, server, token, faster() if args.outage else {}) for n in range(args.runners)]
        held, kills = 0, {"runner": 0, "benchmark": 0}
        if args.outage:
            held = outage(server, database, runners, ids)
        else:
            kills = harass(args, database, runners, ids, rng)
        support.until("every job has ended", lambda: waiting(database) == 0, 1800)
        support.until("every document is sent", lambda: not any(runner.spooled() for runner in runners), 600)
        for runner in runners:
            runner.close()
        done, failed, extra = judge(database, runners)
        what = (f"one hour without a server, {held} results waited" if args.outage else
                f"{kills['runner']} kills of runners and {kills['benchmark']} of benchmarks" + ("" if sum(kills.values()) >= args.kills else
                                                                                             f" of {args.kills}: the time was over first"))
        print(f"runner-kill: {what}; {args.runners} runners; {done} jobs done once each, {failed} failed with a reason, {extra} results kept that"
              f" do not count, 0 lost, 0 doubled ({time.monotonic() - begin:.0f} s, seed {args.seed})")
        if args.outage:
            want(held and failed == 0, f"{held} results waited, {failed} jobs failed")
    finally:
        for runner in runners:
            runner.close()
        if server:
            server.close()
        cluster.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
