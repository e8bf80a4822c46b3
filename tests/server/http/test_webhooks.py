"""Webhooks of forges at the running server: verified on the raw body, stored once, refused with the right status."""
import base64
import hashlib
import hmac
import json
import os
import subprocess
import time
import unittest
import uuid

import support

SECRET, OLD, OTHER = "the secret in use 1", "the secret before it", "the secret of beside"
BODY = json.dumps({"zen": "x", "hook_id": 1}).encode()
HEAD = "c" * 40


def setUpModule():
    global cluster, server
    cluster = support.Cluster()
    environment = {"PERFCI_GITHUB_WEBHOOK_SECRET": SECRET, "PERFCI_GITHUB_OLD_WEBHOOK_SECRET": OLD, "PERFCI_GITLAB_WEBHOOK_SECRET": SECRET}
    url = cluster.database(migrated=True)
    plain = support.Server(url)
    for name, text in (("other.secret", OTHER), ("accounts", f"beside forge=github project=beside secret={plain.dir}/other.secret\n")):
        with open(f"{plain.dir}/{name}", "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write(text)
    plain.stop()
    plain.environment, plain.flags = environment, ("--forges", f"{plain.dir}/accounts")
    plain.start()
    server = plain
    for name in ("demo", "beside"):
        server.as_admin("POST", "/api/v1/projects", {"name": name})
        server.as_admin("POST", f"/api/v1/projects/{name}/forge", {"forge": "github", "repo": "Octo/Demo"})


def tearDownModule():
    server.close()
    cluster.close()


def pull(number, action="opened", repo="octo/demo"):
    side = {"sha": HEAD, "ref": "topic", "repo": {"full_name": repo}}
    return json.dumps({"action": action, "number": number, "repository": {"full_name": repo, "clone_url": "https://example.org/x.git"},
                       "sender": {"login": "ada", "type": "User"},
                       "pull_request": {"number": number, "title": "t", "state": "open", "draft": False, "user": {"login": "ada"},
                                        "html_url": "https://example.org", "head": side, "base": {**side, "ref": "main"}}}).encode()


class Webhooks(unittest.TestCase):
    def send(self, body=BODY, event="ping", secret=SECRET, delivery=None, path="github", headers=(), **without):
        mac = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        head = {"Content-Type": "application/json", "X-GitHub-Event": event, "X-GitHub-Delivery": delivery or str(uuid.uuid4()),
                "X-Hub-Signature-256": "sha256=" + mac, **dict(headers)}
        head = {k: v for k, v in head.items() if k not in without.get("drop", ())}
        return server.call("POST", "/api/v1/webhooks/" + path, raw=body, headers=head)

    def rows(self, **wanted):
        found = server.as_admin("GET", "/api/v1/webhooks/deliveries?limit=1000").json["deliveries"]
        return [row for row in found if all(row[k] == v for k, v in wanted.items())]

    def test_a_delivery_is_stored_once(self):
        for repeated in (False, True, True):
            answer = self.send(delivery="once")
            self.assertEqual((answer.status, answer.json), (202, {"repeated": repeated}))
        row, = self.rows(delivery="once")
        self.assertEqual((row["kind"], row["state"], row["project"]), ("ping", "ignored", None))

    def test_both_secrets_count_while_they_are_exchanged(self):
        self.assertEqual(self.send(secret=OLD).status, 202)

    def test_what_is_forged_changed_or_not_signed_is_refused_and_audited(self):
        before = len(self.rows())
        good = hmac.new(SECRET.encode(), BODY, hashlib.sha256).hexdigest()
        cases = {
            "another secret": {"secret": "another secret, long"}, "no signature": {"drop": ("X-Hub-Signature-256",)},
            "the signature of another body": {"body": BODY + b" ", "headers": {"X-Hub-Signature-256": "sha256=" + good}},
            "a truncated body": {"body": BODY[:-1], "headers": {"X-Hub-Signature-256": "sha256=" + good}},
            "half a signature": {"headers": {"X-Hub-Signature-256": "sha256=" + good[:32]}},
            "another algorithm": {"headers": {"X-Hub-Signature-256": "sha1=" + good}},
            "no secret for that forge": {"path": "gitea", "headers": {"X-Gitea-Event": "push", "X-Gitea-Delivery": "x", "X-Gitea-Signature": good}},
            "a foreign token of GitLab": {"path": "gitlab", "headers": {"X-Gitlab-Event": "Push Hook", "X-Gitlab-Event-UUID": "x",
                                                                        "X-Gitlab-Token": "another secret, long"}},
        }
        for what, case in cases.items():
            with self.subTest(what):
                answer = self.send(**case)
                self.assertEqual((answer.status, answer.json["error"]["code"]), (401, "unauthorized"), answer)
                self.assertNotIn(SECRET, answer.body.decode())
        self.assertEqual(len(self.rows()), before)
        refused = lambda: [r for r in server.as_admin("GET", "/api/v1/audit?limit=1000").json["audit"] if r["action"] == "refused" and "webhooks" in str(r)]
        support.until("the audit log has it", refused)

    def test_a_stale_signature_is_refused(self):
        self.assertEqual(self.gitlab(0).status, 202)
        # 300 s either way; a time to come draws nearer while the request is under way
        for age in (-360, 301):
            self.assertEqual(self.gitlab(age).status, 401)

    def gitlab(self, age_s):
        stamp, ident = str(int(time.time()) - age_s), str(uuid.uuid4())
        mac = hmac.new(SECRET.encode(), f"{ident}.{stamp}.".encode() + b"{}", hashlib.sha256).digest()
        return server.call("POST", "/api/v1/webhooks/gitlab", raw=b"{}", headers={
            "Content-Type": "application/json", "X-Gitlab-Event": "Emoji Hook", "webhook-id": ident, "webhook-timestamp": stamp,
            "webhook-signature": "v1," + base64.b64encode(mac).decode()})

    def test_what_is_signed_and_still_wrong_is_400(self):
        form = self.send(headers={"Content-Type": "application/x-www-form-urlencoded"})
        no_id = self.send(drop=("X-GitHub-Delivery",))
        no_event = self.send(drop=("X-GitHub-Event",))
        no_json = self.send(body=b"{", event="pull_request")
        list_ = self.send(body=b"[]", event="pull_request")
        long_id = self.send(delivery="d" * 201)
        for answer in (form, no_id, no_event, no_json, list_, long_id):
            self.assertEqual((answer.status, answer.json["error"]["code"]), (400, "invalid"), answer)

    def test_a_long_body_is_read_and_an_oversized_one_is_413(self):
        long = json.dumps({"zen": "x" * (1 << 20), "hook_id": 1}).encode()
        self.assertEqual(self.send(body=long).status, 202)
        self.assertEqual(self.send(body=b" " * (16 * 1024 * 1024 + 1)).status, 413)

    def test_events_of_pull_requests_are_worked_on(self):
        self.assertEqual(self.send(pull(5), "pull_request", delivery="five").status, 202)
        support.until("the worker did it", lambda: self.rows(delivery="five", state="done"))
        row, = self.rows(delivery="five")
        self.assertEqual((row["project"], row["pull"], row["kind"], row["sender"]), ("demo", 5, "pull", "ada"))
        for project in ("demo", "beside"):  # both watch the repository, and the secret is for all
            found = server.as_admin("GET", f"/api/v1/projects/{project}/pulls").json["pulls"]
            self.assertIn(5, [p["number"] for p in found])
        # without a token nothing can be asked of the forge, and the row says so
        trouble = lambda: server.as_admin("GET", "/api/v1/projects/demo/pulls").json["pulls"][0]["trouble"]
        support.until("the trouble is said", trouble)
        self.assertIn("no token for github is set", trouble())

    def test_the_secret_of_a_project_acts_for_that_project_alone(self):
        self.assertEqual(self.send(pull(6), "pull_request", secret=OTHER, delivery="six").status, 202)
        support.until("the worker did it", lambda: self.rows(delivery="six", state="done"))
        numbers = lambda project: [p["number"] for p in server.as_admin("GET", f"/api/v1/projects/{project}/pulls").json["pulls"]]
        self.assertIn(6, numbers("beside"))
        self.assertNotIn(6, numbers("demo"))

    def test_a_repository_that_no_project_watches_is_ignored_with_the_reason(self):
        self.assertEqual(self.send(pull(1, repo="other/repo"), "pull_request", delivery="other").status, 202)
        row, = support.until("the worker did it", lambda: self.rows(delivery="other", state="ignored"))
        self.assertEqual(row["note"], "no project is linked to other/repo")

    def test_no_secret_is_in_the_database_or_an_answer(self):
        self.send()
        for secret in (SECRET, OLD, OTHER):
            dump = subprocess.run(["pg_dump", "--data-only", "-d", server.database], capture_output=True, check=True).stdout
            self.assertNotIn(secret.encode(), dump)
            self.assertNotIn(secret, server.log())


if __name__ == "__main__":
    unittest.main()
