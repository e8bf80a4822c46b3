"""perfci run, compare, check and init on small repositories whose benchmark is a script."""

import json
import os
import shutil
import subprocess

import support
import tier

# Prints the committed value with up to 0.4 % of error, another one at each call, the same in every test run.
MEASURE = """#!/bin/sh
n=$(cat "$COUNTER" 2>/dev/null || echo 0)
n=$((n + 1)); echo $n > "$COUNTER"
awk -v v="$(cat value)" -v n=$n 'BEGIN { print v * (1 + (n * 7 % 11 - 5) / 1250) }'
"""


class Repository(support.Case):
    """A repository with the commits `slow~1` (100), `slow` (120) and `fast` (80)."""

    def setUp(self):
        super().setUp()
        self.repo = self.path("repo")
        self.env["COUNTER"] = self.path("counter")
        os.mkdir(self.repo)
        self.git("init", "-q", "-b", "main", cwd=self.repo)
        self.write("repo/measure.sh", MEASURE, 0o755)
        self.write("repo/perfci.yaml", "project: small\nmeasure: ./measure.sh\nmetric: latency\nunit: ms\n")
        self.commits = {name: self.commit(value, name) for name, value in
                        (("base", 100), ("docs", 100), ("slow", 120), ("fast", 80))}

    def commit(self, value, tag):
        self.write("repo/value", f"{value}\n")
        self.write("repo/notes", f"{tag}\n")
        self.git("add", "-A", cwd=self.repo)
        self.git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", tag, cwd=self.repo)
        self.git("tag", tag, cwd=self.repo)
        return self.git("rev-parse", "HEAD", cwd=self.repo)

    def here(self, *args, **more):
        return self.perfci(*args, cwd=self.repo, **more)

    def calls(self):
        """How often the command was called."""
        if not os.path.exists(self.path("counter")):
            return 0
        with open(self.path("counter"), encoding="utf-8") as file:
            return int(file.read())


class Run(Repository):
    def test_the_working_tree_gives_median_interval_and_n(self):
        done = self.expect(self.here("run", "--repeats", "7"), 0)
        self.assertRegex(done.stdout, r"latency +[\d.]+ +[\d.]+ \.\. [\d.]+ +7 +ms")

    def test_the_document_names_the_commit_only_when_the_tree_is_clean(self):
        doc = self.json_of(self.here("run", "--json"))
        self.assertEqual(doc["commit"], self.commits["fast"])
        m, canary = doc["measurements"]
        self.assertEqual((canary["benchmark"], len(canary["samples"])), ("canary", 2))
        self.assertEqual((m["metric"], m["unit"], m["direction"]), ("latency", "ms", "lower"))
        for block in m["samples"]:
            self.assertAlmostEqual(block[0], 80, delta=0.4)
        self.write("repo/value", "90\n")
        self.assertNotIn("commit", self.json_of(self.here("run", "--json")))

    def test_a_commit_is_measured_in_a_checkout_and_the_repository_is_left_alone(self):
        before = self.git("status", "--porcelain=v2", "--branch", cwd=self.repo)
        doc = self.json_of(self.here("run", "--json", "--commit", "slow", "--repeats", "3"))
        self.assertEqual(doc["commit"], self.commits["slow"])
        self.assertAlmostEqual(doc["measurements"][0]["samples"][0][0], 120, delta=0.6)
        self.assertEqual(self.git("status", "--porcelain=v2", "--branch", cwd=self.repo), before)
        self.assertEqual(self.git("branch", "--list", cwd=self.repo), "* main")

    def test_any_command_is_measured_with_its_words_untouched(self):
        doc = self.json_of(self.here("run", "--json", "--repeats", "2", "--", "sh", "-c", "echo $1", "x y", "2.5"))
        self.assertEqual(doc["measurements"][0]["samples"], [[2.5], [2.5]])

    def test_what_was_left_out_or_taken_is_said(self):
        done = self.expect(self.perfci("run", "--repeats", "2", "--", "echo", "3", cwd=self.dir), 0)
        self.assertEqual(done.stderr.count("lower is assumed to be better"), 1)
        self.assertNotIn("is taken as better", self.here("run", "--repeats", "1").stderr)
        path = self.write("gb.json", json.dumps({"context": {}, "benchmarks": [
            {"name": "BM_a", "real_time": 3, "cpu_time": 3, "time_unit": "ns", "widgets": 9}]}))
        done = self.expect(self.here("run", "--repeats", "1", "--", "cat", path), 0)
        self.assertRegex(done.stderr, 'left out.*"widgets".*--direction')
        self.assertNotIn("widgets", done.stdout)
        done = self.expect(self.here("run", "--repeats", "1", "--direction", "widgets=higher", "--", "cat", path), 0)
        self.assertIn("widgets", done.stdout)

    def test_google_benchmark_output_is_read(self):
        out = {"context": {"library_build_type": "release"},
               "benchmarks": [{"name": "BM_Gemm/64", "run_name": "BM_Gemm/64", "run_type": "iteration",
                               "iterations": 10, "real_time": 12.5, "cpu_time": 12.0, "time_unit": "us"}]}
        path = self.write("gb.json", json.dumps(out))
        doc = self.json_of(self.here("run", "--json", "--repeats", "1", "--", "cat", path))
        self.assertIn("BM_Gemm/64", [m["benchmark"] for m in doc["measurements"]])

    def test_a_measuring_command_without_a_result_is_broken(self):
        for printed in "true", "echo nan", "echo ready":
            self.write("repo/perfci.yaml", f"measure: {printed}\n")
            for command in ("run",), ("compare", "docs", "slow"), ("bisect", "--good", "docs", "--bad", "slow"):
                done = self.expect(self.here(*command), 4)
                self.assertIn("printed no result", done.stderr)

    def test_the_file_asks_for_time_and_directions(self):
        self.write("repo/perfci.yaml", "measure: sleep 0.01\ntime: true\n")
        doc = self.json_of(self.here("run", "--json", "--repeats", "1"))
        self.assertEqual({m["metric"] for m in doc["measurements"]}, {"wall_time_ns", "process_cpu_time_ns", "max_rss_bytes", "canary_ns"})
        rows = self.json_of(self.here("compare", "docs", "slow", "--json", "--margin", "10"), 0)["rows"]
        self.assertEqual({r["metric"] for r in rows}, {"wall_time_ns", "process_cpu_time_ns", "max_rss_bytes"})
        self.write("repo/perfci.yaml", "measure: 'echo \"{\\\"metrics\\\": {\\\"score\\\": $(cat value)}}\"'\n")
        self.assertIn('"score"', self.expect(self.here("check", "--base", "docs"), 2).stderr)
        for way, status in ("lower", 1), ("higher", 0):
            self.expect(self.here("compare", "docs", "slow", "--direction", f"score={way}"), status)
        # A bisection has two ends: the bad one is the worse one, whichever way that is.
        for good, bad in ("docs", "slow"), ("slow", "fast"):
            done = self.expect(self.here("bisect", "--good", good, "--bad", bad, "--metric", "score", "--json", "--no-confirm"), 1)
            self.assertEqual(json.loads(done.stdout)["culprits"][0]["commits"], [self.commits[bad]])

    def test_what_is_broken_says_so_with_status_four(self):
        self.expect(self.here("run", "--", "false"), 4)
        self.expect(self.here("run", "--", "sh", "-c", "exit 125"), 4)
        self.expect(self.here("run", "--git-bisect", "--", "false"), 125)
        self.write("repo/perfci.yaml", "measure: ./measure.sh\nbuild: echo no such header >&2; exit 3\n")
        self.assertIn("build", self.expect(self.here("run"), 4).stderr)

    def test_wrong_use_is_status_two(self):
        self.assertIn("nowhere", self.expect(self.here("run", "--commit", "nowhere"), 2).stderr)
        self.expect(self.here("run", "stray"), 2)
        self.expect(self.here("run", "--repeats", "0"), 2)
        self.write("repo/perfci.yaml", "mesure: x\n")
        self.assertIn("mesure", self.expect(self.here("run"), 2).stderr)

    def test_a_suite_that_cannot_be_run_is_wrong_use_not_a_broken_benchmark(self):
        self.write("repo/bad.yaml", "benchmarks: [\n")
        for flags, said in ((("--suite", "nowhere"), "nowhere"), (("--suite", "bad.yaml"), "bad.yaml:2"),
                            (("--suite", "quick", "--filter", "no_such_benchmark"), "filter"),
                            (("--suite", "quick", "--backend", "abacus"), "abacus")):
            done = self.expect(self.here("run", *flags), 2)
            self.assertIn(said, done.stderr)
            self.assertNotIn("exit status", done.stderr)
            self.assertEqual(done.stdout, "")

    def test_a_wait_for_a_quiet_machine_is_a_duration(self):
        for command in "run", "check":
            done = self.expect(self.here(command, "--suite", "quick", "--wait-quiet", "soon"), 2)
            self.assertIn("--wait-quiet: expected a duration", done.stderr)

    def test_a_time_out_is_infrastructure(self):
        self.expect(self.here("run", "--timeout", "1s", "--repeats", "1", "--", "sleep", "600"), 5)


class Canary(Repository):
    """The fixed work that brackets a suite brackets a user's command, too."""

    def beside(self, script=None):
        """perfci in a folder of its own, with this perfci-bench beside it."""
        os.makedirs(self.path("bin"), exist_ok=True)
        shutil.copy(support.PERFCI, self.path("bin/perfci"))
        if script:
            self.write("bin/perfci-bench", script, 0o755)
        return lambda *args: subprocess.run([self.path("bin/perfci"), *args], cwd=self.repo, env=self.env, text=True, check=False,
                                            stdin=subprocess.DEVNULL, capture_output=True, timeout=600)

    def bench(self, *args, text=None):
        return subprocess.run([os.path.join(support.BIN, "perfci-bench"), "--canary", *args], input=text, env=self.env, text=True,
                              check=True, capture_output=True, timeout=60).stdout

    def test_both_readings_and_the_verdict_are_in_the_document(self):
        before = json.loads(self.bench())
        self.assertEqual(len(before["samples_ns"]), 41)
        # A machine that was three times as slow before: it moved, whatever it does now.
        slow = {**before, "samples_ns": [3 * s for s in before["samples_ns"]]}
        doc = json.loads(self.bench("--before", "-", text=json.dumps(slow)))
        canary, = doc["measurements"]
        self.assertTrue(doc["infra"])
        self.assertEqual((canary["benchmark"], canary["metric"], [len(b) for b in canary["samples"]]), ("canary", "canary_ns", [41, 41]))
        self.assertEqual(canary["samples"][0], slow["samples_ns"])
        self.assertIn("before_ns", canary["extra"])

    MOVED = """#!/bin/sh
echo "$@" >> "$HOME/asked"
case "$*" in *--before*) cat > "$HOME/before"
  echo '{"schema":"perfci.run/1","id":"00000000000000000000000000000001","suite":"canary","suite_hash":"","infra":true,'\
'"started_at":"2026-01-01T00:00:00.000Z","finished_at":"2026-01-01T00:00:00.000Z","machine":MACHINE,'\
'"measurements":[{"benchmark":"canary","metric":"canary_ns","backend":"","unit":"ns","direction":"lower","status":"ok",'\
'"samples":[[50],[90]],"extra":{"before_ns":"50000","after_ns":"90000"}}]}';; *) echo '{"reading":1}';; esac
"""

    def moved(self):
        machine = json.loads(self.bench("--before", "-", text=self.bench()))["machine"]
        return self.beside(self.MOVED.replace("MACHINE", json.dumps(machine)))

    def test_a_machine_that_moved_is_infrastructure_in_run_compare_and_bisect(self):
        perfci = self.moved()
        done = self.expect(perfci("run", "--json"), 0)
        doc = json.loads(done.stdout)
        self.assertTrue(doc["infra"])
        self.assertEqual(doc["measurements"][-1]["samples"], [[50], [90]])
        self.assertIn("the machine changed its speed", done.stderr)
        with open(self.path("asked"), encoding="ascii") as f:
            self.assertEqual(f.read().splitlines(), ["--canary --quiet", "--canary --quiet --before -"])
        with open(self.path("before"), encoding="ascii") as f:
            self.assertEqual(f.read(), '{"reading":1}\n')
        # The pairs count in spite of it; both documents say so, and the canary is no row of theirs.
        done = self.expect(perfci("compare", "docs", "slow", "--json", "--save", self.path("kept")), 1)
        self.assertEqual([r["benchmark"] for r in json.loads(done.stdout)["rows"]], ["headline"])
        for name in ("a", "b"):
            with open(self.path("kept", f"{name}.json"), encoding="utf-8") as f:
                self.assertTrue(json.load(f)["infra"])
        done = self.expect(perfci("bisect", "--good", "base", "--bad", "slow", "--no-confirm", "--json"), 1)
        self.assertEqual(json.loads(done.stdout)["canary"], {"before_ns": 50000, "after_ns": 90000, "moved": True})

    def test_without_perfci_bench_there_is_none_and_it_is_said(self):
        perfci = self.beside()
        done = self.expect(perfci("run", "--json"), 0)
        doc = json.loads(done.stdout)
        self.assertEqual([m["benchmark"] for m in doc["measurements"]], ["headline"])
        self.assertNotIn("infra", doc)
        self.assertIn("no canary: no perfci-bench beside this program", done.stderr)
        self.beside("#!/bin/sh\nexit 64\n")
        self.assertIn("no canary: perfci-bench --canary ended with status 64", self.expect(perfci("run"), 0).stderr)


class Compare(Repository):
    def rows(self, done, status):
        doc = self.json_of(done, status)
        return {row["metric"]: row for row in doc["rows"]}, doc["summary"]

    def test_two_revisions_are_measured_and_the_slower_one_is_a_regression(self):
        rows, summary = self.rows(self.here("compare", "docs", "slow", "--json"), 1)
        row = rows["latency"]
        self.assertEqual(row["verdict"], "regression")
        self.assertAlmostEqual(row["rel_change"], 0.20, delta=0.01)
        self.assertLess(row["rel_low"], 0.20)
        self.assertGreater(row["rel_high"], 0.20)
        # Decided as soon as three tests that share alpha can decide: five rounds of two measurements a side.
        self.assertEqual((row["a"]["n"], row["b"]["n"]), (10, 10))
        self.assertEqual((summary["regression"], summary["same"]), (1, 0))

    def test_the_other_way_round_it_is_an_improvement(self):
        rows, _ = self.rows(self.here("compare", "slow", "docs", "--json"), 0)
        self.assertEqual(rows["latency"]["verdict"], "improvement")

    def test_equal_commits_are_the_same_within_the_margin(self):
        done = self.expect(self.here("compare", "base", "docs", "--rounds", "8"), 0)
        self.assertRegex(done.stdout, r"latency.* same\n")

    def test_too_few_samples_decide_nothing(self):
        self.expect(self.here("compare", "base", "docs", "--rounds", "1"), 3)

    def test_files_are_compared_without_a_repository(self):
        names = []
        for tag in ("docs", "slow"):
            names.append(self.path(f"{tag}.json"))
            self.expect(self.here("run", "--commit", tag, "--repeats", "8", "--out", names[-1]), 0)
        done = self.expect(self.perfci("compare", *names), 1)
        self.assertIn("regression", done.stdout)

    def test_a_suite_is_measured_by_pairs_of_turns(self):
        self.write("repo/tiny.yaml", "suite: tiny\nsettings: {warmup_seconds: 0.001}\nbackends: [cpu-scalar]\n"
                   "benchmarks:\n  - {op: gemm, shapes: [{m: 8, n: 8, k: 8}]}\n")
        self.write("repo/perfci.yaml", "suite: tiny.yaml\n")
        self.commit(100, "suited")
        # A margin of ten times the value: whatever the machine does, equal builds are the same.
        doc = self.json_of(self.here("compare", "HEAD", "HEAD", "--margin", "10", "--json"), 0)
        row = [r for r in doc["rows"] if r["metric"] == "time_ns"][0]
        self.assertEqual((row["benchmark"], row["verdict"]), ("gemm/f32/m8n8k8", "same"))
        self.assertEqual(row["a"]["n"], row["b"]["n"])
        self.assertGreaterEqual(row["a"]["n"], 8 * 2)

    def test_a_broken_side_is_status_four_and_names_the_commit(self):
        self.write("repo/measure.sh", "#!/bin/sh\nexit 125\n", 0o755)
        self.write("repo/perfci.yaml", "measure: ./measure.sh\n")
        broken = self.commit(100, "broken")
        done = self.expect(self.here("compare", "docs", "broken"), 4)
        self.assertIn(broken[:12], done.stderr)
        self.expect(self.here("compare", "docs", "broken", "--git-bisect"), 125)

    def test_unknown_sides_say_so(self):
        self.assertIn("nowhere", self.expect(self.here("compare", "nowhere", "HEAD"), 2).stderr)
        self.expect(self.here("compare", "HEAD"), 2)

    def test_check_measures_the_branch_against_where_it_left_main(self):
        self.git("checkout", "-q", "-b", "topic", "docs", cwd=self.repo)
        topic = self.commit(130, "topic-tip")
        doc = self.json_of(self.here("check", "--json"), 1)
        self.assertEqual((doc["a"]["name"], doc["b"]["name"]), (self.commits["docs"], topic))

    @tier.long
    def test_check_does_not_measure_a_pair_of_the_same_key_again(self):
        self.git("checkout", "-q", "-b", "topic", "docs", cwd=self.repo)
        first = self.commit(130, "topic-tip")
        kept = self.path("kept")
        check = ("check", "--reuse", kept, "--rounds", "6", "--json")

        def measured(args=check, status=1, **more):
            """The document, and whether the command ran for it."""
            before = self.calls()
            doc = self.json_of(self.here(*args, **more), status)
            return doc, self.calls() > before

        doc, ran = measured()
        self.assertEqual((ran, "reused" in doc, len(os.listdir(kept))), (True, False, 1))
        self.git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "--amend", "-m", "reworded", cwd=self.repo)
        head = self.git("rev-parse", "HEAD", cwd=self.repo)
        again, ran = measured()
        self.assertEqual((ran, again["b"]["name"], again["rows"]), (False, head, doc["rows"]))
        base = self.commits["docs"]
        self.assertEqual(again["reused"]["from"], f"the check of {first[:12]} against {base[:12]}")
        sentence = f"Reused from the check of {first[:12]} against {base[:12]}, measured at "
        self.assertIn(sentence, self.expect(self.here(*check[:-1]), 1).stderr)
        self.assertIn(sentence, self.expect(self.perfci("comment", "--dry-run", text=json.dumps(again)), 0).stdout)
        for what, args, more in (("another command", ("--measure", "./measure.sh #"), {}),
                                 ("another toolchain", (), {"env": {"CFLAGS": "-O1"}})):
            self.assertTrue(measured(check + args, **more)[1], what)
        for name in os.listdir(kept):
            path = os.path.join(kept, name)
            with open(path, encoding="utf-8") as file:
                stored = json.load(file)
            with open(path, "w", encoding="utf-8") as file:
                json.dump({**stored, "measured_at": "2020-01-01T00:00:00Z"}, file)
        self.assertTrue(measured()[1], "an old result")
        for name in os.listdir(kept):
            with open(os.path.join(kept, name), "w", encoding="utf-8") as file:
                file.write("[]")
        self.assertIn("--reuse: ", self.expect(self.here(*check), 2).stderr)

    def test_what_is_not_decided_is_not_kept(self):
        self.git("checkout", "-q", "-b", "topic", "docs", cwd=self.repo)
        self.commit(100, "topic-tip")
        self.json_of(self.here("check", "--reuse", self.path("kept"), "--rounds", "1", "--json"), 3)
        self.assertFalse(os.path.exists(self.path("kept")))

    def test_check_on_the_base_branch_has_nothing_to_compare(self):
        done = self.expect(self.here("check"), 0)
        self.assertIn(f"nothing to compare: HEAD, {self.commits['fast'][:12]}, is part of the base branch main", done.stdout)
        self.git("checkout", "-q", "--detach", "docs", cwd=self.repo)
        doc = self.json_of(self.here("check", "--json"), 0)
        self.assertEqual(doc["rows"], [])
        self.assertIn("nothing to compare", doc["nothing"])
        said = self.expect(self.perfci("comment", "--dry-run", "--exit-status", text=json.dumps(doc)), 0).stdout
        self.assertIn("Nothing was compared", said)
        self.assertFalse(os.path.exists(self.path("counter")))

    def test_check_in_a_clone_of_ci_compares_with_the_remote_branch(self):
        self.git("checkout", "-q", "-b", "topic", "docs", cwd=self.repo)
        self.commit(130, "topic-tip")
        clone = self.path("clone")
        self.git("clone", "-q", "-b", "topic", f"file://{self.repo}", clone, cwd=self.dir)
        self.git("checkout", "-q", "--detach", cwd=clone)
        doc = self.json_of(self.perfci("check", "--json", cwd=clone), 1)
        self.assertEqual(doc["a"]["name"], self.commits["docs"])
        done = self.expect(self.perfci("check", "--base", "gone", cwd=clone), 2)
        self.assertIn('neither "gone" nor "origin/gone"', done.stderr)
        self.assertIn("hint: ", done.stderr)
        self.git("clone", "-q", "--depth", "1", "--no-tags", "--no-single-branch", "-b", "topic", f"file://{self.repo}", self.path("shallow"), cwd=self.dir)
        done = self.expect(self.perfci("check", cwd=self.path("shallow")), 2)
        self.assertIn("the clone is shallow: the commit where HEAD left origin/main is not in it", done.stderr)
        self.assertRegex(done.stderr, "hint: .*git fetch --unshallow.*fetch-depth: 0")


class Turns(Repository):
    """Interleaved commands, on a machine that becomes slower with every call: 5 % over twenty of them."""

    RAMP = """#!/bin/sh
n=$(cat "$COUNTER" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > "$COUNTER"
awk -v v="$(cat value)" -v n=$n -v r="$NOISE" 'BEGIN { srand(n); z = rand() + rand() + rand() + rand() - 2
print v * (1 + 0.05 * n / 20) * (1 + r * z / 0.577) }'
"""

    def setUp(self):
        super().setUp()
        self.env["NOISE"] = "0.001"
        self.write("repo/measure.sh", self.RAMP, 0o755)
        for tag, value in (("r-base", 100), ("r-same", 100), ("r-slow", 101)):
            self.commit(value, tag)

    def row(self, status, *args):
        doc = self.json_of(self.here("compare", *args, "--json"), status)
        return doc["rows"][0], doc

    @tier.long
    def test_a_ramp_of_five_percent_is_no_regression_and_hides_none_of_one_percent(self):
        row, doc = self.row(0, "r-base", "r-same")
        self.assertEqual(row["verdict"], "same")
        self.assertLess(abs(row["rel_change"]), 0.003)
        self.assertLess(doc["rounds"], 12)
        row, doc = self.row(1, "r-base", "r-slow", "--save", self.path("kept"))
        self.assertEqual(row["verdict"], "regression")
        self.assertAlmostEqual(row["rel_change"], 0.01, delta=0.003)
        # The documents say which launches are pairs: a comparison of the two knows what this one knew.
        a, b = self.path("kept/a.json"), self.path("kept/b.json")
        again, _ = self.row(1, a, b)
        self.assertEqual({k: again[k] for k in ("verdict", "rel_change", "rel_low", "rel_high", "p")},
                         {k: row[k] for k in ("verdict", "rel_change", "rel_low", "rel_high", "p")})
        self.assertEqual(self.row(0, b, a)[0]["verdict"], "improvement")
        with open(a, encoding="utf-8") as f:
            extra = json.load(f)["measurements"][0]["extra"]
        self.assertEqual(len(extra["pair_order"]), 4 * doc["rounds"])
        self.assertEqual(extra["pair_side"], "a")

    def test_what_is_not_decided_says_how_many_rounds_are_missing(self):
        self.env["NOISE"] = "0.04"
        row, doc = self.row(3, "r-base", "r-slow", "--rounds", "5")
        self.assertEqual((row["verdict"], doc["rounds"], row["a"]["n"]), ("inconclusive", 5, 10))
        self.assertGreater(row["more_rounds"], 10)
        # A time limit that is over at once leaves one round, and four are the least that decide.
        done = self.expect(self.here("compare", "r-base", "r-slow", "--max-time", "0.001s"), 3)
        self.assertIn("not decided after 1 round: headline latency; about 3 more expected", done.stdout)
        done = self.expect(self.perfci("comment", "--dry-run", "--exit-status", text=json.dumps(doc)), 3)
        self.assertIn(f"not decided, about {row['more_rounds']} more rounds expected", done.stdout)

    @tier.long
    def test_noise_is_measured_until_it_is_decided(self):
        self.env["NOISE"] = "0.01"
        row, doc = self.row(1, "base", "slow")
        self.assertEqual(row["verdict"], "regression")
        self.env["NOISE"] = "0.005"
        row, doc = self.row(0, "r-base", "r-same")
        self.assertEqual(row["verdict"], "same")
        self.assertGreater(doc["rounds"], 4)

    def test_the_pipe_keeps_the_verdict(self):
        self.git("checkout", "-q", "-b", "topic", "base", cwd=self.repo)
        self.write("repo/measure.sh", self.RAMP, 0o755)
        self.commit(130, "topic-tip")
        self.git("branch", "-f", "main", "base", cwd=self.repo)
        self.env["NOISE"] = "0.001"

        def pipe(*flags):
            done = self.here("check", "--json")
            return done, self.perfci("comment", "--dry-run", *flags, text=done.stdout)

        done, comment = pipe("--exit-status")
        self.assertEqual((done.returncode, comment.returncode), (1, 1), done.stderr + comment.stderr)
        self.assertEqual(pipe()[1].returncode, 0)
        self.write("repo/measure.sh", "#!/bin/sh\necho no such device >&2; exit 1\n", 0o755)
        self.commit(131, "topic-broken")
        done, comment = pipe("--exit-status")
        self.assertEqual((done.returncode, comment.returncode), (4, 4), done.stderr + comment.stderr)
        self.assertIn("No comparison", comment.stdout)
        self.assertIn("no such device", comment.stdout)


if __name__ == "__main__":
    support.main()
