"""perfci import --dry-run: what other tools' files come to; perfci run -- CMD: several metrics of any command."""

import json
import os
import shutil
import unittest

import support

DATA = os.path.join(support.ROOT, "tests/data/import")


class Shown(support.Case):
    def show(self, *args, **more):
        return self.json_of(self.perfci("import", "--dry-run", "--json", *args, **more))


class DryRun(Shown):
    def test_the_document_has_units_directions_and_values(self):
        doc = self.show(os.path.join(DATA, "cutlass/cutlass_profiler_fp32.csv"))
        self.assertEqual((doc["format"], doc["count"], len(doc["measurements"])), ("cutlass", 12, 12))
        time, rate = doc["measurements"][:2]
        self.assertEqual((time["unit"], time["direction"], time["higher_is_better"], time["primary"]),
                         ("ns", "lower", False, True))
        self.assertAlmostEqual(time["value"], 481.022e6)
        self.assertEqual((rate["unit"], rate["direction"], rate["primary"]), ("GFLOP/s", "higher", False))
        self.assertEqual(time["params"]["m"], "16384")

    def test_a_history_shows_its_commits(self):
        # Of a table with a time column nothing says which way is better; Otava's own default is higher.
        doc = self.show("--format", "otava", os.path.join(DATA, "otava/sample.csv"))
        points = doc["files"][0]["points"]
        self.assertEqual([p["commit"] for p in points], [f"aaa{i}" for i in range(10)])
        self.assertEqual(doc["count"], 2)

    def test_a_mapping_says_what_columns_mean(self):
        csv = self.write("own.csv", "op;size;t;rate;state\ngemm;64;1,234.5;2.5;ok\ngemm;64;1,240;2.4;ok\n"
                                    "gemm;128;n/a;;ok\nnorm;64;9;1;failed\n")
        map_ = self.write("map.yaml", 'name: "{op}"\nparams: [size]\ndelimiter: ";"\nbroken: {state: failed}\n'
                                      "metrics:\n  t: {unit: us, better: lower, name: time}\n  rate: TFLOP/s\n")
        doc = self.show("--map", map_, csv)
        found = {(m["benchmark"], m["metric"]): m for m in doc["measurements"]}
        self.assertEqual(found["gemm size=64", "time"]["samples"], [1234.5, 1240])
        self.assertEqual(found["gemm size=64", "time"]["unit"], "us")
        self.assertEqual(found["gemm size=64", "rate"]["direction"], "higher")
        self.assertEqual(found["gemm size=128", "time"]["status"], "skipped")
        self.assertEqual(found["norm size=64", "time"]["status"], "broken")

    def test_a_unit_and_a_direction_may_be_given(self):
        csv = self.write("t.csv", "K,mine,theirs\n128,1.5,2\n256,2.5,3\n")
        doc = self.show("--unit", "TFLOPS", "--better", "higher", csv)
        self.assertEqual(doc["count"], 4)
        self.assertEqual({(m["unit"], m["direction"]) for m in doc["measurements"]}, {("TFLOP/s", "higher")})
        self.assertEqual(doc["measurements"][0]["benchmark"], "K=128")

    def test_standard_input_and_talk_before_the_document(self):
        text = "building...\n[1/3] cc a.c\n" + json.dumps({"f": {"latency": {"value": 7}}}) + "\n"
        doc = self.show("-", text=text)
        self.assertEqual((doc["format"], doc["measurements"][0]["value"]), ("bmf", 7))

    def test_a_name_stands_beside_criterions_samples(self):
        doc = self.show(os.path.join(DATA, "criterion/sample.json"))
        self.assertEqual(doc["measurements"][0]["benchmark"], "Fibonacci2/Recursive/20")

    def test_bad_input_is_one_sentence_with_its_place(self):
        for name, text, said in (
                ("a.csv", "name,time_ms\nx,1\ny,fast\n", "line 3"),
                ("b.csv", 'name,time_ms\nx,1\ny,"2\n', "no end"),
                ("c.json", '{"benchmarks": [{"name": "x", "real_time": 1, "time_unit": "h"}], "context": {}}', "time_unit"),
                ("d.txt", "Segmentation fault\n", "line 1"),
                ("e.json", '{"results": [{"command": "x", "times": ["1"]}]}', "times")):
            done = self.expect(self.perfci("import", "--dry-run", self.write(name, text)), 2)
            self.assertIn(said, done.stderr, name)
            self.assertRegex(done.stderr, r"\Aperfci import: .+\nhint: .+\n\Z")
            self.assertEqual(done.stdout, "")
        map_ = self.write("bad.yaml", "metrics:\n  nowhere: us\n")
        done = self.expect(self.perfci("import", "--dry-run", "--map", map_, self.write("f.csv", "a,b\nx,1\n")), 2)
        self.assertIn("bad.yaml:2", done.stderr)
        self.assertIn("nowhere", done.stderr)
        self.expect(self.perfci("import", "--dry-run", self.path("absent")), 2)
        self.expect(self.perfci("import", "--better", "sideways", "x"), 2)
        self.expect(self.perfci("import"), 2)


class Directions(Shown):
    def test_a_table_that_says_no_direction_is_refused_with_the_flag_to_type(self):
        csv = self.write("own.csv", "name,score\na,1.5\n")
        done = self.expect(self.perfci("import", "--dry-run", csv), 2)
        self.assertIn('direction of "score" is not known', done.stderr)
        self.assertIn("hint: pass --direction", done.stderr)
        self.assertEqual(done.stdout, "")
        for way in "higher", "lower":
            m, = self.show("--direction", f"score={way}", csv)["measurements"]
            self.assertEqual((m["metric"], m["direction"]), ("score", way))
        self.write("perfci.yaml", "directions: {score: higher}\n")
        self.assertEqual(self.show(csv, cwd=self.dir)["measurements"][0]["direction"], "higher")

    def test_compare_asks_too(self):
        a, b = (self.write(f"{level}.json", json.dumps({"metrics": {"score": [level + i / 100 for i in range(10)]}})) for level in (1, 2))
        self.assertIn("direction of", self.expect(self.perfci("compare", a, b), 2).stderr)
        for way, verdict, status in (("higher", "improvement", 0), ("lower", "regression", 1)):
            doc = self.json_of(self.perfci("compare", "--json", "--direction", f"score={way}", a, b), status)
            self.assertEqual(doc["rows"][0]["verdict"], verdict)

    def test_a_rate_is_not_turned_upside_down(self):
        text = json.dumps({"metrics": {n: 5 for n in ("tokens_per_s", "mb_per_s", "tok_s", "reqs_per_s", "items_s")}})
        for m in self.show("-", text=text)["measurements"]:
            self.assertEqual(m["direction"], "higher", m)
            self.assertTrue(m["unit"].endswith("/s"), m)
            self.assertEqual(m["value"], 5)
        for m in self.show("-", text='{"metrics": {"s_per_token": 5, "ns_per_op": 5, "time_per_iter": 5, "s_per_mb": 5}}')["measurements"]:
            self.assertEqual(m["direction"], "lower", m)


class Folders(Shown):
    def copy(self, name, to):
        os.makedirs(os.path.dirname(self.path(to)), exist_ok=True)
        shutil.copy(os.path.join(DATA, name), self.path(to))

    def test_a_criterion_tree_is_one_run_of_the_newest_samples(self):
        for side in "new", "base":
            for name in "benchmark.json", "sample.json", "estimates.json", "raw.csv", "tukey.json":
                self.copy(f"criterion/{name}", f"t/criterion/Fib/20/{side}/{name}")
        self.copy("criterion/change-estimates.json", "t/criterion/Fib/20/change/estimates.json")
        self.copy("criterion/sample.json", "t/criterion/Other/new/sample.json")
        self.write("t/criterion/Other/new/benchmark.json", '{"group_id": "Other", "full_id": "Other"}')
        doc = self.show(self.path("t/criterion"))
        self.assertEqual([(m["benchmark"], m["n"]) for m in doc["measurements"]], [("Fibonacci2/Recursive/20", 100), ("Other", 100)])
        self.assertEqual(len(doc["files"]), 1)

    def test_the_fences_of_criterion_are_no_samples(self):
        done = self.expect(self.perfci("import", "--dry-run", os.path.join(DATA, "criterion/tukey.json"), "--better", "lower"), 2)
        self.assertIn("fences", done.stderr)

    def test_asv_results_keep_commits_and_environments(self):
        for name in "machine.json", "v1.json", "v2.json":
            self.copy(f"asv/{name}", f"results/cheetah/{name}")
        self.write("results/benchmarks.json", '{"version": 2}')
        doc = self.show(self.path("results"))
        self.assertEqual([f["format"] for f in doc["files"]], ["asv", "asv"])
        self.assertEqual({m["backend"] for m in doc["measurements"]}, {"py2.7-Cython-numpy1.8", "virtualenv-py3.11-numpy"})
        broken = [m for m in doc["measurements"] if m["status"] != "ok"]
        self.assertEqual([m["status"] for m in broken], ["broken"])

    def test_a_pytest_storage_is_read(self):
        self.copy("pytest-benchmark/pytest_output.json", ".benchmarks/Linux-CPython-3.11-64bit/0001_abc.json")
        self.copy("pytest-benchmark/params-extra-info.json", ".benchmarks/Linux-CPython-3.11-64bit/0002_abd.json")
        doc = self.show(self.path(".benchmarks"))
        self.assertEqual([f["format"] for f in doc["files"]], ["pytest-benchmark"] * 2)

    def test_links_are_not_followed_and_what_is_no_result_is_left_out(self):
        self.write("outside/secret.json", '{"metrics": {"time_ns": 1}}')
        self.write("in/a.json", '{"metrics": {"time_ns": 2}}')
        self.write("in/package.json", '{"name": "x"}')
        self.write("in/.git/b.json", '{"metrics": {"time_ns": 3}}')
        os.symlink(self.path("outside"), self.path("in/out"))
        os.symlink(self.path("outside/secret.json"), self.path("in/s.json"))
        os.symlink("..", self.path("in/loop"))
        done = self.perfci("import", "--dry-run", "--json", self.path("in"))
        self.assertEqual([m["value"] for m in self.json_of(done)["measurements"]], [2])
        self.assertIn("package.json", done.stderr)
        self.assertIn("3 links not followed", done.stderr)

    def test_a_folder_has_limits_and_one_without_results_is_a_fault(self):
        os.makedirs(self.path("empty"))
        self.assertIn("found none", self.expect(self.perfci("import", "--dry-run", self.path("empty")), 2).stderr)
        self.write("deep/" + "d/" * 12 + "a.txt", "1.5\n")
        self.expect(self.perfci("import", "--dry-run", "--direction", "value=lower", self.path("deep")), 0)
        self.write("deep/" + "d/" * 13 + "a.txt", "1.5\n")
        self.assertIn("deeper than 12", self.expect(self.perfci("import", "--dry-run", "--direction", "value=lower", self.path("deep")), 2).stderr)
        os.makedirs(self.path("many"))
        for i in range(5001):
            with open(self.path(f"many/{i}.json"), "w") as f:
                f.write("1")
        self.assertIn("more than 5000 files", self.expect(self.perfci("import", "--dry-run", self.path("many")), 2).stderr)


class RunCommand(support.Case):
    def test_a_command_has_time_memory_and_what_was_asked_for(self):
        self.write("prog", "12345")
        doc = self.json_of(self.perfci("run", "--json", "--repeats", "2", "--build", "true", "--size", "prog", "--",
                                       "sh", "-c", 'echo \'{"metrics": {"gemm_tflops": 2.5, "time_ns": 7}}\''))
        found = {m["metric"]: m for m in doc["measurements"]}
        self.assertEqual(found["gemm_tflops"]["direction"], "higher")
        self.assertEqual(found["time_ns"]["samples"], [[7], [7]])
        self.assertEqual(found["size_bytes"]["samples"], [[5]])
        for name in ("wall_time_ns", "max_rss_bytes", "build_time_ns"):
            self.assertGreater(found[name]["samples"][0][0], 0)
        for name in ("wall_time_ns", "process_cpu_time_ns", "max_rss_bytes", "size_bytes", "build_time_ns"):
            self.assertEqual(found[name]["extra"]["role"], "secondary", name)
        self.assertNotIn("role", found["gemm_tflops"].get("extra", {}))

    def test_a_command_that_prints_no_result_is_broken_and_what_it_printed_is_said(self):
        for script, said in (("echo hello", '"hello"'), ("true", "got nothing"), ("echo nan", '"nan"'), ("echo inf", '"inf"'),
                             (r"printf 'a\033[1mb\007c\n'", r"\x07"), ("""echo '{"value": NaN}'""", "finite"),
                             ("""echo '{"metrics": {"time_ns": 5, "b_ns": NaN}}'""", "b_ns"),
                             ("""echo '{"value": 1'""", "JSON")):
            done = self.expect(self.perfci("run", "--repeats", "1", "--", "sh", "-c", script), 4)
            self.assertIn(said, done.stderr)
            self.assertIn("expected a number or a benchmark format", done.stderr)
            self.assertIn(script.split()[0], done.stderr)
            self.assertIn("\nhint: ", done.stderr)
            self.assertIn("--time", done.stderr)
            self.assertNotIn("\x1b", done.stderr)
            self.assertEqual(done.stdout, "")

    def test_time_asks_for_wall_time_cpu_time_and_memory(self):
        done = self.perfci("run", "--json", "--repeats", "2", "--time", "--", "echo", "12")
        found = {m["metric"]: m for m in self.json_of(done)["measurements"] if m["benchmark"] == "headline"}
        self.assertEqual(sorted(found), ["max_rss_bytes", "process_cpu_time_ns", "wall_time_ns"])
        for m in found.values():
            self.assertEqual(len(m["samples"]), 2)
            self.assertEqual(m["direction"], "lower")
            self.assertNotIn("role", m.get("extra", {}))
        self.expect(self.perfci("run", "--repeats", "1", "--time", "--", "false"), 4)
        self.assertIn("--time", self.expect(self.perfci("run", "--suite", "quick", "--time"), 2).stderr)

    def test_json_behind_text_on_its_line_is_read(self):
        doc = self.json_of(self.perfci("run", "--json", "--repeats", "1", "--", "echo", 'INFO result: {"value": 3}'))
        self.assertEqual(doc["measurements"][0]["samples"], [[3]])

    def test_a_direction_is_asked_for_and_may_be_said(self):
        command = ("--repeats", "1", "--", "echo", '{"metrics": {"score": 3}}')
        done = self.expect(self.perfci("run", *command), 2)
        self.assertIn('direction of "score" is not known', done.stderr)
        self.assertIn('--direction "score=higher"', done.stderr)
        doc = self.json_of(self.perfci("run", "--json", "--direction", "score=higher", *command))
        self.assertEqual(doc["measurements"][0]["direction"], "higher")
        self.write("perfci.yaml", "directions: {score: higher}\n")
        doc = self.json_of(self.perfci("run", "--json", *command, cwd=self.dir))
        self.assertEqual(doc["measurements"][0]["direction"], "higher")
        for wrong in "score", "score=up", "=higher":
            self.assertIn("--direction", self.expect(self.perfci("run", "--direction", wrong, *command), 2).stderr)
        self.write("perfci.yaml", "directions: {score: up}\n")
        self.assertIn("expected higher or lower", self.expect(self.perfci("run", *command, cwd=self.dir), 2).stderr)

    def test_a_missing_file_to_weigh_is_said(self):
        done = self.expect(self.perfci("run", "--size", "absent", "--", "echo", "1"), 2)
        self.assertIn("absent", done.stderr)

    def test_a_secondary_metric_fails_no_comparison(self):
        def document(name, time, memory):
            samples = lambda level: [[level * (1 + 0.001 * i)] for i in range(10)]
            base = {"benchmark": "headline", "backend": "", "status": "ok", "direction": "lower"}
            return self.write(name, json.dumps({
                "schema": "perfci.run/1", "id": name * 32, "suite": "command", "suite_hash": "", "started_at": "2026-01-01T00:00:00Z",
                "finished_at": "2026-01-01T00:00:01Z",
                "machine": {"name": "m", "class": "c", "fingerprint": {}},
                "measurements": [
                    {**base, "metric": "time_ns", "unit": "ns", "exact": False, "samples": samples(time)},
                    {**base, "metric": "max_rss_bytes", "unit": "bytes", "exact": False,
                     "samples": samples(memory), "extra": {"role": "secondary"}}]}))
        doc = self.json_of(self.perfci("compare", "--json", document("a", 100, 1000), document("b", 100, 2000)), 0)
        rows = {r["metric"]: r for r in doc["rows"]}
        self.assertTrue(rows["max_rss_bytes"]["secondary"])
        self.assertEqual(rows["max_rss_bytes"]["verdict"], "regression")


if __name__ == "__main__":
    unittest.main()
