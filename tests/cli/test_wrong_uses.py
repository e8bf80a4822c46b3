"""Wrong uses: each case ends with the right status, one sentence that names the fault, one line with the next step,
nothing on stdout, and nothing left behind."""

import os
import re
import shutil
import socket
import subprocess

import support
from stub import Stub
from test_comment import FINE

# Which perfci.yaml, command and metric are used is always printed.
SENTENCE = re.compile(r"\A(?:config: [^\n]+\n)?perfci(?: [a-z-]+)*: [^\n]+\nhint: [^\n]+\n\Z")
YAML = "project: p\nbranch: main\nmeasure: cat value\nmetric: latency\nunit: ms\n"
LINES = {"a": 1, "b": 1}


class WrongUses(support.Case):
    def setUp(self):
        super().setUp()
        self.stub = Stub({("GET", "/api/v1/projects"): {"projects": [{"name": "kernels"}]},
                          ("GET", "/api/v1/jobs/1"): (401, {"error": {"message": "the token is not known"}}),
                          ("GET", "/api/v1/tokens"): (403, {"error": {"message": "this needs a token of scope admin"}})})
        self.addCleanup(self.stub.close)
        self.closed = f"http://127.0.0.1:{support.free_port()}"
        self.env.update(PERFCI_URL=self.closed, GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@example.org", GIT_COMMITTER_NAME="a",
                        GIT_COMMITTER_EMAIL="a@example.org")
        self.repo = self.make_repo("repo")

    def make_repo(self, name, *options, values=(100, 101, 102)):
        path = self.path(name)
        os.mkdir(path)
        self.git("init", "-q", "-b", "main", *options, cwd=path)
        self.write(f"{name}/perfci.yaml", YAML)
        for n, value in enumerate(values):
            self.write(f"{name}/value", f"{value}\n")
            self.git("add", "-A", cwd=path)
            self.git("commit", "-qm", f"c{n}", cwd=path)
        return path

    def left(self):
        """Every file of the scratch folder, the branches and worktrees of the repositories. Git's own bookkeeping and the cache of
        checkouts, which later calls use, are no concern."""
        files = sorted(os.path.join(at, name) for at, dirs, names in os.walk(self.dir) for name in names + dirs
                       if "/.git" not in at + "/" + name and "/.cache" not in at + "/" + name)
        state = [self.git("for-each-ref", cwd=self.repo), self.git("worktree", "list", cwd=self.repo),
                 self.git("status", "--porcelain", cwd=self.repo)]
        return files, state

    def processes(self):
        """Processes that name the scratch folder."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    if self.dir.encode() in f.read():
                        found.append(pid)
            except OSError:
                pass
        return found

    def wrong(self, status, names, *args, cwd=None, text=None, env=None):
        """The command fails as it should; `names` is what the sentence or the hint must say."""
        with self.subTest(args=args):
            before = self.left()
            done = self.perfci(*args, cwd=cwd or self.repo, text=text, env=env, timeout=60)
            said = f"\nstatus: {done.returncode}\nstdout: {done.stdout}\nstderr: {done.stderr}"
            self.assertEqual(done.returncode, status, said)
            self.assertRegex(done.stderr, SENTENCE, said)
            self.assertIn(names, done.stderr, said)
            self.assertEqual(done.stdout, "", said)
            self.assertEqual(self.left(), before, said)
            self.assertEqual(self.processes(), [], said)
        self.count = getattr(self, "count", 0) + 1

    def test_commands_and_options(self):
        self.wrong(2, 'did you mean "bisect"?', "bisetc")
        self.wrong(2, 'unknown command "bisetc"\nhint: did you mean "bisect"?', "help", "bisetc")
        self.wrong(2, 'unknown command "qqqqqq"', "help", "qqqqqq")
        self.wrong(2, 'unknown option "--benchmrak"', "series", "--benchmrak", "x")
        self.wrong(2, 'option "--metric" needs a value', "series", "--metric")
        self.wrong(2, "--limit", "jobs", "--limit", "many")
        self.wrong(2, "--limit", "jobs", "--limit", "0")
        self.wrong(2, "--wait", "nightly", "--wait", "soon")
        self.wrong(2, "one argument too many", "why", "1", "2")
        self.wrong(2, "FILE", "push")
        self.wrong(2, "and B", "compare", "HEAD")
        self.wrong(2, "expected create", "project")
        self.wrong(2, "--json and --csv", "jobs", "--json", "--csv")
        self.assertGreaterEqual(self.count, 13)

    def test_the_service(self):
        here = {"PERFCI_URL": self.stub.url}
        self.wrong(5, f"no service answers at {self.closed}", "alerts")
        self.wrong(2, "the token is not known", "jobs", "1", env=here)
        self.wrong(2, "scope admin", "token", "list", env=here)
        self.wrong(2, 'no project "kernls"', "push", self.write("repo/run.txt", "1.5\n"), "--project", "kernls",
                   "--direction", "value=lower", env=here)
        self.git("clean", "-qfd", cwd=self.repo)
        self.wrong(2, "no alert 99", "alerts", "99", env=here)
        self.wrong(2, "number", "alerts", "first", env=here)
        self.wrong(2, "URL", "alerts", "--url", "ftp://example.org")
        self.wrong(2, "--state", "alerts", "--state", "opened", env=here)
        self.wrong(2, "needs --yes", "project", "delete", "kernels", env=here)
        self.wrong(2, "PERFCI_TOKEN_FILE", "alerts", env={"PERFCI_TOKEN_FILE": self.path("no-such-file")})
        self.assertGreaterEqual(self.count, 10)

    def test_repositories(self):
        outside = self.path("outside")
        os.mkdir(outside)
        self.wrong(2, "repository", "check", cwd=outside)
        self.wrong(2, "repository", "bisect", "--good", "HEAD~1", "--bad", "HEAD", "--measure", "cat value", cwd=outside)
        self.wrong(2, "no-such-revision", "bisect", "--good", "no-such-revision", "--bad", "HEAD")
        self.wrong(2, "no-such-revision", "run", "--commit", "no-such-revision")
        self.wrong(2, "same commit", "bisect", "--good", "HEAD", "--bad", "HEAD")
        self.wrong(2, "swapped", "bisect", "--good", "HEAD", "--bad", "HEAD~2")
        self.wrong(2, "c9", "compare", "c9", "HEAD")
        detached = self.make_repo("detached")
        self.git("checkout", "-q", "--detach", cwd=detached)
        self.git("branch", "-D", "main", cwd=detached)
        self.wrong(2, "hint", "check", cwd=detached)
        shallow = self.path("shallow")
        self.git("clone", "-q", "--depth", "1", "file://" + self.repo, shallow, cwd=self.dir)
        self.wrong(2, "shallow", "bisect", "--good", "HEAD~1", "--bad", "HEAD", cwd=shallow)
        self.wrong(2, "shallow", "check", "--base", "HEAD~1", cwd=shallow)
        other = self.path("sha256")
        os.mkdir(other)
        self.git("init", "-q", "--object-format=sha256", cwd=other)
        self.wrong(2, "sha256", "bisect", "--good", "HEAD~1", "--bad", "HEAD", "--measure", "cat value", cwd=other)
        shutil.move(self.path("repo/perfci.yaml"), self.path("kept"))
        self.wrong(2, "perfci.yaml", "run", cwd=outside)
        shutil.move(self.path("kept"), self.path("repo/perfci.yaml"))
        self.assertGreaterEqual(self.count, 12)

    def test_perfci_yaml(self):
        for text, part in (("project: p\nbuidl: make\n", "perfci.yaml:2"), ("project: [\n", "perfci.yaml:"),
                           ("project: Not A Slug\n", "perfci.yaml"), ("project: p\nbetter: up\n", "perfci.yaml:2")):
            self.write("repo/perfci.yaml", text)
            self.wrong(2, part, "run")
        self.write("repo/perfci.yaml", YAML)
        self.assertGreaterEqual(self.count, 4)

    def test_benchmarks(self):
        for command, part in (("exit 3", "3"), ("kill -SEGV $$", "Segmentation fault"), ("echo nan", "nan"), ("true", "result")):
            self.wrong(4, part, "run", "--", "sh", "-c", command)
        self.write("repo/perfci.yaml", YAML + "build: exit 7\n")
        self.wrong(4, "build failed", "run")
        self.write("repo/perfci.yaml", YAML.replace("cat value", "sleep 60") + "timeout: 1s\n")
        self.wrong(5, "time limit", "run")
        self.write("repo/perfci.yaml", YAML)
        self.wrong(2, "no result for wall", "bisect", "-q", "--metric", "wall", "--good", "HEAD~2", "--bad", "HEAD", "--measure",
                   "echo '{\"metrics\": {\"latency\": 3}}'")
        self.wrong(2, "no benchmark is left by the filter", "run", "--suite", "quick", "--filter", "no-such-benchmark")
        self.write("repo/perfci.yaml", YAML)
        self.assertGreaterEqual(self.count, 5)

    def test_files(self):
        outside = self.path("outside")
        os.mkdir(outside)
        empty, binary = self.write("empty.json", ""), self.path("binary.json")
        with open(binary, "wb") as f:
            f.write(bytes(range(256)) * 8)
        words = self.write("words.txt", "nothing to measure in here\n")
        self.wrong(2, "no-such-file", "import", "--dry-run", self.path("no-such-file"))
        self.wrong(2, "empty.json", "import", "--dry-run", empty)
        self.wrong(2, "binary.json", "import", "--dry-run", binary)
        self.wrong(2, "words.txt", "import", "--dry-run", words)
        self.wrong(2, "words.txt", "compare", words, words)
        self.wrong(2, "no-such-suite", "run", "--suite", "no-such-suite")
        self.wrong(2, "standard input", "comment", "--repo", "me/kernels", "--pr", "7", text="{}")
        self.wrong(2, "no token", "comment", "--repo", "me/kernels", "--pr", "7", text=FINE)
        self.wrong(2, "standard input: line 1", "detect", text="this is no series\n")
        self.wrong(2, "no-such-file", "detect", self.path("no-such-file"))
        self.assertGreaterEqual(self.count, 8)

    def test_the_machine(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            self.wrong(5, "in use", "up", "--detach", "--port", str(taken.getsockname()[1]), "--data", self.path("data-in-use"))
        self.wrong(5, "a-file", "up", "--detach", "--data", os.path.join(self.write("a-file", ""), "data-below"))
        self.wrong(5, "initdb", "up", "--detach", "--data", self.path("data-no-postgres"), env={"PERFCI_PG_BIN": "/nowhere"})
        self.wrong(2, "no-such-folder", "bisect", "--repo", self.path("no-such-folder"), "--good", "a", "--bad", "b")
        self.wrong(5, "no-such-folder", "series", "--data", self.path("no-such-folder"))

    def test_a_user_who_may_not_write_there(self):
        os.mkdir(self.path("shut"), 0o555)
        other = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.geteuid() == 0 else []
        for args in (["up", "--detach", "--data", self.path("shut/data")], ["run", "-q", "--out", self.path("shut/out.json"), "--", "echo", "1"]):
            before = self.left()
            done = subprocess.run([*other, support.PERFCI, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  env={**self.env, "HOME": self.path("shut")}, cwd=self.dir, check=False, timeout=60)
            self.assertIn(done.returncode, (2, 5), done.stderr)
            self.assertRegex(done.stderr, SENTENCE)
            self.assertIn("shut", done.stderr)
            self.assertEqual(self.left(), before)

    def test_standard_output_that_takes_nothing(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([support.PERFCI, "suite", "list"], stdout=full, stderr=subprocess.PIPE, text=True, env=self.env,
                                  cwd=self.dir, check=False)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertRegex(done.stderr, SENTENCE)


if __name__ == "__main__":
    support.main()
