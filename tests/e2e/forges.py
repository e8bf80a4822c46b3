"""Stand-ins for a GitHub App, GitLab and Gitea, as hub.py has GitHub with a token: the same people and pull requests, each with
the calls, the accounts and the webhooks of its forge."""
import base64
import hashlib
import hmac
import json
import os
import re
import subprocess
import time

from hub import OWN_ID, OWN_LOGIN, GitHub

APP_ID, APP_CLIENT, INSTALLATION = 4242, "Iv1.e2e", 31


def decoded(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


class GitHubApp(GitHub):
    """Check runs instead of commit statuses; a token of an hour for the installation, for a JWT that the App's key signed."""

    def __init__(self, repo, folder, token, secret):
        super().__init__(repo, folder, token, secret)
        self.key = os.path.join(os.path.dirname(folder), "app.pem")
        self.public = self.key + ".pub"
        subprocess.run(["openssl", "genrsa", "-traditional", "-out", self.key, "2048"], check=True, capture_output=True)
        subprocess.run(["openssl", "rsa", "-in", self.key, "-pubout", "-out", self.public], check=True, capture_output=True)
        os.chmod(self.key, 0o600)
        self.minted = []

    def environment(self):
        return {"PERFCI_GITHUB_WEBHOOK_SECRET": self.secret, "PERFCI_GITHUB_APP_ID": APP_CLIENT, "PERFCI_GITHUB_APP_KEY_FILE": self.key,
                "PERFCI_GITHUB_API_URL": self.url}

    def is_known(self, headers, path):
        scheme, _, token = headers.get("Authorization", "").partition(" ")
        of_app = path in ("/app", self.place() + "/installation") or path.startswith("/app/installations/")
        return scheme == "Bearer" and (self.is_signed(token) if of_app else token in self.minted)

    def is_signed(self, token):
        head, claims, signature = token.split(".")
        with open(self.key + ".sig", "wb") as file:
            file.write(decoded(signature))
        done = subprocess.run(["openssl", "dgst", "-sha256", "-verify", self.public, "-signature", self.key + ".sig"],
                              input=f"{head}.{claims}".encode(), capture_output=True, check=False)
        said = json.loads(decoded(claims))
        return done.returncode == 0 and said["iss"] == APP_CLIENT and said["iat"] <= time.time() < said["exp"] <= said["iat"] + 600

    def get_app(self, _):
        return 200, {"id": APP_ID, "slug": "perfci"}

    def get_installation(self, _):
        return 200, {"id": INSTALLATION}

    def post_token(self, _, ident):
        if int(ident) != INSTALLATION:
            return 404, {"message": "Not Found"}
        self.minted.append(f"ghs_{APP_ID}_{len(self.minted)}" + "x" * 40)
        return 201, {"token": self.minted[-1], "expires_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))}

    def post_check(self, body):
        run = {"id": self.new_id(), "states": []}
        self.checks[run["id"]] = run
        return 201, {"id": self.note_check(run, body)}

    def patch_check(self, body, ident):
        run = self.checks.get(int(ident))
        return (200, {"id": self.note_check(run, body)}) if run else (404, {"message": "Not Found"})

    def note_check(self, run, body):
        run.update(body)
        run["states"].append(body.get("conclusion") or body["status"])
        return run["id"]

    ROUTES = [route for route in GitHub.ROUTES if route[1] not in ("/user", r"{r}/statuses/([0-9a-f]{40})")] + [
        ("GET", r"/app", get_app),
        ("GET", r"{r}/installation", get_installation),
        ("POST", r"/app/installations/(\d+)/access_tokens", post_token),
        ("POST", r"{r}/check-runs", post_check),
        ("PATCH", r"{r}/check-runs/(\d+)", patch_check),
    ]

    def comment_json(self, c):
        own = c["user"] == OWN_LOGIN
        return {**super().comment_json(c), "performed_via_github_app": {"id": APP_ID} if own else None,
                "user": {"id": OWN_ID, "login": "perfci[bot]", "type": "Bot"} if own else {"id": 7, "login": c["user"], "type": "User"}}

    def issue_json(self, i):
        own = i["user"] == OWN_LOGIN
        return {**super().issue_json(i), "performed_via_github_app": {"id": APP_ID} if own else None}

    def check_of(self, sha):
        """The check run of a head; None: there is none."""
        with self.lock:
            return next((dict(run) for run in self.checks.values() if run.get("head_sha") == sha), None)

    def status(self, sha):
        run = self.check_of(sha)
        if not run:
            return None
        return "pending" if run["status"] != "completed" else run["conclusion"], run["output"]["title"]


class Gitea(GitHub):
    """GitHub's calls under /api/v1 with another token, whole lists of comments, and the merge base in the pull request."""
    KIND, BASE = "gitea", "/api/v1"

    def is_known(self, headers, path):
        return headers.get("Authorization") == f"token {self.token}"

    def page_of(self, number):
        return f"{self.origin}/{self.repo}/pulls/{number}", f"{self.origin}/{self.repo}/commit/"

    def pull_json(self, pull):
        doc = super().pull_json(pull)
        return {**doc, "merge_base": self.git("merge-base", pull["head"], doc["base"]["sha"])}

    def get_comments(self, _, number, query):
        return 200, [self.comment_json(c) for c in self.comments.values() if c["number"] == int(number)]

    ROUTES = [route for route in GitHub.ROUTES if "compare" not in route[1] and not route[1].endswith("/comments(\\?.*)?")] + [
        ("GET", r"{r}/issues/(\d+)/comments()", get_comments)]

    def comment_webhook(self, comment):
        delivery = super().comment_webhook(comment)
        delivery["body"] = json.dumps({**json.loads(delivery["body"]), "is_pull": True}).encode()
        return delivery

    def signed(self, delivery, secret):
        mac = hmac.new(secret.encode(), delivery["body"], hashlib.sha256).hexdigest()
        return {"X-Gitea-Event": delivery["event"], "X-Gitea-Delivery": delivery["id"], "X-Gitea-Signature": mac}


class GitLab(GitHub):
    """Merge requests with notes, members with levels, commit statuses; a secret token in the webhook's header."""
    KIND, BASE = "gitlab", "/api/v4"
    PULLS = "refs/merge-requests/{}/head"
    PROJECT, FORK = 15, 16
    LEVELS = {"write": 30, "read": 20}

    def is_known(self, headers, path):
        return headers.get("PRIVATE-TOKEN") == self.token

    def place(self):
        return "/projects/" + self.repo.replace("/", "%2F")

    def page_of(self, number):
        return f"{self.origin}/{self.repo}/-/merge_requests/{number}", f"{self.origin}/{self.repo}/-/commit/"

    def get_user(self, _):
        return 200, {"id": OWN_ID, "username": OWN_LOGIN}

    def get_users(self, _, name):
        names = sorted(self.permissions)
        return 200, [{"id": 50 + names.index(name), "username": name}] if name in names else []

    def get_member(self, _, ident):
        name = sorted(self.permissions)[int(ident) - 50]
        return 200, {"id": int(ident), "access_level": self.LEVELS[self.permissions[name]], "state": "active"}

    def get_project(self, _, ident):
        return 200, {"id": int(ident), "path_with_namespace": "stranger/fork"}

    def get_line(self, _, base, head):
        rows = [row.split() for row in self.git("rev-list", "--first-parent", "--parents", head, "^" + base).splitlines()]
        return 200, [{"id": row[0], "parent_ids": row[1:]} for row in rows]

    def put_note(self, body, _number, ident):
        return self.patch_comment(body, ident)

    def delete_note(self, _, _number, ident):
        return self.delete_comment(None, ident)

    def post_state(self, body, sha):
        if body["state"] not in ("pending", "running", "success", "failed", "canceled"):
            return 400, {"message": "state does not have a valid value"}
        return self.post_status(body, sha)

    ISSUE_BODY = "description"

    def patch_issue(self, body, number):
        state = {"close": "closed", "reopen": "open"}.get(body.pop("state_event", None))
        return super().patch_issue({**body, **({"state": state} if state else {})}, number)

    ROUTES = [
        ("GET", r"{r}/issues\?per_page=100&created_after=([0-9T:.Z-]+)", GitHub.get_issues),
        ("POST", r"{r}/issues", GitHub.post_issue),
        ("PUT", r"{r}/issues/(\d+)", patch_issue),
        ("GET", r"/user", get_user),
        ("GET", r"/users\?username=(\w+)", get_users),
        ("GET", r"/projects/(\d+)", get_project),
        ("GET", r"{r}/members/all/(\d+)", get_member),
        ("GET", r"{r}/merge_requests/(\d+)", GitHub.get_pull),
        ("GET", r"{r}/merge_requests/(\d+)/notes(\?.*)?", GitHub.get_comments),
        ("POST", r"{r}/merge_requests/(\d+)/notes", GitHub.post_comment),
        ("PUT", r"{r}/merge_requests/(\d+)/notes/(\d+)", put_note),
        ("DELETE", r"{r}/merge_requests/(\d+)/notes/(\d+)", delete_note),
        ("GET", r"{r}/repository/commits\?ref_name=(\w{40})\.\.(\w{40})&first_parent=true&per_page=100", get_line),
        ("POST", r"{r}/statuses/([0-9a-f]{40})", post_state),
    ]

    def comment_json(self, c):
        return {"id": c["id"], "body": c["body"], "system": False, "author": {"id": OWN_ID if c["user"] == OWN_LOGIN else 7}}

    def pull_json(self, pull):
        tip = self.git("rev-parse", "refs/heads/main")
        return {"iid": pull["number"], "title": pull["title"], "state": "opened" if pull["open"] else "closed", "draft": pull["draft"],
                "author": {"username": pull["author"]}, "web_url": self.page_of(pull["number"])[0], "sha": pull["head"],
                "source_branch": pull["branch"], "target_branch": "main", "target_project_id": self.PROJECT,
                "source_project_id": self.FORK if pull["fork"] else self.PROJECT,
                "diff_refs": {"base_sha": self.git("merge-base", pull["head"], tip), "head_sha": pull["head"], "start_sha": tip}}

    def webhook(self, event, doc):
        return super().webhook(event, {**doc, "project": {"id": self.PROJECT, "path_with_namespace": self.repo}})

    def pull_webhook(self, pull, action):
        doc = self.pull_json(pull)
        actions = {"opened": "open", "synchronize": "update", "closed": "close"}
        return self.webhook("Merge Request Hook", {"object_kind": "merge_request", "user": {"username": "author"}, "object_attributes": {
            **{key: doc[key] for key in ("iid", "title", "state", "draft", "source_branch", "target_branch", "source_project_id", "target_project_id")},
            "action": actions[action], "last_commit": {"id": pull["head"]}, "target": {"path_with_namespace": self.repo},
            "source": {"path_with_namespace": "stranger/fork" if pull["fork"] else self.repo},
            **({"oldrev": "0" * 39 + "1"} if action == "synchronize" else {})}})

    def comment_webhook(self, comment):
        return self.webhook("Note Hook", {"object_kind": "note", "user": {"username": comment["user"]}, "merge_request": {"iid": comment["number"]},
                                          "object_attributes": {"id": comment["id"], "note": comment["body"], "noteable_type": "MergeRequest", "action": "create"}})

    def signed(self, delivery, secret):
        return {"X-Gitlab-Event": delivery["event"], "X-Gitlab-Event-UUID": delivery["id"], "X-Gitlab-Token": secret}
