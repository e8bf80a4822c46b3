"""Guarantees of the running server beyond single requests: idempotent runs, leases, tokens, events,
pages, conditional requests, and hostile clients."""
import concurrent.futures
import copy
import gzip
import http.client
import json
import os
import re
import socket
import stat
import subprocess
import unittest

import api_events
import support


def setUpModule():
    global cluster, server
    cluster = support.Cluster()
    server = api_events.server = support.Server(cluster.database(migrated=True), "--public-read")


def tearDownModule():
    server.close()
    cluster.close()


def project(name):
    made = server.as_admin("POST", "/api/v1/projects", {"name": name})
    assert made.status in (200, 201), made
    return name


def token(*scopes, **more):
    made = server.as_admin("POST", "/api/v1/tokens", {"scopes": list(scopes), **more})
    assert made.status == 201, made
    return made.json["token"]


def figures():
    """The rows of the database: unchanged means that nothing was stored."""
    f = server.call("GET", "/api/v1/stats").json
    return f["runs"], f["measurements"], f["series"]


class Runs(unittest.TestCase):
    def setUp(self):
        project("runs")

    def test_a_second_post_changes_nothing(self):
        document = support.run_document(1001, 1, project="runs")
        first = server.as_admin("POST", "/api/v1/runs", document)
        self.assertEqual(first.status, 201, first)
        before = figures()
        again = server.as_admin("POST", "/api/v1/runs", document)
        self.assertEqual((again.status, again.json), (200, first.json))
        self.assertEqual(figures(), before)
        self.assertEqual(first.json["samples"], 12)
        stored = server.call("GET", f"/api/v1/runs/{first.json['run_id']}").json
        self.assertEqual(stored["measurements"][0]["samples"], document["measurements"][0]["samples"])
        self.assertEqual(stored["id"], document["id"])

    def test_another_body_under_the_same_id_is_a_conflict(self):
        document = support.run_document(1002, 1, project="runs")
        self.assertEqual(server.as_admin("POST", "/api/v1/runs", document).status, 201)
        before = figures()
        other = copy.deepcopy(document)
        other["measurements"][0]["samples"][0][0] += 1
        answer = server.as_admin("POST", "/api/v1/runs", other)
        self.assertEqual(answer.status, 409, answer)
        self.assertEqual(answer.json["error"]["code"], "conflict")
        self.assertEqual(figures(), before)

    def test_a_key_belongs_to_one_document(self):
        key = {"Idempotency-Key": "nightly-7"}
        first = server.as_admin("POST", "/api/v1/runs", support.run_document(1003, 1, project="runs"), headers=key)
        self.assertEqual(first.status, 201, first)
        again = server.as_admin("POST", "/api/v1/runs", support.run_document(1003, 1, project="runs"), headers=key)
        self.assertEqual((again.status, again.json), (200, first.json))
        other = server.as_admin("POST", "/api/v1/runs", support.run_document(1004, 1, project="runs"), headers=key)
        self.assertEqual(other.status, 409, other)
        empty = server.as_admin("POST", "/api/v1/runs", support.run_document(1005, 1, project="runs"),
                                headers={"Idempotency-Key": "x" * 201})
        self.assertEqual(empty.status, 400)

    def test_many_at_once_store_one(self):
        document = support.run_document(1006, 2, project="runs")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: server.as_admin("POST", "/api/v1/runs", document), range(16)))
        self.assertEqual(sorted(a.status for a in answers), [200] * 15 + [201])
        self.assertEqual(len({a.body for a in answers}), 1)

    def test_bad_documents_name_the_member_and_store_nothing(self):
        good = support.run_document(1007, 1, project="runs")
        before = figures()

        def changed(**members):
            return {**good, **members}

        def measurement(**members):
            return changed(measurements=[{**good["measurements"][0], **members}])

        bad = {"project": changed(project=None), "commit": {k: v for k, v in good.items() if k != "commit"},
               "id": changed(id="xyz"), "typo": changed(typo=1), "measurements": changed(measurements={}),
               "measurements[0].benchmark": measurement(benchmark="x" * 300),
               "measurements[0].direction": measurement(direction="up"),
               "started_at": changed(started_at="yesterday")}
        for field, document in bad.items():
            with self.subTest(field=field):
                answer = server.as_admin("POST", "/api/v1/runs", document)
                self.assertEqual(answer.status, 400, answer)
                self.assertTrue(answer.json["error"].get("field", "").startswith(field), answer)
        unknown = server.as_admin("POST", "/api/v1/runs", changed(project="unknown"))
        self.assertEqual((unknown.status, unknown.json["error"]["field"]), (404, "project"))
        raw = json.dumps(good).replace("100.0", "1e999", 1).encode()
        self.assertEqual(server.as_admin("POST", "/api/v1/runs", raw=raw).status, 400)
        self.assertEqual(figures(), before)

    def test_an_oversized_body_is_413(self):
        answer = server.as_admin("POST", "/api/v1/runs", raw=b" " * (16 * 1024 * 1024 + 1))
        self.assertEqual(answer.status, 413, answer)
        self.assertEqual(answer.json["error"]["code"], "too_large")

    def test_a_compressed_body_is_the_same_body(self):
        raw = gzip.compress(json.dumps(support.run_document(1008, 1, project="runs")).encode())
        answer = server.as_admin("POST", "/api/v1/runs", raw=raw, headers={"Content-Encoding": "gzip"})
        self.assertEqual(answer.status, 201, answer)
        bomb = gzip.compress(b" " * (64 * 1024 * 1024))
        self.assertEqual(server.as_admin("POST", "/api/v1/runs", raw=bomb,
                                         headers={"Content-Encoding": "gzip"}).status, 413)

    def test_unknown_benchmarks_are_an_empty_list(self):
        answer = server.call("GET", "/api/v1/projects/runs/series?benchmark=no/such/thing")
        self.assertEqual((answer.status, answer.json["series"]), (200, []))


class Reading(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        project("reading")
        assert server.as_admin("POST", "/api/v1/projects/reading/commits", support.commits(1, 30)).status == 200
        for n in range(1, 31):
            value = 100.0 if n < 16 else 130.0
            posted = server.as_admin("POST", "/api/v1/runs", support.run_document(2000 + n, n, value, "reading"))
            assert posted.status == 201, posted

    def series(self):
        return server.call("GET", "/api/v1/projects/reading/series?spark=30").json["series"][0]

    def test_a_series_tells_its_change(self):
        series = support.until("detection", lambda: (lambda s: s if s["points"] == 30 and s["change"] else None)(
            self.series()))
        self.assertEqual(len(series["spark"]), 30)
        window = server.call("GET", f"/api/v1/series/{series['id']}").json
        columns = window["columns"]
        self.assertEqual({len(column) for column in columns.values()}, {30})
        self.assertEqual(columns["commit"], [support.commit_id(n) for n in range(1, 31)])
        change = window["changes"][0]
        self.assertEqual((change["commit"], change["direction"]), (support.commit_id(16), "regression"))
        self.assertAlmostEqual(change["rel_change"], 0.3, delta=0.03)
        # in a part of it: where the change is in that part, as far as it is
        for first, last, places in ((1, 16, [(15, 15)]), (10, 20, [(6, 6)]), (16, 30, [(0, 0)]), (1, 15, []), (17, 30, [])):
            part = server.call("GET", f"/api/v1/series/{series['id']}?from={support.commit_id(first)}&to={support.commit_id(last)}").json
            self.assertEqual([(c["index"], c["index_high"]) for c in part["changes"]], places, (first, last))
        alert = support.until("the alert", lambda: (
            server.call("GET", "/api/v1/alerts?project=reading").json["alerts"] or [None])[0])
        self.assertEqual((alert["state"], alert["commit"]), ("untriaged", support.commit_id(16)))
        self.assertEqual((alert["group"]["series"], alert["group"]["measured"]), (1, 1))
        self.assertRegex(alert["group"]["summary"], r"^1 of 1 gemm series; \+(29|30)\.\d %$")
        self.assertEqual((alert["accepted"], alert["undone_by"]), (False, None))
        path = f"/api/v1/alerts/{alert['id']}"
        refused = server.as_admin("PATCH", path, {"accept": True, "state": "fixed"})
        self.assertEqual((refused.status, refused.json["error"]["field"]), (400, "accept"))
        accepted = server.as_admin("PATCH", path, {"accept": True, "reason": "a better answer costs more"})
        self.assertEqual((accepted.status, accepted.json["state"], accepted.json["accepted"]), (200, "wont_fix", True))

    def test_a_machine_that_moved_is_an_event(self):
        project("moved")
        self.assertEqual(server.as_admin("POST", "/api/v1/projects/moved/commits", support.commits(1, 3)).status, 200)
        for n in range(1, 4):
            run = {**support.run_document(7000 + n, n, 100.0, "moved"), "infra": n == 2}
            self.assertEqual(server.as_admin("POST", "/api/v1/runs", run).status, 201)
        events = server.call("GET", "/api/v1/environment?project=moved").json["events"]
        self.assertEqual([(e["runs"], e["first_commit"]) for e in events], [(1, support.commit_id(2))])
        self.assertIsNotNone(events[0]["closed_at"])
        self.assertEqual(server.call("GET", "/api/v1/environment?project=moved&open=1").json["events"], [])
        refused = server.as_admin("PATCH", f"/api/v1/environment/{events[0]['id']}", {"dismissed": True})
        self.assertEqual((refused.status, refused.json["error"]["code"]), (409, "conflict"))

    def test_a_machine_is_identified_apart_from_its_description(self):
        now = {"cpu": "C (family 6 model 207 stepping 8)", "cpus": "2", "topology": "1 package", "microcode": "1", "smt": "off",
               "governor": "performance", "kernel": "Linux 6.1 x86_64", "libc": "l", "aslr": "2"}
        before = {"cpu": "C", "microcode": "1", "cpus": "2", "arch": "x86_64", "kernel": "Linux 6.1", "libc": "l",
                  "governor": "performance", "smt": "0"}  # an earlier version's words
        suite = {**now, "compiler": "gcc 12", "harness": "h", "suite": "s"}
        moved = {**suite, "kernel": "Linux 6.5 x86_64", "suite": "t"}
        del moved["aslr"]
        project("worded")
        self.assertEqual(server.as_admin("POST", "/api/v1/projects/worded/commits", support.commits(1, 4)).status, 200)
        for n, fingerprint in enumerate((before, now, suite, moved), 1):
            machine = {"name": "worded", "class": "worded", "fingerprint": fingerprint}
            self.assertEqual(server.as_admin("POST", "/api/v1/runs", support.run_document(
                7100 + n, n, project="worded", machine=machine)).status, 201)
        shown = [m for m in server.call("GET", "/api/v1/machines?limit=1000").json["machines"] if m["name"] == "worded"]
        self.assertEqual([m["fingerprint"] for m in shown], [before, now, suite, moved])
        self.assertEqual([m["changed"] for m in shown[:3]], [None, [], []])
        self.assertEqual(sorted(shown[3]["changed"], key=lambda c: c["name"]), [
            {"name": "aslr", "before": "2", "now": None},
            {"name": "kernel", "before": "Linux 6.1 x86_64", "now": "Linux 6.5 x86_64"},
            {"name": "suite", "before": "s", "now": "t"}])

    def test_a_machines_step_is_an_event_that_a_person_may_dismiss(self):
        event = support.moved_machine(server, "stepped")
        self.assertEqual((event["kind"], event["machine"], event["cause"]), ("step", "mover", "kernel: 6.1 -> 6.5"))
        self.assertEqual((event["series"], event["moved"], event["judged"]), (6, 6, 6))
        self.assertAlmostEqual(event["loss"], 0.1, delta=0.01)
        self.assertEqual(event["first_commit"], support.commit_id(16))
        mine = f"/api/v1/alerts?event={event['id']}"
        self.assertEqual({a["state"] for a in server.call("GET", mine).json["alerts"]}, {"infrastructure"})
        self.assertEqual(server.call("GET", "/api/v1/alerts?project=stepped&state=open").json["alerts"], [])
        path = f"/api/v1/environment/{event['id']}"
        self.assertEqual(server.call("GET", path).json, event)
        self.assertEqual(server.as_admin("PATCH", path, {}).json["error"]["field"], "dismissed")
        answer = server.as_admin("PATCH", path, {"dismissed": True, "reason": "the flags"})
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json["dismissed_reason"], "the flags")
        self.assertIsNotNone(answer.json["closed_at"])
        opened = server.call("GET", "/api/v1/alerts?project=stepped&state=open").json["alerts"]
        self.assertEqual([a["event_id"] for a in opened], [None] * 6)

    def test_comparing_two_commits(self):
        answer = server.call("GET", f"/api/v1/compare?project=reading&a={support.commit_id(15)}&b={support.commit_id(16)}")
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(len(answer.json["rows"]), 1)
        self.assertAlmostEqual(answer.json["rows"][0]["rel_change"], 0.3, delta=0.03)
        for query in ("", "?project=reading", f"?project=reading&a={support.commit_id(1)}&b="):
            self.assertEqual(server.call("GET", "/api/v1/compare" + query).status, 400)
        unknown = server.call("GET", f"/api/v1/compare?project=reading&a={support.commit_id(1)}&b={'e' * 40}")
        self.assertEqual(unknown.status, 404, unknown)

    def test_lists_are_paged_without_gaps(self):
        seen, cursor = [], None
        while True:
            page = server.call("GET", "/api/v1/projects/reading/commits?limit=7"
                               + (f"&cursor={cursor}" if cursor else "")).json
            seen += [c["id"] for c in page["commits"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        self.assertEqual(seen, [support.commit_id(n) for n in range(30, 0, -1)])

    def test_conditional_and_compressed(self):
        path = "/api/v1/projects/reading/commits"
        plain = server.call("GET", path)
        same = server.call("GET", path, headers={"If-None-Match": plain.headers["etag"]})
        self.assertEqual((same.status, same.body), (304, b""))
        packed = server.call("GET", path, headers={"Accept-Encoding": "gzip"})
        self.assertEqual(packed.headers["content-encoding"], "gzip")
        self.assertEqual(gzip.decompress(packed.body), plain.body)
        self.assertEqual(packed.headers["etag"], plain.headers["etag"])
        self.assertTrue(plain.headers["etag"].startswith('W/"'), "both forms share it")
        for answer in (plain, packed, same):
            self.assertEqual(answer.headers["vary"], "Accept-Encoding, Authorization")
            self.assertEqual(answer.headers["cache-control"], "private, no-cache")
        self.assertEqual(same.headers["etag"], plain.headers["etag"])
        for header, status in (('"other"', 200), (f'"other", {plain.headers["etag"]}', 304), ("*", 304),
                               (plain.headers["etag"][2:], 304), (plain.headers["etag"][:-2] + '"', 200)):
            with self.subTest(header=header):
                self.assertEqual(server.call("GET", path, headers={"If-None-Match": header}).status, status)
        refused = {"Accept-Encoding": "gzip; q=0, identity"}
        self.assertEqual(server.call("GET", path, headers=refused).body, plain.body)
        small = server.call("GET", "/version", headers={"Accept-Encoding": "gzip, identity;q=0"})
        self.assertEqual(gzip.decompress(small.body), server.call("GET", "/version").body)
        neither = server.call("GET", path, headers={"Accept-Encoding": "br, *;q=0"})
        self.assertEqual((neither.status, neither.json["error"]["code"]), (406, "not_acceptable"))

    def test_a_tag_is_of_the_whole_answer_and_of_answers_to_reading_alone(self):
        path, body = "/api/v1/projects", {"name": "conditional"}
        self.assertEqual(server.as_admin("POST", path, body).status, 201)
        before = server.call("GET", path)
        made = server.as_admin("POST", path, {"name": "conditional-too"})  # at the end of the list
        self.assertEqual(made.status, 201)
        after = server.call("GET", path, headers={"If-None-Match": before.headers["etag"]})
        self.assertEqual(after.status, 200)
        self.assertNotEqual(after.headers["etag"], before.headers["etag"])
        self.assertIn("conditional-too", [p["name"] for p in after.json["projects"]])
        again = server.as_admin("POST", path, body, headers={"If-None-Match": "*"})
        self.assertEqual((again.status, again.json["name"]), (200, "conditional"))
        for answer in (again, server.call("GET", path + "/nobody", headers={"If-None-Match": "*"})):
            self.assertNotIn("etag", answer.headers)
        self.assertEqual((answer.status, answer.headers["cache-control"]), (404, "no-store"))

    def test_pages_and_unknown_paths(self):
        page = server.call("GET", "/")
        self.assertEqual(page.status, 200)
        self.assertTrue(page.headers["content-type"].startswith("text/html"))
        self.assertIn("default-src 'none'", page.headers["content-security-policy"])
        self.assertNotIn("unsafe", page.headers["content-security-policy"])
        for path in ("/nothing", "/api", "/api/v2/projects", "/api/v1/projects/", "/assets/../main.c",
                     "/%2e%2e/etc/passwd", "/assets/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "//", "/index.html/x"):
            with self.subTest(path=path):
                answer = server.call("GET", path)
                self.assertEqual(answer.status, 404)
                self.assertEqual(answer.json["error"]["code"], "not_found")

    def test_an_unknown_path_gives_a_browser_a_page(self):
        browser = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
        page = server.call("GET", "/")
        for path in ("/nothing", "/nothing/below", "/docs/nothing.html"):
            with self.subTest(path=path):
                answer = server.call("GET", path, headers=browser)
                self.assertEqual((answer.status, answer.headers["content-type"]), (404, page.headers["content-type"]))
                self.assertEqual(answer.body, page.body)
                self.assertEqual(answer.headers["content-security-policy"], page.headers["content-security-policy"])
                for accept in ({"Accept": "*/*"}, {"Accept": "application/json, text/html"}, {}):
                    self.assertEqual(server.call("GET", path, headers=accept).json["error"]["code"], "not_found")
        for path in ("/api/v1/nothing", "/api/v2/projects"):  # its clients read JSON, whatever they accept
            self.assertEqual(server.call("GET", path, headers=browser).json["error"]["code"], "not_found")
        self.assertEqual(server.call("POST", "/nothing", {}, headers=browser).status, 404)

    def test_what_the_page_names_is_served_for_ever(self):
        page = server.call("GET", "/").body.decode()
        names = re.findall(r'"(/assets/[^"]+)"', page)
        if not names:
            self.assertIn("built without its dashboard", page)
        for name in names:
            with self.subTest(name=name):
                plain = server.call("GET", name)
                self.assertEqual((plain.status, "immutable" in plain.headers["cache-control"]), (200, True))
                packed = server.call("GET", name, headers={"Accept-Encoding": "gzip"})
                smaller = server.call("GET", name, headers={"Accept-Encoding": "gzip, deflate, br, zstd"})
                if name.endswith(".woff2"):
                    continue
                self.assertEqual((packed.headers["content-encoding"], smaller.headers["content-encoding"]), ("gzip", "br"))
                self.assertEqual(gzip.decompress(packed.body), plain.body)
                self.assertEqual(subprocess.run(["node", "-e", "process.stdout.write(require('zlib').brotliDecompressSync(require('fs').readFileSync(0)))"],
                                                input=smaller.body, capture_output=True, check=True).stdout, plain.body)
                self.assertEqual((len(smaller.body) < len(packed.body), smaller.headers["etag"]), (True, plain.headers["etag"]))


class OddValues(unittest.TestCase):
    """Valid and invalid values of measurements: a defined answer for each, all the way to the change points."""
    COMMITS = 40
    STEP = 26  # the first slow commit

    def values(self, n):
        """Benchmark -> samples of commit n; a name ends in 1 where a change is planted."""
        slow = n >= self.STEP
        wobble = (7 * n % 10 - 4.5) / 900
        odd = {"zeros/0": [0.0, -0.0, 0.0], "equal/0": [7.0] * 3, "huge/0": [1e300] * 3, "tiny/0": [1e-300] * 3,
               "negative/1": [(-70 if slow else -100) + wobble] * 3, "signs/1": [(15 if slow else -15) + wobble] * 3,
               "from-zero/1": [30 + wobble if slow else wobble] * 3}
        if n == 5:
            odd["one-point/0"] = [3.0]
        odd["many/1"] = [100.0 * (1 + wobble) * (1.3 if slow else 1)] * (100000 if n == 20 else 3)
        return odd

    def document(self, n):
        base = support.run_document(8000 + n, n, project="odd")
        measured = [{**base["measurements"][0], "benchmark": name, "samples": [samples]}
                    for name, samples in self.values(n).items()]
        # The clock of the machine runs backwards, and stands still at every fifth commit.
        minute = 59 - n if n % 5 else 59
        return {**base, "measurements": measured, "started_at": f"2026-01-02T00:{minute:02}:00Z",
                "finished_at": "2026-01-02T01:00:00Z"}

    def test_every_value_that_is_a_number_has_a_defined_answer(self):
        project("odd")
        posted = server.as_admin("POST", "/api/v1/projects/odd/commits", support.commits(1, self.COMMITS))
        self.assertEqual(posted.status, 200, posted)
        for n in sorted(range(1, self.COMMITS + 1), key=lambda n: 17 * n % 41):
            answer = server.as_admin("POST", "/api/v1/runs", self.document(n))
            self.assertEqual(answer.status, 201, answer)

        def judged():
            rows = server.call("GET", "/api/v1/projects/odd/series").json["series"]
            planted = [s["change"] and s["change"]["commit"] for s in rows if s["benchmark"].endswith("/1")]
            return rows if set(planted) == {support.commit_id(self.STEP)} else None

        rows = support.until("the planted changes", judged)
        self.assertEqual({s["benchmark"] for s in rows}, set(self.values(5)))
        for s in rows:
            with self.subTest(benchmark=s["benchmark"]):
                window = server.call("GET", f"/api/v1/series/{s['id']}")
                self.assertEqual(window.status, 200)
                commits = window.json["columns"]["commit"]
                self.assertEqual(commits, sorted(commits, key=[support.commit_id(n) for n in range(1, 41)].index))
                places = [c["commit"] for c in window.json["changes"]]
                self.assertEqual(places, [support.commit_id(self.STEP)] if s["benchmark"].endswith("/1") else [])
        answer = server.call("GET", f"/api/v1/compare?project=odd&a={support.commit_id(1)}&b={support.commit_id(40)}")
        self.assertEqual(answer.status, 200, answer)

    def test_what_is_no_number_is_refused_with_its_place(self):
        project("odder")
        base = json.dumps(support.run_document(8900, 1, project="odder"))
        samples = re.search(r'"samples": \[\[.*?\]\]', base).group()
        before = figures()
        for text, field in (("[[1, NaN]]", ""), ("[[Infinity]]", ""), ("[[-Infinity]]", ""), ("[[1e999]]", ""),
                            ("[[1, null]]", "measurements[0].samples[0][1]"), ("null", "measurements[0].samples"),
                            ("[]", "measurements[0].samples"), ("[[]]", "measurements[0].samples[0]"),
                            ("[1]", "measurements[0].samples[0]"), ("[[1e301]]", "measurements[0].samples[0][0]"),
                            ("[[" + "1," * 100000 + "1]]", "measurements[0].samples")):
            with self.subTest(samples=text[:20]):
                raw = base.replace(samples, f'"samples": {text}').encode()
                answer = server.as_admin("POST", "/api/v1/runs", raw=raw)
                self.assertEqual(answer.status, 400, answer)
                self.assertTrue(answer.json["error"].get("field", "").startswith(field), answer)
                self.assertNotIn("\n", answer.json["error"]["message"])
        self.assertEqual(figures(), before)


class Tokens(unittest.TestCase):
    def test_a_token_is_shown_once_and_dies_when_revoked(self):
        made = server.as_admin("POST", "/api/v1/tokens", {"name": "ci", "scopes": ["ingest"]}).json
        self.assertTrue(made["token"].startswith("pfc_"))
        listed = server.as_admin("GET", "/api/v1/tokens?limit=1000").body.decode()
        self.assertNotIn(made["token"], listed)
        project("tokens")
        document = support.run_document(3001, 1, project="tokens")
        self.assertEqual(server.call("POST", "/api/v1/runs", document, token=made["token"]).status, 201)
        self.assertEqual(server.as_admin("DELETE", f"/api/v1/tokens/{made['id']}").status, 204)
        self.assertEqual(server.call("POST", "/api/v1/runs", document, token=made["token"]).status, 401)
        self.assertNotIn(made["token"], server.log())
        self.assertNotIn(server.admin, server.log())

    def test_a_token_bound_to_a_project_stays_there(self):
        project("mine")
        project("theirs")
        bound = token("read", "ingest", "admin", project="mine")
        self.assertEqual(server.call("POST", "/api/v1/runs", support.run_document(3002, 1, project="mine"),
                                     token=bound).status, 201)
        foreign = server.call("POST", "/api/v1/runs", support.run_document(3003, 1, project="theirs"), token=bound)
        self.assertEqual(foreign.status, 404, foreign)
        for method, path, body, status in [  # 404, as for a project that does not exist; 403 for what no project has
                ("GET", "/api/v1/projects/theirs", None, 404), ("GET", "/api/v1/projects/theirs/series", None, 404),
                ("GET", "/api/v1/alerts?project=theirs", None, 404), ("GET", "/api/v1/tokens", None, 403),
                ("POST", "/api/v1/tokens", {"scopes": ["admin"]}, 403), ("POST", "/api/v1/projects", {"name": "other"}, 403),
                ("POST", "/api/v1/tokens", {"scopes": ["read"], "project": "theirs"}, 404),
                ("POST", "/api/v1/projects/theirs/commits", support.commits(1, 1), 404)]:
            with self.subTest(path=path, method=method):
                answer = server.call(method, path, body, token=bound)
                self.assertEqual(answer.status, status, answer)
        names = [p["name"] for p in server.call("GET", "/api/v1/projects", token=bound).json["projects"]]
        self.assertEqual(names, ["mine"])

    def test_a_project_is_deleted_with_all_that_is_its_own(self):
        project("doomed")
        project("beside")
        bound = token("read", "ingest", "admin", project="doomed")
        for number in range(1, 4):
            self.assertEqual(server.as_admin("POST", "/api/v1/runs", support.run_document(3100 + number, number, project="doomed")).status, 201)
        kept = server.as_admin("POST", "/api/v1/runs", support.run_document(3110, 1, project="beside")).json
        for scope in ("read", "ingest", "triage"):
            self.assertEqual(server.call("DELETE", "/api/v1/projects/doomed", token=token(scope)).status, 403)
        self.assertEqual(server.call("DELETE", "/api/v1/projects/doomed", token=bound).status, 403)
        self.assertEqual(server.as_admin("DELETE", "/api/v1/projects/nowhere").status, 404)
        # A job that is being measured stays with its runner.
        server.as_admin("POST", "/api/v1/jobs", {"project": "doomed", "kind": "measure", "commit": "a" * 40, "labels": {"rack": "doomed"}})
        held = server.as_admin("POST", "/api/v1/jobs/lease", {"runner": "d", "machine_class": "none", "labels": {"rack": "doomed"}}).json["job"]
        refused = server.as_admin("DELETE", "/api/v1/projects/doomed")
        self.assertEqual(refused.status, 409, refused)
        self.assertIn("1 running job", refused.json["error"]["message"])
        self.assertEqual(server.as_admin("POST", f"/api/v1/jobs/{held['id']}/complete", {"lease": held["lease"], "status": "done"}).status, 200)
        name, rows = "doomed", 0
        while name:
            gone = server.as_admin("DELETE", f"/api/v1/projects/{name}")
            self.assertEqual(gone.status, 200, gone)
            self.assertEqual(server.as_admin("GET", "/api/v1/projects/doomed").status, 404, "the name is free at once")
            name, rows = gone.json["rest"], rows + gone.json["rows"]
        self.assertGreater(rows, 10)
        self.assertTrue(gone.json["done"])
        self.assertEqual(server.call("GET", "/api/v1/projects", token=bound).status, 401, "its tokens are gone")
        self.assertEqual(server.as_admin("GET", f"/api/v1/runs/{kept['id']}").status, 200, "others are as they were")
        log = server.as_admin("GET", "/api/v1/audit?limit=100").json["audit"]
        self.assertIn(("delete", "doomed"), [(row["action"], row["object"]) for row in log])
        # Another one of the same name begins with nothing.
        project("doomed")
        again = server.as_admin("GET", "/api/v1/projects/doomed").json
        self.assertEqual((again["runs"], again["commits"]), (0, 0))
        self.assertEqual(server.as_admin("POST", "/api/v1/runs", support.run_document(3101, 1, project="doomed")).status, 201)

    def test_the_bootstrap_file_is_private_and_kept(self):
        self.assertEqual(stat.S_IMODE(os.stat(server.token_path).st_mode), 0o600)
        self.assertTrue(server.admin.startswith("pfc_"))

    def test_wrong_tokens_are_401_with_a_hint(self):
        for header in ("Bearer pfc_" + "1" * 64, "Bearer x", "Basic YTpi", "Bearer ", "pfc_1"):
            with self.subTest(header=header):
                answer = server.call("GET", "/api/v1/tokens", headers={"Authorization": header})
                self.assertEqual(answer.status, 401, answer)
                self.assertEqual(answer.json["error"]["code"], "unauthorized")
                self.assertIn("Bearer", answer.headers["www-authenticate"])


class Events(api_events.Events):
    """With the server of this module."""


def served(from_server, path="/healthz", pattern=b""):
    try:
        answer = from_server.call("GET", path)
    except (OSError, http.client.HTTPException):
        return False
    return answer.status == 200 and re.search(pattern, answer.body)


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Its own server: a time this short would end honest requests of a busy machine, too.
        cls.hasty = support.Server(cluster.database(migrated=True), "--public-read", "--request-timeout", "2s")

    @classmethod
    def tearDownClass(cls):
        cls.hasty.close()

    def raw(self, data, to=None):
        """Sends bytes and reads to the end of the connection."""
        with socket.create_connection(("127.0.0.1", (to or server).port), timeout=support.DEADLINE_S) as s:
            s.sendall(data)
            text = b""
            while True:
                try:
                    part = s.recv(65536)
                except ConnectionResetError:
                    return text
                if not part:
                    return text
                text += part

    def test_slow_clients_are_ended_and_others_served(self):
        slow = [socket.create_connection(("127.0.0.1", self.hasty.port)) for _ in range(50)]
        try:
            for i, s in enumerate(slow):
                s.sendall([b"GET /heal", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: ",
                           b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"][i % 3])
            support.until("another is served", lambda: served(self.hasty))
            for s in slow:
                s.settimeout(support.DEADLINE_S)
                try:
                    self.assertEqual(s.recv(1), b"")
                except ConnectionResetError:
                    pass
        finally:
            for s in slow:
                s.close()
        support.until("the time-outs are counted", lambda: served(
            self.hasty, "/metrics", rb"(?m)^perfci_http_timeouts_total [1-9]"))

    # The only answers that are not ours: libmicrohttpd gives them before our code runs.
    def test_broken_requests_never_reach_a_handler(self):
        for data in (b"GET\r\n\r\n", b"\x00\x01\x02\r\n\r\n", b"GET /healthz HTTP/9.9\r\n\r\n",
                     b"GET /healthz HTTP/1.1\r\n\r\n", b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            with self.subTest(data=data[:30]):
                answer = self.raw(data, self.hasty)
                if answer:
                    self.assertIn(answer.split(b" ")[1], (b"400", b"414", b"431", b"505"), answer[:200])
        support.until("another is served", lambda: served(self.hasty))

    def test_length_and_chunks_together_are_refused(self):
        answer = self.raw(b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n"
                          b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertTrue(answer.startswith(b"HTTP/1.1 400 "), answer)
        self.assertEqual(answer.count(b"HTTP/1.1 "), 1)

    def test_a_long_address_is_414(self):
        answer = server.call("GET", "/api/v1/projects?q=" + "a" * 9000)
        self.assertEqual(answer.status, 414)


class Starting(unittest.TestCase):
    def run_server(self, *flags):
        return subprocess.run([support.BIN / "perfci-server", *flags], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=support.DEADLINE_S, check=False,
                              env={k: v for k, v in os.environ.items() if not k.startswith(("PERFCI_", "PG"))})

    def test_a_port_in_use_is_one_sentence_and_5(self):
        done = self.run_server("--database", server.database, "--listen", f"127.0.0.1:{server.port}",
                               "--log-level", "off")
        self.assertEqual(done.returncode, 5, done)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertIn("in use", done.stderr)

    def test_usage(self):
        self.assertEqual(self.run_server("--help").returncode, 0)
        self.assertIn("usage:", self.run_server("--help").stdout)
        self.assertEqual(self.run_server("--version").returncode, 0)
        for flags in (["--nonsense"], ["--listen"], ["--workers", "x", "--database", "d"], [], ["extra"],
                      ["--listen", "nowhere", "--database", "host=/tmp"],
                      ["--log-level", "loud", "--database", "d"]):
            with self.subTest(flags=flags):
                done = self.run_server(*flags)
                self.assertEqual(done.returncode, 2, done)
                self.assertTrue(done.stderr.startswith("perfci-server: "), done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
