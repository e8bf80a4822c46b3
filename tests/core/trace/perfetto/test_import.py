"""Perfetto's importer finds no error in the traces in JSON of kernels and regions, on every chip: importer.py has its
rules. A faulty trace raises the counter of its fault."""
import copy
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import importer

REGION = ["--scope", "region", "--launches", "3", "--copies", "overlapped"]
CASES = [
    ["gemm", "--m", "256", "--n", "256", "--k", "256"],
    ["gemm", "--m", "1", "--n", "1024", "--k", "1024", "--wait", "poll"] + REGION,
    ["gemm_bias_act", "--m", "128", "--n", "256", "--k", "256", "--act", "2"],
    ["attention", "--h", "8", "--s", "256", "--d", "64", "--causal"] + REGION,
    ["attention", "--h", "8", "--s", "512", "--d", "64", "--q", "1", "--kv", "2"],
    ["layernorm", "--rows", "256", "--cols", "512", "--sync", "each"] + REGION,
    ["residual_rmsnorm", "--rows", "128", "--cols", "512"],
    ["softmax", "--rows", "64", "--cols", "512", "--scope", "region", "--launches", "2", "--copies", "each"],
]


def perfci(*args):
    program = os.path.join(os.environ["PERFCI_BIN_DIR"], "perfci")
    done = subprocess.run([program, *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Importer(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def trace(self, case, chip):
        path = os.path.join(self.folder, "trace.json")
        perfci("accel", "run", *case, "--chip", chip, "--timing-only", "--trace", path)
        with open(path, encoding="utf-8") as f:
            return json.load(f)

    def test_every_chip_and_kind_of_run(self):
        chips = [chip["name"] for chip in json.loads(perfci("accel", "chips", "--json"))]
        self.assertGreaterEqual(len(chips), 5)
        for chip in chips:
            for case in CASES:
                document = self.trace(case, chip)
                read = importer.read(document)
                self.assertEqual(dict(read.errors), {}, f"{case} on {chip}")
                phases = [e["ph"] for e in document["traceEvents"]]
                self.assertEqual(read.slices, sum(phases.count(p) for p in "Xib"))
                # every arrow: from each point of a flow to the next one
                self.assertEqual(read.flow_links, phases.count("t") + phases.count("f"))
                self.assertEqual(read.flow_links > 0, "region" in case)

    def test_each_fault_raises_its_counter(self):
        sound = self.trace(CASES[3], "pfc-edge")

        def first(events, **wanted):
            return next(e for e in events if all(e.get(k) == v for k, v in wanted.items()))

        def cross(events):
            x = first(events, ph="X", cat="kernel")
            events.append(dict(x, ts=x["ts"] + x["dur"] / 2))

        def last(events):
            """The slice comes behind the point of a flow that has its time."""
            kernel = first(events, ph="X", cat="kernel")
            events.remove(kernel)
            events.append(kernel)

        faults = [
            ("slice_drop_overlapping_complete_event", cross),
            ("slice_negative_duration", lambda events: first(events, ph="X").update(dur=-1)),
            ("flow_no_enclosing_slice", last),
            ("flow_no_enclosing_slice", lambda events: first(events, ph="s").update(ts=0)),
            ("flow_duplicate_id", lambda events: events.append(dict(first(events, ph="s")))),
            ("flow_step_without_start", lambda events: events.remove(first(events, ph="s"))),
            ("flow_end_without_start", lambda events: first(events, ph="f").update(id=999999)),
            ("flow_invalid_id", lambda events: first(events, ph="f").update(id=None)),
            ("flow_outside_slice", lambda events: first(events, ph="f").update(ts=1e9)),
            ("json_parser_failure", lambda events: first(events, ph="b").pop("id2")),
            ("json_parser_failure", lambda events: first(events, ph="C").update(args={"value": None})),
            ("json_tokenizer_failure", lambda events: first(events, ph="X").pop("ts")),
            ("end_without_begin", lambda events: events.remove(first(events, ph="b"))),
            ("end_missing", lambda events: events.remove(first(events, ph="e"))),
        ]
        self.assertEqual(importer.read(sound).errors, {})
        for counter, change in faults:
            document = copy.deepcopy(sound)
            change(document["traceEvents"])
            self.assertIn(counter, importer.read(document).errors)


if __name__ == "__main__":
    unittest.main()
