"""Plots and a roofline of project demo, for test_openapi.py."""

import support

ROOFLINE = "/api/v1/projects/{p}/roofline"


def ceiling(name, kind, value, **over):
    return {"name": name, "kind": kind, "unit": "B/s" if kind == "memory" else "FLOP/s", "value": value, "source": "measured", **over}


CEILINGS = [ceiling("f32 arithmetic", "compute", 1e9, dtype="f32", backend="cpu"), ceiling("int8 array", "compute", 1e9, unit="OP/s", source="chip file"),
            ceiling("L1 read", "memory", 4e9, level="L1", capacity_bytes=32768, at="2026-01-02T03:04:05Z"), ceiling("DRAM read", "memory", 1e8, level="DRAM")]


def timed(benchmark, **work):
    return {"benchmark": benchmark, "metric": "time_ns", "backend": "cpu", "unit": "ns", "params": {"dtype": "f32"}, "samples": [[1000.0]], **work}


def ask_about_plots(server, ask):
    """Many series; then benchmarks that arithmetic, memory and nothing known limits, and those without a place."""
    ask("get", "/api/v1/projects/{p}/plot", query=f"?samples=true&select=gemm%20absent!=1&relative={support.commit_id(12)}")
    ask("get", "/api/v1/projects/{p}/plot", query="?group=kernel&points=2")
    ask("get", "/api/v1/projects/{p}/plot/names")
    machine = {"name": "roof", "class": "roof-cpu", "fingerprint": {"cpu": "test"}}
    runs = [(701, 4, [timed("roof/later", operations=5, bytes=50), timed("roof/grown")], {}),
            (702, 6, [timed("roof/arithmetic", operations=900, bytes=30), timed("roof/memory", operations=20, bytes=100000), timed("roof/grown", operations=10, bytes=20),
                      timed("roof/copy", bytes=40), timed("roof/count", operations=40), timed("roof/plain"),
                      {**timed("roof/size"), "unit": "bytes", "metric": "size"}], {"ceilings": CEILINGS}),
            (703, 8, [timed("roof/new", operations=5, bytes=50)], {})]
    for n, commit, measurements, more in runs:
        ask("post", "/api/v1/runs", {**support.run_document(n, commit, machine=machine, measurements=measurements), **more})
    ask("post", "/api/v1/runs", support.run_document(704, 6, machine={**machine, "class": "bare-cpu"}, measurements=[timed("roof/bare", operations=5, bytes=50)]))
    ask("get", "/api/v1/runs/{id}", path=f"/api/v1/runs/{702:032x}")
    ask("get", ROOFLINE, query="?select=roof%20absent!=1&machine_class=bare-cpu")
    ask("get", ROOFLINE, query=f"?select=roof&backend=cpu&a={support.commit_id(4)}&b={support.commit_id(6)}")
