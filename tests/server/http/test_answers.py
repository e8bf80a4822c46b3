"""Sends the requests of answers/*.txt to a running server and compares status and document to the letter.

Steps of such a file:

    # TEXT                        a comment
    commits PROJECT FIRST LAST    a line of commits, each the child of the one before (support.commits)
    run PROJECT COMMIT VALUE [JSON]
                                  a run of that commit (support.run_document), with these members beside
    session PROJECT N COMMIT...   a session of blocks of these builds (support.session_document)
    wait PROJECT                  until nothing of the project waits to be judged
    token NAME JSON               makes a token that later steps use by this name
    until TEXT /PATH              until the answer has the text, which has no blank: what the service does on its own
    sql STATEMENT                 changes the database behind the service's back
    keep NAME MEMBER...           the member of the last answer, which later steps have as $NAME
    base JSON                     the body of later requests whose JSON begins with "+"
    WHO METHOD /PATH [JSON]       a request with the token of admin or of NAME, or without one ("-"); #N in it is the id of commit N;
                                  +JSON changes members of the base ("a.b": within another one; "@drop": leaves it out)

In the answers @now is a time near today, @age a time that passes, @token and @lease are secrets. Entries of
the audit log have no numbers: refusals are written a little later, together.

  test_answers.py FILE --record   writes what the server answers now into the file. Read the difference: whatever is
                                  recorded is what the test demands from then on.
"""

import copy
import datetime
import json
import os
import pathlib
import re
import sys
import unittest

import support

sys.path.insert(0, os.path.join(support.SOURCE, "tests/support"))
import transcript  # noqa: E402

FOLDER = pathlib.Path(__file__).with_name("answers")
NOW = datetime.datetime.now(datetime.timezone.utc)
RECORD = "--record" in sys.argv
WIDTH = 150
# Lines of the metrics that depend on the machine or on how often something was polled.
PASSING = re.compile(r"^# |perfci_http_|_seconds|_bytes|process_|build_info|pool_connections|pool_busy|batches|_groups_total")
# Members whose value is a passing time.
SPOOL_AGE = re.compile(r'("oldest_s": )([0-9]+)(?=[,}\n])')  # sent as 7,200 s; it grows while the test runs
AGES = re.compile(r'("(?:detection_lag_s|(?:run_|wait_)?seconds)": )(?:0|0\.0|[0-9]+\.[0-9]{2,}|[0-9.]+e-[0-9]+)(?=[,}\n])')


def lines_of(value, indent=""):
    """JSON in few lines: what fits into one stays there."""
    whole = json.dumps(value)
    if len(indent) + len(whole) <= WIDTH or not isinstance(value, (dict, list)) or not value:
        return [whole]
    parts = [(json.dumps(k) + ": ", v) for k, v in value.items()] if isinstance(value, dict) else [("", v) for v in value]
    if isinstance(value, list) and not isinstance(value[0], (dict, list)):
        return [whole]
    found = ["{" if isinstance(value, dict) else "["]
    for i, (key, part) in enumerate(parts):
        below = lines_of(part, indent + " ")
        below[0] = key + below[0]
        below[-1] += "," if i + 1 < len(parts) else ""
        found += [" " + line for line in below]
    return [*found, "}" if isinstance(value, dict) else "]"]


def today(match):
    """A time near today as "@now": a browser's session lasts a week."""
    at = datetime.datetime.fromisoformat(match.group().strip('"').replace("Z", "+00:00"))
    return '"@now"' if abs((at - NOW).total_seconds()) < 10 * 86400 else match.group()


def changed(base, changes):
    """A copy of the document with other members."""
    whole = copy.deepcopy(base)
    for path, value in changes.items():
        *way, last = path.split(".")
        at = whole
        for step in way:
            at = at[int(step)] if isinstance(at, list) else at[step]
        if value == "@drop":
            del at[last]
        elif isinstance(at, list):
            at[int(last)] = value
        else:
            at[last] = value
    return whole


class Answers(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        cluster = support.Cluster()
        self.addCleanup(cluster.close)
        self.server = support.Server(cluster.database(migrated=True), "--public-read")
        self.addCleanup(self.server.close)
        self.who, self.kept, self.runs, self.last, self.base = {"admin": self.server.admin, "-": None}, {}, 0, None, None

    def request(self, who, method, path, body=None):
        """A request's answer in the form of a transcript."""
        answer = self.server.call(method, path, body, token=self.who[who])
        try:
            self.last = answer.json if answer.body else None
            for entry in (self.last or {}).get("audit", []):
                del entry["id"]
            text = "\n".join(lines_of(self.last)) if answer.body else ""
        except ValueError:
            text = "\n".join(line for line in answer.body.decode().splitlines() if not PASSING.search(line))
        text = re.sub(r'"\d{4}-\d\d-\d\dT[0-9:.]+Z"', today, text)
        text = re.sub(r'"(pf[cl]_)?[0-9a-f]{64}"', lambda m: '"@token"' if m.group(1) else m.group(), text)
        text = re.sub(r'"[0-9a-f]{32}-[0-9]+"', '"@lease"', text)
        text = AGES.sub(r"\1@age", text)
        text = SPOOL_AGE.sub(lambda m: m.group(1) + "@two_hours" if 7200 <= int(m.group(2)) < 7200 + support.DEADLINE_S else m.group(), text)
        # How far the workers have come with a search or a group is a matter of moments.
        text = re.sub(r'("timed_out": \d+, "waiting": )\d+', r"\1@n", text)
        text = re.sub(r'("(?:summary|text)": "[^"]*; )[+-]\d+\.\d %', r'\1@change', text)
        return [f"= {answer.status}", *transcript.shown("|", text, {})]

    def post_run(self, project, commit, value, more):
        self.runs += 1
        document = support.run_document(self.runs, int(commit), float(value), project, **more)
        return self.request("admin", "POST", "/api/v1/runs", document)

    def post_session(self, project, number, commits):
        """Two processes of a build are a visit each; the first build is the anchor."""
        runs = []
        for place, commit in enumerate(commits):
            self.runs += 1
            runs.append(support.run_document(self.runs, int(commit), 100.0 + 10 * place, project))
        session = support.session_document(int(number), runs, int(commits[0]), int(commits[0]), [support.commit_id(int(c)) for c in commits[1:]])
        answers = [line for run in runs for line in self.request("admin", "POST", "/api/v1/runs", run)]
        return answers + self.request("admin", "POST", f"/api/v1/projects/{project}/sessions", session)

    def judged(self, project):
        return not self.server.as_admin("GET", f"/api/v1/stats?project={project}").json["detection_lag_s"]

    def step(self, head, body):
        for name, value in self.kept.items():
            head = head.replace("$" + name, str(value))
        head = re.sub(r"#(\d+)", lambda m: support.commit_id(int(m.group(1))), head)
        word, _, rest = head.partition(" ")
        words = rest.split(" ")
        if word in self.who:
            method, path, *more = rest.split(" ", 2)
            body = json.loads(more[0].removeprefix("+")) if more else None
            return self.request(word, method, path, changed(self.base, body) if more and more[0][0] == "+" else body)
        if word == "commits":
            return self.request("admin", "POST", f"/api/v1/projects/{words[0]}/commits", support.commits(int(words[1]), int(words[2])))
        if word == "run":
            return self.post_run(*words[:3], json.loads(" ".join(words[3:]) or "{}"))
        if word == "session":
            return self.post_session(words[0], words[1], words[2:])
        if word == "wait":
            support.until(f"{rest} judged", lambda: self.judged(rest))
        elif word == "token":
            printed = self.request("admin", "POST", "/api/v1/tokens", json.loads(rest.split(" ", 1)[1]))
            self.who[words[0]] = self.last["token"]
            return printed
        elif word == "until":
            support.until(rest, lambda: words[0] in self.server.as_admin("GET", words[1]).body.decode())
        elif word == "base":
            self.base = json.loads(rest)
        elif word == "sql":
            support.sql(self.server.database, rest)
        elif word == "keep":
            self.kept[words[0]] = self.last
            for member in words[1:]:
                value = self.kept[words[0]]
                self.kept[words[0]] = value[int(member)] if isinstance(value, list) else value.get(member) if value else None
        else:
            self.assertTrue(not head or head.startswith("#") or word == "#", f"expected a step, got {head!r}")
        return None

    def play(self, path):
        transcript.play(self, path, self.step, RECORD)


def one_of(path):
    return lambda self: self.play(path)


for name in sorted(FOLDER.glob("*.txt")):
    setattr(Answers, f"test_{name.stem}", one_of(name))

if __name__ == "__main__":
    unittest.main(verbosity=2, argv=[a for a in sys.argv if a != "--record"], failfast=not RECORD)
