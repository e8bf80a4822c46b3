"""Suppression rules of project demo that hide alerts, for test_openapi.py."""

import support

RULES = "/api/v1/projects/{p}/suppressions"
ONE = RULES + "/{id}"

# It hides no alert: those of the other tests stay open.
RULE = {"owner": "kernels team", "reason": "known", "days": 7, "benchmark": "none/*", "params": {"dtype": "bf*"}, "backend": "x", "machine_class": "c",
        "metric": "time_ns", "direction": "up", "max_change": 0.03}
BODIES = {("post", RULES): RULE, ("post", RULES + "/preview"): {"benchmark": "gemm/*", "max_change": 10}}
# Of a preview, whose alerts are not hidden.
ELSEWHERE = {"SuppressionPreviewAnswer.alerts[]." + member for member in ("hidden_at", "released_at")}


def plant(server):
    """The number of a new rule."""
    return server.as_admin("POST", "/api/v1/projects/demo/suppressions", RULE).json["id"]


def ask_about_rules(server, ask):
    """A rule that hides every alert, what it hides, its end, and the refusal of one rule too many."""
    everything = {"owner": "a", "reason": "b", "days": 1, "benchmark": "*"}
    rule = ask("post", RULES, everything).json["id"]
    hidden = ask("get", "/api/v1/alerts", query="?suppressed=true").json["alerts"][0]
    ask("patch", "/api/v1/alerts/{id}", {"note": "hidden"}, path=f"/api/v1/alerts/{hidden['id']}")
    ask("get", "/api/v1/alerts/{id}", path=f"/api/v1/alerts/{hidden['id']}")
    for query in ("?limit=1", "?limit=1000"):
        ask("get", ONE, path=f"/api/v1/projects/demo/suppressions/{rule}", query=query)
    ask("delete", ONE, path=f"/api/v1/projects/demo/suppressions/{rule}")
    ask("get", ONE, path=f"/api/v1/projects/demo/suppressions/{rule}")
    ask("get", RULES, query="?ended=true&limit=1")
    support.sql(server.database, "INSERT INTO suppressions (project_id, owner, reason, benchmark, created_by, expires_at) SELECT id, 'a', 'b', 'none/*',"
                " 'c', now() + interval '1 day' FROM projects, generate_series(1, 200) WHERE name = 'second'")
    ask("post", RULES, RULE, path="/api/v1/projects/second/suppressions")
