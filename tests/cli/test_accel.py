"""perfci accel: one case, batches, chips and what is refused."""

import json
import os
import re
import unittest

import support
from support import Case


class Grade(Case):
    def test_the_grade_is_the_same_with_any_number_of_threads(self):
        answers = [self.perfci("accel", "grade-limiter", "--seed", "3", "--cases", "12", "--jobs", jobs, "--json")
                   for jobs in ("1", "2")]
        for r in answers:
            self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(answers[0].stdout, answers[1].stdout)
        answer = json.loads(answers[0].stdout)
        for view in (answer, answer["counters"]):
            self.assertEqual(view["cases"], 12)
            self.assertEqual(view["decided"] + view["inconclusive"], 12)
            self.assertLessEqual(view["low95"], view["top1"])
            self.assertLessEqual(view["top1"], view["top2"])
            self.assertEqual(sum(r["cases"] for r in view["by_resource"].values()), 12)
            self.assertEqual(sum(b["verdicts"] for b in view["confidence"]), view["decided"])
        self.assertGreaterEqual(answer["drawn"], 12)
        self.assertGreaterEqual(answer["top1"], 0.8)

    def test_guidance_is_graded_by_entry(self):
        r = self.perfci("accel", "grade-guidance", "--seed", "3", "--cases", "40", "--json")
        self.assertEqual(r.returncode, 0, r.stderr)
        answer = json.loads(r.stdout)
        entries = answer["by_entry"].values()
        self.assertEqual((answer["seed"], answer["cases"]), (3, 40))
        self.assertGreater(answer["advised"], 0)
        self.assertEqual(sum(e["advised"] for e in entries), answer["advice"])
        self.assertEqual(sum(e["first"] for e in entries), answer["advised"])
        self.assertLessEqual(answer["harmful_first"], answer["advised"])
        self.assertAlmostEqual(answer["not_harmful_first"], 1 - answer["harmful_first"] / answer["advised"])
        self.assertEqual(r.stdout, self.perfci("accel", "grade-guidance", "--seed", "3", "--cases", "40", "--json").stdout)
        table = self.perfci("accel", "grade-guidance", "--seed", "3", "--cases", "40")
        self.assertEqual(table.returncode, 0, table.stderr)
        for entry in answer["by_entry"]:
            self.assertIn(entry, table.stdout)

    def test_rules_that_are_not_there_are_named(self):
        for part in ("grade-limiter", "grade-guidance"):
            r = self.perfci("accel", part, "--cases", "1", "--rules", "/nonexistent")
            self.assertEqual(r.returncode, 2)
            self.assertIn("/nonexistent", r.stderr)


class Documents(Case):
    """Runs of the simulator as run documents, and what `perfci explain` says of two of them."""

    def document(self, name, *args):
        path = os.path.join(self.dir, name)
        r = self.perfci("accel", "run", *args, "--timing-only", "--document", path)
        self.assertEqual(r.returncode, 0, r.stderr)
        return path

    def explained(self, before, after):
        r = self.perfci("explain", before, after, "--json")
        self.assertEqual(r.returncode, 0, r.stderr)
        return json.loads(r.stdout)

    def half_link(self):
        with open(os.path.join(support.ROOT, "kernels/accel/chips/pfc-server.chip"), encoding="utf-8") as f:
            text, count = re.subn(r"^pcie_lanes = 16\b", "pcie_lanes = 8", f.read(), flags=re.M)
        self.assertEqual(count, 1)
        path = os.path.join(self.dir, "half.chip")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def test_half_of_a_link_is_named_by_the_runs_that_it_slows(self):
        region = ("gemm", "--m", "256", "--n", "256", "--k", "256", "--scope", "region", "--launches", "4", "--copies", "each")
        doc = self.explained(self.document("a.json", *region, "--chip", "pfc-server"),
                             self.document("b.json", *region, "--chip", self.half_link()))
        self.assertEqual((doc["judged"]["verdict"], doc["limiter"]), ("regression", {"before": "pcie", "after": "pcie"}))
        self.assertEqual((doc["causes"][0]["kind"], doc["causes"][0]["resource"]), ("chip", "pcie"))
        self.assertIn("pcie_lanes is 8 instead of 16", doc["causes"][0]["text"])
        self.assertEqual({c["resource"] for c in doc["contributions"]}, {"pcie"})
        self.assertEqual(sum(c["value"] for c in doc["contributions"]), doc["delta"])
        self.assertTrue(doc["total"]["same_stream"])
        self.assertFalse(doc["total"]["same_chip"])

    def test_a_kernel_in_text_is_a_document_like_any_other(self):
        stream = os.path.join(self.dir, "tile.pca")
        shape = ("gemm", "--m", "64", "--n", "64", "--k", "64", "--chip", "pfc-edge")
        self.assertEqual(self.perfci("accel", "run", *shape, "--dump-pca", stream).returncode, 0)
        path = self.document("text.json", stream, "--chip", "pfc-edge")
        doc = self.explained(path, path)
        self.assertEqual((doc["causes"], doc["delta"], doc["total"]["basis"]), ([], 0, "path"))

    def test_a_document_is_of_one_case(self):
        r = self.perfci("accel", "run", "--batch", "-", "--document", os.path.join(self.dir, "x.json"))
        self.assertEqual(r.returncode, 2)
        self.assertIn("--document takes one case", r.stderr)


class Accel(Case):
    def test_scalesim_mode_gives_the_published_cycles(self):
        # Rows of tests/data/accel/scalesim.csv.
        r = self.perfci("accel", "run", "gemm", "--m", "16", "--n", "16", "--k", "16", "--array", "8x8",
                        "--mode", "scalesim-ws", "--json")
        self.assertEqual(r.returncode, 0, r.stderr)
        answer = json.loads(r.stdout)
        self.assertEqual(answer["cycles"], 151)
        self.assertAlmostEqual(answer["utilization"] * 100, 42.384105960264904, places=9)
        self.assertEqual(answer["counters"]["sram_reads_ifmap"], 512)
        for member in ("time_ns", "limiter", "digest"):
            self.assertIn(member, answer)

    def test_every_operation_repeats_itself(self):
        cases = [["gemm", "--m", "33", "--n", "65", "--k", "17"],
                 ["attention", "--h", "2", "--s", "70", "--d", "16", "--causal"],
                 ["layernorm", "--rows", "9", "--cols", "100"], ["rmsnorm", "--rows", "9", "--cols", "100"],
                 ["softmax", "--rows", "9", "--cols", "100"]]
        for case in cases:
            a = self.perfci("accel", "run", *case, "--json")
            b = self.perfci("accel", "run", *case, "--json")
            self.assertEqual(a.returncode, 0, a.stderr)
            self.assertEqual(a.stdout, b.stdout)
            self.assertGreater(json.loads(a.stdout)["cycles"], 0)
            table = self.perfci("accel", "run", *case)
            self.assertEqual(table.returncode, 0, table.stderr)
            self.assertIn("cycles", table.stdout)

    def test_batch_answers_a_line_a_case_in_order(self):
        path = self.write("cases.jsonl",
                          '{"op": "gemm", "m": 8, "n": 8, "k": 8, "array": "8x8", "mode": "scalesim-ws"}\n'
                          '\n{"op": "gemm", "m": 8}\n'
                          '{"op": "softmax", "rows": 4, "cols": 4, "dtype": "f32"}\n'
                          'not json\n{"op": "gemm", "m": 8, "n": 8, "k": 8, "speed": 1}\n')
        r = self.perfci("accel", "run", "--batch", path)
        lines = [json.loads(line) for line in r.stdout.splitlines()]
        self.assertEqual(r.returncode, 2)
        self.assertEqual(len(lines), 5)
        self.assertEqual(lines[0]["cycles"], 2 * 8 + 8 + 8 - 2 - 1)  # one fold of the closed form
        self.assertIn("--n is missing", lines[1]["error"])
        self.assertEqual(lines[2]["op"], "softmax")
        self.assertIn("not JSON", lines[3]["error"])
        self.assertIn("speed", lines[4]["error"])

    def test_an_answer_holds_every_counter_and_what_if(self):
        counters = json.loads(self.perfci("accel", "counters", "--json").stdout)
        r = self.perfci("accel", "run", "gemm", "--m", "64", "--n", "64", "--k", "64", "--json")
        answer = json.loads(r.stdout)
        self.assertEqual(set(answer["counters"]) - {"dram_bytes"}, {c["name"] for c in counters})
        for c in counters:
            self.assertEqual(set(c), {"name", "unit", "domain", "law", "since"})
            self.assertEqual(c["domain"] is None, c["unit"] != "cycles", c)
        self.assertEqual(set(answer["whatif"]), {"compute", "weights", "vector", "memory", "dma", "scratchpad", "latency",
                                                 "pcie", "host"})
        saved = {name: answer["cycles"] - cycles for name, cycles in answer["whatif"].items()}
        self.assertEqual(answer["limiter"], max(saved, key=saved.get))
        self.assertLessEqual(answer["ceiling_cycles"], answer["cycles"])
        self.assertRegex(answer["stream_digest"], "^[0-9a-f]{64}$")
        self.assertEqual(answer["simulator"], "accel-4")

    def test_a_trace_is_whole_and_changes_nothing(self):
        case = ["accel", "run", "attention", "--h", "1", "--s", "200", "--d", "32", "--json"]
        plain = self.perfci(*case)
        for name in ("run.pct", "run.json"):
            path = os.path.join(self.dir, name)
            traced = self.perfci(*case, "--trace", path, "--trace-every", "100")
            self.assertEqual(traced.returncode, 0, traced.stderr)
            self.assertEqual(traced.stdout, plain.stdout)
            checked = self.perfci("trace", "check", path)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        names = {e["name"] for e in json.load(open(path, encoding="utf-8"))["traceEvents"]}
        self.assertIn("attention", names)
        r = self.perfci(*case, "--trace", os.path.join(self.dir, "none", "run.pct"))
        self.assertNotEqual(r.returncode, 0)
        self.assertIn("run.pct", r.stderr)
        r = self.perfci("accel", "run", "--batch", "-", "--trace", path)
        self.assertEqual(r.returncode, 2)
        self.assertIn("--trace takes one case", r.stderr)

    def test_a_region_has_copies_and_the_host_in_its_time(self):
        case = ["accel", "run", "gemm", "--m", "128", "--n", "64", "--k", "32", "--chip", "pfc-server", "--json"]
        kernel = json.loads(self.perfci(*case).stdout)
        self.assertEqual(kernel["scope"], "kernel")
        self.assertNotIn("region", kernel)
        region = [*case, "--scope", "region", "--launches", "5", "--sync", "each"]
        first = self.perfci(*region)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(first.stdout, self.perfci(*region).stdout)
        answer = json.loads(first.stdout)
        self.assertEqual(answer["scope"], "region")
        self.assertEqual(answer["digest"], kernel["digest"])  # the kernel is the same
        self.assertEqual(answer["time_ns"], answer["cycles"] / 2)  # 2 GHz
        self.assertEqual(answer["metrics"]["cycles"]["value"], answer["cycles"])
        self.assertEqual(answer["metrics"]["time_ns"]["value"], answer["time_ns"])
        self.assertEqual(answer["region"]["kernel_cycles"], 5 * kernel["cycles"])
        self.assertEqual(answer["region"]["pcie_h2d_bytes"], 2 * (128 * 32 + 32 * 64))
        self.assertEqual(answer["region"]["pcie_d2h_bytes"], 2 * 128 * 64)
        self.assertEqual(answer["region"]["host"]["waits"], 6)
        saved = {name: answer["cycles"] - cycles for name, cycles in answer["whatif"].items()}
        self.assertEqual(answer["limiter"], max(saved, key=saved.get))
        self.assertEqual(answer["limiter"], "host")
        self.assertGreater(saved["pcie"], 0)
        table = self.perfci(*[a for a in region if a != "--json"])
        self.assertIn("without pcie", table.stdout)

    def test_a_region_is_traced_from_the_call_to_the_tile(self):
        for copies in ("once", "each", "overlapped"):
            for name in ("run.pct", "run.json"):
                path = os.path.join(self.dir, name)
                r = self.perfci("accel", "run", "softmax", "--rows", "64", "--cols", "64", "--scope", "region",
                                "--launches", "3", "--copies", copies, "--trace", path)
                self.assertEqual(r.returncode, 0, r.stderr)
                checked = self.perfci("trace", "check", path)
                self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
            events = json.load(open(path, encoding="utf-8"))["traceEvents"]
            ends = [e for e in events if e["ph"] == "f"]
            kernels = [e for e in events if e["ph"] == "X" and e["name"] == "softmax"]
            self.assertEqual(len(kernels), 3)
            ids = {k["args"]["correlation"] for k in kernels}
            self.assertLessEqual(ids, {e["id"] for e in ends}, copies)  # a flow ends at each kernel
            calls = [e for e in events if e["ph"] == "X" and e["name"] == "launch"]
            self.assertEqual(ids, {c["args"]["correlation"] for c in calls})

    def test_a_batch_may_hold_regions(self):
        path = self.write("cases.jsonl", '{"op": "softmax", "rows": 8, "cols": 8, "scope": "region", "launches": 2}\n'
                                         '{"op": "softmax", "rows": 8, "cols": 8, "launches": 2}\n')
        r = self.perfci("accel", "run", "--batch", path)
        lines = [json.loads(line) for line in r.stdout.splitlines()]
        self.assertEqual(lines[0]["region"]["launches"], 2)
        self.assertIn("--launches needs --scope region", lines[1]["error"])

    def test_detail_sums_to_the_counters(self):
        r = self.perfci("accel", "run", "gemm", "--m", "64", "--n", "64", "--k", "64", "--json", "--detail")
        answer = json.loads(r.stdout)
        detail, counters = answer["detail"], answer["counters"]
        self.assertEqual(sum(q["bytes"] for q in detail["queues"]), counters["dma_bytes"])
        self.assertEqual(sum(c["read_bytes"] for c in detail["channels"]), counters["hbm_read_bytes"])
        self.assertEqual(sum(detail["transfer_bytes"]), counters["dma_transfers"])

    def test_chips_are_listed_by_name(self):
        r = self.perfci("accel", "chips", "--json")
        names = [chip["name"] for chip in json.loads(r.stdout)]
        self.assertGreaterEqual(len(names), 2)
        self.assertEqual(len(set(names)), len(names))
        for name in names:
            run = self.perfci("accel", "run", "gemm", "--m", "8", "--n", "8", "--k", "8", "--chip", name, "--json")
            self.assertEqual(json.loads(run.stdout)["chip"], name)

    def test_bad_input_is_reported_in_a_sentence(self):
        for args, says in [(["run"], "operation is missing"), (["run", "conv"], "conv"),
                           (["run", "gemm", "--m", "8", "--n", "8"], "--k is missing"),
                           (["run", "gemm", "--m", "8", "--n", "8", "--k", "8", "--rows", "1"], "takes no --rows"),
                           (["run", "gemm", "--m", "x"], "m"), (["run", "gemm", "--m", "65537"], "65537"),
                           (["run", "gemm", "--m", "1", "--n", "1", "--k", "1", "--chip", "none"], "no chip"),
                           (["run", "gemm", "--m", "1", "--n", "1", "--k", "1", "--array", "8"], "ROWSxCOLUMNS"),
                           (["run", "gemm", "--m", "1", "--n", "1", "--k", "1", "--mode", "fast"], "mode"),
                           (["run", "gemm", "--m", "1", "--n", "1", "--k", "1", "--scope", "all"], "kernel or region"),
                           (["run", "gemm", "--m", "1", "--n", "1", "--k", "1", "--copies", "each"], "--scope region"),
                           (["run", "gemm", "--m", "1", "--n", "1", "--k", "1", "--scope", "region", "--copies", "no"],
                            "once, each or overlapped"),
                           (["run", "gemm", "--m", "1", "--n", "1", "--k", "1", "--scope", "region", "--launches", "0"],
                            "launches"),
                           (["fly"], "expected \"run\", \"chips\", \"counters\", \"grade-limiter\", "
                                     "\"grade-delta\" or \"grade-guidance\", got \"fly\""),
                           ([], "missing subcommand: \"run\", \"chips\", \"counters\", \"grade-limiter\", "
                                "\"grade-delta\" or \"grade-guidance\"")]:
            r = self.perfci("accel", *args)
            self.assertEqual(r.returncode, 2, args)
            self.assertIn(says, r.stderr, args)
            self.assertEqual(r.stdout, "", args)

    def test_a_chip_file_with_a_fault_names_its_line(self):
        path = self.write("mine.chip", "# mine\nname = mine\nclock_mhz = many\n")
        r = self.perfci("accel", "run", "gemm", "--m", "1", "--n", "1", "--k", "1", "--chip", path)
        self.assertEqual(r.returncode, 2)
        self.assertIn("mine.chip:3: clock_mhz", r.stderr)


if __name__ == "__main__":
    unittest.main()
