"""perfci comment: what it writes, and that a pull request has one of it, tried against a stand-in for GitHub."""

import contextlib
import http.server
import json
import os
import threading

import support


class GitHub(http.server.ThreadingHTTPServer):
    """Keeps the comments of pull requests as GitHub's REST API shows them."""

    def __init__(self, token):
        super().__init__(("127.0.0.1", 0), Handler)
        self.token = token
        self.comments = []  # {"id", "issue", "body"}
        self.calls = []
        self.status = None  # answer this to everything
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def add(self, issue, body):
        self.comments.append({"id": 1000 + len(self.comments), "issue": issue, "body": body})
        return self.comments[-1]


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def answer(self, status, doc, headers=()):
        text = json.dumps(doc).encode()
        self.send_response(status)
        for name in headers:
            self.send_header(name, headers[name])
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def shown(self, c):
        return {"id": c["id"], "body": c["body"], "user": {"login": "ann", "id": 2} if c.get("foreign") else {"login": "bot", "id": 1},
                "html_url": f"{self.server.url}/me/kernels/pull/{c['issue']}#issuecomment-{c['id']}"}

    def handle_call(self):
        path, _, query = self.path.partition("?")
        length = int(self.headers.get("Content-Length") or 0)
        doc = json.loads(self.rfile.read(length)) if length else None
        parts = path.strip("/").split("/")
        self.server.calls.append((self.command, path))
        if self.server.status:
            return self.answer(self.server.status, {"message": "no"})
        if self.headers.get("Authorization") != f"Bearer {self.server.token}":
            return self.answer(401, {"message": "Bad credentials"})
        if parts == ["user"]:
            return self.answer(200, {"login": "bot", "id": 1})
        if parts[:4] == ["repos", "me", "kernels", "issues"] and parts[5:] == ["comments"]:
            issue = int(parts[4])
            if self.command == "POST":
                return self.answer(201, self.shown(self.server.add(issue, doc["body"])))
            asked = dict(pair.split("=") for pair in query.split("&") if pair)
            size, page = int(asked.get("per_page", 30)), int(asked.get("page", 1))
            mine = [self.shown(c) for c in self.server.comments if c["issue"] == issue]
            more = {"Link": f'<{self.server.url}{path}?per_page={size}&page={page + 1}>; rel="next"'} if page * size < len(mine) else {}
            return self.answer(200, mine[(page - 1) * size:page * size], more)
        if parts[:5] == ["repos", "me", "kernels", "issues", "comments"] and self.command == "PATCH":
            for c in self.server.comments:
                if c["id"] == int(parts[5]):
                    if c.get("foreign"):
                        return self.answer(403, {"message": "Must have write access"})
                    c["body"] = doc["body"]
                    return self.answer(200, self.shown(c))
        return self.answer(404, {"message": "Not Found"})

    do_GET = do_POST = do_PATCH = handle_call


def row(name, verdict, change, **more):
    return {"benchmark": name, "metric": "time_ns", "backend": "cpu-avx2", "unit": "ns", "direction": "lower",
            "a": {"median": 100.0, "low": 99.0, "high": 101.0, "n": 10},
            "b": {"median": 100 * (1 + change), "low": 99.0, "high": 130.0, "n": 10},
            "rel_change": change, "rel_low": change - 0.01, "rel_high": change + 0.01, "p": 1e-5, "noise_rel": 0.004,
            "verdict": verdict, **more}


def comparison(*rows):
    return json.dumps({"a": {"name": "1" * 40}, "b": {"name": "2" * 40}, "rows": list(rows), "only_a": 0, "only_b": 0})


SLOWER = comparison(row("gemm/f32", "regression", 0.12), row("norm/f32", "same", 0.001))
FINE = comparison(row("gemm/f32", "same", 0.002), row("norm/f32", "same", 0.001))


@contextlib.contextmanager
def serving(token):
    """The stand-in, answering until the block ends."""
    github = GitHub(token)
    thread = threading.Thread(target=github.serve_forever, daemon=True)
    thread.start()
    try:
        yield github
    finally:
        github.shutdown()
        github.server_close()
        thread.join()


class Comment(support.Case):
    def setUp(self):
        super().setUp()
        stand_in = serving("s3cret-token")
        self.github = stand_in.__enter__()
        self.addCleanup(stand_in.__exit__, None, None, None)
        self.token = self.write("token", "s3cret-token\n", 0o600)

    def comment(self, text, *more, number="7"):
        return self.perfci("comment", "--repo", "me/kernels", "--pr", number, "--api-url", self.github.url,
                           "--token-file", self.token, *more, text=text)

    def test_the_first_creates_and_the_next_edits_the_same_one(self):
        self.github.add(7, "a person says <!-- perfci:pull-request --> is a nice marker")
        answer = self.json_of(self.comment(SLOWER, "--json"))
        self.assertTrue(answer["created"])
        self.assertIn("/pull/7#issuecomment-1001", answer["url"])
        self.assertIn("1 regression", self.github.comments[1]["body"])
        answer = self.json_of(self.comment(FINE, "--json"))
        self.assertFalse(answer["created"])
        self.assertEqual(len(self.github.comments), 2)
        self.assertIn("No change", self.github.comments[1]["body"])
        self.assertNotIn("regression", self.github.comments[1]["body"].split("<details>")[0])
        self.assertIn("a person says", self.github.comments[0]["body"])

    def test_a_token_file_that_everybody_may_read_is_a_warning(self):
        for mode, warned in ((0o600, False), (0o640, False), (0o644, True)):
            os.chmod(self.token, mode)
            done = self.comment(FINE)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("world-readable; expected no access for others" in done.stderr, warned, done.stderr)
            self.assertNotIn("s3cret", done.stderr)

    def test_a_foreign_comment_with_our_marker_is_skipped(self):
        self.github.add(7, "<!-- perfci:pull-request -->\nmine, now")["foreign"] = True
        self.assertTrue(self.json_of(self.comment(SLOWER, "--json"))["created"])
        self.assertFalse(self.json_of(self.comment(FINE, "--json"))["created"])
        self.assertEqual(len(self.github.comments), 2)
        self.assertIn("mine, now", self.github.comments[0]["body"])

    def test_pull_requests_and_keys_have_comments_of_their_own(self):
        self.expect(self.comment(SLOWER), 0)
        self.expect(self.comment(SLOWER, number="8"), 0)
        self.expect(self.comment(SLOWER, "--key", "nightly"), 0)
        self.expect(self.comment(FINE, "--key", "nightly"), 0)
        self.assertEqual([c["issue"] for c in self.github.comments], [7, 8, 7])

    def test_ours_is_found_behind_many_others(self):
        for i in range(230):
            self.github.add(7, f"talk {i}")
        self.expect(self.comment(SLOWER), 0)
        self.expect(self.comment(FINE), 0)
        self.assertEqual(len(self.github.comments), 231)

    def test_the_token_may_come_from_the_environment_and_is_never_shown(self):
        done = self.perfci("comment", "--repo", "me/kernels", "--pr", "7", "--api-url", self.github.url, text=SLOWER,
                           env={"GITHUB_TOKEN": "s3cret-token"})
        self.expect(done, 0)
        self.github.token = "another"
        done = self.comment(SLOWER)
        self.assertIn(done.returncode, (2, 5))
        self.assertIn("token", done.stderr)
        self.assertNotIn("s3cret", done.stderr + done.stdout)

    def test_failures_are_one_sentence_and_a_status(self):
        self.assertIn("no token", self.expect(self.perfci("comment", "--repo", "me/kernels", "--pr", "7", text=FINE), 2).stderr)
        self.expect(self.comment(FINE, "--repo", "../x"), 2)
        self.expect(self.comment("{}"), 2)
        self.expect(self.comment("[1, 2"), 2)
        self.github.status = 500
        done = self.expect(self.comment(FINE), 5)
        self.assertRegex(done.stderr, r"\Aperfci comment: .+\nhint: .+\n\Z")
        self.assertNotIn("Traceback", done.stderr)

    def test_the_verdict_stands_first_and_the_evidence_is_folded(self):
        done = self.expect(self.perfci("comment", "--dry-run", text=SLOWER), 0)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "<!-- perfci:pull-request -->")
        self.assertIn("1 regression, the largest +12.0 %", lines[1])
        head, folded = done.stdout.split("<details>")
        self.assertIn("gemm/f32", head)
        self.assertNotIn("norm/f32", head)
        self.assertIn("norm/f32", folded)
        self.assertIn("perfci compare " + "1" * 40 + " " + "2" * 40, done.stdout)
        self.assertEqual(self.github.calls, [])

    def test_a_secondary_metric_decides_nothing_and_is_folded(self):
        text = comparison(row("gemm/f32", "regression", 0.12), row("gemm/wall", "regression", 0.5, secondary=True),
                          row("gemm/rss", "broken", 0, secondary=True))
        done = self.expect(self.perfci("comment", "--dry-run", "--exit-status", text=text), 1)
        head, folded = done.stdout.split("<details>")
        self.assertIn("1 regression, the largest +12.0 %", head)
        self.assertIn("2 others:", folded)
        self.assertTrue("gemm/wall" not in head and "gemm/wall" in folded and "gemm/rss" in folded, done.stdout)
        text = comparison(row("gemm/f32", "same", 0), row("gemm/wall", "regression", 0.5, secondary=True))
        done = self.expect(self.perfci("comment", "--dry-run", "--exit-status", text=text), 0)
        self.assertNotIn("regression", done.stdout.split("<details>")[0])

    def test_an_explanation_is_folded(self):
        explanation = {"claim": "gemm/f32 on accel:pfc-server: cycles changed from 100 cycles to 150 cycles (+50.0 %), regression", "benchmark": "gemm/f32",
                       "unit": "cycles", "delta": 50.0, "limiter": {"before": "compute", "after": None}, "total": {"same_stream": True},
                       "contributions": [{"resource": "memory", "phase": "load_a", "value": 60.0}, {"resource": None, "phase": "total", "value": -10.0}],
                       "causes": [{"text": "The chip has \"hbm_mbps 800\" instead of \"hbm_mbps 1600\"."}],
                       "guidance": [{"change": "Use larger tiles.", "gain": 0.125, "low": 0.05, "high": 0.2}]}

        def folded(**more):
            document = {**json.loads(SLOWER), "explanation": {**explanation, **more}}
            return self.expect(self.perfci("comment", "--dry-run", text=json.dumps(document)), 0).stdout

        out = folded()
        head, section, rest = out.split("<details>", 2)
        self.assertIn("gemm/f32", head)
        for line in ("<summary>Explanation of gemm/f32: limiter before compute, after inconclusive</summary>", "| memory | load\\_a | +60 cycles | 120.0 % |",
                     "| not known | total | -10 cycles | -20.0 % |", "- The command streams are identical: the cause is the chip's file or the simulator.",
                     "- Use larger tiles. 12.5 % (5.0 to 20.0 %)"):
            self.assertIn(line, section)
        self.assertIn("hbm", section)
        self.assertIn("</details>", section)
        self.assertIn("1 other: ", rest)
        part = {"resource": "dma", "phase": "x", "value": 1.0}
        self.assertIn("\n4 smaller contributions not shown.\n", folded(contributions=[part] * 12))
        # Without contributions there is nothing to say.
        plain = self.expect(self.perfci("comment", "--dry-run", text=SLOWER), 0).stdout
        self.assertEqual(folded(contributions=[]), plain)
        nasty = "</details><script>alert(1)</script> @everyone [a](javascript:b) | `x`\n\n# head"
        out = folded(claim=nasty, benchmark=nasty, unit=nasty, causes=[{"text": nasty}], guidance=[{"change": nasty}],
                     contributions=[{"resource": nasty, "phase": nasty, "value": 1e308}], limiter={"before": nasty, "after": 7})
        self.assertEqual(out.count("</details>"), 2, out)
        for bad in ("<script", "@everyone", "[a](", "\n# head"):
            self.assertNotIn(bad, out)
        for value in (7, [], {"contributions": 7}, {"contributions": [7, None, {}]}, {"contributions": [part], "guidance": [1], "causes": {}, "limiter": []}):
            document = {**json.loads(SLOWER), "explanation": value}
            out = self.expect(self.perfci("comment", "--dry-run", text=json.dumps(document)), 0).stdout
            self.assertEqual(out.count("<details>"), out.count("</details>"))
        # A section that is too long is left out as a whole.
        long = "<" * 300
        self.assertEqual(folded(claim=long, causes=[{"text": long}] * 5, contributions=[{**part, "resource": long, "phase": long}] * 8), plain)

    def test_a_comparison_of_exact_runs_carries_its_explanation(self):
        files = [os.path.join(support.ROOT, "tests/data/explain", name) for name in ("good.json", "bad.json")]
        compared = self.expect(self.perfci("compare", *files, "--json"), 1).stdout
        carried = json.loads(compared)["explanation"]
        asked = self.json_of(self.perfci("explain", *files, "--metric", carried["metric"], "--json"))
        for key in ("claim", "before", "after", "delta", "contributions", "limiter", "causes", "guidance", "total"):
            self.assertEqual(carried[key], asked[key], key)
        self.assertAlmostEqual(sum(part["value"] for part in carried["contributions"]), carried["delta"], delta=1e-6 * abs(carried["delta"]))
        out = self.expect(self.perfci("comment", "--dry-run", text=compared), 0).stdout
        self.assertIn("<details><summary>Explanation of gemm/bf16/", out)
        self.assertIn(f"limiter before {carried['limiter']['before']}, after {carried['limiter']['after']}</summary>", out)
        first = carried["contributions"][0]
        self.assertIn(f"| {first['resource']} | {first['phase']} | ".replace("_", "\\_"), out)
        self.assertIn(f"largest part of the difference: {first['resource']} in {first['phase']}, ", self.expect(self.perfci("compare", *files), 1).stdout)
        # The other way round nothing became worse, and a result without recorded parts has nothing to say.
        self.assertNotIn("explanation", self.json_of(self.perfci("compare", *reversed(files), "--json"), None))

    def test_names_from_outside_cannot_become_markup(self):
        nasty = "x`|<script>alert(1)</script>\n@everyone [a](javascript:b) #12"
        text = comparison(row(nasty.replace("\n", " "), "regression", 0.5, backend=nasty.replace("\n", " ")))
        out = self.expect(self.perfci("comment", "--dry-run", text=text), 0).stdout
        table, = [line for line in out.splitlines() if "alert" in line]
        cells = table.replace("\\|", "").split("|")
        self.assertEqual(len(cells), 13, table)
        code, rest = table.split("`")[1], table.split("`", 4)[-1]
        self.assertIn("<script>", code)  # inert: inside a code span
        for bad in ("<script", "@everyone", "[a](", " #12"):
            self.assertNotIn(bad, rest)

    def test_twenty_changes_stand_first_and_five_hundred_rows_are_folded(self):
        for kind, first, count, left in (("regression", 20, 20, 0), ("regression", 20, 22, 0), ("improvement", 20, 21, 0), ("same", 0, 500, 0), ("same", 0, 502, 2)):
            out = self.expect(self.perfci("comment", "--dry-run", text=comparison(*[row(f"b{i}", kind, 0.1) for i in range(count)])), 0).stdout
            head = out.split("<details>")[0]
            self.assertEqual((head.count("| `b"), out.count("| `b"), f"\n{left} more not shown." in out), (first, count - left, left > 0), (kind, count))

    def test_only_what_is_safe_in_a_path_and_a_link_is_taken(self):
        for repo, status in (("me/kernels", 5), ("a.b-c_d/E9", 5), ("a/" + "b" * 298, 5), ("a/" + "b" * 299, 2), ("a", 2), ("/b", 2), ("a/", 2), ("a/b/c", 2),
                             ("a/..", 2), ("a/b..c", 2), ("a/b?c", 2), ("a/b%2e", 2)):
            self.github.status = 500
            self.expect(self.perfci("comment", "--repo", repo, "--pr", "7", "--api-url", self.github.url, "--token-file", self.token, text=FINE), status)
        for link, status in (("http://x/~a!", 0), ("https://x/" + "a" * 1989, 0), ("https://x/" + "a" * 1990, 2), ("ftp://x", 2), ("x", 2), ("https://x/ y", 2),
                             ("https://x/\x7f", 2), ("https://x/é", 2), *[(f"https://x/{c}", 2) for c in "<>\"`\\"]):
            done = self.expect(self.perfci("comment", "--dry-run", "--link", link, text=FINE), status)
            self.assertEqual(f"(<{link}>)" in done.stdout, status == 0)

    def test_a_large_comparison_stays_under_the_limit(self):
        rows = [row(f"benchmark/{i}/" + "n" * 150, "regression" if i % 2 else "same", 0.1) for i in range(2000)]
        out = self.expect(self.perfci("comment", "--dry-run", text=comparison(*rows)), 0).stdout
        self.assertLess(len(out.encode()), 60000)
        self.assertGreater(len(out.encode()), 50000)
        self.assertRegex(out, r"\n[0-9]+ more not shown\.\n\n</details>\n\nReproduce:\n\n```sh\n.*\n```\n\Z")
        self.assertIn("1000 regressions", out)
        for line in out.splitlines():
            self.assertTrue(not line.startswith("| ") or line.endswith(" |"), line)


if __name__ == "__main__":
    support.main()
