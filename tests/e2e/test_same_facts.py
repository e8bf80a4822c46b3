"""The same facts everywhere: for 200 generated situations, what the API says is in the CLI's text, its JSON, and the page.

A fact is a kind, an effect with its interval, a range, a state, a reason, a verdict, a changed fingerprint field. The test
asks the API, runs the command, reads the page in a browser, and looks for each value: percentages within the digits that
are shown, commits by their first seven digits, words with their underscores as blanks.
"""

import json
import os
import re
import subprocess
import unittest

from situations import HISTORY, STATES, Project
from stack import DEADLINE_S, Stack, wait_for

PROJECTS = 20
HERE = os.path.dirname(os.path.abspath(__file__))
NUMBER = re.compile(r"([+\u2212-]?)\s?(\d[\d,]*(?:\.\d+)?)\s?%")


def plain(text):
    """One kind of blank and minus, so that a page's typography is no difference."""
    return re.sub(r"\s+", " ", text.replace("\u2019", "").replace("'", "").replace("\u00a0", " ").replace("\u202f", " ").replace("\u2212", "-"))


def has_percent(text, rel):
    """True when the text shows this relative value in percent, with its sign, rounded to the digits that it shows.

    An interval may follow its value: "+11.2 % (11.0 .. 11.5)" shows all three.
    """
    text = re.sub(r"\(([+-]?[\d.]+) \.\. ([+-]?[\d.]+)\)", r"\1 % \2 %", text)
    for sign, digits in NUMBER.findall(text):
        shown = float(digits.replace(",", "")) * (-1 if sign == "-" else 1)
        places = len(digits.partition(".")[2])
        # Half a unit of the last digit shown, and a little for values that are halves themselves.
        if abs(shown - rel * 100) <= 0.5001 * 10 ** -places:
            return True
    return False


class SameFacts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = Stack(runner=False).__enter__()
        cls.addClassCleanup(cls.stack.down)
        cls.projects = [Project(i) for i in range(PROJECTS)]
        for p in cls.projects:
            cls.stack.api("/projects", "POST", {"name": p.name}, status=201)
            cls.stack.api(f"/projects/{p.name}/commits", "POST", p.commits_body())
            for i in range(p.length):
                cls.stack.api("/runs", "POST", p.run_body(i), status=201)
        cls.stack.perfci("status")
        wait_for("all runs are judged", cls.judged)
        cls.alerts = [cls.stack.api(f"/alerts/{a['id']}") for p in cls.projects for a in cls.triage(p)]
        cls.pages = cls.read_pages()

    @classmethod
    def judged(cls):
        return all(not cls.stack.api(f"/jobs?kind=detect&state={s}")["jobs"] for s in ("queued", "leased"))

    @classmethod
    def triage(cls, project):
        """The project's alerts, after some of them were given a state, a note, or a culprit."""
        alerts = cls.stack.api(f"/alerts?project={project.name}&limit=200")["alerts"]
        for a in alerts:
            state = STATES[a["id"] % len(STATES)]
            if state != a["state"]:
                cls.stack.api(f"/alerts/{a['id']}", "PATCH", {"state": state, "reason": f"said for case {a['id']}", "note": f"note {a['id']}"})
        return alerts

    @classmethod
    def compare_path(cls, p):
        return f"/compare?project={p.name}&a={p.commits[2]}&b={p.commits[-1]}"

    @classmethod
    def read_pages(cls):
        paths = [f"/alerts/{a['id']}" for a in cls.alerts] + [cls.compare_path(p) for p in cls.projects]
        paths += [f"/alerts?project={p.name}&state=all" for p in cls.projects]
        listed, out = (os.path.join(cls.stack.dir, n) for n in ("paths.json", "texts.json"))
        with open(listed, "w", encoding="utf-8") as file:
            json.dump(paths, file)
        done = subprocess.run([os.environ["PERFCI_NODE"], os.path.join(HERE, "facts.mjs"), cls.stack.url, listed, out],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=4 * DEADLINE_S, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        with open(out, encoding="utf-8") as file:
            return {path: plain(text) for path, text in json.load(file).items()}

    # ---- what must be found ----

    def must(self, where, text, facts):
        missing = [f"{name} {value!r}" for name, value, found in facts if not found(text)]
        self.assertEqual(missing, [], f"\n{where} does not show these facts; it shows:\n{text}")

    def words(self, name, value):
        wanted = plain(str(value)).replace("_", " ").lower()
        return (name, value, lambda text: wanted in text.replace("_", " ").lower())

    def percent(self, name, rel):
        return (name, f"{rel * 100:.3f} %", lambda text: has_percent(text, rel))

    def commit(self, name, commit):
        return (name, commit, lambda text: commit[:7] in text)

    def facts_of_alert(self, a):
        facts = [self.words(k, a[k]) for k in ("state", "benchmark", "metric", "backend", "machine_class", "note") if a.get(k)]
        facts.append(("kind", a["kind"], lambda text: re.search(rf"\b{a['kind']}\b", text, re.I)))
        for key in ("rel_change", "rel_low", "rel_high"):
            if a.get(key) is not None:
                facts.append(self.percent(key, a[key]))
        facts += [self.commit(k, a[k]) for k in ("commit_low", "commit_high", "culprit") if a.get(k)]
        if a.get("reproducibility"):
            facts.append(("reproduced", a["reproducibility"], lambda text: re.search(rf"\breproduced {a['reproducibility']}\b", text, re.I)))
        if a.get("reason"):
            facts.append(self.words("reason", a["reason"]))
        if a.get("group") and a["group"].get("summary") and a["group"]["series"] > 1:
            facts.append(self.words("group", a["group"]["summary"]))
        for change in a.get("boundaries") or []:
            facts += [self.words("field", change["field"]), self.words("from", change["from"]), self.words("to", change["to"])]
        facts += [self.words("history reason", h["reason"]) for h in a["history"] if h["reason"]]
        return facts

    def test_situations_are_many(self):
        count = sum(len(p.situations) for p in self.projects)
        self.assertEqual(count, 200)
        kinds = {a["kind"] for a in self.alerts}
        self.assertEqual(kinds, {"step", "drift", "broken", "toolchain", "harness"}, "not every kind of alert was generated")
        self.assertGreaterEqual({a["state"] for a in self.alerts}, {"acknowledged", "investigating", "wont_fix", "noise"})

    def test_alerts(self):
        for a in self.alerts:
            with self.subTest(alert=a["id"], kind=a["kind"], project=a["project"]):
                facts = self.facts_of_alert(a)
                number = str(a["id"])
                answer = json.loads(self.stack.perfci("alerts", number, "--json").stdout)
                self.assertEqual({k: answer.get(k) for k in a}, a, "the command's JSON differs from the API's")
                self.must(f"perfci alerts {number}", plain(self.stack.perfci("alerts", number).stdout), facts)
                self.must(f"the page of alert {number}", self.pages[f"/alerts/{number}"], facts)

    def test_comparisons(self):
        for p in self.projects:
            api = self.stack.api(self.compare_path(p))
            args = ("compare", "--stored", "--project", p.name, p.commits[2], p.commits[-1])
            with self.subTest(project=p.name, change=p.change):
                self.check_comparison(p, api, args)

    def status_of(self, api, across):
        """Which exit status the stored facts call for."""
        verdicts = {r["verdict"] for r in api["rows"]}
        if "broken" in verdicts:
            return 4
        if not across and any(r["fingerprint_differs"] for r in api["rows"]):
            return 3
        if "regression" in verdicts:
            return 1
        return 3 if "inconclusive" in verdicts else 0

    def check_comparison(self, p, api, args):
        answer = json.loads(self.stack.perfci(*args, "--json", status=self.status_of(api, False)).stdout)
        self.stack.perfci(*args, "--across", status=self.status_of(api, True))
        shown = self.stack.perfci(*args, status=None).stdout
        rows = {(r["benchmark"], r["metric"], r["backend"]): r for r in answer["rows"]}
        page = self.pages[self.compare_path(p)]
        for r in api["rows"]:
            key = (r["benchmark"], r["metric"], r["backend"])
            with self.subTest(row=key):
                self.assertEqual({k: rows[key].get(k) for k in r}, r, "the command's JSON differs from the API's")
                facts = [self.words("verdict", r["verdict"])]
                if r["verdict"] == "broken":
                    facts.append(self.words("reason", r["reason"]))
                else:
                    facts += [self.percent(k, r[k]) for k in ("rel_change", "rel_low", "rel_high")]
                    facts.append(self.words("reproduced", r["reproducibility"]))
                lines = [line for line in shown.splitlines() if r["benchmark"] in line and r["backend"] in line]
                self.must("perfci compare", plain(" ".join(lines)), facts)
                self.must("the comparison page", self.row_of_page(page, r["benchmark"]), facts)
        fields = {f for r in api["rows"] for f in r["fingerprint_differs"]}
        for where, text in (("perfci compare", plain(shown.splitlines()[0])), ("the comparison page", page)):
            self.must(where, text, [self.words("differing field", f) for f in fields])

    def row_of_page(self, page, benchmark):
        """The page's texts from this benchmark's name to the next one's: the heat map names it, too."""
        parts = page.split(benchmark)[1:]
        self.assertTrue(parts, f"{benchmark} is not on the page")
        return " ".join(re.split(r"gemm/(?:bf16|f32)/m", part)[0] for part in parts)


if __name__ == "__main__":
    unittest.main()
