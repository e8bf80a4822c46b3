"""deploy/prove.sh alone: arguments of the proofs; one line for each that is missing, fails or is interrupted.

The programs that it calls are stand-ins; what they prove has its own tests.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])
TOOLS = ("bash", "sh", "env", "dirname", "mkdir", "tail", "sed", "cat", "sleep", "mv")
COUNTED = ("kill", "forge", "bisect-kill", "queue", "points", "ha", "drain", "memory")
DEADLINE_S = 240


class Prove(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pfc-prove-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "deploy").mkdir()
        self.script = shutil.copy(ROOT / "deploy/prove.sh", self.folder / "deploy")
        shutil.copy(ROOT / "deploy/prove_debian.sh", self.folder / "deploy")
        self.path = self.folder / "path"
        self.path.mkdir()
        for name in TOOLS:
            (self.path / name).symlink_to(shutil.which(name))
        for name in ("cmake", "ninja", "ctest", "postgres", "clang"):
            self.program(name, "exit 0")
        for name in ("python3", "node"):
            self.program(name, f'echo "$*" >>{self.folder}/called')

    def program(self, name, text):
        (self.path / name).write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
        (self.path / name).chmod(0o755)

    def start(self, *args, **more):
        return subprocess.Popen([self.script, "--no-install", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env={"PATH": str(self.path), "PERFCI_PG_BIN": str(self.path), **more})

    def prove(self, *args, status=0, **more):
        process = self.start(*args, **more)
        out, err = self.end_of(process)
        self.assertEqual(process.returncode, status, out + err)
        return out, err

    def end_of(self, process):
        try:
            return process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.communicate()
            raise

    def called(self):
        return (self.folder / "called").read_text(encoding="ascii").splitlines()

    def test_the_time_is_handed_to_each(self):
        self.program("ctest", "exit 1")  # which would go round and round
        for name in (*COUNTED, "faults", "soak"):
            out, _ = self.prove("--only", name, "--minutes", "7", status=int(name == "kill"))
            self.assertRegex(out, rf"(?m)^proof {name}: {'FAILED' if name == 'kill' else 'passed'} \(\d+ s\)$")
            self.assertIn("--minutes 7", self.called()[-1], name)

    def test_what_has_a_count_comes_to_its_end_where_no_time_is_given(self):
        self.program("ctest", "exit 1")
        for name in COUNTED:
            self.prove("--only", name, status=int(name == "kill"))
            self.assertNotIn("--minutes", self.called()[-1], name)

    def test_what_is_missing_is_one_sentence(self):
        (self.path / "cmake").unlink()
        out, err = self.prove("--only", "memory", "--only", "drain", status=1)
        self.assertEqual(err.count("prove.sh: cmake is not installed (package cmake): run deploy/install.sh"), 2, err)
        self.assertRegex(out, r"^proof memory: FAILED \(\d+ s\)\nproof drain: FAILED \(\d+ s\)\n$")
        out, err = self.prove("--only", "memory", status=1, PERFCI_PG_BIN="/nowhere")
        self.assertIn("prove.sh: no PostgreSQL server programs (package postgresql): run", err)

    def test_a_proof_that_this_machine_cannot_run_says_why_and_is_not_counted_as_passed(self):
        self.program("id", "echo 1000")
        out, _ = self.prove("--only", "tutorial")
        self.assertEqual(out, "  not available: making a bare Debian needs root\nproof tutorial: not available\n")
        self.program("id", "echo 0")
        out, _ = self.prove("--only", "tutorial", "--only", "memory")
        self.assertRegex(out, r"^  not available: debootstrap is not installed\nproof tutorial: not available\nproof memory: passed ")

    def test_the_tutorial_is_typed_by_the_script_of_its_pages(self):
        for name in ("id", "debootstrap", "unshare", "grep"):
            self.program(name, "echo 0")
        self.program("python3", "echo lines of $1")
        bare = self.folder / "tests/deploy/bare.sh"
        bare.parent.mkdir(parents=True)
        for status, said in ((0, "passed"), (3, "FAILED")):
            bare.write_text(f'#!/bin/sh\necho "$1: $3" >{self.folder}/called\nexit {status}\n', encoding="ascii")
            bare.chmod(0o755)
            out, _ = self.prove("--only", "tutorial", status=int(status != 0))
            self.assertRegex(out, rf"(?m)^proof tutorial: {said} ")
            self.assertEqual(self.called(), ["bookworm: lines of tests/deploy/tutorial.py"])

    def test_goals_are_held_where_they_are_proved(self):
        bench = self.folder / "build/release/bin/perfci-bench-service"
        bench.parent.mkdir(parents=True)
        bench.write_text(f'#!/bin/sh\necho "$*" >>{self.folder}/called\n', encoding="ascii")
        bench.chmod(0o755)
        self.prove("--only", "ingest", "--only", "judging", "--only", "ha")
        called = self.called()
        self.assertEqual([line.split()[-1] for line in called[:5]], ["--strict"] * 5)
        self.assertIn("judging.py --steps 0 --points 100 1000 10000 --most 0.5", called[5])
        self.assertIn("two_workers.py --ratio 1.7", called[6])
        self.assertRegex(called[7], r"high_availability.py .* --strict")
        bench.write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
        out, _ = self.prove("--only", "ingest", status=1)
        self.assertRegex(out, r"^proof ingest: FAILED")

    def test_one_that_fails_does_not_hide_the_next(self):
        self.program("python3", 'case "$*" in *drain.py*) echo "trial 3: lost"; exit 1;; esac')
        out, _ = self.prove("--only", "drain", "--only", "memory", status=1)
        self.assertRegex(out, r"^trial 3: lost\nproof drain: FAILED \(\d+ s\)\nproof memory: passed \(\d+ s\)\n$")

    def test_who_is_ended_says_how_far_it_came_first(self):
        started = self.folder / "started"
        self.program("python3", f"trap 'echo 7 of 200; exit 1' TERM; echo >{started}; while :; do sleep 0.05; done")
        process = self.start("--only", "drain", "--only", "memory")
        end = time.monotonic() + DEADLINE_S
        while not started.exists() and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)  # to the script alone, as a supervisor does
        out, err = self.end_of(process)
        self.assertRegex(out, r"^7 of 200\nproof drain: FAILED: ended by a signal after \d+ s\n$", err)
        self.assertEqual(process.returncode, 130)

    def test_a_wrong_word_is_refused(self):
        for words, said in ((("--only", "nothing"), "--only: expected one of: suite fuzz"), (("--minutes", "0"), "--minutes: expected a whole number"),
                            (("--often",), "unknown option --often")):
            self.assertIn("prove.sh: " + said, self.prove(*words, status=2)[1])


if __name__ == "__main__":
    unittest.main()
