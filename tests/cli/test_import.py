"""perfci import --dry-run: what other tools' files come to; perfci run -- CMD: several metrics of any command."""

import json
import os
import unittest

import support

DATA = os.path.join(support.ROOT, "tests/data/import")


class DryRun(support.Case):
    def show(self, *args, **more):
        return self.json_of(self.perfci("import", "--dry-run", "--json", *args, **more))

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
        doc = self.show(os.path.join(DATA, "otava/sample.csv"))
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

    def test_a_command_that_prints_no_result_is_measured_by_its_time(self):
        done = self.perfci("run", "--json", "--repeats", "2", "--", "echo", "hello")
        doc = self.json_of(done)
        found = {m["metric"]: m for m in doc["measurements"]}
        self.assertEqual(len(found["wall_time_ns"]["samples"]), 2)
        self.assertNotIn("role", found["wall_time_ns"].get("extra", {}))
        self.assertEqual(done.stderr.count("hello"), 1)

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
