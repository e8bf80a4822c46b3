"""Examples of the bodies that server/API.md takes, for openapi.json; embed.py puts them beside their schemas.

tests/server/http/test_openapi.py holds each to its schema, and sends it.
"""
BEFORE, COMMIT = "8f14e45fceea167a5a36dedd4bea2543a2b1c3d4", "c9f0f895fb98ab9159f51fd0297e236d0f1e2d3c"
LEASE = "0123456789abcdef0123456789abcdef"
MACHINE = {"name": "bench-1", "class": "epyc-9754", "fingerprint": {"cpu": "AMD EPYC 9754", "kernel": "6.1.0"}}
SAMPLES = [[812.4, 815.1, 811.9], [813.0, 812.2, 816.8], [811.5, 812.9, 813.3]]

EXAMPLES = {
    "Project": {"name": "kernels", "branch": "main", "repo_url": "https://git.example.org/kernels.git"},
    "ProjectChange": {"repo_url": "https://git.example.org/moved.git"},
    "Commits": {"branch": "main", "commits": [{"id": COMMIT, "parents": [BEFORE], "author": "Ada", "time": "2026-01-02T03:04:05Z",
                                               "subject": "gemm: unroll by four", "paths": ["src/gemm.c"]}]},
    "Run": {"schema": "perfci.run/1", "id": LEASE, "project": "kernels", "commit": COMMIT, "suite": "quick", "suite_hash": "ab" * 32,
            "started_at": "2026-01-02T04:00:00Z", "finished_at": "2026-01-02T04:01:00Z", "machine": MACHINE,
            "measurements": [{"benchmark": "gemm/f32/m512n512k512", "metric": "time_ns", "backend": "cpu-avx2", "unit": "ns",
                              "direction": "lower", "samples": SAMPLES}]},
    "Session": {"id": LEASE, "anchor": BEFORE, "base": BEFORE, "machine_class": "epyc-9754", "machine": "bench-1",
                "started_at": "2026-01-02T04:00:00Z", "finished_at": "2026-01-02T04:20:00Z", "budget_s": 1800, "spent_s": 1200, "blocks": 24,
                "commits": [{"commit": COMMIT, "status": "measured"}]},
    "AlertChange": {"state": "acknowledged", "reason": "looking into it"},
    "GroupsChange": {"groups": [{"id": 12, "seen": "untriaged"}, {"id": 15}], "state": "acknowledged", "reason": "one cause",
                     "assignee": "Ada"},
    "GroupSplit": {"alerts": [41, 42], "reason": "another cause"},
    "GroupMerge": {"groups": [15], "reason": "the same cause"},
    "EnvironmentChange": {"dismissed": True, "reason": "the flags changed, not the machine"},
    "Job": {"project": "kernels", "kind": "measure", "commit": COMMIT, "labels": {"machine_class": "epyc-9754"}, "priority": 10},
    "Lease": {"runner": "bench-1", "machine_class": "epyc-9754", "backends": ["cpu-avx2"], "labels": {"rack": "7"}},
    "Earlier": {"lease": LEASE, "key": "0f" * 32},
    "Heartbeat": {"lease": LEASE, "progress": "measuring 3 of 12"},
    "Release": {"lease": LEASE},
    "Restart": {"lease": LEASE + "-2", "runner": "node-17"},
    "RunnerNamed": {"runner": "bench-1"},
    "RunnerRevocation": {"runner": "bench-1", "quarantine_since": "2026-01-02T04:00:00Z", "reason": "broken fan", "dry_run": True},
    "Completion": {"lease": LEASE, "status": "done", "run_ids": [LEASE]},
    "Sources": {"commit": COMMIT, "benchmark": "gemm/f32/m512n512k512", "files": ["src/gemm.c"], "globs": ["kernels/"]},
    "BisectionReport": {"project": "kernels", "metric": "time_ns", "good": BEFORE, "bad": COMMIT, "verdict": "found",
                        "culprits": [{"commits": [COMMIT], "probability": 0.98, "rel_change": 0.042}], "runs": 42, "builds": 7,
                        "commits_measured": 6, "seconds": 380.5},
    "BisectionOrder": {"project": "kernels", "mode": "remote", "metric": "time_ns", "good": BEFORE, "bad": COMMIT, "dry_run": True},
    "Token": {"name": "nightly", "scopes": ["ingest", "read"], "project": "kernels", "expires_at": "2030-01-01T00:00:00Z"},
    "Rotation": {"overlap_s": 86400},
    "Forge": {"forge": "github", "repo": "me/kernels", "policy": "on_change", "budget_s": 300},
    "Schedule": {"name": "nightly", "cron": "30 2 * * mon-fri", "zone": "Europe/Berlin", "budget_s": 3600},
    "ScheduleChange": {"enabled": False},
    "Owners": {"rules": "kernel:gemm @gemm-team\n/kernels/norm/ @norm-team\n"},
    "Codeowners": {"commit": COMMIT, "path": ".github/CODEOWNERS", "text": "/kernels/ @kernels\n"},
    "Suppression": {"owner": "kernels team", "reason": "the new allocator lands on Friday", "days": 7, "benchmark": "gemm/*",
                    "params": {"dtype": "bf16"}, "metric": "time_ns", "direction": "up", "max_change": 0.03},
    "SuppressionMatcher": {"benchmark": "gemm/*", "backend": "cpu-*", "max_change": 0.03},
    "Detector": {"fdr": 0.05, "rules": [{"metric": "*", "min_change": 0.01}, {"benchmark": "startup/*", "judged": False}]},
}
