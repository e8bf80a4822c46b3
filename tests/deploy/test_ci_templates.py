"""deploy/ci, deploy/action and deploy/container/compose.yaml: each is right by its system's own description, and the command lines
of the templates and of the action work on the demonstration repository.

The lines are taken out of the templates as they stand. The benchmark's clock counts steps (BENCH_CLOCK=steps), so no verdict depends on
this machine."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import jsonschema
import yaml

ROOT = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])
sys.path.insert(0, str(ROOT / "tests/cli"))
import test_comment  # noqa: E402

BIN = pathlib.Path(os.environ["PERFCI_BIN_DIR"])
CI = ROOT / "deploy/ci"
DATA = ROOT / "tests/data/ci"
STORE = "perfci-data"


def template(name):
    return (CI / name).read_text(encoding="utf-8")


def workflow():
    """YAML 1.1 reads the key "on" as true."""
    return {"on" if key is True else key: value for key, value in yaml.safe_load(template("github-actions.yml")).items()}


def github_lines():
    step, = [s for s in workflow()["jobs"]["nightly"]["steps"] if "perfci nightly" in s.get("run", "")]
    return step["run"]


def gitlab_lines():
    return "\n".join(yaml.safe_load(template("gitlab-ci.yml"))["perfci"]["script"])


def jenkins_lines():
    return re.search(r"sh '''\n(.*?)'''", template("Jenkinsfile"), re.S).group(1)


def cron_entry():
    line, = [line for line in template("crontab").split("\n") if re.match(r"[\d*]", line)]
    return line.split(None, 6)


def unit(name):
    return template(f"perfci-store@.{name}")


def unit_lines():
    return re.findall(r"^ExecStart(?:Pre)?=(.*)$", unit("service"), re.M)


class Right(unittest.TestCase):
    def valid(self, name, document):
        schema = json.loads((DATA / name).read_text(encoding="utf-8"))
        validator = jsonschema.validators.validator_for(schema, default=jsonschema.Draft7Validator)(schema)
        self.assertEqual([f"{list(e.absolute_path)}: {e.message[:200]}" for e in validator.iter_errors(document)], [])

    def test_github_actions(self):
        document = workflow()
        self.valid("github-workflow.json", document)
        steps = document["jobs"]["nightly"]["steps"]
        self.assertEqual(steps[0]["with"]["fetch-depth"], 0)
        # Every file that a later step reads is written by the night.
        for name in re.findall(r"perfci\.(?:md|html|xml|sarif)", "".join(json.dumps(step) for step in steps if "Measure" not in json.dumps(step))):
            self.assertIn(name, github_lines())

    def test_gitlab_ci(self):
        document = yaml.safe_load(template("gitlab-ci.yml"))
        self.valid("gitlab-ci.json", document)
        job = document["perfci"]
        for name in (*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]):
            self.assertIn(name, gitlab_lines())

    def test_compose(self):
        document = yaml.safe_load((ROOT / "deploy/container/compose.yaml").read_text(encoding="utf-8"))
        self.valid("compose-spec.json", document)
        document["services"]["server"]["volume"] = []
        with self.assertRaises(AssertionError):
            self.valid("compose-spec.json", document)

    def test_a_schema_finds_a_fault(self):
        document = workflow()
        document["jobs"]["nightly"]["steps"][0]["wiht"] = {}
        with self.assertRaises(AssertionError):
            self.valid("github-workflow.json", document)
        with self.assertRaises(AssertionError):
            self.valid("gitlab-ci.json", {"perfci": {"script": [1], "artifacts": {"when": "sometimes"}}})

    # Sections and steps of a declarative pipeline, each with its allowed members.
    GRAMMAR = {"": {"pipeline"}, "pipeline": {"agent", "triggers", "options", "stages", "post", "environment"},
               "agent": {"label"}, "triggers": {"cron"}, "options": {"disableConcurrentBuilds", "timeout"}, "stages": {"stage"},
               "stage": {"steps"}, "steps": {"sh", "sshagent"}, "sshagent": {"sh"}, "post": {"always"},
               "always": {"junit", "archiveArtifacts"}}

    def pipeline_faults(self, text):
        """Declarative syntax as far as the template uses it; strings and comments first become empty."""
        text = re.sub(r"'''.*?'''|'[^'\n]*'|\"[^\"\n]*\"", "''", re.sub(r"^\s*//.*$", "", text, flags=re.M), flags=re.S)
        faults, open_sections = [], [""]
        for line in filter(None, (part.strip() for part in re.split(r"(?<=[{}])|\n", text))):
            for part in filter(None, re.split(r"(?=})", line)):
                if part.startswith("}"):
                    open_sections.pop()
                    part = part[1:].strip()
                    if not open_sections:
                        return faults + ["one } too many"]
                if not part:
                    continue
                word = re.match(r"\w+", part)
                if not word or word.group() not in self.GRAMMAR.get(open_sections[-1], set()):
                    faults.append(f"{open_sections[-1]}: {part}")
                if part.endswith("{"):
                    open_sections.append(word.group() if word else "?")
        return faults + [f"{name} is not closed" for name in open_sections[1:]]

    def test_jenkins(self):
        text = template("Jenkinsfile")
        self.assertEqual(self.pipeline_faults(text), [])
        self.assertNotEqual(self.pipeline_faults(text.replace("stages {", "stage {", 1)), [])
        self.assertNotEqual(self.pipeline_faults(text.rstrip()[:-1]), [])
        self.assertNotEqual(self.pipeline_faults(text.replace("junit allow", "jnit allow")), [])
        self.assertIn(re.search(r"testResults: '([^']*)'", text).group(1), jenkins_lines())
        self.assertIn(re.search(r"artifacts: '([^']*)'", text).group(1), jenkins_lines())

    def test_jenkins_as_groovy(self):
        if not shutil.which("groovyc"):
            self.skipTest("groovyc is not installed")
        with tempfile.TemporaryDirectory(prefix="pfc-ci-") as folder:
            done = subprocess.run(["groovyc", "-d", folder, CI / "Jenkinsfile"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_cron(self):
        *when, user, command = cron_entry()
        self.assertEqual(len(when), 5)
        for field, (low, high) in zip(when, ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))):
            self.assertTrue(field == "*" or low <= int(field) <= high, field)
        self.assertEqual(user, "perfci")
        # cron makes a percent sign a newline, and reads a line of at most 998 bytes.
        self.assertNotIn("%", command)
        self.assertLess(len(" ".join(cron_entry())), 998)
        for line in template("crontab").split("\n"):
            self.assertRegex(line, r"^(#.*|[A-Z]+=\S+|\d.*|)$")

    def test_systemd(self):
        with tempfile.TemporaryDirectory(prefix="pfc-ci-") as folder:
            for name in ("service", "timer"):
                copy = pathlib.Path(folder, f"perfci-store@demo.{name}")
                copy.write_text(re.sub(r"^ExecStart(Pre)?=\S+", r"ExecStart\1=/bin/true", unit(name), flags=re.M), encoding="utf-8")
            for name in ("service", "timer"):
                done = subprocess.run(["systemd-analyze", "verify", "--man=no", pathlib.Path(folder, f"perfci-store@demo.{name}")],
                                      capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, check=False)
                self.assertEqual([line for line in done.stderr.splitlines() if "perfci-store@demo" in line], [], done.stderr)
        when = re.search(r"^OnCalendar=(.*)$", unit("timer"), re.M).group(1)
        done = subprocess.run(["systemd-analyze", "calendar", when], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_each_line_is_one_for_its_shell(self):
        for lines in (github_lines(), gitlab_lines(), jenkins_lines(), cron_entry()[-1]):
            done = subprocess.run(["sh", "-n"], input=lines, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_option_exists(self):
        known = subprocess.run([BIN / "perfci", "nightly", "--help"], capture_output=True, text=True, timeout=240, check=True).stdout
        for lines in (github_lines(), gitlab_lines(), jenkins_lines(), cron_entry()[-1], "\n".join(unit_lines())):
            for option in re.findall(r"(?<=\s)--[a-z-]+(?=[ =]|$)", lines.split("perfci nightly", 1)[1]):
                self.assertIn(option, known)


class Demonstration(unittest.TestCase):
    """A remote whose store has the commit before the plant; each template's lines measure the plant in a fresh clone."""

    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="pfc-ci-"))
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        cls.env = {k: v for k, v in os.environ.items() if not k.startswith(("PERFCI_", "GIT_", "CI_"))}
        cls.env.update(HOME=str(cls.dir), PATH=f"{BIN}:{os.environ['PATH']}", BENCH_CLOCK="steps", GIT_CONFIG_NOSYSTEM="1",
                       GIT_CONFIG_GLOBAL="/dev/null", XDG_CACHE_HOME=str(cls.dir / "cache"), XDG_CONFIG_HOME=str(cls.dir / "config"))
        made = subprocess.run([ROOT / "deploy/demo/make_demo.py", cls.dir / "demo", "--seed", "1", "--json"], capture_output=True, text=True,
                              env=cls.env, stdin=subprocess.DEVNULL, check=True, timeout=600)
        cls.planted = json.loads(made.stdout)["planted"]
        cls.remote = cls.dir / "remote.git"
        cls.run_git("clone", "-q", "--bare", cls.dir / "demo", cls.remote)
        cls.run_git("-C", cls.remote, "update-ref", "refs/heads/main", f"{cls.planted}~1")
        clone = cls.clone("first")
        done = cls.shell("perfci nightly --store branch:perfci-data --store-remote origin", clone)
        assert done.returncode == 0, done.stdout + done.stderr

    @classmethod
    def run_git(cls, *words):
        return subprocess.run(["git", *words], env=cls.env, capture_output=True, text=True, check=True, timeout=600).stdout.strip()

    @classmethod
    def clone(cls, name):
        """As a CI system does: one branch, with its whole history."""
        cls.run_git("clone", "-q", "--single-branch", "-b", "main", cls.remote, cls.dir / name)
        return cls.dir / name

    @classmethod
    def shell(cls, lines, cwd, words=("sh", "-e", "-c"), **env):
        return subprocess.run([*words, lines], cwd=cwd, env={**cls.env, **env}, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=900, check=False)

    def setUp(self):
        # The remote as it was before the plant, for each template.
        self.kept = self.dir / "kept.git"
        shutil.copytree(self.remote, self.kept)
        self.addCleanup(self.restore)
        self.name = self.id().rsplit("_", 1)[1]

    def restore(self):
        shutil.rmtree(self.remote)
        self.kept.rename(self.remote)

    def begin(self, detached=False):
        self.run_git("-C", self.remote, "update-ref", "refs/heads/main", self.planted)
        clone = self.clone(self.name)
        if detached:
            self.run_git("-C", clone, "checkout", "-q", "--detach")
            self.run_git("-C", clone, "branch", "-q", "-D", "main")
        return clone

    def found(self, done, clone, status=1):
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        names = self.run_git("-C", self.remote, "ls-tree", "-r", "--name-only", STORE).split("\n")
        alerts = [json.loads(self.run_git("-C", self.remote, "show", f"{STORE}:{name}")) for name in names if name.startswith("alerts/")]
        self.assertEqual({alert["commit"] for alert in alerts}, {self.planted}, done.stdout + done.stderr)
        for name in re.findall(r"perfci\.(?:md|html|xml|sarif)", str(done.args)):
            self.assertGreater((clone / name).stat().st_size, 0, name)

    def test_github(self):
        clone = self.begin()
        self.found(self.shell(github_lines(), clone, words=("bash", "-e", "-c")), clone)

    def test_gitlab(self):
        clone = self.begin(detached=True)
        self.found(self.shell(gitlab_lines(), clone, CI_COMMIT_BRANCH="main", PERFCI_PUSH_URL=str(self.remote)), clone)

    def test_jenkins(self):
        clone = self.begin(detached=True)
        self.found(self.shell(jenkins_lines(), clone, BRANCH_NAME="main"), clone)

    def test_cron(self):
        clone = self.clone(self.name)
        self.run_git("-C", self.remote, "update-ref", "refs/heads/main", self.planted)
        command = cron_entry()[-1].replace("/srv/perfci/kernels", shlex.quote(str(clone)))
        done = self.shell(command, clone, words=("sh", "-c"))
        self.found(done, clone)
        # The mail has the report.
        self.assertIn(self.planted[:12], done.stdout)

    def test_systemd(self):
        clone = self.clone(self.name)
        self.run_git("-C", self.remote, "update-ref", "refs/heads/main", self.planted)
        lines = [line.replace("/usr/bin/perfci", str(BIN / "perfci")) for line in unit_lines()]
        for line in lines[:-1]:
            self.assertEqual(self.shell(line, clone).returncode, 0)
        done = subprocess.run(shlex.split(lines[-1]), cwd=clone, env=self.env, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=900, check=False)
        self.found(done, clone)
        self.assertIn(str(done.returncode), re.search(r"^SuccessExitStatus=(.*)$", unit("service"), re.M).group(1).split())

    # Expressions of deploy/action/action.yml, as far as it uses them: names of a context, joined by ||.
    def expanded(self, text, context):
        def value(name):
            found = context
            for part in name.strip().split("."):
                found = found.get(part) if isinstance(found, dict) else None
            return found
        return re.sub(r"\$\{\{(.*?)\}\}", lambda m: str(next((v for v in map(value, m[1].split("||")) if v), "")), text)

    def act(self, clone, github, given, **more):
        """The steps of the action as GitHub's runner executes them; the process of the last, its outputs, its summary."""
        action = yaml.safe_load((ROOT / "deploy/action/action.yml").read_text(encoding="utf-8"))
        context = {"github": {**github, "token": "t0ken", "action_path": str(ROOT / "deploy/action")}}
        context["inputs"] = {name: given.get(name, self.expanded(field.get("default", ""), context)) for name, field in action["inputs"].items()}
        place = pathlib.Path(tempfile.mkdtemp(dir=self.dir))
        files = {"GITHUB_OUTPUT": place / "output", "GITHUB_STEP_SUMMARY": place / "summary"}
        for path in files.values():
            path.touch()
        install, measure = action["runs"]["steps"]
        self.assertEqual((install["if"], context["inputs"]["packages"]), ("inputs.packages != ''", ""))  # perfci is in PATH
        script = place / "step.sh"
        script.write_text(self.expanded(measure["run"], context), encoding="utf-8")
        env = {name: self.expanded(value, context) for name, value in measure["env"].items()}
        done = self.shell(str(script), clone, words=("bash", "--noprofile", "--norc", "-e", "-o", "pipefail"), CI="true",
                          GITHUB_REPOSITORY=github["repository"], RUNNER_TEMP=str(place), **{k: str(v) for k, v in files.items()}, **env, **more)
        outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text(encoding="utf-8").splitlines())
        return done, outputs, files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8")

    def pull(self, number, commit):
        """As actions/checkout leaves it for a pull request: its merge commit, no branch, all branches of the remote."""
        self.run_git("-C", self.remote, "update-ref", f"refs/pull/{number}/merge", commit)
        clone = self.dir / self.name
        self.run_git("init", "-q", clone)
        self.run_git("-C", clone, "remote", "add", "origin", self.remote)
        self.run_git("-C", clone, "fetch", "-q", "--no-tags", "origin", "+refs/heads/main:refs/remotes/origin/main",
                     f"+refs/pull/{number}/merge:refs/remotes/pull/{number}/merge")
        self.run_git("-C", clone, "checkout", "-q", "--force", f"refs/remotes/pull/{number}/merge")
        return clone

    def test_action(self):
        clone = self.pull(7, self.planted)
        event = {"repository": "me/kernels", "base_ref": "main", "event": {"pull_request": {"number": 7}, "repository": {"default_branch": "trunk"}}}
        with test_comment.serving("t0ken") as github:
            done, outputs, summary = self.act(clone, event, {}, GITHUB_API_URL=github.url)
            bodies = [(comment["issue"], comment["body"]) for comment in github.comments]
        self.assertEqual((done.returncode, outputs["verdict"]), (1, "regression"), done.stdout + done.stderr)
        rows = json.loads(pathlib.Path(outputs["comparison"]).read_text(encoding="utf-8"))["rows"]
        self.assertIn("regression", {row["verdict"] for row in rows})
        (number, body), = bodies
        self.assertEqual(number, 7)
        self.assertIn("regression", body.splitlines()[1] if body.startswith("<!--") else body.splitlines()[0])
        self.assertEqual(summary.strip(), body.strip())

    def test_action_without_a_pull_request(self):
        clone = self.pull(8, f"{self.planted}~1")  # the head of the base: nothing is new
        event = {"repository": "me/kernels", "event": {"repository": {"default_branch": "main"}}}
        with test_comment.serving("t0ken") as github:
            done, outputs, _ = self.act(clone, event, {"max-time": "1m"}, GITHUB_API_URL=github.url)
            self.assertEqual(github.calls, [])  # there is nothing to comment on
        self.assertEqual((done.returncode, outputs["verdict"]), (0, "ok"), done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
