"""kill -9 of perfci-runner and of the benchmark that it runs, at random instants: each job ends once, and each result arrives once.

runner_kill.py [--kills N] [--runners N] [--lease SECONDS] [--minutes M] [--seed S] [--outage]

The real programs: a server, runners with a spool and a work folder each, a repository, a benchmark that takes a random time. Every second
kill is of the runner with all that it started left behind, the others are of a process below a runner that measures. A killed runner starts
again at once, in its folder. Runners of one machine measure one after the other, so a kill may also hit one that waits for its turn. At the
end every job is done or failed with a reason, a done job has exactly one result that counts, every result whose upload was acknowledged is
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
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server", "http"))
import support  # noqa: E402

TELL_S = 30
FASTER = 120
FAKETIME = "/usr/lib/*/faketime/libfaketimeMT.so.1"
COMMITS = 8
# A random time, by the job's own process id, so that kills meet every state of the runner.
MEASURE = "#!/bin/sh\nsleep 0.$(($$ % 4))\nexec awk 'BEGIN { print 2.5 }'\n"


def want(condition, what):
    if not condition:
        raise AssertionError(what)


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


def below(pid):
    """Processes that descend from this one."""
    parents = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                text = file.read()
        except OSError:
            continue  # it has ended
        parents.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(text.split()[0]))
    found, left = [], [pid]
    while left:
        found += parents.get(left[-1], [])
        left += parents.get(left.pop(), [])
    return found


class Runner:
    def __init__(self, folder, name, server, token, environment):
        self.name, self.work, self.log = name, os.path.join(folder, name), os.path.join(folder, name + ".log")
        self.words = [support.BIN / "perfci-runner", "--url", f"http://127.0.0.1:{server.port}", "--token-file", token, "--work", self.work,
                      "--name", name, "--class", "test", "--poll", "1", "--sandbox", "off"]
        self.environment = {**{k: v for k, v in os.environ.items() if not k.startswith("PERFCI_")}, **environment}
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.words, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.start()

    def kill_below(self, rng):
        """A process that the runner started, itself or another one of its job; False: it has none."""
        there = below(self.process.pid)
        if not there:
            return False
        try:
            os.kill(rng.choice(there), signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

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


def one(database, text):
    return support.sql(database, text).strip()


def fill(database, ids, count):
    support.sql(database, f"""INSERT INTO jobs (project_id, kind, sha, branch, priority)
        SELECT p.id, 'measure', (ARRAY['{"','".join(ids)}'])[1 + i % {len(ids)}], 'main', 40 FROM projects p, generate_series(1, {count}) i""")


def waiting(database):
    return int(one(database, "SELECT count(*) FROM work WHERE state IN ('queued', 'leased')"))


def harass(args, database, runners, ids, rng):
    end, told = time.monotonic() + 60 * args.minutes, time.monotonic()
    kills = {"runner": 0, "benchmark": 0}
    while sum(kills.values()) < args.kills and time.monotonic() < end:
        if waiting(database) < 3 * len(runners):
            fill(database, ids, 10 * len(runners))
        time.sleep(rng.uniform(0, 0.4))  # a random instant of the runners
        runner = rng.choice(runners)
        if kills["runner"] <= kills["benchmark"]:
            runner.kill()
            kills["runner"] += 1
        else:
            kills["benchmark"] += runner.kill_below(rng)
        if time.monotonic() > told + TELL_S:
            told = time.monotonic()
            print(f"  {kills['runner']} kills of runners, {kills['benchmark']} of benchmarks", flush=True)
    return kills


def judge(database, runners):
    """The invariants of every job and result. Returns the numbers of done and failed jobs and of results that count for none."""
    want(one(database, "SELECT count(*) FROM work WHERE tries > 3") == "0", "more than three tries")
    want(one(database, "SELECT string_agg(id || ' ' || state || ' ' || tries, ', ') FROM work WHERE state <> 'done' AND"
                       " (state <> 'failed' OR coalesce(reason, '') = '')") == "", "a job is neither done nor failed with a reason")
    # Done: its results, each stored once, and one of the last lease.
    want(one(database, "SELECT string_agg(id::text, ', ') FROM work j WHERE state = 'done' AND 1 <> (SELECT count(*) FROM runs r"
                       " WHERE r.project_id = j.project_id AND r.job_id = j.id AND r.job_fence = j.fence)") == "", "done without one result")
    want(one(database, "SELECT string_agg(id::text, ', ') FROM work j WHERE state = 'done' AND 1 <> (SELECT count(*) FROM audit a"
                       " WHERE a.action = 'complete' AND a.object = 'job ' || j.id)") == "", "done, and not once")
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
    return (int(one(database, f"SELECT count(*) FROM {text}")) for text in (
        "work WHERE state = 'done'", "work WHERE state = 'failed'",
        "runs r JOIN work j ON j.project_id = r.project_id AND j.id = r.job_id WHERE r.job_fence < j.fence OR j.state <> 'done'"))


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
    database = cluster.database()
    try:
        server = support.Server(database, "--lease", str(3600 if args.outage else args.lease))
        source = os.path.join(folder, "repository")
        ids = repository(source)
        want(server.as_admin("POST", "/api/v1/projects", {"name": "kill", "repo_url": source}).status == 201, "no project")
        token = os.path.join(folder, "token")
        with open(token, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(server.as_admin("POST", "/api/v1/tokens", {"scopes": ["runner"]}).json["token"])
        support.sql(database, "CREATE VIEW work AS SELECT * FROM jobs WHERE kind NOT IN ('detect', 'notify')")
        runners = [Runner(folder, f"r{n}", server, token, faster() if args.outage else {}) for n in range(args.runners)]
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
