"""Histories of a real repository: its own commits in first-parent order, and plants between them.

The adapter (repos/NAME.json) says which sources make the library, which program measures it (repos/NAME.c), and which function
a metric spends its time in. A plant is a commit of its own: at the start of that function a call of one that loops, of as many
steps as cost the wanted share; every later commit of the repository has it, too. Nothing of the repository is copied into
perfci."""

import json
import os
import random
import re
import shutil
import subprocess

import made
import pairs
import plan
import score
from sources import REAL

HERE = os.path.dirname(os.path.abspath(__file__))
# Inside zlib's crc32_z a loop of a single step costs 14 %, since it moves the code behind it. So the loop is a function of its own
# at the end of the file (weak, since lz4hc.c includes lz4.c), and functions and loops are aligned, as in the made repository.
CALL = " {{ extern void {loop}(unsigned); {loop}({steps}u); }}"
LOOP = ("\n__attribute__((noinline, weak)) void {loop}(unsigned steps)\n"
        "{{\n    volatile unsigned step;\n\n    for (step = 0; step < steps; step++)\n        ;\n}}\n")
FLAGS = "-O2 -w -falign-functions=64 -falign-loops=64"
PROBE_SHARE = 0.20  # the loop is scaled by one that costs about this much


def insert_loop(text, function, steps, name):
    """The text with a call of a loop at the start of every definition of the function."""
    loop = f"night_{function}_{text.count('void night_') + 1}"
    out, last, found = [], 0, 0
    for head in re.finditer(rf"(?m)^[A-Za-z_][\w \t*]*\b{re.escape(function)}\s?\(", text):
        depth, at = 1, head.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        rest = text[at:].lstrip()
        if rest[:1] in (";", ","):
            continue  # a prototype
        brace = text.index("{", at) + 1
        out += [text[last:brace], CALL.format(loop=loop, steps=steps)]
        last = brace
        found += 1
    if not found:
        raise SystemExit(f"run.sh: {name}: no definition of {function}")
    return "".join(out) + text[last:] + LOOP.format(loop=loop)


class Real:
    def __init__(self, args):
        path = args.repo if os.path.exists(args.repo) else os.path.join(HERE, "repos", args.repo + ".json")
        with open(path, encoding="utf-8") as file:
            self.conf = json.load(file)
        self.name = self.conf["name"]
        self.path = os.path.abspath(args.path)
        self.folder = os.path.dirname(os.path.abspath(path))
        self.metrics = {p["metric"]: p for p in self.conf["plants"]}
        self.adapter = {"measure": "./night_bench", "timeout": "10m"}

    def build_command(self, cache):
        sources = self.conf["sources"]
        cc = f"{made.compiler(cache)} {FLAGS} -I{self.conf['include']}"
        return (f"for f in {' '.join(sources)}; do {cc} -c $f || exit 1; done; "
                f"{cc} -I{self.folder} -c {self.folder}/{self.conf['bench']} -o night_bench.o && "
                f"cc -o night_bench night_bench.o {' '.join(os.path.basename(s)[:-2] + '.o' for s in sources)}")

    def kernel_of(self, metric):
        return metric

    def prepare(self, lab):
        if lab.trace:
            raise SystemExit("run.sh: --replay has the times of the made repository; expected --repo without it")
        self.commits = made.git(self.path, "rev-list", "--first-parent", f"--max-count={self.conf['newest']}", "HEAD").split()[::-1]
        self.adapter["build"] = self.build_command(lab.objects)
        self.base = os.path.join(lab.folder, "base")
        self.build(self.path, self.commits[0], self.base)
        import nights
        lab.visit_s = nights.time_visit(self.adapter["measure"], self.base, "timing")

    def build(self, repo, commit, folder):
        made.checkout(repo, commit, folder)
        subprocess.run(self.adapter["build"], shell=True, cwd=folder, check=True, capture_output=True, stdin=subprocess.DEVNULL)
        return folder

    def plan(self, number, args):
        wanted = plan.history(number, args, list(self.metrics))
        for one in wanted["plants"].values():
            one["kernels"] = one["kernels"][:1]  # each loop is scaled to one metric
        return wanted

    def night_of(self, history, index):
        return score.night_of(history, index)

    def steps_for(self, scratch, commit, plant):
        """How long a loop costs the wanted share at this commit: one of known length is measured first."""
        where = self.metrics[plant["kernels"][0]]
        sides = []
        probe = 2000
        for steps in (None, probe):
            folder = os.path.join(scratch, "probe" + str(steps))
            made.checkout(self.path, commit, folder)
            if steps:
                self.edit_file(folder, where, steps)
            subprocess.run(self.adapter["build"], shell=True, cwd=folder, check=True, capture_output=True, stdin=subprocess.DEVNULL)
            sides.append(folder)
        share = pairs.measure(*sides, "./night_bench", "probe", 5)[where["metric"]][0]
        # Scaled up once, so that noise does not decide.
        probe = max(1, round(probe * PROBE_SHARE / max(share, 0.002)))
        made.checkout(self.path, commit, sides[1] + "x")
        self.edit_file(sides[1] + "x", where, probe)
        subprocess.run(self.adapter["build"], shell=True, cwd=sides[1] + "x", check=True, capture_output=True, stdin=subprocess.DEVNULL)
        share = pairs.measure(sides[0], sides[1] + "x", "./night_bench", "probe", 15)[where["metric"]][0]
        for folder in (*sides, sides[1] + "x"):
            shutil.rmtree(folder)
        return max(1, round(probe * plant["percent"] / 100 / max(share, 0.01)))

    def edit_file(self, folder, where, steps):
        path = os.path.join(folder, where["file"])
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(insert_loop(text, where["function"], steps, where["file"]))

    def write(self, folder, seed, wanted):
        """A history of `commits` commits: the repository's from a place that the seed decides, and the plants among them."""
        rng = random.Random(f"real/{seed}")
        originals = wanted["commits"] - len(wanted["plants"])
        start = rng.randrange(max(1, len(self.commits) - originals + 1))
        source = self.commits[start:start + originals]
        scratch = folder + ".scratch"
        os.makedirs(scratch)
        subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", self.path, folder], check=True, capture_output=True)
        env = dict(os.environ, GIT_INDEX_FILE=os.path.join(scratch, "index"), GIT_AUTHOR_NAME="Night", GIT_AUTHOR_EMAIL="night@example.org",
                   GIT_COMMITTER_NAME="Night", GIT_COMMITTER_EMAIL="night@example.org")
        entries, loops, parent, at = [], [], None, 0
        for index in range(wanted["commits"]):
            plant = wanted["plants"].get(index)
            if plant:
                loops.append((self.metrics[plant["kernels"][0]], self.steps_for(scratch, source[at - 1], plant)))
                plant["steps"] = loops[-1][1]
                subject = f"{plant['kernels'][0]}: more steps"
            else:
                subject = made.git(self.path, "log", "-1", "--format=%s", source[at])
                at += 1
            date = f"{made.FIRST_DATE + index * 3600} +0000"
            parent = self.commit(folder, source[at - 1], loops, parent, subject, dict(env, GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date))
            entries.append({"commit": parent, "subject": subject, "metric_factors": {}, "identical": False})
        shutil.rmtree(scratch)
        subprocess.run(["git", "-C", folder, "update-ref", "refs/heads/main", parent], check=True)
        subprocess.run(["git", "-C", folder, "symbolic-ref", "HEAD", "refs/heads/main"], check=True)
        return entries, []

    def commit(self, repo, original, loops, parent, subject, env):
        def run(*words, text=None):
            return subprocess.run(["git", "-C", repo, *words], check=True, capture_output=True, env=env, input=text).stdout
        run("read-tree", original)
        files = {}
        for where, steps in loops:
            name = where["file"]
            text = files[name] if name in files else run("show", f"{original}:{name}").decode("utf-8", "surrogateescape")
            files[name] = insert_loop(text, where["function"], steps, name)
        for name, text in files.items():
            blob = run("hash-object", "-w", "--stdin", text=text.encode("utf-8", "surrogateescape")).decode().strip()
            run("update-index", "--cacheinfo", f"100644,{blob},{name}")
        tree = run("write-tree").decode().strip()
        return run("commit-tree", tree, *(["-p", parent] if parent else []), "-m", subject).decode().strip()

    def both_sides(self, history, run, ends):
        return [self.build(run.repo, history["entries"][i]["commit"], os.path.join(run.dir, f"side{i}")) for i in ends]

    def measure_plants(self, history, run, lab):
        for plant in history["plants"]:
            sides = self.both_sides(history, run, (plant["index"] - 1, plant["index"]))
            plant["measured"], plant["measured_low"], plant["measured_high"] = pairs.measure(
                *sides, "./night_bench", plant["commit"])[plant["kernels"][0]]
            for side in sides:
                shutil.rmtree(side)

    def check_alerts(self, history, run, lab):
        """Alerts without a plant: is the change real? A history of real commits has some."""
        score.attribute(history)
        for alert in history["false"]:
            if alert["index"] == 0:
                continue
            sides = self.both_sides(history, run, score.ends_of(alert))
            change, low, high = pairs.measure(*sides, "./night_bench", f"check/{alert['id']}")[alert["kernel"]]
            alert.update(pairs=change, pairs_low=low, pairs_high=high, real=low > 0 and change >= REAL)
            for side in sides:
                shutil.rmtree(side)
