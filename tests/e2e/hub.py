"""A stand-in for GitHub's REST API in one process: pull requests of a bare repository, comments, checks, permissions,
and the webhooks that GitHub would send for what a test does.

What it answers is in memory; `faults` makes the next calls fail. Only the calls that perfci makes are answered, everything
else is 404 and is kept in `strange`.
"""
import hashlib
import hmac
import http.server
import json
import re
import subprocess
import threading
import urllib.error
import urllib.request
import uuid

OWN_ID, OWN_LOGIN = 99, "perfci-bot"


class GitHub:
    KIND, BASE = "github", ""
    PULLS = "refs/pull/{}/head"

    def __init__(self, repo, folder, token, secret):
        self.repo, self.folder, self.token, self.secret = repo, folder, token, secret
        self.lock = threading.RLock()
        self.pulls, self.comments, self.checks, self.statuses = {}, {}, {}, []
        self.permissions = {}
        self.next_id = 1000
        self.issues = []
        self.calls, self.strange, self.faults, self.deliveries = [], [], [], []
        stand_in = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                status, doc = stand_in.call(self.command, self.path, self.headers, body)
                text = b"" if doc is None else json.dumps(doc).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = answer

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, request, client_address):
                pass  # a client that was killed in the middle

        self.server = Server(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.url = self.origin + self.BASE
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    # ---- the API ----

    def call(self, method, path, headers, body):
        with self.lock:
            self.calls.append((method, path))
            if not path.startswith(self.BASE) or not self.is_known(headers, path):
                return 401, {"message": "Bad credentials"}
            if self.faults:
                fault = self.faults.pop(0)
                if fault:
                    return fault, {"message": "a planted fault"}
            for verb, pattern, handle in self.ROUTES:
                found = re.fullmatch(pattern.replace("{r}", self.place()), path[len(self.BASE):])
                if verb == method and found:
                    return handle(self, body, *found.groups())
            self.strange.append((method, path))
            return 404, {"message": "Not Found"}

    def is_known(self, headers, path):
        return headers.get("Authorization") == f"Bearer {self.token}"

    def place(self):
        """The repository in a path."""
        return "/repos/" + self.repo

    def environment(self):
        """The server's account here."""
        name = f"PERFCI_{self.KIND.upper()}"
        return {f"{name}_WEBHOOK_SECRET": self.secret, f"{name}_TOKEN": self.token, f"{name}_API_URL": self.url}

    def page_of(self, number):
        """The pull request's page; the page of a commit without its id."""
        return f"{self.origin}/{self.repo}/pull/{number}", f"{self.origin}/{self.repo}/commit/"

    def new_id(self):
        self.next_id += 1
        return self.next_id

    def get_user(self, _):
        return 200, {"id": OWN_ID, "login": OWN_LOGIN, "type": "User"}

    def get_pull(self, _, number):
        pull = self.pulls.get(int(number))
        return (200, self.pull_json(pull)) if pull else (404, {"message": "Not Found"})

    def get_commits(self, _, number, query):
        """Oldest first, without those of the base branch."""
        pull = self.pulls[int(number)]
        rows = [row.split() for row in self.git("rev-list", "--reverse", "--parents", pull["head"], "^refs/heads/main").splitlines()]
        page = int((re.search(r"\bpage=(\d+)", query or "") or [0, 1])[1])
        return 200, [{"sha": row[0], "parents": [{"sha": sha} for sha in row[1:]]} for row in rows[(page - 1) * 100:page * 100]]

    def get_compare(self, _, base, head):
        done = subprocess.run(["git", "-C", self.folder, "merge-base", base, head], capture_output=True, text=True, check=False)
        if done.returncode:
            return 404, {"message": "No common ancestor"}
        return 200, {"merge_base_commit": {"sha": done.stdout.strip()}}

    def get_permission(self, _, user):
        level = self.permissions.get(user)
        return (200, {"permission": level}) if level else (404, {"message": "Not Found"})

    def get_comments(self, _, number, query):
        page = int((re.search(r"\bpage=(\d+)", query or "") or [0, 1])[1])
        rows = [c for c in self.comments.values() if c["number"] == int(number)]
        return 200, [self.comment_json(c) for c in rows[(page - 1) * 100:page * 100]]

    def post_comment(self, body, number):
        if len(body["body"]) > 65536:
            return 422, {"message": "Body is too long (maximum is 65536 characters)"}
        comment = {"id": self.new_id(), "number": int(number), "body": body["body"], "user": OWN_LOGIN, "edits": 0}
        self.comments[comment["id"]] = comment
        return 201, self.comment_json(comment)

    def patch_comment(self, body, ident):
        comment = self.comments.get(int(ident))
        if not comment:
            return 404, {"message": "Not Found"}
        comment["body"] = body["body"]
        comment["edits"] += 1
        return 200, self.comment_json(comment)

    def delete_comment(self, _, ident):
        return (204, None) if self.comments.pop(int(ident), None) else (404, {"message": "Not Found"})

    def post_status(self, body, sha):
        self.statuses.append({"sha": sha, **body})
        return 201, {"id": self.new_id()}

    def get_issues(self, _, query):
        return 200, [self.issue_json(i) for i in reversed(self.issues) if i["state"] != "deleted"]

    def post_issue(self, body):
        self.issues.append({"number": len(self.issues) + 1, "state": "open", "edits": 0, "user": OWN_LOGIN, **body})
        return 201, self.issue_json(self.issues[-1])

    def patch_issue(self, body, number):
        issue = next((i for i in self.issues if i["number"] == int(number) and i["state"] != "deleted"), None)
        if not issue:
            return 410, {"message": "This issue was deleted"}
        issue.update(body, edits=issue["edits"] + 1)
        return 200, self.issue_json(issue)

    ISSUE_BODY = "body"

    def issue_json(self, i):
        own = i["user"] == OWN_LOGIN
        return {"number": i["number"], "iid": i["number"], "title": i["title"], self.ISSUE_BODY: i[self.ISSUE_BODY], "state": i["state"],
                "user": {"id": OWN_ID if own else 7, "login": i["user"], "type": "User"}, "author": {"id": OWN_ID if own else 7},
                "html_url": f"{self.origin}/{self.repo}/issues/{i['number']}", "web_url": f"{self.origin}/{self.repo}/-/issues/{i['number']}"}

    def issue(self, number):
        """A copy: its title, text, state and number of edits."""
        with self.lock:
            return next((dict(i, text=i[self.ISSUE_BODY]) for i in self.issues if i["number"] == number), None)

    ROUTES = [
        ("GET", r"{r}/issues\?state=all&(?:type=issues&)?(?:per_page=100|limit=50)&since=([0-9T:.Z-]+)", get_issues),
        ("POST", r"{r}/issues", post_issue),
        ("PATCH", r"{r}/issues/(\d+)", patch_issue),
        ("GET", r"/user", get_user),
        ("GET", r"{r}/pulls/(\d+)", get_pull),
        ("GET", r"{r}/pulls/(\d+)/commits(\?.*)?", get_commits),
        ("GET", r"{r}/compare/([0-9a-f]+)\.\.\.([0-9a-f]+)(?:\?.*)?", get_compare),
        ("GET", r"{r}/collaborators/([^/]+)/permission", get_permission),
        ("GET", r"{r}/issues/(\d+)/comments(\?.*)?", get_comments),
        ("POST", r"{r}/issues/(\d+)/comments", post_comment),
        ("PATCH", r"{r}/issues/comments/(\d+)", patch_comment),
        ("DELETE", r"{r}/issues/comments/(\d+)", delete_comment),
        ("POST", r"{r}/statuses/([0-9a-f]{40})", post_status),
    ]

    def comment_json(self, c):
        own = c["user"] == OWN_LOGIN
        return {"id": c["id"], "body": c["body"], "user": {"id": OWN_ID if own else 7, "login": c["user"], "type": "User"},
                "html_url": f"{self.page_of(c['number'])[0]}#issuecomment-{c['id']}", "performed_via_github_app": None}

    def pull_json(self, pull):
        head_repo = {"full_name": "stranger/fork" if pull["fork"] else self.repo}
        base = self.git("rev-parse", "refs/heads/main")
        return {"number": pull["number"], "title": pull["title"], "state": "open" if pull["open"] else "closed", "draft": pull["draft"],
                "user": {"login": pull["author"]}, "html_url": self.page_of(pull["number"])[0],
                "head": {"sha": pull["head"], "ref": pull["branch"], "repo": head_repo},
                "base": {"sha": base, "ref": "main", "repo": {"full_name": self.repo}}}

    def git(self, *words):
        return subprocess.run(["git", "-C", self.folder, *words], capture_output=True, text=True, check=True).stdout.strip()

    # ---- what people do; each makes the webhook that GitHub sends ----

    def webhook(self, event, doc):
        doc = {**doc, "repository": {"full_name": self.repo, "clone_url": f"https://example.org/{self.repo}.git", "fork": False,
                                     "id": 1, "name": self.repo.split("/")[1], "owner": {"login": self.repo.split("/")[0]}}}
        delivery = {"event": event, "id": str(uuid.uuid4()), "body": json.dumps(doc).encode()}
        self.deliveries.append(delivery)
        return delivery

    def push_pull(self, number, head, fork=False, branch="topic"):
        """Opens the pull request, or pushes to it. Its ref is in the base's repository, as GitHub keeps it."""
        with self.lock:
            new = number not in self.pulls
            pull = self.pulls.setdefault(number, {"number": number, "title": f"Change {number}", "author": "author", "open": True,
                                                  "draft": False, "branch": branch, "fork": fork})
            pull["head"] = head
            self.git("update-ref", self.PULLS.format(number), head)
            return self.pull_webhook(pull, "opened" if new else "synchronize")

    def close_pull(self, number):
        with self.lock:
            self.pulls[number]["open"] = False
            return self.pull_webhook(self.pulls[number], "closed")

    def say(self, number, text, user="maintainer"):
        """A comment of a person."""
        with self.lock:
            comment = {"id": self.new_id(), "number": number, "body": text, "user": user, "edits": 0}
            self.comments[comment["id"]] = comment
            return self.comment_webhook(comment)

    def pull_webhook(self, pull, action):
        return self.webhook("pull_request", {"action": action, "number": pull["number"], "pull_request": self.pull_json(pull),
                                             "sender": {"login": "author", "type": "User"}})

    def comment_webhook(self, comment):
        return self.webhook("issue_comment", {
            "action": "created", "comment": self.comment_json(comment), "sender": {"login": comment["user"], "type": "User"},
            "issue": {"number": comment["number"], "pull_request": {"url": "x"}, "title": "t", "state": "open", "user": {"login": "author"}}})

    def signed(self, delivery, secret):
        """The headers of a webhook."""
        mac = hmac.new(secret.encode(), delivery["body"], hashlib.sha256).hexdigest()
        return {"X-GitHub-Event": delivery["event"], "X-GitHub-Delivery": delivery["id"], "X-Hub-Signature-256": "sha256=" + mac}

    def deliver(self, url, delivery, secret=None):
        """Sends the webhook to a server; its status."""
        request = urllib.request.Request(f"{url}/api/v1/webhooks/{self.KIND}", data=delivery["body"], method="POST")
        request.add_header("Content-Type", "application/json")
        for name, value in self.signed(delivery, secret or self.secret).items():
            request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    # ---- what is there ----

    def ours(self, number):
        """Our comments there that are no answers to commands, oldest first."""
        with self.lock:
            return [dict(c) for c in sorted(self.comments.values(), key=lambda c: c["id"])
                    if c["number"] == number and c["user"] == OWN_LOGIN and not c["body"].startswith("<!-- perfci:answer-")]

    def answers(self, number):
        with self.lock:
            return [c["body"] for c in sorted(self.comments.values(), key=lambda c: c["id"])
                    if c["number"] == number and c["user"] == OWN_LOGIN and c["body"].startswith("<!-- perfci:answer-")]

    def status(self, sha):
        """The newest commit status: (state, description); None: there is none."""
        with self.lock:
            rows = [(s["state"], s["description"]) for s in self.statuses if s["sha"] == sha]
            return rows[-1] if rows else None
