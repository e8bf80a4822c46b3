"""Which perfci.yaml counts, that nothing is measured without one, and that --filter and --backend choose in every source."""

import http.server
import json
import os
import re
import shutil
import threading

import support

# Three benchmarks, one of them on two backends, as Google Benchmark would print them and as a run document has them.
MANY = """#!/bin/sh
v=$(cat value)
cat <<END
BenchmarkFast-2   100  $v ns/op
BenchmarkSlow-2   100  ${v}0 ns/op
END
"""


class Service(http.server.ThreadingHTTPServer):
    """The requests of nightly and repro."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.runs, self.bodies, self.alert, self.refuse = [], [], {}, False
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def answer(self, doc, status=200):
        text = json.dumps(doc).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        if self.path.startswith("/api/v1/alerts/"):
            return self.answer(self.server.alert)
        if self.path.startswith("/api/v1/alerts"):
            return self.answer({"alerts": []})
        if self.path.startswith("/api/v1/stats"):
            return self.answer({"detection_lag_s": 0})
        if self.path.startswith("/api/v1/bisections/"):
            return self.answer({"id": 1, "state": "done", "verdict": "no-regression", "culprits": [], "steps": []})
        if self.path.startswith("/api/v1/jobs/"):
            return self.answer({"id": 1, "state": "done"})
        return self.answer({"runs": [], "name": "small", "repo_url": None, "branch": "main"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
        if self.path.startswith("/api/v1/runs"):
            self.server.runs.append(body)
        self.server.bodies.append((self.path, body))
        if self.server.refuse and "config" in body:
            return self.answer({"error": {"message": "config: takes a token of scope admin"}}, 403)
        self.answer({"id": 1, "run_id": 1, "new": 0, "name": "small", "stored": 0})


class Repository(support.Case):
    """Commits `none` (no perfci.yaml), `old` and `new`, whose committed perfci.yaml name their number after themselves."""

    def setUp(self):
        super().setUp()
        self.repo = self.path("repo")
        os.mkdir(self.repo)
        self.git("init", "-q", "-b", "main", cwd=self.repo)
        self.write("repo/many.sh", MANY, 0o755)
        self.commit("none", 100)
        for tag in ("old", "new"):
            self.config(tag)
            self.commit(tag, 100)

    def config(self, metric, name="repo/perfci.yaml"):
        return self.write(name, f"project: small\nmeasure: cat value\nmetric: {metric}\nbetter: lower\n")

    def commit(self, tag, value):
        self.write("repo/value", f"{value}\n")
        self.write("repo/notes", f"{tag}\n")
        self.git("add", "-A", cwd=self.repo)
        self.git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", tag, cwd=self.repo)
        self.git("tag", tag, cwd=self.repo)
        return self.git("rev-parse", "HEAD", cwd=self.repo)

    def here(self, *args, **more):
        return self.perfci(*args, cwd=self.repo, **more)

    def serve(self):
        service = Service()
        threading.Thread(target=service.serve_forever, daemon=True).start()
        self.addCleanup(service.server_close)
        self.addCleanup(service.shutdown)
        return service


class WhichCounts(Repository):
    # Each measures, and --quiet is not given, so that each says what.
    COMMANDS = (("run", "--repeats", "1"), ("run", "--commit", "new", "--repeats", "1"),
                ("compare", "old", "new", "--rounds", "1"), ("check", "--base", "old", "--rounds", "1"),
                ("bisect", "--good", "old", "--bad", "new", "--max-runs", "4", "--no-confirm"))

    def said(self, done):
        self.assertIn(done.returncode, (0, 3), done.stderr)
        lines = [line for line in done.stderr.splitlines() if line.startswith("config: ")]
        self.assertEqual(len(lines), 1, done.stderr)
        return re.fullmatch(r"config: (.*); measure: (.*); metric: (.*)", lines[0]).groups()

    def test_the_working_trees_counts_also_when_it_was_not_committed(self):
        path = self.config("tree")
        for command in self.COMMANDS:
            with self.subTest(command):
                self.assertEqual(self.said(self.here(*command)), (path, "cat value", "tree"))

    def test_the_one_that_config_names_counts_before_it(self):
        self.config("tree")
        path = self.config("named", "named.yaml")
        for command in self.COMMANDS:
            with self.subTest(command):
                self.assertEqual(self.said(self.here(*command, "--config", path)), (path, "cat value", "named"))
        self.assertIn("nowhere.yaml", self.expect(self.here("run", "--config", "nowhere.yaml"), 2).stderr)

    def test_without_one_in_the_working_tree_the_newest_commits_counts(self):
        os.remove(self.path("repo/perfci.yaml"))
        new = self.git("rev-parse", "new", cwd=self.repo)[:12]
        for command in self.COMMANDS:
            with self.subTest(command):
                self.assertEqual(self.said(self.here(*command)), (f"perfci.yaml@{new}", "cat value", "new"))
        old = self.git("rev-parse", "old", cwd=self.repo)[:12]
        self.assertEqual(self.said(self.here("compare", "none", "old", "--rounds", "1"))[0], f"perfci.yaml@{old}")

    def test_of_a_range_whose_end_has_none_the_newest_that_has_one_counts(self):
        os.remove(self.path("repo/perfci.yaml"))
        self.commit("gone", 100)
        new = self.git("rev-parse", "new", cwd=self.repo)[:12]
        for command in (("compare", "old", "gone", "--rounds", "1"), self.COMMANDS[4]):
            command = [word.replace("new", "gone") for word in command]
            self.assertEqual(self.said(self.here(*command))[0], f"perfci.yaml@{new}")

    def test_quiet_and_json_leave_stdout_to_the_results(self):
        self.assertNotIn("config:", self.here("run", "--quiet").stderr)
        done = self.here("run", "--json")
        self.assertIn("config: ", done.stderr)
        json.loads(done.stdout)

    def test_what_a_file_holds_does_not_reach_the_terminal_as_control_characters(self):
        self.write("repo/perfci.yaml", 'measure: "echo 1 \\e]0;x\\a\\nexit 0"\n')
        done = self.here("run")
        self.assertIn("config: ", done.stderr)
        self.assertNotRegex(done.stderr, "[\x00-\x09\x0b-\x1f]")


class PullRequest(Repository):
    """In the CI job of a pull request the base branch's file counts: its author must not choose the command."""

    def setUp(self):
        super().setUp()
        self.git("checkout", "-q", "-b", "topic", cwd=self.repo)
        self.write("repo/perfci.yaml", "measure: echo 1\nmetric: own\n")
        self.commit("own", 100)

    def check(self, base, *args):
        return self.here("check", "--base", base, "--rounds", "1", *args, env={"GITHUB_BASE_REF": "main"})

    def test_the_base_branchs_counts(self):
        main = self.git("rev-parse", "main", cwd=self.repo)[:12]
        self.assertIn(f"config: perfci.yaml@{main}; measure: cat value; metric: new", self.check("main").stderr)
        # Outside such a job it is the working tree's.
        self.assertIn("measure: echo 1", self.here("check", "--base", "main", "--rounds", "1").stderr)

    def test_a_base_branch_without_one_is_said(self):
        done = self.expect(self.check("none"), 2)
        self.assertIn("for a pull request perfci.yaml of the base branch counts, and none has none", done.stderr)
        self.assertIn("metric: own", self.check("none", "--config", "perfci.yaml").stderr)


class Bare(Repository):
    """A clone without a working tree, as a nightly job has it."""

    def setUp(self):
        super().setUp()
        self.bare = self.path("clone.git")
        self.git("clone", "-q", "--bare", self.repo, self.bare, cwd=self.dir)
        self.new = self.git("rev-parse", "new", cwd=self.repo)

    def test_run_reads_the_commits_file(self):
        done = self.perfci("run", "--commit", "old", "--repeats", "1", "--json", cwd=self.bare)
        doc = self.json_of(done)
        self.assertEqual([m["metric"] for m in doc["measurements"] if m["benchmark"] != "canary"], ["old"])
        self.assertIn("config: perfci.yaml@", done.stderr)

    def test_nightly_reads_the_newest_commits_file(self):
        service = self.serve()
        done = self.perfci("nightly", "--url", service.url, "--repeats", "1", cwd=self.bare)
        self.assertIn(f"config: perfci.yaml@{self.new[:12]}; measure: cat value; metric: new", done.stderr)
        run, = service.runs
        self.assertEqual((run["commit"], [m["metric"] for m in run["measurements"] if m["benchmark"] != "canary"]), (self.new, ["new"]))

    def test_a_commit_without_one_is_not_measured_by_the_built_in_suite(self):
        done = self.expect(self.perfci("run", "--commit", "none", cwd=self.bare), 2)
        self.assertIn("nothing to measure: no perfci.yaml", done.stderr)


class Sent(Repository):
    """Runners read perfci.yaml of the branch: another one here goes with the jobs."""

    COMMANDS = (("bisect", "--remote", "--good", "old", "--bad", "new"), ("nightly", "--jobs"))

    def sent(self, service, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        return [body.get("config") for path, body in service.bodies if path in ("/api/v1/bisections", "/api/v1/jobs")]

    def test_what_the_branch_has_is_not_sent(self):
        for command in self.COMMANDS:
            service = self.serve()
            done = self.here(*command, "--url", service.url)
            self.assertEqual(self.sent(service, done), [None])
            self.assertIn("; measure: cat value; metric: new", done.stderr)
            self.assertNotIn("sent", done.stderr)

    def test_an_uncommitted_file_is_sent_and_so_is_the_one_that_config_names(self):
        self.config("tree")
        named = self.config("named", "named.yaml")
        for command in self.COMMANDS:
            for metric, flags in ("tree", ()), ("named", ("--config", named)):
                service = self.serve()
                done = self.here(*command, *flags, "--url", service.url)
                self.assertEqual(self.sent(service, done), [f"project: small\nmeasure: cat value\nmetric: {metric}\nbetter: lower\n"])
                self.assertIn(" (sent with the jobs); measure: cat value; metric: " + metric, done.stderr)

    def test_a_service_that_does_not_take_it_leaves_the_next_step(self):
        self.config("tree")
        service = self.serve()
        service.refuse = True
        for command in self.COMMANDS:
            done = self.expect(self.here(*command, "--url", service.url), 2)
            self.assertIn("scope admin", done.stderr)
            self.assertIn("hint: commit this perfci.yaml", done.stderr)

    def test_a_nightlys_jobs_name_the_requested_benchmarks(self):
        service = self.serve()
        self.expect(self.here("nightly", "--jobs", "--filter", "^gemm", "--backend", "cpu", "--url", service.url), 0)
        job, = [body for path, body in service.bodies if path == "/api/v1/jobs"]
        self.assertEqual((job["filter"], job["backends"]), ("^gemm", ["cpu"]))

    def test_commands_of_the_command_line_are_for_a_search_from_here(self):
        self.assertIn("--config FILE", self.expect(self.here(*self.COMMANDS[0], "--measure", "./x"), 2).stderr)


class Nothing(Repository):
    """Without a benchmark there is no measurement."""

    def test_every_command_that_measures_says_what_to_write(self):
        self.git("rm", "-q", "perfci.yaml", cwd=self.repo)
        self.commit("a", 1)
        self.commit("b", 1)
        for command in (("run",), ("run", "--commit", "b"), ("run", "--filter", "gemm"), ("compare", "a", "b"),
                        ("check", "--base", "a"), ("nightly", "--url", "http://127.0.0.1:9"),
                        ("bisect", "--good", "a", "--bad", "b", "--metric", "gemm_tflops")):
            with self.subTest(command):
                done = self.expect(self.here(*command), 2)
                self.assertIn("nothing to measure", done.stderr)
                for word in ("perfci init", "measure: ", "--suite quick"):
                    self.assertIn(word, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_a_file_without_a_benchmark_is_named(self):
        path = self.write("repo/perfci.yaml", "project: small\n")
        self.assertIn(path, self.expect(self.here("run"), 2).stderr)

    def test_outside_any_repository_too(self):
        self.expect(self.perfci("run", cwd=self.dir), 2)

    def test_the_suite_is_measured_when_it_is_asked_for(self):
        os.remove(self.path("repo/perfci.yaml"))
        self.write("repo/tiny.yaml", "suite: tiny\nsettings: {warmup_seconds: 0.001}\nbackends: [cpu-scalar]\n"
                   "benchmarks:\n  - {op: gemm, shapes: [{m: 8, n: 8, k: 8}]}\n")
        done = self.here("run", "--suite", "tiny.yaml", "--json")
        self.assertIn("gemm/f32/m8n8k8", [m["benchmark"] for m in self.json_of(done)["measurements"]])
        self.assertIn("suite: tiny.yaml; metric: every one in the output", done.stderr)


class Choosing(Repository):
    """--filter and --backend, whatever measures."""

    def setUp(self):
        super().setUp()
        self.write("repo/perfci.yaml", "project: small\nmeasure: ./many.sh\n")
        self.commit("before", 100)
        self.commit("after", 120)

    def names(self, doc):
        return {m["benchmark"] for m in doc.get("measurements", doc.get("rows"))} - {"canary"}

    def test_a_commands_output(self):
        self.assertEqual(self.names(self.json_of(self.here("run", "--filter", "Slow", "--json"))), {"BenchmarkSlow-2"})
        self.assertEqual(len(self.names(self.json_of(self.here("run", "--json")))), 2)

    def test_comparisons_of_revisions_and_of_files(self):
        files = []
        for tag in ("before", "after"):
            files.append(self.path(tag + ".json"))
            self.expect(self.here("run", "--commit", tag, "--out", files[-1], "--repeats", "8"), 0)
        for sides, status in ((("before", "after"), (0, 1, 3)), (files, (0, 1, 3)),):
            done = self.here("compare", *sides, "--filter", "Fast", "--json")
            self.assertIn(done.returncode, status, done.stderr)
            self.assertEqual(self.names(json.loads(done.stdout)), {"BenchmarkFast-2"})

    def test_a_bisection(self):
        done = self.here("bisect", "--good", "before", "--bad", "after", "--filter", "Fast", "--metric", "time_ns", "--json")
        self.assertEqual(self.json_of(done, 1)["culprits"][0]["commits"],
                         [self.git("rev-parse", "after", cwd=self.repo)])

    def test_one_that_fits_nothing_names_what_there_is(self):
        for command in (("run",), ("compare", "before", "after"), ("check", "--base", "before"),
                        ("bisect", "--good", "before", "--bad", "after", "--metric", "time_ns")):
            with self.subTest(command):
                done = self.expect(self.here(*command, "--filter", "nosuch"), 2)
                self.assertIn('no benchmark fits --filter "nosuch"', done.stderr)
                self.assertIn("BenchmarkFast-2", done.stderr)
        for flag in ("--filter", "["), ("--backend", "abacus"):
            self.assertIn(flag[1], self.expect(self.here("run", *flag), 2).stderr)
        done = self.here("run", "--suite", "quick", "--filter", "nosuch")
        self.assertIn("gemm/", self.expect(done, 2).stderr)

    def test_repro_of_an_alert_measures_the_projects_command(self):
        service = self.serve()
        after = self.git("rev-parse", "after", cwd=self.repo)
        service.alert = {"id": 7, "culprit": after, "benchmark": "BenchmarkSlow-2", "backend": "", "metric": "time_ns"}
        done = self.here("repro", "alert:7", "--url", service.url, "--json")
        self.assertIn(done.returncode, (0, 1, 3), done.stderr)
        doc = json.loads(done.stdout)
        self.assertEqual((self.names(doc), doc["b"]["name"]), ({"BenchmarkSlow-2"}, after))
        self.assertIn("measure: ./many.sh", done.stderr)
        # The printed command can be typed.
        line = self.expect(self.here("repro", "7", "--url", service.url, "--print"), 0).stdout.strip()
        typed = support.subprocess.run(line.replace("perfci", support.PERFCI, 1) + " --json", shell=True, cwd=self.repo,
                                       env=self.env, capture_output=True, text=True, check=False)
        self.assertEqual(self.names(json.loads(typed.stdout)), {"BenchmarkSlow-2"})

    def test_the_comments_line_makes_the_comparison_again_as_it_is_printed(self):
        self.git("checkout", "-q", "-b", "topic", cwd=self.repo)
        self.commit("slow", 150)
        flags = ["--filter", "Fast|it's", "--margin", "0.02", "--rounds", "3"]
        made = self.here("check", "--base", "after", *flags, "--json")
        comment = self.expect(self.here("comment", "--dry-run", text=made.stdout), 0).stdout
        line, = re.findall(r"Reproduce:\n\n```\w*\n(.*)\n```", comment)
        self.assertTrue(line.startswith("perfci compare "), line)
        again = support.subprocess.run(line.replace("perfci", support.PERFCI, 1) + " --json", shell=True, cwd=self.repo,
                                       env=self.env, capture_output=True, text=True, check=False)
        made, again = json.loads(made.stdout), json.loads(again.stdout)
        for key in "a", "b", "repeat":
            self.assertEqual(made[key], again[key])
        self.assertEqual((self.names(again), again["rounds"]), ({"BenchmarkFast-2"}, 3))

    def test_what_a_comment_prints_to_be_typed_is_a_comparison_and_runs_nothing_else(self):
        made = self.json_of(self.here("compare", "before", "after", "--rounds", "1", "--json"), None)
        for repeat, line in ((["perfci", "compare", "a", "b", "--measure", "rm -rf x", "--suite", "q"], "\nperfci compare a b --measure 'rm -rf x' --suite q\n"),
                             (["rm", "-rf", "a", "b"], f"\nperfci compare {made['a']['name']} {made['b']['name']}\n"),
                             (["perfci", "compare", "$(x)", "b"], "\nperfci compare '$(x)' b\n"),
                             (["perfci", "compare", "--measure", "b"], "\nperfci compare " + made["a"]["name"]),
                             (["perfci", "compare", "a`b", "c"], "\nperfci compare 'a`b' c\n"), (["perfci", "compare", "a\x07b", "c"], None)):
            body = self.expect(self.here("comment", "--dry-run", text=json.dumps({**made, "repeat": repeat})), 0).stdout
            self.assertNotIn("rm -rf", body.replace("--measure 'rm -rf x'", ""))  # one quoted word, seen before it is typed
            if line:
                self.assertIn(line, body)
            else:
                self.assertNotIn("Reproduce", body)


if __name__ == "__main__":
    support.main()
