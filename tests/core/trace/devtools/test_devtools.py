"""Traces in JSON as a reader of other authors sees them: the trace engine of Chrome DevTools finds every slice, track and flow
that the file has. Perfetto's own reader is in no package registry that this project uses. Skipped where npm could not install
the package."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = os.environ.get("PERFCI_READER_MODULES", "")
SKIPPED = 77
REGION = ["--scope", "region", "--launches", "2", "--copies", "overlapped"]
CASES = [
    ["gemm", "--m", "256", "--n", "256", "--k", "256", "--chip", "pfc-edge"],
    ["gemm", "--m", "1", "--n", "1024", "--k", "1024", "--chip", "pfc-trn"] + REGION,
    ["gemm_bias_act", "--m", "128", "--n", "256", "--k", "256", "--act", "2", "--chip", "pfc-server"],
    ["attention", "--h", "8", "--s", "256", "--d", "64", "--causal", "--chip", "pfc-xf"] + REGION,
    ["attention", "--h", "8", "--s", "512", "--d", "64", "--q", "1", "--kv", "2", "--chip", "pfc-server2"],
    ["layernorm", "--rows", "256", "--cols", "512", "--chip", "pfc-edge"] + REGION,
    ["residual_rmsnorm", "--rows", "128", "--cols", "512", "--chip", "pfc-trn"],
]


def read(files):
    done = subprocess.run([os.environ["PERFCI_NODE"], os.path.join(HERE, "read.mjs"), MODULES] + files, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


class DevTools(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def trace(self, case, number):
        path = os.path.join(self.folder, f"{number}.json")
        program = os.path.join(os.environ["PERFCI_BIN_DIR"], "perfci")
        done = subprocess.run([program, "accel", "run"] + case + ["--trace", path, "--json"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def expect_same(self, path, seen):
        """The reader's slices, tracks and flows against the events of the file."""
        with open(path, encoding="utf-8") as f:
            events = json.load(f)["traceEvents"]
        names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
        processes = {str(e["pid"]): e["args"]["name"] for e in events if e["name"] == "process_name"}
        slices = {}
        for e in events:
            if e["ph"] == "X":
                slices.setdefault((e["pid"], e["tid"]), []).append(e)
        flows = [e for e in events if e["ph"] in "stf"]
        self.assertTrue(seen["generic"])
        self.assertEqual(seen["processes"], processes)
        self.assertEqual({(t["pid"], t["tid"]) for t in seen["tracks"]}, set(slices))
        for t in seen["tracks"]:
            own = slices[t["pid"], t["tid"]]
            self.assertEqual(t["name"], names[t["pid"], t["tid"]])
            self.assertEqual(t["slices"], len(own))
            self.assertEqual(t["names"], sorted({e["name"] for e in own}))
            self.assertAlmostEqual(t["busy"], sum(e["dur"] for e in own), places=3)
            self.assertEqual(t["crossings"], 0, f"{t['name']}: slices overlap without nesting")
        self.assertEqual(seen["flow_points"], len(flows))
        self.assertEqual(seen["flows"], len({e["id"] for e in flows}))
        self.assertEqual(seen["flow_points_outside"], 0)
        return len(flows)

    def test_every_slice_track_and_flow_is_read(self):
        paths = [self.trace(case, i) for i, case in enumerate(CASES)]
        seen = read(paths)
        self.assertEqual(len(seen), len(CASES))
        flows = [self.expect_same(path, one) for path, one in zip(paths, seen)]
        for case, count in zip(CASES, flows):
            self.assertEqual(count > 0, "region" in case, case)

    def test_slices_that_cross_and_flows_outside_of_slices_are_seen(self):
        path = self.trace(CASES[1], 0)
        with open(path, encoding="utf-8") as f:
            document = json.load(f)
        tiles = sorted((e for e in document["traceEvents"] if e["ph"] == "X" and e["pid"] == 1), key=lambda e: e["ts"])
        tiles[0]["dur"] = tiles[1]["ts"] - tiles[0]["ts"] + tiles[1]["dur"] / 2
        start = next(e for e in document["traceEvents"] if e["ph"] == "s")
        start["ts"] -= 1e6
        with open(path, "w", encoding="utf-8") as f:
            json.dump(document, f)
        seen = read([path])[0]
        self.assertEqual([t["crossings"] for t in seen["tracks"] if t["pid"] == 1], [1])
        self.assertEqual(seen["flow_points_outside"], 1)


if __name__ == "__main__":
    if not os.path.isdir(os.path.join(MODULES, "@paulirish/trace_engine")):
        print("skipped: npm could not install the trace engine of Chrome DevTools when this was built")
        sys.exit(SKIPPED)
    unittest.main()
