"""Documents and answers that commands get from test_exit_statuses.py: run documents, comparisons, series, a service's answers."""

import json

ID = {c: c * 40 for c in "abcdef"}
# A number with up to 0.4 % of error, another one at each call, the same in every test run.
NOISY = "n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n; awk -v v=%s -v n=$n 'BEGIN { print v * (1 + (n * 7 %% 11 - 5) / 1250) }'"
MEASURE = NOISY.replace("cat n", 'cat "$COUNTER"').replace("> n;", '> "$COUNTER";') % '"$(cat value)"'
SPREAD = [-1.7, -1.1, -0.7, -0.4, -0.2, 0, 0.2, 0.4, 0.7, 1.1, 1.7, 0.1]
NIGHT = {"benchmark": "headline", "metric": "latency", "backend": "", "rel_change": 0.1, "rel_low": 0.09, "rel_high": 0.11}
CULPRIT = {"commits": [ID["d"]], "probability": 0.99, "rel_change": 0.05, "rel_low": 0.04, "rel_high": 0.06}
COUNTS = {"stored": 6, "measured": 0, "broken": 0, "failed": 0, "timed_out": 0, "waiting": 0}
SEARCHED = {"id": 3, "state": "done", "metric": "t", "good": ID["a"], "bad": ID["b"], "verdict": "inconclusive", "culprits": [], "reason": "",
            "builds": 0, "commits_measured": 2, "commits": 40, "seconds": 9, "expected": {"runs": 12, "runners": 1}, "steps": [],
            "failure": None, "counts": COUNTS}
REMOTE = ["bisect", "--remote", "--project", "p", "--metric", "t", "--good", ID["a"], "--bad", ID["b"]]
LOST = {"commit": ID["c"], "state": "failed", "reason": "no runner", "infrastructure": True}


def run_document(level, direction="lower", noise=0.001, n=12, status="ok", **more):
    samples = [[level * (1 + noise * SPREAD[(5 * i) % 12])] for i in range(n)] if status == "ok" else []
    m = {"benchmark": "gemm", "metric": "speed", "backend": "cpu", "unit": "x", "direction": direction, "status": status, "samples": samples,
         **({"reason": "wrong result"} if status == "broken" else {}), **more}
    return {"schema": "perfci.run/1", "id": ID["a"][:32], "suite": "s", "suite_hash": "", "started_at": "2026-01-01T00:00:00Z",
            "finished_at": "2026-01-01T00:00:01Z", "commit": ID["a"], "branch": "main",
            "machine": {"class": "c", "name": "m", "fingerprint": {}}, "measurements": [m]}


def comparison(*verdicts, **more):
    rows = [{"benchmark": f"b{i}", "metric": "m", "verdict": v, "rel_change": 0.1} for i, v in enumerate(verdicts)]
    return json.dumps({"a": {"name": "x"}, "b": {"name": "y"}, "rows": rows, **more})


DIFFERS = [{"field": "cpu", "a": "one", "b": "two"}]
FLAT, STEP, DROP = [([1] * 20 + [v] * n) for v, n in ((1, 20), (1.5, 20), (0.5, 20))]
NEW_STEP = [1, 1.01, 0.99] * 7 + [1.5] * 4


def series(*lists):
    return "".join(json.dumps({"id": str(n), "points": [{"v": v * (1 + i % 3 / 1000)} for i, v in enumerate(values)]}) + "\n"
                   for n, values in enumerate(lists))


BASE = {("GET", "/api/v1/projects/p"): {"name": "p", "repo_url": None, "standing": {"sentence": "Fine."}},
        ("GET", "/api/v1/projects"): {"projects": []}, ("POST", "/api/v1/projects"): (201, {"name": "q"}),
        ("DELETE", "/api/v1/projects/p"): {"rows": 3}, ("GET", "/api/v1/projects/p/series"): {"series": []},
        ("GET", "/api/v1/alerts"): {"alerts": [], "next_cursor": None}, ("PATCH", "/api/v1/alerts/7"): {"id": 7},
        ("GET", "/api/v1/alerts/7"): {"id": 7, "group_id": 3, "culprit": None, "commit_low": "slow", "commit_high": "slow", "benchmark": "headline"},
        ("GET", "/api/v1/alerts/7/suspects"): {"suspects": [], "reason": "a drift"}, ("GET", "/api/v1/jobs"): {"jobs": []},
        ("GET", "/api/v1/groups"): {"groups": [], "improvements": [], "next_cursor": None}, ("GET", "/api/v1/groups/3"): {"id": 3},
        ("PATCH", "/api/v1/groups"): {"alerts": 1, "groups": [{"id": 3}]}, ("POST", "/api/v1/groups/3/merge"): {"id": 3},
        ("POST", "/api/v1/groups/3/split"): (201, {"id": 4}), ("POST", "/api/v1/jobs/7/retry"): (201, {"id": 8}),
        ("POST", "/api/v1/groups/3/issue"): (202, {"id": 3, "issue": {"state": "waiting"}}),
        ("GET", "/api/v1/environment"): {"events": [], "next_cursor": None}, ("GET", "/api/v1/audit"): {"audit": [], "next_cursor": None},
        ("GET", "/api/v1/projects/p/roofline"): {"benchmarks": []}, ("GET", "/api/v1/projects/p/coverage"): {"branch": "main", "commits": [], "rows": [], "fills": [], "never": []},
        ("GET", "/api/v1/projects/p/detector"): {"version": 0, "detector": {}}, ("GET", "/api/v1/tokens"): {"tokens": []},
        ("POST", "/api/v1/tokens"): {"id": 3, "token": "pfc_0"}, ("POST", "/api/v1/tokens/3/rotate"): {"id": 4, "token": "pfc_1"},
        ("DELETE", "/api/v1/tokens/3"): {}, ("POST", "/api/v1/runs"): (201, {"run_id": 1}), ("POST", "/api/v1/bisections"): (201, SEARCHED),
        ("GET", "/api/v1/bisections/3"): SEARCHED, ("GET", "/readyz"): {"status": "ok"}, ("GET", "/version"): {"version": "1"},
        ("GET", "/api/v1/runners"): {"runners": []}, ("GET", "/api/v1/bisections/4"): {"steps": [{"n": 1, "commit": "slow"}], "benchmark": ""},
        ("DELETE", "/api/v1/jobs/7"): {"id": 7}, ("GET", "/api/v1/notices"): {"notices": []},
        ("GET", "/api/v1/projects/p/schedules"): {"schedules": []}, ("POST", "/api/v1/projects/p/schedules"): (201, {"name": "n"}),
        ("POST", "/api/v1/projects/p/schedules/n/run"): (201, {"id": 1, "state": "nothing"}), ("DELETE", "/api/v1/projects/p/schedules/n"): {},
        ("GET", "/api/v1/projects/p/suppressions"): {"suppressions": []}, ("POST", "/api/v1/projects/p/suppressions"): (201, {"id": 3}),
        ("GET", "/api/v1/projects/p/suppressions/3"): {"id": 3}, ("DELETE", "/api/v1/projects/p/suppressions/3"): {"id": 3},
        ("POST", "/api/v1/projects/p/suppressions/preview"): {"open": 0},
        ("POST", "/api/v1/notices/7/send"): {"deliveries": 1}, ("DELETE", "/api/v1/notices/7"): {}}
