"""Traces of project demo, for test_openapi.py."""
import support

FILE = (support.SOURCE / "tests/data/trace/launch.pct").read_bytes()
OF_RUN, ONE = "/api/v1/runs/{id}/traces", "/api/v1/traces/{id}"
# The small trace has none of these; test_traces.py looks at them.
ELSEWHERE = {"TimelineAnswer.calls.unfinished", "TimelineAnswer.counters[].before", "TimelineAnswer.counters[].ranges",
             "TimelineAnswer.found.unfinished", "TraceAnswer.clocks[].bound_ns", "TracesAnswer.next_cursor"}
BODIES = {("post", OF_RUN): FILE}


def plant(server):
    """Stores a trace; returns the values of the patterns that name it, and its run."""
    stored = server.as_admin("POST", f"/api/v1/runs/{1:032x}/traces", FILE)
    assert stored.status == 201, stored
    trace = stored.json["id"]
    return {OF_RUN: f"{1:032x}", ONE: trace, ONE + "/timeline": trace, ONE + "/file": trace}


def ask_about_traces(server, ask):
    """With its benchmark, with cells for slices, and what is found."""
    named = ask("post", OF_RUN, FILE, query="?benchmark=gemm/f32/m64n64k64", path=f"/api/v1/runs/{2:032x}/traces").json
    ask("get", ONE, path=f"/api/v1/traces/{named['id']}")
    support.sql(server.database, "INSERT INTO traces (project_id, run_id, title, digest, size, records, span_ns, units, actor, bytes)"
                f" SELECT project_id, id, '', lpad(to_hex(g), 64, '0'), 1, 1, 1, 1, 'a', '\\x00' FROM runs, generate_series(1, 16) g WHERE run_id = '{3:032x}'")
    ask("post", OF_RUN, FILE, path=f"/api/v1/runs/{3:032x}/traces")
    ask("get", OF_RUN, path=f"/api/v1/runs/{2:032x}/traces")
    for query in ("?cells=1", "?find=gemm", "?from=1&to=1500&cells=2000&find=api"):
        ask("get", ONE + "/timeline", query=query)
