"""One history, night after night, through the real programs: `perfci nightly` against a private service."""

import json
import os
import shutil
import subprocess
import time
import zlib

import states

ENOUGH_VISITS = 40  # of each commit: length of the speeds and of the replayed stretch, which repeat after that
REPLAY_VISIT_S = 0.01  # by the clock of a replayed night: VISIT_NS of clock.c
NIGHT_LIMIT_S = 7200
NOT_REPORTED = ("infrastructure", "noise", "duplicate")  # the service itself says that the change is no commit's


class Laboratory:
    """The service, the wrapper and the options, for all histories."""

    def __init__(self, service, args, folder, trace):
        self.service, self.args, self.folder, self.trace = service, args, folder, trace
        self.wrapper = os.path.join(folder, "visit")
        here = os.path.dirname(os.path.abspath(__file__))
        subprocess.run(["cc", "-O2", "-std=gnu11", "-o", self.wrapper, os.path.join(here, "visit.c")], check=True)
        self.objects = os.path.join(folder, "objects")  # object files of all builds
        os.makedirs(self.objects)
        self.perfci = os.path.join(args.bin, "perfci")
        if trace:
            self.prepare_replay(here)
        text = service.perfci("nightly", "--help", status=None).stdout
        self.blocks = "--budget" in text and not args.today
        self.visit_s = REPLAY_VISIT_S if trace else None

    def prepare_replay(self, here):
        """A clock of visits; and a perfci without perfci-bench beside it, whose canary would report this machine's load."""
        self.clock = os.path.join(self.folder, "clock.so")
        subprocess.run(["cc", "-O2", "-std=gnu11", "-shared", "-fPIC", "-o", self.clock, os.path.join(here, "clock.c")], check=True)
        os.makedirs(os.path.join(self.folder, "bin"))
        self.perfci = shutil.copy(self.perfci, os.path.join(self.folder, "bin"))


def write_config(path, project, adapter, measure):
    lines = [f"project: {project}", "branch: main", f"build: {json.dumps(adapter['build'])}", f"measure: {json.dumps(measure)}",
             "unit: us", "better: lower", f"timeout: {adapter.get('timeout', '5m')}"]
    lines += adapter.get("config", [])
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def write_lines(path, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))


def prepare_wrapper(lab, history, folder):
    """The files that the wrapper reads; returns the measuring command."""
    os.makedirs(folder)
    seed = f"{lab.args.seed}/{history['number']}"
    length = ENOUGH_VISITS * history["commits"]
    if lab.args.states:
        states.write(os.path.join(folder, "states.bin"), seed, length)
    if lab.trace:
        names = lab.trace["metrics"]
        states.write_trace(os.path.join(folder, "trace.bin"), lab.trace, seed, length)
        write_lines(os.path.join(folder, "names"), names)
        level = {name: 1.0 for name in names}
        lines = []
        for entry in history["entries"]:
            for metric, factor in entry["metric_factors"].items():
                level[metric] *= factor
            lines.append(" ".join([entry["commit"], *(f"{level[name]:.12g}" for name in names)]))
        write_lines(os.path.join(folder, "factors"), lines)
    return f"exec {lab.wrapper} {folder} {history['adapter']['measure']}"


def visits_so_far(folder):
    try:
        return os.path.getsize(os.path.join(folder, "visits")) // 41
    except FileNotFoundError:
        return 0


def time_visit(command, folder, commit):
    """Seconds of one visit, the shell included: median of nine."""
    took = []
    for _ in range(9):
        begun = time.monotonic()
        subprocess.run(command, shell=True, cwd=folder, check=True, capture_output=True, stdin=subprocess.DEVNULL,
                       env=dict(os.environ, PERFCI_COMMIT=commit))
        took.append(time.monotonic() - begun)
    return sorted(took)[4]


class History:
    """A history on its way: where it lies, what has been measured of it."""

    def __init__(self, lab, history):
        self.lab, self.h = lab, history
        self.dir = os.path.join(lab.folder, f"h{history['number']}")
        self.repo = os.path.join(self.dir, "repo")
        self.state = os.path.join(self.dir, "visit")
        self.config = os.path.join(self.dir, "perfci.yaml")
        self.project = f"h{history['number']}"
        self.visit_s = lab.visit_s
        self.index = {}
        self.known = {}
        self.sessions = set()

    def prepare(self):
        self.index = {entry["commit"]: i for i, entry in enumerate(self.h["entries"])}
        command = prepare_wrapper(self.lab, self.h, self.state)
        write_config(self.config, self.project, self.h["adapter"], command)

    def point_main(self, index):
        subprocess.run(["git", "-C", self.repo, "update-ref", "refs/heads/main", self.h["entries"][index]["commit"]], check=True)

    def nightly(self, new, night):
        """Runs the command; keeps what it printed."""
        words = ["nightly", "--config", self.config, "--repo", self.repo, "--branch", "main", "--project", self.project, "--create",
                 "--work", os.path.join(self.dir, "work"), "--json", "--max-commits", "250"]
        if self.lab.blocks:
            words += ["--budget", f"{self.budget_s(new):.3f}s"]
        else:
            words += ["--repeats", str(self.lab.args.repeats)]
        done = subprocess.run([self.lab.perfci, *words], capture_output=True, text=True, cwd=self.dir, env=self.environment(),
                              stdin=subprocess.DEVNULL, timeout=NIGHT_LIMIT_S, check=False)
        write_lines(os.path.join(self.dir, f"night{night}.log"), [" ".join(words), done.stderr, done.stdout])
        try:
            report = json.loads(done.stdout)
        except ValueError:
            report = None
        if report is None or done.returncode not in (0, 1, 3):
            self.h["failed"] += 1
            self.h["failures"].append({"night": night, "status": done.returncode, "stderr": done.stderr[-400:]})

    def environment(self):
        """Replayed: time is counted in visits (clock.c). Each history has another start, since that is the planner's seed."""
        if not (self.lab.trace and self.lab.blocks):
            return self.lab.service.env
        start = zlib.crc32(f"{self.lab.args.seed}/{self.h['number']}".encode()) % 1000000
        return dict(self.lab.service.env, LD_PRELOAD=self.lab.clock, NIGHT_CLOCK_S=str(start),
                    NIGHT_VISITS=os.path.join(self.state, "visits"))

    def budget_s(self, new):
        return self.lab.args.budget_factor * 5 * max(new, 1) * self.visit_s

    def take_session(self, night, visits):
        """Reads the verdicts of the night's session, and the time of a visit for the next night's budget."""
        sessions = self.lab.service.api(f"/projects/{self.project}/sessions?limit=1")["sessions"]
        if not sessions or sessions[0]["id"] in self.sessions:
            return
        self.sessions.add(sessions[0]["id"])
        try:
            session = self.lab.service.api(f"/projects/{self.project}/sessions/{sessions[0]['id']}")
        except AssertionError:
            session = dict(sessions[0], series=[])
        for commit in session["commits"]:
            verdict = commit.get("verdict") or commit["status"]
            self.h["verdicts"][verdict] = self.h["verdicts"].get(verdict, 0) + 1
        self.h["sessions"].append({"night": night, "blocks": session["blocks"], "spent_s": session["spent_s"],
                                   "budget_s": session["budget_s"], "note": session.get("note"),
                                   "rounds": [series["rounds"] for series in session["series"]],
                                   "noise": [series["noise_rel"] for series in session["series"]]})
        if self.lab.args.by == "sessions":
            self.take_regressions(session, night)
        if visits > 20 and not self.lab.trace:
            self.visit_s = session["spent_s"] / visits

    def take_regressions(self, session, night):
        """The boundaries that the session calls regressions, as if each were an alert at its commit."""
        for series in session["series"]:
            kernel = self.h["kernel_of"](series["metric"])
            for boundary in series["boundaries"]:
                if boundary["verdict"] != "regression" or (boundary["commit"], kernel) in self.known:
                    continue
                index = self.index[boundary["commit"]]
                self.known[boundary["commit"], kernel] = {
                    "id": len(self.known), "night": night, "history": self.h["number"], "index": index, "index_later": index,
                    "kernel": kernel, "rel_change": boundary["rel_change"], "low": boundary["rel_low"],
                    "high": boundary["rel_high"], "state": "untriaged", "range": [self.index[boundary["against"]] + 1, index]}

    def take_alerts(self, night):
        answer = self.lab.service.api(f"/alerts?project={self.project}&limit=1000")
        for alert in answer["alerts"]:
            commit = alert.get("culprit") or alert["commit"]
            if alert["direction"] != "regression" or commit not in self.index or alert["state"] in NOT_REPORTED:
                continue
            known = self.known.get(alert["id"])
            if known is None:
                self.known[alert["id"]] = known = {
                    "id": alert["id"], "night": night, "history": self.h["number"], "index": self.index[commit],
                    "kernel": self.h["kernel_of"](alert["metric"]), "rel_change": alert["rel_change"],
                    "low": alert["rel_low"], "high": alert["rel_high"], "state": alert["state"],
                    "range": [self.index.get(alert["commit_low"]), self.index.get(alert["commit_high"])]}
            known["index_later"] = self.index[commit]
            known["state"] = alert["state"]

    def go(self):
        """Every night; fills in alerts, visits and minutes."""
        h = self.h
        h.update(failed=0, failures=[], visits=[], minutes=0.0, verdicts={}, sessions=[])
        self.prepare()
        self.point_main(0)
        self.nightly(1, "base")
        for night, (first, last) in enumerate(h["nights"]):
            before, begun = visits_so_far(self.state), time.monotonic()
            self.point_main(last)
            self.nightly(last - first + 1, night)
            h["minutes"] += (time.monotonic() - begun) / 60
            h["visits"].append(visits_so_far(self.state) - before)
            if self.lab.blocks:
                self.take_session(night, h["visits"][-1])
            if self.lab.args.by == "alerts":
                self.take_alerts(night)
        h["alerts"] = [a for a in self.known.values()]

    def clean(self):
        if not self.lab.args.keep:
            shutil.rmtree(self.dir, ignore_errors=True)
