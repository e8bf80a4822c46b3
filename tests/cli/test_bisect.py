"""perfci bisect holds its contract: the answer, the exit status, the state it keeps, the repository it leaves alone."""

import json
import os
import signal
import subprocess

import support

# Answers for the commit in $1: its value in values/, with up to 1 % of error that depends on the number of the call alone.
# At call number $(cat block) it says so in `blocked` and never comes back.
MEASURE = """#!/bin/sh
cd "$HERE" || exit 9
n=$(wc -l < calls); n=$((n + 1)); echo "$1" >> calls
if [ -e block ] && [ "$n" = "$(cat block)" ]; then : > blocked; exec sleep 600; fi
v=$(cat "values/$1") || exit 9
[ "$v" = broken ] && exit 125
[ "$v" = flaky ] && v=100 && [ $((n % 2)) = 0 ] && exit 1
awk -v v="$v" -v n=$n 'BEGIN { print v * (1 + (n * 7 % 11 - 5) / 500) }'
"""
KEYS = {"verdict", "culprits", "runs", "builds", "commits_measured", "seconds", "confirmed", "unconfirmed", "evidence"}


class Listed(support.Case):
    """Bisections without a repository: ids in a file, a script that knows their values."""

    def setUp(self):
        super().setUp()
        self.env["HERE"] = self.dir
        self.script = self.write("measure.sh", MEASURE, 0o755)
        self.write("calls", "")

    def history(self, *values):
        for i, v in enumerate(values):
            self.write(f"values/c{i:02}", f"{v}\n")
        return self.write("ids", "".join(f"c{i:02}\n" for i in range(len(values))))

    def command(self, *more):
        return ["bisect", "--commits", self.path("ids"), "--no-checkout", "--measure",
                f'exec {self.script} "$PERFCI_COMMIT"', "--json", *more]

    def bisect(self, *more, status=1):
        doc = self.json_of(self.perfci(*self.command(*more)), status)
        self.assertEqual(set(doc), KEYS)
        return doc

    def calls(self):
        with open(self.path("calls"), encoding="ascii") as f:
            return f.read().split()

    def test_the_commit_that_made_it_slower_is_named(self):
        self.history(*[100] * 11, *[115] * 9)
        doc = self.bisect()
        self.assertEqual(doc["verdict"], "found")
        culprit, = doc["culprits"]
        self.assertEqual(set(culprit), {"commits", "probability", "rel_change", "rel_low", "rel_high"})
        self.assertEqual(culprit["commits"], ["c11"])
        self.assertGreaterEqual(culprit["probability"], 0.99)
        self.assertAlmostEqual(culprit["rel_change"], 0.15, delta=0.03)
        self.assertEqual(doc["runs"], len(self.calls()))
        self.assertEqual(doc["commits_measured"], len(set(self.calls())))

    def test_without_a_step_there_is_no_regression(self):
        self.history(*[100] * 16)
        doc = self.bisect("--delta", "0.15", status=0)
        self.assertEqual((doc["verdict"], doc["culprits"]), ("no-regression", []))

    def test_a_throughput_that_falls_is_a_regression_too(self):
        self.history(*[100] * 5, *[85] * 11)
        for known in (["--higher-is-better"], ["--delta=-0.15"], ["--metric", "gemm_tflops"]):
            self.assertEqual(self.bisect(*known)["culprits"][0]["commits"], ["c05"], known)

    def test_commits_that_cannot_be_measured_are_stepped_over(self):
        self.history(*[100] * 4, "broken", *[100] * 4, "broken", "broken", *[120] * 7)
        doc = self.bisect()
        self.assertIn(doc["verdict"], ("range", "found"))
        # c09 and c10 do not build: any of the three may have done it.
        self.assertEqual([c["commits"] for c in doc["culprits"]], [["c09", "c10", "c11"]])

    def test_failed_runs_are_tried_again(self):
        self.history(*["flaky"] * 8, *[120] * 8)
        self.assertEqual(self.bisect()["culprits"][0]["commits"], ["c08"])

    def test_an_end_that_cannot_be_measured_is_status_four(self):
        self.history("broken", *[100] * 8)
        done = self.expect(self.perfci(*self.command()), 4)
        self.assertIn("good end, c00", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_the_ends_may_lie_inside_the_list(self):
        self.history(*[100] * 4, *[120] * 6, *[150] * 6)
        self.assertEqual(self.bisect("--good", "c05", "--bad", "c13")["culprits"][0]["commits"], ["c10"])
        self.expect(self.perfci(*self.command("--good", "c55")), 2)
        self.expect(self.perfci(*self.command("--good", "c05", "--bad", "c02")), 2)

    def test_metrics_in_json_are_read(self):
        self.history(*[100] * 8, *[120] * 8)
        command = f"v=$({self.script} $PERFCI_COMMIT) || exit $?; " \
                  "echo '{\"metrics\": {\"other\": 5, \"latency\": '$v'}}'"
        doc = self.json_of(self.perfci("bisect", "--commits", self.path("ids"), "--no-checkout", "--measure", command,
                                       "--metric", "latency", "--json"), 1)
        self.assertEqual(doc["culprits"][0]["commits"], ["c08"])
        done = self.perfci("bisect", "--commits", self.path("ids"), "--no-checkout", "--measure", command, "--metric",
                           "absent", "--json")
        self.assertIn("latency", self.expect(done, 2).stderr)

    def test_bad_lists_and_flags_are_named(self):
        self.history(100, 120)
        for text, said in (("c00\n", "two"), ("c00\nc01\nc00\n", "twice"), ("c00\n\nc 1\n", "line 3"), ("", "two")):
            self.write("ids", text)
            self.assertIn(said, self.expect(self.perfci(*self.command()), 2).stderr)
        self.expect(self.perfci(*self.command("--confidence", "2")), 2)
        self.expect(self.perfci("bisect", "--no-checkout", "--commits", self.path("ids")), 2)

    def test_a_dry_run_measures_nothing(self):
        self.history(*[100] * 32, *[115] * 32)
        doc = self.json_of(self.perfci(*self.command("--dry-run", "--noise", "0.01", "--delta", "0.15")))
        self.assertEqual(doc["commits"], 64)
        self.assertGreater(doc["expected_runs"], 2)
        self.assertEqual(self.calls(), [])

    def test_a_dry_run_plans_what_a_call_would_do(self):
        self.history(*[100] * 8, *[120] * 8)
        fresh = self.json_of(self.perfci(*self.command("--dry-run")))
        self.assertIsNone(fresh["expected_seconds"])
        self.bisect()
        before = len(self.calls())
        # A call without --resume would measure all of it again; one with it knows the answer.
        again = self.json_of(self.perfci(*self.command("--dry-run")))
        self.assertEqual(again["expected_runs"], fresh["expected_runs"])
        self.assertGreater(again["expected_seconds"], 0)
        kept = self.json_of(self.perfci(*self.command("--dry-run", "--resume")))
        self.assertLess(kept["expected_runs"], fresh["expected_runs"])
        self.assertEqual(len(self.calls()), before)

    def interrupted(self, sig):
        """Starts, sends the signal in the middle of the fifth measurement, returns (status, stdout)."""
        self.history(*[100] * 7, *[115] * 9)
        self.write("block", "5")
        with subprocess.Popen([support.PERFCI, *self.command()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env=self.env, cwd=self.dir, text=True) as p:
            support.wait_for(lambda: os.path.exists(self.path("blocked")), "the fifth measurement")
            p.send_signal(sig)
            out, _ = p.communicate(timeout=support.DEADLINE_S)
        os.remove(self.path("block"))
        return p.returncode, out

    def test_a_kill_costs_the_measurement_under_way_and_no_other(self):
        status, _ = self.interrupted(signal.SIGKILL)
        self.assertEqual(status, -signal.SIGKILL)
        self.assertEqual(len(self.calls()), 5)
        doc = self.bisect("--resume")
        self.assertEqual(doc["culprits"][0]["commits"], ["c07"])
        # Four were kept, the fifth is lost; every other call is a run that counts.
        self.assertEqual(doc["runs"], len(self.calls()) - 1)
        # Finished, it knows the answer by heart; without --resume it starts afresh.
        before = len(self.calls())
        self.assertEqual(self.bisect("--resume")["culprits"], doc["culprits"])
        self.assertEqual(len(self.calls()), before)
        self.bisect()
        self.assertGreater(len(self.calls()), before)

    def test_ctrl_c_keeps_everything_and_is_inconclusive(self):
        status, out = self.interrupted(signal.SIGINT)
        self.assertEqual(status, 3)
        doc = json.loads(out)
        self.assertEqual((doc["verdict"], doc["culprits"], doc["runs"]), ("inconclusive", [], 4))
        self.assertEqual(self.bisect("--resume")["culprits"][0]["commits"], ["c07"])

    def test_a_damaged_state_is_said_not_guessed(self):
        self.interrupted(signal.SIGKILL)
        name, = os.listdir(self.path(".perfci"))
        self.write(os.path.join(".perfci", name), '{"version": 1, "key": ')
        self.assertIn(name, self.expect(self.perfci(*self.command("--resume")), 2).stderr)

    def test_the_table_names_the_culprit(self):
        self.history(*[100] * 8, *[120] * 8)
        done = self.perfci(*[a for a in self.command() if a != "--json"], "--color=never")
        self.expect(done, 1)
        self.assertRegex(done.stdout, r"c08 +(0\.99\d*|1\.0+) +\+\d+\.\d %")
        self.assertRegex(done.stdout, r"\d+ runs, ")


class Repository(support.Case):
    """Real history: builds, some of which fail, in checkouts of their own."""

    def setUp(self):
        super().setUp()
        self.repo = self.path("repo")
        os.mkdir(self.repo)
        self.git("init", "-q", "-b", "main", cwd=self.repo)
        self.write("repo/build.sh", '#!/bin/sh\ngrep -q broken value && { echo "error: no"; exit 1; }\ncp value built\n', 0o755)
        # Its error depends on the commit alone, so it is the same in every run of this test.
        self.write("repo/measure.sh", "#!/bin/sh\nawk -v v=\"$(cat built)\" -v n=$(cat noise) 'BEGIN { print v * n }'\n", 0o755)
        self.ids = []
        for i, value in enumerate([100] * 3 + ["broken"] + [100] * 4 + [125] * 4 + ["broken"] + [125] * 3):
            self.write("repo/value", f"{value}\n")
            self.write("repo/noise", f"{1 + (i % 3 - 1) / 1000}\n")
            self.git("add", "-A", cwd=self.repo)
            self.git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", f"change {i}", cwd=self.repo)
            self.ids.append(self.git("rev-parse", "HEAD", cwd=self.repo))
        # Only the newest knows how to measure: that is the one that is read.
        self.write("repo/perfci.yaml", "build: ./build.sh\nmeasure: ./measure.sh\nmetric: latency\nunit: ms\n")
        self.git("add", "-A", cwd=self.repo)
        self.git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", "measure", cwd=self.repo)

    def test_the_culprit_is_found_and_the_repository_left_alone(self):
        self.write("repo/value", "uncommitted\n")
        look = lambda: (self.git("status", "--porcelain=v2", "--branch", cwd=self.repo),
                        self.git("for-each-ref", cwd=self.repo), self.git("worktree", "list", cwd=self.repo))
        before = look()
        done = self.perfci("bisect", "--good", self.ids[0], "--bad", "HEAD", "--metric", "latency", "--json", cwd=self.repo)
        doc = self.json_of(done, 1)
        self.assertEqual([c["commits"] for c in doc["culprits"]], [[self.ids[8]]])
        self.assertGreater(doc["builds"], 0)
        self.assertEqual(look(), before)
        # The checkouts were kept: the same again builds nothing, and the subject is shown.
        done = self.perfci("bisect", "--good", self.ids[0], "--bad", "HEAD", "--resume", "--repo", self.repo)
        self.assertIn("change 8", self.expect(done, 1).stdout)

    def test_revisions_that_make_no_range_are_refused(self):
        for good, bad, said in (("nowhere", "HEAD", "nowhere"), ("HEAD", "nowhere", "nowhere"),
                                ("HEAD", "HEAD", "same commit"), ("HEAD", "HEAD~3", "")):
            done = self.expect(self.perfci("bisect", "--good", good, "--bad", bad, cwd=self.repo), 2)
            self.assertIn(said, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.expect(self.perfci("bisect", "--good", "HEAD~3", cwd=self.repo), 2)

    def test_a_shallow_clone_says_that_history_is_missing(self):
        shallow = self.path("shallow")
        self.git("clone", "-q", "--depth", "3", "file://" + self.repo, shallow, cwd=self.dir)
        done = self.perfci("bisect", "--good", self.ids[0], "--bad", "HEAD", cwd=shallow)
        self.expect(done, 2)
        self.assertIn("shallow", done.stderr)


if __name__ == "__main__":
    support.main()
