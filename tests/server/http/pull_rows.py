"""Rows of pull requests, and webhooks that a server takes, for the tests of the HTTP API."""
import hashlib
import hmac

import support

SECRET = "0123456789abcdef"
ENVIRONMENT = {**{f"PERFCI_{forge}_WEBHOOK_SECRET": SECRET for forge in ("GITHUB", "GITLAB", "GITEA")},
               "PERFCI_GITEA_API_URL": "http://127.0.0.1:1"}
FORGE = {"forge": "github", "repo": "me/kernels", "policy": "always", "budget_s": 60, "patience_s": 600, "machine_class": "quiet"}

# Two pull requests of demo, not due, and two deliveries, with all that a row can have.
PULLS = f"""
INSERT INTO pulls (project_id, number, title, author, url, head_sha, base_branch, merge_base, fork, allowed_sha, due_at, trouble)
    SELECT id, n, 'Faster', 'ada', 'https://example.org/7', '{support.commit_id(8)}', 'main', '{support.commit_id(7)}', n = 7,
           '{support.commit_id(8)}', NULL, 'it is down' FROM projects, generate_series(7, 8) n WHERE name = 'demo';
INSERT INTO pull_measurements (project_id, number, head_sha, base_sha, asked_by, job_id, job_state, session_id, verdict, reason, accepted_by,
                               accepted_reason)
    SELECT project_id, number, head_sha, merge_base, 'bot', 1, 'done', repeat('5', 32), 'regression', 'why', 'github:ada', 'needed' FROM pulls;
INSERT INTO webhook_deliveries (forge, account, delivery, event, kind, repo, sender, number, project_id, state, done_at)
    SELECT 'github', 'github', n, 'pull_request', 'pull', 'me/kernels', 'ada', n, id, 'done', now()
    FROM projects, generate_series(7, 8) n WHERE name = 'demo'"""


def plant(server):
    """Links demo, and stores the rows."""
    assert server.as_admin("POST", "/api/v1/projects/demo/forge", FORGE).status == 200
    support.sql(server.database, PULLS)


def webhook(server, pattern):
    """A signed event that perfci has no use for."""
    body = b"{}"
    mac = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    head = {"github": {"X-GitHub-Event": "star", "X-GitHub-Delivery": "d1", "X-Hub-Signature-256": "sha256=" + mac},
            "gitlab": {"X-Gitlab-Event": "Emoji Hook", "X-Gitlab-Event-UUID": "d1", "X-Gitlab-Token": SECRET},
            "gitea": {"X-Gitea-Event": "fork", "X-Gitea-Delivery": "d1", "X-Gitea-Signature": mac}}[pattern.rsplit("/", 1)[1]]
    return server.call("POST", pattern, raw=body, headers={"Content-Type": "application/json", **head})
