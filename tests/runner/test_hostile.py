"""Hostile repositories: the runner refuses each with one clear sentence, or contains it and measures.

The objects are written by hand, because git makes none of them. The runner is the program, the server a stand-in.
"""
import glob
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from jobs_service import JobsService  # noqa: E402

BIN = os.environ.get("PERFCI_BIN_DIR") or os.path.join(os.path.dirname(__file__), "../../build/release/bin")
RUNNER = os.path.join(BIN, "perfci-runner")
PATIENCE_S = 300
FILE, PROGRAM, LINK, FOLDER, SUBMODULE = b"100644", b"100755", b"120000", b"40000", b"160000"
YAML = b"build: 'true'\nmeasure: cat value\nmetric: speed\nunit: s\nbetter: lower\n"
ESCAPE = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e"


class Repository:
    """A bare repository whose objects are whatever bytes a test writes."""

    def __init__(self, folder):
        self.folder = folder
        subprocess.run(["git", "init", "--quiet", "--bare", "-b", "main", folder], check=True, stdin=subprocess.DEVNULL)

    def write(self, kind, data, header=None):
        head = header or f"{kind} {len(data)}".encode()
        name = hashlib.sha1(head + b"\0" + data).hexdigest()
        path = os.path.join(self.folder, "objects", name[:2], name[2:])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(zlib.compress(head + b"\0" + data, 1))
        return name

    def blob(self, data):
        return self.write("blob", data)

    def tree(self, *entries):
        """Entries (mode, name, id), in git's order."""
        entries = sorted(entries, key=lambda e: e[1] + (b"/" if e[0] == FOLDER else b""))
        return self.write("tree", b"".join(mode + b" " + name + b"\0" + bytes.fromhex(at) for mode, name, at in entries))

    def commit(self, tree, parents=(), branch=None):
        text = f"tree {tree}\n" + "".join(f"parent {p}\n" for p in parents)
        name = self.write("commit", (text + "author A <a@b> 1700000000 +0000\ncommitter A <a@b> 1700000000 +0000\n\nwork\n").encode())
        if branch:
            path = os.path.join(self.folder, branch)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as file:
                file.write(name + "\n")
        return name


class Hostile(unittest.TestCase):
    cases = 0

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="pfc-hostile-")
        # rm, because a tree may be deeper than Python's recursion
        self.addCleanup(subprocess.run, ["rm", "-rf", "--", self.dir], check=True, stdin=subprocess.DEVNULL)
        os.chmod(self.dir, 0o755)
        self.work = os.path.join(self.dir, "work")
        self.mark = os.path.join(self.dir, "mark")  # appears when something ran outside of the sandbox
        self.repo = Repository(os.path.join(self.dir, "repo.git"))
        self.value = (FILE, b"value", self.repo.blob(b"12.5\n"))

    def branch(self, yaml=YAML, mode=FILE, **more):
        """The branch's own commit, whose perfci.yaml counts."""
        return self.repo.commit(self.repo.tree(self.value, (mode, b"perfci.yaml", self.repo.blob(yaml))), branch="refs/heads/main", **more)

    def run_job(self, commit, flags=(), **more):
        job = {"id": 7, "lease": "0" * 32 + "-1", "fence": 1, "lease_s": 60, "kind": "measure", "project": "demo", "commit": commit,
               "branch": "main", "source": self.repo.folder, **more}
        service = JobsService(job)
        self.addCleanup(service.close)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PERFCI_")}
        done = subprocess.run([RUNNER, "--once", "--url", service.url, "--work", self.work, "--class", "lab", "--timeout", "60s", *flags],
                              env={**environment, "PERFCI_TOKEN": "pfc_x", "MARK": self.mark}, capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(service.ends), 1, done.stderr)
        self.assertFalse(os.path.exists(self.mark), "ran outside of the sandbox")
        self.assertNotRegex(done.stderr.replace(b"\n", b""), rb"[\x00-\x1f\x7f]", "control characters in the log")
        self.assertNotIn("\u202e".encode(), done.stderr)
        return service, service.ends[0], done.stderr.decode("utf-8", "replace")

    def refused(self, commit, words, status="failed", **more):
        service, end, _ = self.run_job(commit, **more)
        self.assertEqual(service.runs, [])
        self.assertEqual(end["status"], status, end)
        self.assertRegex(end["reason"], words)
        self.assertNotRegex(end["reason"], "[\x00-\x1f\x7f-\x9f\u202a-\u202e]", "the sentence has control characters")
        self.assertLess(len(end["reason"]), 500)

    def contained(self, commit, **more):
        service, end, log = self.run_job(commit, **more)
        self.assertEqual(end["status"], "done", (end, log))
        self.assertEqual(service.runs[0]["measurements"][0]["samples"][0][0], 12.5)
        return log

    def commit(self, *entries):
        self.branch()
        return self.repo.commit(self.repo.tree(self.value, *entries), branch="refs/pull/1/head")

    # ---- links ----

    def test_links_out_of_the_tree_are_left_out(self):
        blob = self.repo.blob
        inside = self.repo.tree((LINK, b"up", blob(b"..")), (LINK, b"out", blob(b"up/../../repo.git")), (LINK, b"far", blob(b"../../../etc/passwd")))
        commit = self.commit((LINK, b"absolute", blob(b"/etc/shadow")), (LINK, b"relative", blob(b"../../../../repo.git/config")),
                             (LINK, b"good", blob(b"value")), (FOLDER, b"sub", inside))
        self.branch(YAML.replace(b"cat value", b"test ! -L absolute && test ! -L relative && test ! -L sub/out && test ! -L sub/far && "
                                               b"test -L good && test -L sub/up && cat good"))
        self.assertRegex(self.contained(commit), 'links_left_out.*"first":"absolute","count":4')

    # ---- names ----

    def test_names_that_stand_for_git(self):
        config = self.repo.tree((FILE, b"config", self.repo.blob(b"[core]\n\tfsmonitor = touch $MARK\n")))
        for name in (b".git", b".GIT", b".Git", b".git ", b".git.", b".git . .", b"git~1", b"GIT~1", ".g\u200cit".encode(), "\ufeff.git".encode(),
                     b".git:x", b".git::$INDEX_ALLOCATION"):
            with self.subTest(name=name):
                self.refused(self.commit((FOLDER, name, config)), r"not checked out: .*takes the name for \.git")

    def test_names_that_are_paths(self):
        blob = self.repo.blob(b"x")
        for name in (b"..", b".", b"", b"../../escaped", b"/etc/cron.d/x"):
            with self.subTest(name=name):
                # "": libgit2 itself refuses the object
                self.refused(self.commit((FILE, name, blob)), "not checked out|failed to parse|invalid|corrupt")
        self.assertFalse(os.path.exists(os.path.join(self.dir, "escaped")))

    def test_names_with_control_characters(self):
        blob = self.repo.blob(b"x")
        for name in (b"\x1b[2J", b"a\nb", b"a\x7f", "\u009b31m".encode(), "\u202egpj.exe".encode(), "\u2066x".encode()):
            with self.subTest(name=name):
                self.refused(self.commit((FILE, name, blob)), "control characters in a name")

    def test_long_names_and_deep_folders(self):
        blob = self.repo.blob(b"x")
        self.refused(self.commit((FILE, b"n" * 300, blob)), "a name of more than 255 bytes")
        deep = self.repo.tree((FILE, b"x", blob))
        for _ in range(1000):
            deep = self.repo.tree((FOLDER, b"d", deep))
        self.refused(self.commit((FOLDER, b"d", deep)), "more than 64 folders below one another")
        wide = self.repo.tree((FILE, b"x", blob))
        for _ in range(10):
            wide = self.repo.tree((FOLDER, b"w" * 200, wide))
        self.refused(self.commit((FOLDER, b"w", wide)), "a path of more than 1,024 bytes")

    # ---- sizes ----

    def test_a_million_files_of_a_few_objects(self):
        tree = self.repo.tree(*((FILE, b"f%03d" % n, self.value[2]) for n in range(100)))
        for _ in range(2):
            tree = self.repo.tree(*((FOLDER, b"d%03d" % n, tree) for n in range(100)))
        self.refused(self.commit((FOLDER, b"many", tree)), "more than 500,000 files")

    def test_folders_without_end(self):
        tree = self.repo.tree()
        for _ in range(30):
            tree = self.repo.tree(*((FOLDER, b"d%d" % n, tree) for n in range(10)))
        self.refused(self.commit((FOLDER, b"many", tree)), "more than 500,000 files")

    def test_a_huge_file(self):
        huge = self.repo.write("blob", b"x", header=b"blob 5000000000")
        self.refused(self.commit((FILE, b"huge", huge)), "a file of more than 1 GiB")

    # ---- what git would run ----

    def test_filters_hooks_and_configuration_do_not_run(self):
        with open(os.path.join(self.repo.folder, "config"), "a", encoding="ascii") as file:
            file.write(f'[filter "evil"]\n\tsmudge = touch {self.mark}\n\tprocess = touch {self.mark}\n\trequired = true\n'
                       f"[core]\n\tfsmonitor = touch {self.mark}\n\tsshCommand = touch {self.mark}\n"
                       f'[uploadpack]\n\tpackObjectsHook = touch {self.mark}\n')
        for name in ("post-checkout", "post-index-change", "reference-transaction"):
            path = os.path.join(self.repo.folder, "hooks", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as file:
                file.write(f"#!/bin/sh\ntouch {self.mark}\n")
            os.chmod(path, 0o755)
        commit = self.commit((FILE, b".gitattributes", self.repo.blob(b"* filter=evil ident\n")))
        self.contained(commit)
        self.contained(commit, source="file://" + self.repo.folder)

    def test_submodules_are_left_empty(self):
        text = f'[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "touch {self.mark}"\n'
        commit = self.commit((FILE, b".gitmodules", self.repo.blob(text.encode())), (SUBMODULE, b"x", "1" * 40))
        self.assertIn("submodules_left_empty", self.contained(commit))
        text += f"\tupdate = !touch {self.mark}\n"
        self.refused(self.commit((FILE, b".gitmodules", self.repo.blob(text.encode())), (SUBMODULE, b"x", "1" * 40)), "invalid value for submodule")

    def test_sources_that_are_commands(self):
        commit = self.commit()
        for source in (f"ext::sh -c touch% {self.mark}", f"--upload-pack=touch {self.mark}", f"-u{self.mark}", "/nowhere"):
            self.refused(commit, "is neither a folder", source=source)

    def test_objects_that_are_no_commits(self):
        self.branch()
        for name in (self.value[2], self.repo.tree(self.value), "1" * 40):
            self.refused(name, "commit|no revision")

    # ---- perfci.yaml ----

    def test_settings_that_are_no_file(self):
        self.refused(self.branch(b"/etc/perfci/runner-token", mode=LINK), "perfci.yaml.*symbolic link")
        tree = self.repo.tree(self.value, (FOLDER, b"perfci.yaml", self.repo.tree(self.value)))
        self.refused(self.repo.commit(tree, branch="refs/heads/main"), "nothing to measure")

    def test_settings_that_are_too_much(self):
        bomb = b"a: &a [x, x, x, x, x, x, x, x, x]\n" + b"".join(
            b"%c: &%c [%s]\n" % (98 + n, 98 + n, b", ".join([b"*%c" % (97 + n)] * 9)) for n in range(9)) + b"measure: *j\n"
        for yaml, words in ((b"#" * (1 << 23) + YAML, "expected at most"), (bomb, "perfci.yaml"), (b"measure: [" + b"[" * 100_000, "perfci.yaml"),
                            (b"measure: \x00\x01\x1b[2J", "perfci.yaml"), (b"\xff\xfe\x00", "perfci.yaml|nothing to measure"),
                            (YAML + f"{ESCAPE}: 1\n".encode(), "perfci.yaml")):
            with self.subTest(yaml=yaml[:40]):
                self.refused(self.branch(yaml), words)

    # ---- output and planted files ----

    def test_escapes_in_output(self):
        shown = ESCAPE.replace("\x1b", "\\033").replace("\x07", "\\007").replace("\x9b", "\\302\\233").replace("\u202e", "\\342\\200\\256")
        for yaml, status in ((YAML.replace(b"'true'", b"printf 'error: " + shown.encode() + b"\\n'; exit 1"), "broken"),
                             (YAML.replace(b"cat value", b"printf '" + shown.encode() + b"\\n' >&2; exit 1"), "failed")):
            with self.subTest(status=status):
                self.refused(self.branch(yaml.replace(b"build: printf", b"build: >-\n  printf").replace(b"measure: printf", b"measure: >-\n  printf")),
                             "exit|status|failed", status=status)

    def test_planted_result_files(self):
        """A suite's program that leaves something else than its document behind."""
        for name, command in (("link", "ln -s /etc/passwd $OUT"), ("pipe", "mkfifo $OUT"), ("folder", "mkdir $OUT"), ("nothing", ":"),
                              ("device", "ln -s /dev/zero $OUT"), ("loop", "ln -s $OUT $OUT"), ("socket", "python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).bind(os.environ[\"OUT\"])'"),
                              ("race", "setsid sh -c 'while :; do ln -sf /etc/passwd $OUT; rm -f $OUT; mkdir $OUT; rmdir $OUT; done' >/dev/null 2>&1 </dev/null &"),
                              ("huge", "dd if=/dev/zero of=$OUT bs=1M count=0 seek=20000 2>/dev/null")):
            with self.subTest(name):
                script = b'#!/bin/sh\nwhile [ $# -gt 0 ]; do [ "$1" = --out ] && OUT=$2; shift; done; export OUT\n' + command.encode() + b"\n"
                bench = self.repo.tree((PROGRAM, b"perfci-bench", self.repo.blob(script)))
                tree = self.repo.tree(self.value, (FILE, b"perfci.yaml", self.repo.blob(b"suite: demo\n")), (
                    FOLDER, b"build", self.repo.tree((FOLDER, b"release", self.repo.tree((FOLDER, b"bin", bench))))))
                self.refused(self.repo.commit(tree, branch="refs/heads/main"), "perfci-bench wrote no run document")

    def test_a_tree_that_cannot_be_removed_is(self):
        """Folders without rights, and 300 below one another with a path over PATH_MAX: the next checkout takes their place."""
        text = "import os; os.makedirs('locked/in'); os.chmod('locked', 0); [(os.mkdir('d' * 20), os.chdir('d' * 20)) for _ in range(300)]"
        self.branch(YAML.replace(b"'true'", b"test ! -e evil.py || python3 evil.py"))
        commit = self.repo.commit(self.repo.tree(self.value, (FILE, b"evil.py", self.repo.blob(text.encode()))), branch="refs/pull/1/head")
        service, end, log = self.run_job(commit)
        self.assertIn(end["status"], ("broken", "failed", "done"), (end, log))
        trees = glob.glob(os.path.join(self.work, "cache-*", "checkouts", "*"))
        self.assertEqual(len(trees), 1)
        for name in ("state", "manifest"):  # as a runner that was killed during the build leaves it
            if os.path.exists(os.path.join(trees[0], name)):
                os.unlink(os.path.join(trees[0], name))
        _, again, log = self.run_job(commit)
        self.assertEqual(again["status"], end["status"], (again, log))
        self.assertNotIn("cannot remove", log + again["reason"])


if __name__ == "__main__":
    unittest.main()
