"""perfci nightly and push with --store: history in a folder or a branch, without a service."""

import fcntl
import glob
import json
import os
import re
import shutil
import signal
import subprocess

import support
from test_nightly import CONFIG, Night

# Ends the process at the moment when the reference would move: all objects are written, and the branch is as before.
KILLER = """
#include <signal.h>
int git_reference_create(void) { raise(SIGKILL); return 0; }
int git_reference_create_matching(void) { raise(SIGKILL); return 0; }
"""
HOSTILE = "<img src=x onerror=alert(1)>\"'&"


class Case(Night):
    """SPEC: the store of the nights. Both kinds have the same tests."""

    SPEC = "branch:perfci-data"

    def setUp(self):
        super().setUp()
        self.repo = self.path("repo")

    def store_night(self, *args, status=0, spec=None, cwd=None, env=None):
        done = self.perfci("nightly", "--store", spec or self.SPEC, "--json", *args, cwd=cwd or self.repo, env=env)
        self.stderr = done.stderr
        return self.json_of(done, status)

    def began_store(self, **kwargs):
        tip = self.commit(100, **kwargs)
        self.store_night()
        return tip

    def branch(self, *args, cwd=None):
        return self.git(*args, cwd=cwd or self.repo)

    def files(self, cwd=None):
        """{path: text} of the store."""
        names = self.branch("ls-tree", "-r", "--name-only", "perfci-data", cwd=cwd).split("\n")
        return {name: self.branch("show", f"perfci-data:{name}", cwd=cwd) for name in names}

    def documents(self, folder, **kwargs):
        return [json.loads(text) for name, text in sorted(self.files(**kwargs).items()) if name.startswith(folder + "/")]

    def measured(self):
        with open(self.log, encoding="utf-8") as file:
            return len(file.read().split())


class Branch(Case):
    def test_a_slow_commit_is_found_once_and_stays_on_record(self):
        base = self.began_store()
        self.assertEqual([r["commit"] for r in self.documents("runs")], [base])
        fine, slow, after = self.commit(100.01), self.commit(110), self.commit(110.01)
        report = self.store_night(status=1)
        self.assertEqual([(c["id"], c["verdict"]) for c in report["commits"]], [(fine, "same"), (slow, "slower"), (after, "same")])
        self.assertEqual([(a["commit"], a["direction"], a["metric"]) for a in report["alerts"]], [(slow, "regression", "latency")])
        self.assertEqual((report["regressions"], report["judged"]), (1, True))
        self.assertIn(f"1 regression is on record, the newest at {slow[:12]}", report["standing"]["sentence"])
        # The session is stored as it was judged, and the next night has it.
        session, = self.documents("sessions")
        self.assertEqual([(c["commit"], c["verdict"]) for c in session["commits"]],
                         [(fine, "same"), (slow, "slower"), (after, "same")])
        count = self.measured()
        report = self.store_night()
        self.assertEqual((report["commits"], report["alerts"], report["regressions"]), ([], [], 0))
        self.assertEqual(self.measured(), count)
        later = self.commit(110.02)
        report = self.store_night()
        self.assertEqual([(c["id"], c["verdict"]) for c in report["commits"]], [(later, "same")])
        self.assertEqual([a["commit"] for a in self.documents("alerts")], [slow])

    def test_exit_statuses_are_those_of_a_night_with_a_service(self):
        self.began_store()
        self.commit(files={"broken": "1\n"})
        report = self.store_night(status=4)
        self.assertTrue(report["commits"][0]["reason"])
        self.commit(files={"broken": None})
        self.commit(100.01, files={"bench.sh": "exit 9\n"})
        self.store_night(status=4)

    def test_neither_working_tree_nor_index_nor_head_is_touched(self):
        self.began_store()
        self.commit(100.01)
        self.write("repo/untracked", "mine\n")
        self.write("repo/value", "7\n")
        self.git("add", "value", cwd=self.repo)
        before = [self.git(*words, cwd=self.repo) for words in (
            ("status", "--porcelain"), ("rev-parse", "HEAD"), ("symbolic-ref", "HEAD"), ("rev-parse", "main"))]
        self.store_night("--branch", "main")
        after = [self.git(*words, cwd=self.repo) for words in (
            ("status", "--porcelain"), ("rev-parse", "HEAD"), ("symbolic-ref", "HEAD"), ("rev-parse", "main"))]
        self.assertEqual(before, after)
        # An orphan: it shares no commit with the code.
        done = subprocess.run(["git", "merge-base", "main", "perfci-data"], cwd=self.repo, env=self.env, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, b""))

    def test_files_are_only_added(self):
        self.began_store()
        first = self.files()
        self.commit(100.01)
        self.store_night()
        second = self.files()
        for name, text in first.items():
            if name != "index.html":
                self.assertEqual(second[name], text)
        self.assertGreater(len(second), len(first))
        self.assertEqual(json.loads(second["perfci-store.json"]), {"format": "perfci-store", "version": 1})
        for name in second:
            self.assertRegex(name, r"^(index\.html|perfci-store\.json|(runs|sessions|alerts)/[0-9a-f]{2}/[0-9a-f]{32}\.json)$")

    def killed(self, *words):
        shim = self.path("shim.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, self.write("shim.c", KILLER)], check=True)
        done = self.perfci(*words, cwd=self.repo, env={"LD_PRELOAD": shim})
        self.assertEqual(done.returncode, -signal.SIGKILL, done.stdout + done.stderr)

    def test_a_night_that_is_killed_before_the_branch_moves_loses_nothing(self):
        self.began_store()
        before = self.branch("rev-parse", "perfci-data")
        slow = self.commit(110)
        self.killed("nightly", "--store", self.SPEC, "--json")
        self.assertEqual(self.branch("rev-parse", "perfci-data"), before)
        count = self.measured()
        # The next night knows the results of the killed one, and publishes them.
        report = self.store_night()
        self.assertEqual((report["commits"], self.measured()), ([], count))
        self.assertIn(slow, [r["commit"] for r in self.documents("runs")])
        self.assertEqual([a["commit"] for a in self.documents("alerts")], [slow])
        session, = self.documents("sessions")
        self.assertEqual([c["verdict"] for c in session["commits"]], ["slower"])
        self.assertEqual(glob.glob(self.path("repo/.git/perfci/store/perfci-data/pending/**/*.json"), recursive=True), [])

    def test_a_first_night_that_is_killed_loses_nothing(self):
        tip = self.commit(100)
        self.killed("nightly", "--store", self.SPEC)
        count = self.measured()
        self.store_night()
        self.assertEqual(([r["commit"] for r in self.documents("runs")], self.measured()), ([tip], count))

    def test_a_night_beside_another_is_refused_before_it_measures(self):
        self.began_store()
        self.commit(100.01)
        count = self.measured()
        with open(self.path("repo/.git/perfci/store/perfci-data/lock"), "r+", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = self.perfci("nightly", "--store", self.SPEC, cwd=self.repo)
        self.expect(done, 5)
        self.assertRegex(done.stderr, r"another perfci \(process \d+\) uses the store branch:perfci-data")
        self.assertEqual(self.measured(), count)
        self.store_night()

    def test_a_branch_that_moves_meanwhile_is_read_again(self):
        # The measurement itself moves it: another perfci, on another clone, would come by a push.
        self.began_store()
        clone = self.path("clone")
        self.git("clone", "-q", self.repo, clone, cwd=self.dir)
        self.git("fetch", "-q", "origin", "perfci-data:perfci-data", cwd=clone)
        tip = self.commit(100.01)
        run = {**self.documents("runs")[0], "id": "ab" * 16}
        add = (f"cd {self.repo} && test -e {self.path('moved')} || (touch {self.path('moved')}; "
               f"b=$(git hash-object -w {self.write('run.json', json.dumps(run))}) && export GIT_INDEX_FILE={self.path('index')} && "
               f"git read-tree perfci-data && git update-index --add --cacheinfo 100644,$b,runs/ab/{'ab' * 16}.json && "
               f"c=$(git -c user.name=A -c user.email=a@x commit-tree -p perfci-data -m other $(git write-tree)) && "
               f"git update-ref refs/heads/perfci-data $c) > /dev/null; ")
        self.write("repo/perfci.yaml", CONFIG.replace("sh bench.sh", f"({add}); sh bench.sh"))
        self.store_night()
        self.assertTrue(os.path.exists(self.path("moved")), self.stderr)
        self.assertEqual({r["id"] for r in self.documents("runs")} & {"ab" * 16}, {"ab" * 16})
        self.assertIn(tip, [r["commit"] for r in self.documents("runs")])

    def test_a_broken_file_is_named_and_the_others_count(self):
        self.began_store()
        slow = self.commit(110)
        self.store_night(status=1)
        run = self.documents("runs")[0]
        bad = {f"runs/cd/{'cd' * 16}.json": "{", f"runs/ef/{'ef' * 16}.json": json.dumps(run),
               f"sessions/ab/{'ab' * 16}.json": json.dumps({"id": "ab" * 16}), f"alerts/ab/{'ab' * 16}.json": "[]",
               f"runs/aa/{'aa' * 16}.json": "[" * 100000}
        self.add_files(bad)
        self.commit(110.01)
        report = self.store_night()
        for name in bad:
            self.assertIn(f"{name} cannot be read and is left out", self.stderr)
        self.assertIn(slow[:12], report["standing"]["sentence"])
        files = self.files()
        self.assertEqual({name: files[name] for name in bad}, bad)
        self.assertIn("Files that cannot be read", files["index.html"])

    def add_files(self, files):
        env = {**self.env, "GIT_INDEX_FILE": self.path("index")}

        def git(*words, text=None):
            return subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@x", *words], cwd=self.repo, env=env, input=text,
                                  capture_output=True, text=True, check=True).stdout.strip()

        git("read-tree", "perfci-data")
        for name, text in files.items():
            git("update-index", "--add", "--cacheinfo", f"100644,{git('hash-object', '-w', '--stdin', text=text)},{name}")
        git("update-ref", "refs/heads/perfci-data", git("commit-tree", "-p", "perfci-data", "-m", "other", git("write-tree")))

    def test_what_is_no_store_is_refused(self):
        self.commit(100)
        self.git("branch", "code", cwd=self.repo)
        os.mkdir(self.path("full"))
        self.write("full/mine.txt", "mine\n")
        self.write("new/perfci-store.json", '{"format": "perfci-store", "version": 2}\n')
        self.write("other/perfci-store.json", '{"format": "other", "version": 1}\n')
        for spec, said in (("branch:code", "is no store of perfci"), ("branch:main", "the branch is checked out"),
                           ("branch:", "expected a branch"), ("branch:-x", "cannot be the name"), ("branch:a..b", "cannot be the name"),
                           ("branch:a b", "cannot be the name"), ("branch:" + "x" * 300, "expected a branch"),
                           (self.path("full"), "holds other files (mine.txt)"), (self.path("new"), "has version 2"),
                           (self.path("other"), 'expected "format"'), ("", "expected branch:NAME or a folder")):
            done = self.perfci("nightly", "--store", spec, cwd=self.repo)
            self.expect(done, 2)
            self.assertIn(said, done.stderr, spec)
        for args, said in ((("--jobs",), "exclude each other"), (("--url", "http://127.0.0.1:1"), "exclude each other")):
            done = self.perfci("nightly", "--store", self.SPEC, *args, cwd=self.repo)
            self.expect(done, 2)
            self.assertIn(said, done.stderr)
        done = self.perfci("nightly", "--store-remote", "origin", cwd=self.repo)
        self.expect(done, 2)
        self.assertIn("expected --store", done.stderr)
        self.assertEqual(self.measured(), 0)
        self.assertEqual(sorted(os.listdir(self.path("full"))), ["mine.txt"])

    def test_names_of_branches_do_not_meet(self):
        tip = self.commit(100)
        for name in ("a/b", "a%b", "a%2Fb"):
            self.store_night(spec=f"branch:{name}")
            self.assertEqual(self.git("log", "--format=%H", name, "--", cwd=self.repo).count("\n"), 0)
        self.assertEqual(len(os.listdir(self.path("repo/.git/perfci/store"))), 3)
        self.assertTrue(tip)

    def test_reports_are_written_without_a_service(self):
        self.began_store()
        slow = self.commit(110, files={"src/a.c": "int a;\n"})
        self.store_night("--report-junit", self.path("junit.xml"), "--report-sarif", self.path("s.sarif"), status=1)
        with open(self.path("s.sarif"), encoding="utf-8") as file:
            result, = json.load(file)["runs"][0]["results"]
        self.assertEqual(result["ruleId"], "performance-regression")
        self.assertIn(slow[:12], result["message"]["text"])
        with open(self.path("junit.xml"), encoding="utf-8") as file:
            self.assertIn("<failure", file.read())


class Folder(Case):
    def setUp(self):
        super().setUp()
        self.SPEC = self.path("history")

    def files(self, cwd=None):
        found = {}
        for folder, _, names in os.walk(self.SPEC):
            for name in names:
                if not name.startswith("."):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        found[os.path.relpath(os.path.join(folder, name), self.SPEC)] = file.read()
        return found

    def test_a_folder_holds_the_same_history(self):
        self.began_store()
        slow = self.commit(110)
        report = self.store_night(status=1)
        self.assertEqual([a["commit"] for a in report["alerts"]], [slow])
        self.assertEqual([a["commit"] for a in self.documents("alerts")], [slow])
        self.assertEqual(len(self.documents("runs")), 3)
        self.assertEqual(self.store_night()["commits"], [])

    def test_a_relative_folder_is_below_the_current_one(self):
        self.commit(100)
        self.store_night(spec="../history")
        self.assertEqual(len(self.documents("runs")), 1)

    def test_a_night_beside_another_is_refused(self):
        self.began_store()
        with open(self.path("history/.lock"), "r+", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertIn("uses the store", self.expect(self.perfci("nightly", "--store", self.SPEC, cwd=self.repo), 5).stderr)

    def test_links_are_not_followed(self):
        self.began_store()
        secret = self.write("secret", json.dumps({"secret": 1}))
        os.makedirs(self.path("history/runs/cd"), exist_ok=True)
        os.symlink(secret, self.path("history/runs/cd", "cd" * 16 + ".json"))
        self.store_night()
        self.assertNotIn("secret", self.stderr)

    def test_a_remote_needs_a_branch(self):
        self.commit(100)
        done = self.perfci("nightly", "--store", self.SPEC, "--store-remote", "origin", cwd=self.repo)
        self.assertIn("is a folder", self.expect(done, 2).stderr)


class Remote(Case):
    def setUp(self):
        super().setUp()
        self.remote = self.path("remote.git")
        self.git("init", "-q", "--bare", "-b", "main", self.remote, cwd=self.dir)
        self.git("remote", "add", "origin", self.remote, cwd=self.repo)

    def push_night(self, *args, **kwargs):
        return self.store_night("--store-remote", "origin", *args, **kwargs)

    def clone(self, name):
        self.git("push", "-q", "origin", "main", cwd=self.repo)
        self.git("clone", "-q", "--single-branch", "-b", "main", self.remote, self.path(name), cwd=self.dir)
        return self.path(name)

    def test_a_fresh_clone_goes_on_where_the_last_one_ended(self):
        self.commit(100)
        self.push_night()
        fine = self.commit(100.01)
        clone = self.clone("clone")
        report = self.push_night(cwd=clone)
        self.assertEqual([(c["id"], c["verdict"]) for c in report["commits"]], [(fine, "same")])
        self.assertEqual(self.git("rev-parse", "perfci-data", cwd=self.remote), self.git("rev-parse", "perfci-data", cwd=clone))
        self.assertEqual(len(self.documents("runs", cwd=self.remote)), 3)

    def test_nights_of_two_machines_are_joined(self):
        self.commit(100)
        self.push_night()
        self.commit(100.01)
        clone = self.clone("clone")
        # The other machine pushes while this one measures.
        other = f"test -e {self.path('raced')} || (touch {self.path('raced')}; cd {clone} && {support.PERFCI} nightly --config {self.path('plain.yaml')} "
        other += f"--work {self.path('other-work')} --store {self.SPEC} --store-remote origin) > {self.path('other.log')} 2>&1"
        self.write("plain.yaml", CONFIG)
        self.write("repo/perfci.yaml", CONFIG.replace("sh bench.sh", f"({other}); sh bench.sh"))
        self.push_night()
        self.assertTrue(os.path.exists(self.path("raced")), self.stderr)
        with open(self.path("other.log"), encoding="utf-8") as file:
            self.assertIn("1 of 1 new commits measured", file.read())
        self.assertEqual(len(self.documents("sessions", cwd=self.remote)), 2)
        self.assertEqual(len(self.documents("runs", cwd=self.remote)), 5)
        self.assertEqual(self.git("rev-parse", "perfci-data", cwd=self.remote), self.git("rev-parse", "perfci-data", cwd=self.repo))
        self.assertIn("5 runs", self.files(cwd=self.remote)["index.html"])

    def test_a_push_that_fails_is_said_in_one_sentence_and_loses_nothing(self):
        self.commit(100)
        self.push_night()
        self.commit(100.01)
        self.write("remote.git/hooks/pre-receive", "#!/bin/sh\necho no entry >&2\nexit 1\n", mode=0o755)
        report = self.push_night(status=5)
        self.assertEqual([c["verdict"] for c in report["commits"]], ["same"])
        said = [line for line in self.stderr.split("\n") if "push" in line]
        self.assertEqual(len(said), 2, self.stderr)
        self.assertIn('git push "origin" failed', said[0])
        self.assertEqual(len(self.documents("runs")), 3)
        # The next night sends it.
        os.unlink(self.path("remote.git/hooks/pre-receive"))
        self.push_night()
        self.assertEqual(len(self.documents("runs", cwd=self.remote)), 3)

    def test_a_remote_that_cannot_be_reached_ends_the_night_before_it_measures(self):
        self.commit(100)
        for remote, status in ((self.path("nowhere.git"), 5), ("--upload-pack=touch x", 2), ("", 2)):
            done = self.perfci("nightly", "--store", self.SPEC, f"--store-remote={remote}", cwd=self.repo)
            self.expect(done, status)
        self.assertEqual(self.measured(), 0)
        shutil.rmtree(self.remote)

    def test_a_token_in_the_address_is_not_printed(self):
        self.commit(100)
        done = self.perfci("nightly", "--store", self.SPEC, "--store-remote", "http://me:s3cret@127.0.0.1:1/r.git", cwd=self.repo)
        self.expect(done, 5)
        self.assertIn('git ls-remote "http://127.0.0.1:1/r.git" failed', done.stderr)
        self.assertNotIn("s3cret", done.stderr)

    def test_a_branch_of_code_at_the_remote_is_refused(self):
        self.commit(100)
        self.git("push", "-q", "origin", "main:perfci-data", cwd=self.repo)
        done = self.perfci("nightly", "--store", self.SPEC, "--store-remote", "origin", cwd=self.repo)
        self.assertIn("is no store of perfci", self.expect(done, 2).stderr)


class Triage(Case):
    def triage(self, *args, status=0, spec=None):
        done = self.perfci("triage", "--store", spec or self.SPEC, *args, cwd=self.repo, env={"USER": "ann"})
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def listed(self):
        return json.loads(self.triage("--json").stdout)

    def page(self):
        return self.files()["index.html"]

    def test_a_decision_counts_in_the_next_night_and_on_the_page(self):
        self.began_store()
        slow = self.commit(110)
        self.store_night(status=1)
        self.assertEqual([(a["id"], a["commit"], a["state"]) for a in self.listed()["alerts"]], [(1, slow, "open")])
        self.assertIn("on record", self.listed()["standing"]["sentence"])
        before = self.files()
        self.triage("accept", "1", "--reason", "agreed <b> in #81")
        after = self.files()
        self.assertEqual({name: after[name] for name in before if name != "index.html"},
                         {name: text for name, text in before.items() if name != "index.html"}, "files are only added")
        decision, = self.documents("triage")
        self.assertEqual((decision["state"], decision["reason"], decision["by"]), ("accepted", "agreed <b> in #81", "ann"))
        self.assertIn("accepted: agreed &lt;b&gt; in #81", self.page())
        self.assertIn("perfci triage: accept 1", self.branch("log", "-1", "--format=%s", "perfci-data"))
        self.commit(110.01)
        report = self.store_night()
        self.assertEqual(report["standing"], {"sentence": "No regression is open; 1 on record is triaged.", "regressions": 0})
        self.assertEqual(report["alerts"], [], "it is not announced again")
        again = self.commit(121)
        report = self.store_night(status=1)
        self.assertEqual([a["commit"] for a in report["alerts"]], [again], "the next one is")
        self.assertEqual(report["standing"]["regressions"], 1)
        self.assertRegex(report["standing"]["sentence"], f"^1 regression is open, the newest at {again[:12]} .* 1 more is triaged.$")

    def test_the_newest_decision_counts(self):
        self.began_store()
        self.commit(110)
        self.store_night(status=1)
        for verb, state in (("noise", "noise"), ("fixed", "fixed"), ("reopen", "open"), ("accept", "accepted")):
            self.triage(verb, "1", "--reason", verb)
            self.assertEqual([a["state"] for a in self.listed()["alerts"]], [state])
        self.assertEqual(len(self.documents("triage")), 4)
        self.assertIn("accepted", self.triage().stdout)

    def test_what_cannot_be_decided_changes_nothing(self):
        self.began_store()
        self.commit(110)
        self.store_night(status=1)
        tip = self.branch("rev-parse", "perfci-data")
        for args, sentence in ((("accept", "2", "--reason", "x"), "no regression 2 is on record"), (("accept", "1"), "expected --reason TEXT"),
                               (("accept", "--reason", "x"), "expected the regression's number"), (("drop", "1", "--reason", "x"), "accept"),
                               (("accept", "0", "--reason", "x"), "0"), (("accept", "1", "--reason", "x" * 5000), "reason")):
            with self.subTest(args=args[:3]):
                self.assertIn(sentence, self.triage(*args, status=2).stderr)
        self.assertEqual(self.branch("rev-parse", "perfci-data"), tip)

    def test_a_broken_decision_is_named_and_the_alert_stays_open(self):
        self.began_store()
        self.commit(110)
        self.store_night(status=1)
        Branch.add_files(self, {"triage/ab/" + "ab" * 16 + ".json": json.dumps({"id": "ab" * 16, "alert": "x", "state": "gone", "reason": "r",
                                                                               "by": "", "at": "2026-01-01T00:00:00Z"})})
        done = self.triage("--json")
        self.assertIn("expected accepted, noise, fixed or open", done.stderr)
        self.assertEqual([a["state"] for a in json.loads(done.stdout)["alerts"]], ["open"])


class Push(Case):
    def push(self, name, commit, value, *args, status=0, metric="cycles"):
        path = self.write(name, json.dumps({"metrics": {metric: value}}))
        return self.expect(self.perfci("push", "--store", self.SPEC, "--commit", commit, "--direction", f"{metric}=lower", *args, path,
                                       cwd=self.repo), status)

    def values(self):
        """{commit: value} of the page's table, the newest first."""
        return re.findall(r"<tr><td class=\"k\">([0-9a-f]{12})</td><td class=\"n\">([^<]*)</td>", self.files()["index.html"])

    def test_old_results_take_their_place_in_the_order_of_git(self):
        commits = [self.commit(100 + i) for i in range(4)]
        for at in (3, 0, 2, 1):
            self.push(f"{at}.json", commits[at], 10 + at)
        self.assertEqual(self.values(), [(c[:12], str(10 + i)) for i, c in reversed(list(enumerate(commits)))])
        count = len(self.files())
        done = self.push("3.json", commits[3], 13)
        self.assertIn("before", done.stdout)
        self.assertEqual(len(self.files()), count)

    def test_a_commit_of_no_history_is_refused(self):
        self.commit(100)
        self.assertIn("f" * 40, self.push("a.json", "f" * 40, 1, status=2).stderr)

    def test_names_of_others_are_escaped_on_the_page(self):
        tip = self.commit(100)
        self.push("a.json", tip, 1, metric=HOSTILE)
        page = self.files()["index.html"]
        self.assertNotIn("<img", page)
        self.assertIn("&lt;img src=x", page)


class Page(Case):
    def test_it_is_self_contained_and_the_same_for_the_same_history(self):
        self.began_store()
        self.commit(110)
        self.store_night(status=1)
        page, tip = self.files()["index.html"], self.branch("rev-parse", "perfci-data")
        self.assertNotRegex(page, r"(?i)<script|<link|<img|<iframe|@import|url\(|\ssrc=|href=\"(?!#)|https?:")
        self.assertIn("default-src 'none'", page)
        self.assertIn("prefers-color-scheme:dark", page)
        self.assertEqual(page.count("<svg"), 1)
        self.store_night()
        self.assertEqual(self.branch("rev-parse", "perfci-data"), tip)


if __name__ == "__main__":
    support.main()
