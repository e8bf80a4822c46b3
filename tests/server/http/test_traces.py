"""Traces of runs at the running service: stored, refused, listed, read as a timeline, fetched, and forgotten with their run."""
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import support

PERFCI = pathlib.Path(os.environ["PERFCI_BIN_DIR"]) / "perfci"
BENCHMARK = "gemm/f32/m64n64k64"


def perfci(*words, **environment):
    return subprocess.run([PERFCI, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=support.DEADLINE_S,
                          env={"PATH": os.environ["PATH"], "HOME": folder, **environment}, check=False)


def simulate(name, *words):
    """A trace of the simulated accelerator, and its events as the export has them."""
    path = os.path.join(folder, name)
    done = perfci("accel", "run", "gemm", *words, "--trace", path)
    assert done.returncode == 0, done
    exported = perfci("trace", "export", path)
    assert exported.returncode == 0, exported
    return pathlib.Path(path).read_bytes(), json.loads(exported.stdout)["traceEvents"]


def setUpModule():
    global cluster, server, folder, small, region, events
    made = tempfile.TemporaryDirectory(prefix="pfc-traces-")
    unittest.addModuleCleanup(made.cleanup)
    folder = made.name
    small, _ = simulate("small.pct", "--m", "64", "--n", "64", "--k", "64")
    region, events = simulate("region.pct", "--m", "64", "--n", "64", "--k", "64", "--scope", "region", "--launches", "3",
                              "--copies", "overlapped")
    cluster = support.Cluster()
    unittest.addModuleCleanup(cluster.close)
    server = support.Server(cluster.database(migrated=True))
    unittest.addModuleCleanup(server.close)
    for name in ("p", "other"):
        server.as_admin("POST", "/api/v1/projects", {"name": name})
        server.as_admin("POST", f"/api/v1/projects/{name}/commits", support.commits(1, 3))


def new_run(project="p", commit=1):
    """A run of its own for a test: its number."""
    answer = server.as_admin("POST", "/api/v1/runs", support.run_document(0, commit, project=project, id=os.urandom(16).hex()))
    assert answer.status == 201, answer
    return answer.json["run_id"]


def store(run, body, token=None, query=""):
    return server.call("POST", f"/api/v1/runs/{run}/traces{query}", raw=body, token=token or server.admin,
                       headers={"Content-Type": "application/octet-stream"})


def get(path, token=None):
    return server.call("GET", "/api/v1" + path, token=token or server.admin)


def token(scopes, project=None):
    body = {"name": "t", "scopes": scopes, **({"project": project} if project else {})}
    answer = server.as_admin("POST", "/api/v1/tokens", body)
    assert answer.status == 201, answer
    return answer.json["token"]


def without_last(trace, kind):
    """A whole file without its last record of this type: docs/reference/trace.md has the layout and the digest."""
    at = int.from_bytes(trace[12:16], "little")
    records = [trace[i:i + 32] for i in range(at, len(trace) - 32, 32)]
    records.pop(max(i for i, r in enumerate(records) if int.from_bytes(r[8:10], "little") == kind))
    digest = 0xcbf29ce484222325
    for word in (r[i:i + 8] for r in records for i in (0, 8, 16, 24)):
        digest = (digest ^ int.from_bytes(word, "little")) * 0x100000001b3 % 2**64
        digest ^= digest >> 32
    end = digest.to_bytes(8, "little") + (65535).to_bytes(8, "little") + len(records).to_bytes(8, "little") + b"PFCCEND1"
    return trace[:at] + b"".join(records) + end


def variants(count):
    """Traces that differ in a value of their metadata alone: valid, each with its own digest of the header."""
    for n in range(count):
        yield simulate(f"v{n}.pct", "--m", str(8 + n), "--n", "8", "--k", "8")[0]


class Stored(unittest.TestCase):
    def test_once_and_again(self):
        run = new_run()
        first = store(run, region, query="?benchmark=" + BENCHMARK.replace("/", "%2F"))
        self.assertEqual(first.status, 201, first)
        again = store(run, region)
        self.assertEqual((again.status, again.json), (200, first.json), again)
        rows = get(f"/runs/{run}/traces").json["traces"]
        self.assertEqual(len(rows), 1)
        row = rows[0]
        self.assertEqual((row["id"], row["run_id"], row["benchmark"], row["size"], row["digest"], row["title"]),
                         (first.json["id"], run, BENCHMARK, len(region), hashlib.sha256(region).hexdigest(), "gemm on pfc-edge"))
        file = get(f"/traces/{row['id']}/file")
        self.assertEqual((file.status, file.headers["content-type"], file.body), (200, "application/octet-stream", region))
        # another run may have the same file
        self.assertNotEqual(store(new_run(), region).json["id"], row["id"])

    def test_at_most_sixteen(self):
        run = new_run()
        bodies = list(variants(17))
        self.assertEqual([store(run, body).status for body in bodies[:16]], [201] * 16)
        full = store(run, bodies[16])
        self.assertEqual(full.status, 409, full)
        self.assertIn("16 traces", full.json["error"]["message"])
        self.assertEqual(store(run, bodies[3]).status, 200)
        self.assertEqual(len(get(f"/runs/{run}/traces").json["traces"]), 16)

    def test_broken_files(self):
        run = new_run()
        flipped = bytearray(small)
        flipped[-48] ^= 1
        cases = ((b"", "expected a file of the binary trace format, got nothing"),
                 (b"\x7fELF" + bytes(200), "not a perfci trace: expected it to begin with"),
                 (small[:-32], "it is cut off"), (small[:40], "the trace header is cut off: expected 64 bytes"),
                 (small + b"x", "expected nothing behind the end record"), (without_last(small, 13), "begin_without_end"), (bytes(flipped), "damaged or reordered"),
                 (json.dumps({"traceEvents": []}).encode(), "expected the binary format, got JSON"))
        for body, words in cases:
            with self.subTest(words):
                answer = store(run, body)
                self.assertEqual(answer.status, 400, answer)
                self.assertIn(words, answer.json["error"]["message"])
                self.assertNotIn("\n", answer.json["error"]["message"])
        self.assertIn("record ", store(run, bytes(flipped)).json["error"]["message"])
        self.assertEqual(store(run, small + bytes(16 * 1024 * 1024)).status, 413)
        self.assertEqual(store(run, small, query="?benchmark=nope").json["error"]["field"], "benchmark")
        self.assertEqual(get(f"/runs/{run}/traces").json["traces"], [])

    def test_whose(self):
        run = new_run()
        trace = store(run, small).json["id"]
        mine, others, reads = token(["ingest", "read"], "p"), token(["ingest", "read"], "other"), token(["read"], "p")
        self.assertEqual(store(run, small, token=mine).status, 200)
        for path in (f"/runs/{run}/traces", f"/traces/{trace}", f"/traces/{trace}/timeline", f"/traces/{trace}/file"):
            with self.subTest(path):
                self.assertEqual(server.call("GET", "/api/v1" + path).status, 401)
                self.assertEqual(get(path, token=reads).status, 200)
                hidden, missing = get(path, token=others), get(path.replace(f"/{run}/", "/999999/").replace(f"/{trace}", "/999999"), token=others)
                self.assertEqual((hidden.status, hidden.json), (404, missing.json))
        self.assertEqual(store(run, region, token=others).status, 404)
        self.assertEqual(store(run, region, token=reads).status, 403)
        self.assertEqual(len(get(f"/runs/{run}/traces").json["traces"]), 1)


class Timeline(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.trace = store(new_run(), region).json["id"]
        cls.summary = get(f"/traces/{cls.trace}").json

    def timeline(self, query=""):
        answer = get(f"/traces/{self.trace}/timeline{query}")
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def test_summary(self):
        clocks = self.summary["clocks"]
        self.assertEqual([c["reference"] for c in clocks].count(True), 1)
        device = next(c for c in clocks if not c["reference"])
        self.assertEqual(device["method"], "clock_pairs")
        self.assertGreaterEqual(device["knots"], 2)
        self.assertGreater(device["bound_ns"], 0)
        self.assertIn("host", [u["kind"] for u in self.summary["unit_list"]])
        self.assertIn({"key": "chip", "value": "pfc-edge"}, self.summary["metadata"])
        self.assertEqual(self.summary["records"], sum(u["records"] for u in self.summary["unit_list"]))

    def test_slices_are_those_of_the_export(self):
        answer = self.timeline("?cells=2000")
        names, begin = answer["names"], self.summary["begin_ns"]
        got = sorted((begin + b, e - b, names[n]) for line in answer["lines"] if line["kind"] == "slices" and line["slices"]
                     for b, e, n in zip(line["slices"]["begin"], line["slices"]["end"], line["slices"]["name"]))
        self.assertEqual([line for line in answer["lines"] if line["cells"]], [])
        want = sorted((round(e["ts"] * 1000), round(e["dur"] * 1000), e["name"]) for e in events if e["ph"] == "X")
        self.assertEqual(got, want)

    def test_calls_of_the_host(self):
        answer = self.timeline("?cells=2000")
        calls = dict(zip(answer["calls"]["correlation"], answer["calls"]["name"]))
        kernels = next(line for line in answer["lines"] if line["slices"] and "gemm" in [answer["names"][n] for n in line["slices"]["name"]]
                       and self.summary["unit_list"][line["unit"]]["kind"] != "host")
        for corr in set(kernels["slices"]["correlation"]) - {0}:
            self.assertEqual(answer["names"][calls[corr]], "launch")

    def test_cells(self):
        whole, cells = self.timeline("?cells=2000"), self.timeline("?cells=10")
        self.assertEqual(cells["cells"], 10)
        merged = [line for line in cells["lines"] if line["cells"]]
        self.assertTrue(merged)
        for few, all_of in zip(cells["lines"], whole["lines"]):
            if not few["cells"]:
                self.assertLessEqual(few["shown"], 10)
                continue
            self.assertIsNone(few["slices"])
            spans = sorted(zip(all_of["slices"]["begin"], all_of["slices"]["end"]))
            width = (cells["to"] - cells["from"]) / 10
            busy, count = [0.0] * 10, [0] * 10
            covered = 0
            for begin, end in spans:
                count[min(9, int(begin / width))] += 1
                begin = max(begin, covered)
                for c in range(10):
                    busy[c] += max(0, min(end, (c + 1) * width) - max(begin, c * width)) / width
                covered = max(covered, end)
            got = dict(zip(few["cells"]["at"], zip(few["cells"]["busy"], few["cells"]["count"])))
            for c in range(10):
                share, number = got.get(c, (0, 0))
                self.assertAlmostEqual(share / 1000, min(1, busy[c]), delta=0.001)
                self.assertEqual(number, count[c])

    def test_window(self):
        span = self.summary["span_ns"]
        part = self.timeline(f"?from={span // 4}&to={span // 2}&cells=2000")
        self.assertEqual((part["from"], part["to"]), (span // 4, span // 2))
        for line in part["lines"]:
            for begin, end in zip((line["slices"] or {}).get("begin", []), (line["slices"] or {}).get("end", [])):
                self.assertTrue(begin <= span // 2 and (end > span // 4 or begin >= span // 4))
        self.assertEqual(self.timeline(f"?from={span * 9}")["to"], span)
        self.assertEqual(get(f"/traces/{self.trace}/timeline?from=9&to=9").json["error"]["field"], "to")
        for query in ("from=-1", "to=x", "cells=0", "cells=2001", "cells=1.5"):
            with self.subTest(query):
                answer = get(f"/traces/{self.trace}/timeline?{query}")
                self.assertEqual((answer.status, answer.json["error"]["field"]), (400, query.split("=")[0]))

    def test_search(self):
        self.assertIsNone(self.timeline()["found"])
        answer = self.timeline("?find=LAUNCH&cells=1")
        self.assertEqual({answer["names"][n] for n in answer["found"]["name"]}, {"launch"})
        self.assertEqual(answer["found"]["all"], 3)
        self.assertEqual(answer["found"]["begin"], sorted(answer["found"]["begin"]))
        tiles = self.timeline("?find=tile&cells=1")["found"]
        self.assertEqual(len(tiles["begin"]), min(200, tiles["all"]))
        self.assertEqual(self.timeline("?find=nothing")["found"]["all"], 0)


class Forgotten(unittest.TestCase):
    def test_with_the_raw_results_of_a_month(self):
        run, referred = new_run(), new_run(commit=3)
        store(run, small)
        store(referred, small)
        # of an old month; a search names the commit of the other run
        report = {"project": "p", "metric": "time_ns", "good": support.commit_id(2), "bad": support.commit_id(3), "verdict": "no-regression",
                  "culprits": [], "runs": 2, "builds": 2, "commits_measured": 2, "seconds": 1.5}
        self.assertEqual(server.as_admin("POST", "/api/v1/bisections", report).status, 201)
        self.assertEqual(support.sql(server.database, f"SELECT count(*) FROM traces WHERE run_id IN ({run}, {referred})").strip(), "2")
        support.sql(server.database, f"""SELECT measurements_month((now() - interval '4 months')::date);
            UPDATE measurements SET stored_at = now() - interval '4 months' WHERE run_id IN ({run}, {referred});
            SELECT retention_apply(date_trunc('month', now() - interval '4 months')::date, true)""")
        self.assertEqual(support.sql(server.database, f"SELECT count(*) FROM traces WHERE run_id = {run}").strip(), "0")
        self.assertEqual(get(f"/runs/{run}/traces").json["traces"], [])
        self.assertEqual(len(get(f"/runs/{referred}/traces").json["traces"]), 1)

    def test_with_the_project(self):
        server.as_admin("POST", "/api/v1/projects", {"name": "gone"})
        server.as_admin("POST", "/api/v1/projects/gone/commits", support.commits(1, 1))
        run = new_run("gone")
        self.assertEqual(store(run, small).status, 201)
        support.until("judged", lambda: support.sql(
            server.database, f"SELECT count(*) FROM jobs WHERE run_id = {run} AND finished_at IS NULL").strip() == "0")
        support.until("deleted", lambda: server.as_admin("DELETE", "/api/v1/projects/gone").json.get("done"))
        self.assertEqual(support.sql(server.database, f"SELECT count(*) FROM traces WHERE run_id = {run}").strip(), "0")


class Command(unittest.TestCase):
    def test_store_and_fetch(self):
        run = new_run()
        path, back = os.path.join(folder, "small.pct"), os.path.join(folder, "back.pct")
        said = {"PERFCI_URL": f"http://127.0.0.1:{server.port}", "PERFCI_TOKEN": server.admin}
        done = perfci("trace", "store", path, "--run", str(run), "--benchmark", BENCHMARK, **said)
        self.assertEqual(done.returncode, 0, done)
        trace = get(f"/runs/{run}/traces").json["traces"][0]
        self.assertEqual(done.stdout, f"trace {trace['id']} of run {run}\nhttp://127.0.0.1:{server.port}/runs/{run}/traces/{trace['id']}\n")
        self.assertEqual(trace["benchmark"], BENCHMARK)
        self.assertIn("stored before", perfci("trace", "store", path, "--run", str(run), **said).stdout)
        self.assertEqual(perfci("trace", "fetch", str(trace["id"]), "--out", back, **said).returncode, 0)
        self.assertEqual(pathlib.Path(back).read_bytes(), small)
        os.unlink(back)
        missing = perfci("trace", "fetch", "999999", "--out", back, **said)
        self.assertEqual((missing.returncode, os.path.exists(back)), (2, False), missing)
        pathlib.Path(back).write_bytes(small[:-1])
        broken = perfci("trace", "store", back, "--run", str(run), **said)
        self.assertEqual(broken.returncode, 2, broken)
        self.assertIn("cut off", broken.stderr)


if __name__ == "__main__":
    unittest.main()
