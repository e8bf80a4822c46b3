"""Runners of a fleet, for test_openapi.py."""


def ask_about_runners(server, ask):
    """Two runners of demo with one token: one reports, is drained, revoked, quarantined and released."""
    token = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["runner"], "project": "demo", "name": "rack"}).json["token"]
    status = {"version": "1.2.3", "sandbox": "none", "spool": {
        "documents": 6000, "max_documents": 10000, "bytes": 10, "max_bytes": 2**31, "oldest_s": 90.5, "disk_free_bytes": 2**40}}
    for name in ("r7", "r8"):
        server.call("POST", "/api/v1/jobs/lease", {"runner": name, "machine_class": "none", "labels": {"x": "y"}, "backends": ["x"],
                                                   "status": status}, token=token)
    ask("post", "/api/v1/runners/drain", {"runner": "r7"})
    ask("post", "/api/v1/runners/revoke", {"runner": "r7", "quarantine_since": "2020-01-01T00:00:00Z", "reason": "broken fan"})
    ask("get", "/api/v1/runners")
    ask("post", "/api/v1/runners/release", {"runner": "r7"})
