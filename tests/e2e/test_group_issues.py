"""The issue of an alert group at each forge, from the request to its end: made once, edited, closed, opened again."""

import os
import pathlib
import sys
import unittest

sys.path[:0] = [str(pathlib.Path(os.environ["PERFCI_SOURCE_DIR"]) / "tests/server/http")]
import support  # noqa: E402
from forges import Gitea, GitHubApp, GitLab  # noqa: E402
from hub import GitHub  # noqa: E402
from pull_driver import PAGES, PullDriver  # noqa: E402
from stack import wait_for  # noqa: E402

SLOWER_AT = 13
SUBJECT = "change 13 of @everyone <b>now</b> | fixes #7"


class Flow:
    RUNNER = False
    SERVER = {"PERFCI_PULL_POLL": "1s", "PERFCI_PULL_RETRY": "100ms"}

    def alert(self):
        """One alert: the benchmark is 20 % slower from a commit on whose subject has markup."""
        commits = support.commits(1, 24)
        commits["commits"][SLOWER_AT - 1]["subject"] = SUBJECT
        self.stack.api("/projects/tiny/commits", "POST", {**commits, "branch": "main"})
        for n in range(1, 25):
            run = support.run_document(n, n, value=100.0 if n < SLOWER_AT else 120.0, project="tiny")
            self.stack.api("/runs", "POST", run, status=201)
        alert, = wait_for("the alert", lambda: self.stack.api("/alerts?project=tiny&state=open")["alerts"])
        return alert

    def ask(self, alert):
        return self.stack.api(f"/groups/{alert['group_id']}/issue", "POST", {}, status=202)["issue"]

    def look(self, alert, what, question):
        """Waits until the group's issue answers the question."""
        def answer():
            issue = self.stack.api(f"/groups/{alert['group_id']}")["issue"]
            return issue if question(issue) else None

        return wait_for(what, answer)

    def set_state(self, alert, state):
        self.stack.api("/groups", "PATCH", {"groups": [{"id": alert["group_id"]}], "state": state, "reason": f"now {state} @you"})

    def test_made_once_edited_closed_and_opened_again(self):
        alert = self.alert()
        self.assertIsNone(self.stack.api(f"/groups/{alert['group_id']}")["issue"])
        self.hub.faults = [500, None, 502]
        asked = self.ask(alert)
        self.assertEqual((asked["forge"], asked["repo"], asked["asked_by"]), (self.hub.KIND, "octo/tiny", "token 1 (bootstrap)"), asked)
        made = self.look(alert, "the issue", lambda i: i["state"] == "open" and i["trouble"] is None)
        self.assertEqual(made["number"], 1)
        self.assertTrue(made["url"].startswith(self.hub.origin), made)
        issue = self.hub.issue(1)
        self.assertEqual(issue["title"], "tiny: gemm/f32/m64n64k64 time_ns on cpu-scalar: +20.0 %")
        text = issue["text"]
        self.assertTrue(text.startswith(f"<!-- perfci:group-{alert['group_id']}-tiny -->\n**State: untriaged.** 1 series "), text)
        for words in ("| change | +20.0 % (", f"| suspect | {support.commit_id(SLOWER_AT)} change 13 of ",
                      f"[group {alert['group_id']}](<{PAGES}/groups/{alert['group_id']}>)", f"`perfci repro alert:{alert['id']}`",
                      "| `gemm/f32/m64n64k64` | `time_ns` | `cpu-scalar` | `test-cpu` | +20.0 % |"):
            self.assertIn(words, text)
        for raw in ("@everyone", "<b>", "#7", "of | "):
            self.assertNotIn(raw, text)

        self.set_state(alert, "acknowledged")
        wait_for("an edit", lambda: "**State: acknowledged.**" in self.hub.issue(1)["text"])
        self.assertIn("acknowledged, 1 alert: now acknowledged ", self.hub.issue(1)["text"])
        self.assertNotIn("@you", self.hub.issue(1)["text"])
        self.assertEqual(self.hub.issue(1)["state"], "open")
        self.set_state(alert, "noise")
        self.look(alert, "it is closed", lambda i: i["state"] == "closed")
        self.assertEqual(self.hub.issue(1)["state"], "closed")
        self.set_state(alert, "untriaged")
        self.ask(alert)  # closed ones are looked at less often
        self.look(alert, "it is open again", lambda i: i["state"] == "open")
        self.assertEqual((self.hub.issue(1)["state"], len(self.hub.issues)), ("open", 1))

        # Nothing changes: nothing is posted, though the group is looked at.
        edits = self.hub.issue(1)["edits"]
        before = self.stack.api(f"/groups/{alert['group_id']}")["issue"]
        self.sure_of_looks(alert)
        self.assertEqual((self.hub.issue(1)["edits"], self.stack.api(f"/groups/{alert['group_id']}")["issue"]), (edits, before))

        # Deleted at the forge: it is not made again before it is asked for.
        with self.hub.lock:
            self.hub.issues[0]["state"] = "deleted"
        self.set_state(alert, "investigating")
        self.look(alert, "it is gone", lambda i: i["state"] == "gone")
        self.assertEqual(len(self.hub.issues), 1)
        self.ask(alert)
        self.assertEqual(self.look(alert, "a second one", lambda i: i["state"] == "open")["number"], 2)
        self.assertEqual(self.hub.strange, [])

    def sure_of_looks(self, alert):
        """Two more looks at the group have ended."""
        def due():
            return self.sql(f"SELECT due_at FROM group_issues WHERE group_id = {alert['group_id']}")

        for _ in range(2):
            last = due()
            wait_for("a look", lambda last=last: due() != last)


class AtGitHub(Flow, PullDriver):
    FORGE = GitHub

    def test_one_that_was_made_before_a_crash_is_found(self):
        alert = self.alert()
        marker = f"<!-- perfci:group-{alert['group_id']}-tiny -->"
        with self.hub.lock:
            for number, user, body in ((1, "stranger", marker), (2, "perfci-bot", "> " + marker), (3, "perfci-bot", marker + "\nold")):
                self.hub.issues.append({"number": number, "user": user, "title": "t", "body": body, "state": "open", "edits": 0})
        self.ask(alert)
        issue = self.look(alert, "the issue", lambda i: i["state"] == "open")
        self.assertEqual((issue["number"], len(self.hub.issues)), (3, 3))
        wait_for("an edit", lambda: "**State: untriaged.**" in self.hub.issue(3)["text"])

    def test_what_cannot_be_made_says_why(self):
        alert = self.alert()
        group = f"/groups/{alert['group_id']}/issue"
        self.hub.token = "ghp_another"
        self.assertEqual(self.ask(alert)["state"], "waiting")
        issue = self.look(alert, "the trouble", lambda i: i["trouble"])
        self.assertEqual((issue["state"], issue["number"]), ("waiting", None))
        self.assertIn("401", issue["trouble"])
        self.stack.api("/projects/tiny/forge", "DELETE", status=204)
        self.stack.api("/projects", "POST", {"name": "other"}, status=201)
        self.stack.api("/groups/999999/issue", "POST", {}, status=404)
        self.sql("DELETE FROM group_issues")
        refused = self.stack.api(group, "POST", {}, status=409)["error"]
        self.assertIn("linked to no repository", refused["message"])
        self.assertIsNone(self.stack.api(f"/groups/{alert['group_id']}")["issue"])

    def test_the_command(self):
        alert = self.alert()
        done = self.stack.perfci("alerts", "issue", str(alert["id"]), "--csv")
        self.assertEqual(done.stdout.splitlines()[0], "group,forge,repo,issue,state,url,last look failed")
        self.look(alert, "the issue", lambda i: i["state"] == "open")
        rows = self.stack.perfci("alerts", "issue", str(alert["id"]), "--csv").stdout.splitlines()
        self.assertEqual(rows[1], f"{alert['group_id']},github,octo/tiny,1,open,{self.hub.origin}/octo/tiny/issues/1,")
        self.stack.perfci("alerts", "issue", "999", status=2)
        self.stack.perfci("alerts", "issue", status=2)


class AtGitLab(Flow, PullDriver):
    FORGE = GitLab


class AtGitea(Flow, PullDriver):
    FORGE = Gitea


class AsGitHubApp(Flow, PullDriver):
    FORGE = GitHubApp


if __name__ == "__main__":
    unittest.main()
