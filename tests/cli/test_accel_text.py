"""perfci accel with kernels in text and schedules: run, written, refused, in suites, and a worse tile found by bisection."""

import json
import os
import unittest

import support
from support import BIN, PERFCI, Case

# C = A B, m = n = k = 128: B stays in the scratchpad, A comes in tiles of TM rows through two buffers.
KERNEL = """pca 1
dtype bf16
reference gemm m=128 n=128 k=128
let N = 128
let TM = 32
arg A N*N*2
arg B N*N*2
arg C N*N*2
sram a 2*TM*N*2
sram b N*N*2
acc c 2*TM*N*4
token b_in
token a_in N/TM
token used N/TM
token out N/TM
load from=B to=b rows=N cols=N queue=1 signal=b_in
repeat N/TM as i {
  load from=A+i*TM*N*2 to=a+i%2*TM*N*2 rows=TM cols=N wait=used[i-2] signal=a_in[i]
  matmul a=a+i%2*TM*N*2 b=b to=c+i%2*TM*N*4 m=TM n=N k=N wait=a_in[i],b_in,out[i-2] signal=used[i]
  store_acc from=c+i%2*TM*N*4 to=C+i*TM*N*2 rows=TM cols=N queue=2 wait=used[i] signal=out[i]
}
"""
SCHEDULE = "m = 64\nn = 64\nk = 128\n"
SUITE = """suite: own
backends: ["accel:pfc-edge", cpu-avx2]
benchmarks:
  - {op: gemm, dtype: bf16, program: kernels/tile.pca, shapes: [{m: 128, n: 128, k: 128}]}
  - {op: gemm, dtype: bf16, schedule: kernels/tiles.schedule, shapes: [{m: 128, n: 128, k: 128}]}
  - {op: gemm, dtype: bf16, shapes: [{m: 128, n: 128, k: 128}]}
"""


class AccelText(Case):
    def accel(self, *words, status=0):
        r = self.perfci("accel", "run", *words, "--json", cwd=self.dir)
        self.assertEqual(r.returncode, status, r.stderr)
        return json.loads(r.stdout) if status == 0 else r.stderr

    def test_a_kernel_in_text_is_run_and_checked(self):
        self.write("tile.pca", KERNEL)
        a = self.accel("tile.pca")
        self.assertEqual(a["op"], "tile.pca")
        self.assertEqual((a["program"]["reference"], a["program"]["checked"]), ("gemm", True))
        self.assertGreaterEqual(a["cycles"], a["ceiling_cycles"])
        self.assertEqual(a["metrics"]["cycles"], {"value": a["cycles"], "unit": "cycles", "higher_is_better": False,
                                                  "exact": True})
        self.assertEqual(a, self.accel("tile.pca"))
        # The seed changes the data, so the digest, and not the stream.
        other = self.accel("tile.pca", "--seed", "3")
        self.assertEqual(a["stream_digest"], other["stream_digest"])
        self.assertNotEqual(a["digest"], other["digest"])
        table = self.perfci("accel", "run", "tile.pca", cwd=self.dir)
        self.assertIn("equal to the reference", table.stderr)
        self.write("wrong.pca", KERNEL.replace("a=a+i%2*TM*N*2 b=b", "a=a+i%2*TM*N*2 b=b transpose_b"))
        self.assertIn("gemm: wrong at row", self.accel("wrong.pca", status=4))
        self.write("bare.pca", KERNEL.replace("reference gemm m=128 n=128 k=128\n", ""))
        bare = self.accel("bare.pca")
        self.assertEqual((bare["program"]["reference"], bare["program"]["checked"]), (None, False))
        self.assertEqual(bare["cycles"], a["cycles"])

    def test_every_operation_returns_from_text(self):
        for case in (["gemm", "--m", "33", "--n", "65", "--k", "17"], ["softmax", "--rows", "9", "--cols", "100"],
                     ["attention", "--h", "2", "--s", "70", "--d", "16", "--causal"],
                     ["layernorm", "--rows", "9", "--cols", "100"], ["rmsnorm", "--rows", "9", "--cols", "100"],
                     ["gemm", "--m", "64", "--n", "64", "--k", "64", "--mode", "scalesim-os"]):
            built_in = self.accel(*case, "--dump-pca", "k.pca")
            text = self.accel("k.pca")
            for member in ("cycles", "stream_digest", "digest", "counters"):
                self.assertEqual(built_in[member], text[member], (case, member))
            # tiles are bounded more closely than programs in text, which may use commands in other ways
            self.assertLessEqual(text["ceiling_cycles"], built_in["ceiling_cycles"])
            self.assertTrue(text["program"]["checked"])

    def test_a_schedule_fixes_the_tiles(self):
        shape = ["gemm", "--m", "128", "--n", "128", "--k", "128"]
        self.write("good.schedule", SCHEDULE)
        self.write("bad.schedule", SCHEDULE.replace("m = 64", "m = 4"))
        self.write("vast.schedule", "m = 65536\nn = 65536\nk = 65536\n")
        good = self.accel(*shape, "--schedule", "good.schedule")
        self.assertEqual({k: v for k, v in good["schedule"].items() if k not in ("hash", "file")},
                         {"m": 64, "n": 64, "k": 128, "order": "n", "buffers": 2, "group": 1, "queues": "split", "fuse": "on"})
        self.assertIn("tiles of m 64, n 64, k 128", good["choice"])
        self.assertGreater(self.accel(*shape, "--schedule", "bad.schedule")["cycles"], 1.5 * good["cycles"])
        large = ["gemm", "--m", "8192", "--n", "8192", "--k", "8192", "--schedule", "vast.schedule"]
        self.assertIn("vast.schedule: pfc-edge has", self.accel(*large, status=2))
        self.assertIn("expected gemm", self.accel("softmax", "--rows", "3", "--cols", "3", "--schedule", "good.schedule",
                                                  status=2))
        self.assertIn("ideal memory", self.accel(*shape, "--schedule", "good.schedule", "--memory", "ideal", status=2))
        batch = self.write("cases.jsonl", json.dumps({"op": "gemm", "m": 128, "n": 128, "k": 128,
                                                      "schedule": self.path("good.schedule")}) + "\n")
        r = self.perfci("accel", "run", "--batch", batch)
        self.assertEqual(json.loads(r.stdout)["cycles"], good["cycles"])

    def test_faults_name_file_and_line(self):
        for change, says in ((("dtype bf16", "dtype f64"), "k.pca:2: dtype: expected f32, bf16 or int8"),
                             (("to=a+i%2*TM*N*2", "to=z"), "k.pca:18: to: expected a name that is known, got \"z\""),
                             (("wait=used[i-2]", "wait=used[i]"), "expected an order of commands, got a cycle"),
                             (("wait=used[i-2] ", ""), "k.pca:18: race: command "),
                             (("queue=2", "queue=99"), "no such DMA engine"),
                             (("repeat N/TM", "repeat N/0"), "k.pca:17: repeat: expected a divisor other than 0"),
                             (("arg B N*N*2", "arg B N*N*3"), "k.pca:"),
                             (("sram b N*N*2", "sram b N*N*2000"), "bytes of scratchpad"),
                             (("pca 1", "pca \0"), "NUL byte")):
            self.assertIn(change[0], KERNEL)
            self.write("k.pca", KERNEL.replace(*change))
            self.assertIn(says, self.accel("k.pca", status=2), change)
        self.write("k.pca", KERNEL)
        for flag in (["--m", "3"], ["--dtype", "f32"], ["--mode", "onnxim-ws"], ["--schedule", "x"], ["--memory", "ideal"]):
            self.assertIn(f"takes no {flag[0]}", self.accel("k.pca", *flag, status=2))
        self.accel("none.pca", status=2)
        self.accel("gemm", "--m", "3", "--n", "3", "--k", "3", "--schedule", "none", status=2)


class AccelTextRepository(Case):
    """A repository from outside: its kernel and its schedule get worse tiles in one commit each."""

    def setUp(self):
        super().setUp()
        self.repo = self.path("repo")
        self.git("init", "-q", "-b", "main", self.repo, cwd=self.dir)
        self.write("repo/suite.yaml", SUITE)
        self.write("repo/perfci.yaml", f"measure: {PERFCI} accel run kernels/tile.pca --json\nmetric: cycles\n")
        self.ids = []
        for i in range(9):
            self.write("repo/kernels/tile.pca", KERNEL if i < 6 else KERNEL.replace("TM = 32", "TM = 8"))
            self.write("repo/kernels/tiles.schedule", SCHEDULE if i < 3 else SCHEDULE.replace("m = 64", "m = 4"))
            self.write("repo/note", str(i))
            self.git("add", "-A", cwd=self.repo)
            self.git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", f"change {i}", cwd=self.repo)
            self.ids.append(self.git("rev-parse", "HEAD", cwd=self.repo))

    def bisect(self, *words):
        r = self.perfci("bisect", "--good", self.ids[0], "--bad", "HEAD", *words, "--json", cwd=self.repo)
        self.assertEqual(r.returncode, 1, r.stderr)
        return json.loads(r.stdout)

    def test_a_worse_tile_is_found_with_one_run_a_commit(self):
        doc = self.bisect()
        self.assertEqual([c["commits"] for c in doc["culprits"]], [[self.ids[6]]])
        runs = doc["runs"] if isinstance(doc.get("runs"), int) else len(doc.get("runs", []))
        # Nine commits, and one pair that confirms.
        self.assertLessEqual(runs, len(self.ids) + 2, json.dumps(doc)[:500])

    def test_a_suite_measures_kernel_and_schedule(self):
        bench = os.path.join(BIN, "perfci-bench")
        done = self.run_words(bench, "--suite", "suite.yaml", "--json")
        rows = {(m["benchmark"], m["backend"], m["metric"]): m for m in done["measurements"]}
        shape = "gemm/bf16/m128n128k128"
        for name in (shape, shape + "/tile.pca", shape + "/tiles.schedule"):
            self.assertEqual(rows[(name, "accel:pfc-edge", "cycles")]["status"], "ok", name)
            self.assertTrue(rows[(name, "accel:pfc-edge", "cycles")]["exact"])
        skipped = rows[(shape + "/tile.pca", "cpu-avx2", "time_ns")]
        self.assertEqual(skipped["status"], "skipped")
        self.assertIn("runs no program", skipped["reason"])
        alone = json.loads(self.perfci("accel", "run", "kernels/tile.pca", "--json", cwd=self.repo).stdout)
        self.assertEqual(rows[(shape + "/tile.pca", "accel:pfc-edge", "cycles")]["samples"], [[alone["cycles"]]])
        # A kernel whose result is wrong is broken, and does not end the run.
        self.write("repo/kernels/tile.pca", KERNEL.replace(" b=b to", " b=b transpose_b to"))
        done = self.run_words(bench, "--suite", "suite.yaml", "--json", "--backend", "accel:pfc-edge", status=None)
        rows = {(m["benchmark"], m["metric"]): m for m in done["measurements"]}
        self.assertEqual(rows[(shape + "/tile.pca", "time_ns")]["status"], "broken")
        self.assertEqual(rows[(shape, "cycles")]["status"], "ok")

    def test_what_does_not_fit_the_chip_is_broken_and_not_skipped(self):
        bench = os.path.join(BIN, "perfci-bench")
        shape = "gemm/bf16/m128n128k128"
        self.write("repo/kernels/tile.pca", KERNEL.replace("sram b N*N*2", "sram b N*N*200"))
        done = self.run_words(bench, "--suite", "suite.yaml", "--json", "--backend", "accel:pfc-edge", status=4)
        mine = [m for m in done["measurements"] if m["benchmark"] == shape + "/tile.pca"]
        self.assertEqual([m["status"] for m in mine], ["broken"])
        self.assertIn("tile.pca: pfc-edge has 2097152 bytes of scratchpad", mine[0]["reason"])
        others = {m["status"] for m in done["measurements"] if m["benchmark"] == shape}
        self.assertEqual(others, {"ok"})

    def run_words(self, *words, status=0):
        r = support.subprocess.run(words, cwd=self.repo, env=self.env, capture_output=True, text=True, check=False)
        if status is not None:
            self.assertEqual(r.returncode, status, r.stderr)
        return json.loads(r.stdout)

    def test_a_worse_schedule_is_found_in_a_suite(self):
        doc = self.bisect("--measure", f"{os.path.join(BIN, 'perfci-bench')} --suite suite.yaml --json "
                          "--backend accel:pfc-edge --filter schedule", "--metric", "cycles")
        self.assertEqual([c["commits"] for c in doc["culprits"]], [[self.ids[3]]])

    def test_suites_refuse_files_that_cannot_be(self):
        for entry, says in (("program: kernels/none.pca", "there is no file kernels/none.pca"),
                            ("program: /etc/k.pca", "expected a path relative to this file"),
                            ("program: kernels/tiles.schedule", "expected the name of a file *.pca"),
                            ("program: kernels/tile.pca, schedule: kernels/tiles.schedule", "got both")):
            self.write("repo/bad.yaml", "suite: bad\nbackends: [\"accel:pfc-edge\"]\nbenchmarks:\n"
                       f"  - {{op: gemm, dtype: bf16, {entry}, shapes: [{{m: 8, n: 8, k: 8}}]}}\n")
            r = self.perfci("suite", "check", "bad.yaml", cwd=self.repo)
            self.assertEqual(r.returncode, 2, entry)
            self.assertIn("bad.yaml:4", r.stdout + r.stderr)
            self.assertIn(says, r.stdout + r.stderr)


if __name__ == "__main__":
    unittest.main()
