"""Hostile HTTP against the running server: whatever reaches our code is answered with a 4xx and a JSON
error, never with a 5xx, stores nothing and ends nothing. The answers of libmicrohttpd itself, before our
code runs is listed apart (BEFORE_US), as server/API.md names it.
"""
import concurrent.futures
import copy
import gzip
import json
import random
import re
import socket
import subprocess
import time
import unittest
import zlib

import support

RUNS = "/api/v1/runs"


def setUpModule():
    global cluster, server, hasty
    cluster = support.Cluster()
    server = support.Server(cluster.database(migrated=True), "--public-read")
    hasty = support.Server(cluster.database(migrated=True), "--public-read", "--request-timeout", "1s")
    assert server.as_admin("POST", "/api/v1/projects", {"name": "demo"}).status == 201
    assert server.as_admin("POST", "/api/v1/projects/demo/commits", support.commits(1, 5)).status == 200
    assert server.as_admin("POST", RUNS, support.run_document(1, 1)).status == 201


def tearDownModule():
    text = server.log() + hasty.log()
    server.close()
    hasty.close()
    cluster.close()
    assert '"status":500' not in text, text[-3000:]


def raw(data, to=None):
    """Sends bytes and reads to the end of the connection."""
    with socket.create_connection(("127.0.0.1", (to or server).port), timeout=support.DEADLINE_S) as s:
        text = b""
        try:
            s.sendall(data)
            while part := s.recv(65536):
                text += part
        except ConnectionError:
            pass
        return text


def request(line, *headers, body=b"", length=True, host=True):
    head = [line.encode() if isinstance(line, str) else line]
    head += [b"Host: localhost"] if host else []
    head += [b"Connection: close", b"Authorization: Bearer " + server.admin.encode()]
    head += [h.encode() if isinstance(h, str) else h for h in headers]
    head += [b"Content-Length: %d" % len(body)] if length and body else []
    return b"\r\n".join(head) + b"\r\n\r\n" + body


def post(body, *headers, path=RUNS, method="POST"):
    return request(f"{method} {path} HTTP/1.1", "Content-Type: application/json", *headers, body=body)


def get(path):
    return request(b"GET " + (path if isinstance(path, bytes) else path.encode()) + b" HTTP/1.1")


def document(**more):
    return support.run_document(900, 1, **more)


def edited(path, value):
    """A good document with one value put in place of another; path: keys and numbers."""
    d = copy.deepcopy(document())
    at = d
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return json.dumps(d).encode()


def spliced(old, new):
    text = json.dumps(document()).encode()
    assert old in text, old
    return text.replace(old, new, 1)


def chunked(*chunks, headers=()):
    return request(f"POST {RUNS} HTTP/1.1", "Transfer-Encoding: chunked", *headers, length=False) + b"".join(chunks)


def chunk(data):
    return b"%x\r\n" % len(data) + data + b"\r\n"


def bomb(size):
    z = zlib.compressobj(1, zlib.DEFLATED, 31)
    return b"".join([z.compress(b" " * 65536) for _ in range(size // 65536)] + [z.flush()])


DEEP = b"[" * 100000 + b"]" * 100000
HUGE_KEY = b'{"' + b"k" * 300000 + b'":1}'
GOOD = json.dumps(support.run_document(900, 1)).encode()
M = ("measurements", 0)


def broken_json():
    return {
        "empty body": post(b""),
        "no JSON": post(b"hello"),
        "half a document": post(GOOD[: len(GOOD) // 2]),
        "text behind the document": post(GOOD + b"x"),
        "two documents": post(GOOD + GOOD),
        "an array": post(b"[]"),
        "a number": post(b"7"),
        "null": post(b"null"),
        "deep nesting": post(DEEP),
        "deep nesting in a member": post(spliced(b'"fingerprint": {', b'"fingerprint": {"a":' + b'{"a":' * 3000 + b"1" + b"}" * 3000 + b",")),
        "duplicate key": post(spliced(b'"suite": "quick"', b'"suite": "quick", "suite": "slow"')),
        "duplicate key, escaped": post(spliced(b'"suite": "quick"', b'"suite": "quick", "\\u0073uite": "slow"')),
        "unknown key": post(spliced(b'"suite": "quick"', b'"suite": "quick", "sudo": 1')),
        "a key of 300 KB": post(HUGE_KEY),
        "NaN": post(spliced(b"100.0", b"NaN")),
        "Infinity": post(spliced(b"100.0", b"-Infinity")),
        "a number over a double": post(spliced(b"100.0", b"1e999")),
        "an integer of 400 digits": post(spliced(b"100.0", b"9" * 400)),
        "hexadecimal number": post(spliced(b"100.0", b"0x10")),
        "invalid UTF-8": post(spliced(b'"quick"', b'"qu\xff\xfeck"')),
        "overlong UTF-8": post(spliced(b'"quick"', b'"qu\xc0\xafck"')),
        "a lone surrogate": post(spliced(b'"quick"', b'"\\ud800"')),
        "a raw NUL": post(spliced(b'"quick"', b'"qu\x00ick"')),
        "an escaped NUL": post(spliced(b'"quick"', b'"qu\\u0000ick"')),
        "control byte in a text": post(spliced(b'"quick"', b'"qu\x01ick"')),
        "UTF-16": post(GOOD.decode().encode("utf-16")),
        "byte order mark": post(b"\xef\xbb\xbf" + GOOD),
    }


def wrong_documents():
    return {
        "schema of another kind": post(edited(("schema",), "perfci.run/999")),
        "an id that is none": post(edited(("id",), "../../etc/passwd")),
        "project by path": post(edited(("project",), "../demo")),
        "unknown project": post(edited(("project",), "nobody")),
        "commit that is none": post(edited(("commit",), "HEAD; rm -rf /")),
        "a time in year 99999": post(edited(("started_at",), "99999-01-01T00:00:00Z")),
        "a time that is none": post(edited(("started_at",), "2026-02-31T25:61:61Z")),
        "no measurements member": post(spliced(b'"measurements"', b'"measuremints"')),
        "samples are texts": post(edited((*M, "samples"), [["1", "2"]])),
        "samples are null": post(edited((*M, "samples"), [[None]])),
        "a metric of 1 MB": post(edited((*M, "metric"), "m" * 1000000)),
        "a unit that is an object": post(edited((*M, "unit"), {"$ne": 1})),
        "direction unknown": post(edited((*M, "direction"), "sideways")),
        "machine is a list": post(edited(("machine",), [])),
        "100,000 measurements of one name": post(edited(("measurements",), document()["measurements"] * 20000)),
    }


def framing():
    return {
        "length and chunks": request(f"POST {RUNS} HTTP/1.1", "Content-Length: 4", "Transfer-Encoding: chunked", length=False)
        + b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "an encoding that is not chunked": request(f"POST {RUNS} HTTP/1.1", "Transfer-Encoding: xchunked", length=False),
        "two encodings": request(f"POST {RUNS} HTTP/1.1", "Transfer-Encoding: gzip, chunked", length=False),
        "two lengths": request(f"POST {RUNS} HTTP/1.1", "Content-Length: 4", "Content-Length: 40", length=False) + b"1234",
        "body over the limit by its length": request(f"POST {RUNS} HTTP/1.1", "Content-Length: 99999999999", length=False),
        "body over the limit, really sent": post(b" " * (16 * 1024 * 1024 + 1)),
        "chunks over the limit": chunked(*[chunk(b" " * 1048576)] * 17, b"0\r\n\r\n"),
        "chunks of one byte, no document": chunked(*[chunk(b"x")] * 5000, b"0\r\n\r\n"),
        "chunk with a trailer": chunked(chunk(b"{}"), b"0\r\nX-Injected: 1\r\n\r\n"),
        "a blank before the colon": request(f"POST {RUNS} HTTP/1.1", "Content-Length : 4", length=False) + b"1234",
        "two idempotency keys": post(GOOD, "Idempotency-Key: a", "Idempotency-Key: b"),
        "two hosts": request(f"GET /api/v1/projects HTTP/1.1", "Host: 127.0.0.1"),
        "unknown content encoding": post(b"{}", "Content-Encoding: br"),
        "deflate": post(zlib.compress(GOOD), "Content-Encoding: deflate"),
        "gzip named twice": post(gzip.compress(GOOD), "Content-Encoding: gzip", "Content-Encoding: gzip"),
        "gzip in gzip, said so": post(gzip.compress(gzip.compress(GOOD)), "Content-Encoding: gzip, gzip"),
        "two gzip members": post(gzip.compress(GOOD[:100]) + gzip.compress(GOOD[100:]), "Content-Encoding: gzip"),
        "a gzip stream with a wrong sum": post(gzip.compress(GOOD)[:-8] + b"\0" * 8, "Content-Encoding: gzip"),
        "a gzip bomb within the limit, a document and blanks": post(gzip.compress(GOOD + b" " * (8 << 20)), "Content-Encoding: gzip"),
        "gzip that is none": post(b"not gzip", "Content-Encoding: gzip"),
        "half a gzip stream": post(gzip.compress(GOOD)[:-9], "Content-Encoding: gzip"),
        "bytes behind gzip": post(gzip.compress(GOOD) + b"x", "Content-Encoding: gzip"),
        "a gzip bomb of 256 MiB": post(bomb(1 << 28), "Content-Encoding: gzip"),
        "a gzip bomb within the limit, no document": post(bomb(1 << 20), "Content-Encoding: gzip"),
        "gzip in gzip": post(gzip.compress(gzip.compress(GOOD)), "Content-Encoding: gzip"),
        "an idempotency key of 1,000 bytes": post(GOOD, "Idempotency-Key: " + "k" * 1000),
        "an idempotency key that is no ASCII": post(GOOD, b"Idempotency-Key: k\xff\xfe"),
        "an empty idempotency key": post(GOOD, b"Idempotency-Key:"),
        "a control byte in a header": post(GOOD, b"X-A: a\x07b"),
        "an address over 8 KiB": get("/api/v1/projects?cursor=" + "1" * 9000),
        "a method that is unknown": request("BREW /api/v1/projects HTTP/1.1"),
        "a method that is not allowed": request("DELETE /api/v1/projects HTTP/1.1"),
        "a method in lower case": request("get /api/v1/projects HTTP/1.1"),
    }


def addresses():
    cases = {f"traversal {p}": get(p) for p in (
        "/../../etc/passwd", "/assets/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/assets/%2e%2e%2f%2e%2e%2fetc/passwd",
        "/assets/..%5c..%5cwindows", "/assets//etc/passwd", "/assets/%252e%252e/x", "/./etc/passwd", "//etc/passwd",
        "/assets/....//....//etc/passwd", "/api/v1/runs/..%2f..%2ftokens", "/api/v1/../../etc/shadow")}
    cases.update({f"query {q}": get("/api/v1/projects/demo/series?" + q) for q in (
        "limit=-1", "limit=1e3", "limit=99999999999999999999", "limit=0x10", "limit=", "cursor=1;DROP%20TABLE%20runs",
        "limit=1&limit=2", "unknown=1", "q=%", "q=%zz", "q=%00", "q=%ff%fe", "q=a%0d%0aSet-Cookie:x=1",
        "spark=1000000", "headline=maybe", "q=" + "w+" * 3000)})
    cases.update({
        "an absolute address elsewhere": get("http://169.254.169.254/latest/meta-data"),
        "a NUL in the path": get("/api/v1/projects/%00"),
        "a line end in the path": get("/api/v1/projects/a%0d%0aX:%20y"),
        "invalid UTF-8 in the path": get("/api/v1/projects/%ff"),
        "a name of 4 KB": get("/api/v1/projects/" + "p" * 4000),
        "SQL for a project": get("/api/v1/projects/'%20OR%201=1--"),
        "SQL for a series": get("/api/v1/series/1%20OR%201=1"),
        "a series over 64 bits": get("/api/v1/series/99999999999999999999"),
        "a negative series": get("/api/v1/series/-1"),
        "compare nothing": get("/api/v1/compare"),
        "compare SQL": get("/api/v1/compare?project=demo&a=';--&b=x"),
        "a commit of wild cards": get("/api/v1/projects/demo/commits/%25%25%25%25%25%25%25"),
        "wait beyond its limit": post(b'{"runner":"r","machine_class":"m"}', path="/api/v1/jobs/lease?wait=99"),
        "points beyond their limit": get("/api/v1/series/1?points=1000000"),
    })
    return cases


def other_bodies():
    return {
        "a project's name by path": post(b'{"name":"../../x"}', path="/api/v1/projects"),
        "a project's name is a list": post(b'{"name":["x"]}', path="/api/v1/projects"),
        "scopes that do not exist": post(b'{"scopes":["root"]}', path="/api/v1/tokens"),
        "10,000 scopes": post(json.dumps({"scopes": ["read"] * 10000}).encode(), path="/api/v1/tokens"),
        "a token that expires never": post(b'{"scopes":["read"],"expires_at":"never"}', path="/api/v1/tokens"),
        "a job of no kind": post(b'{"project":"demo","kind":"rm -rf","commit":"1"}', path="/api/v1/jobs"),
        "priority out of range": post(b'{"project":"demo","kind":"measure","commit":"%s","priority":1e9}' % (b"0" * 40), path="/api/v1/jobs"),
        "labels nested": post(b'{"project":"demo","kind":"measure","commit":"%s","labels":{"a":{"b":1}}}' % (b"0" * 40), path="/api/v1/jobs"),
        "commits that are their own parents": post(json.dumps({"commits": [{**support.commits(7, 7)["commits"][0],
            "parents": [support.commit_id(7)]}]}).encode(), path="/api/v1/projects/demo/commits"),
        "a million parents": post(json.dumps({"commits": [{**support.commits(7, 7)["commits"][0],
            "parents": [support.commit_id(1)] * 20000}]}).encode(), path="/api/v1/projects/demo/commits"),
        "a state that is none": post(b'{"state":"gone"}', path="/api/v1/alerts/1", method="PATCH"),
        "a completion without a lease": post(b'{"status":"done"}', path="/api/v1/jobs/1/complete"),
        "a bisection of texts": post(b'{"project":"demo","metric":7}', path="/api/v1/bisections"),
        "sources by path": post(b'{"commit":"%s","files":"../../etc/passwd"}' % (b"0" * 40), path="/api/v1/projects/demo/sources"),
    }


# libmicrohttpd answers these itself, in HTML, before any code of ours runs: the status it gives.
BEFORE_US = {
    "no address": (b"GET\r\n\r\n", b"400"),
    "bytes that are no HTTP": (b"\x00\x01\x02\r\n\r\n", b"400"),
    "HTTP/9.9": (b"GET /healthz HTTP/9.9\r\n\r\n", b"505"),
    "no Host": (b"GET /healthz HTTP/1.1\r\n\r\n", b"400"),
    "a request line of 70 KB": (b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b"414"),
    "headers of 70 KB": (b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: " + b"a" * 70000 + b"\r\n\r\n", b"431"),
    "a length that is a word": (b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: ten\r\n\r\n", b"400"),
    "a negative length": (b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n", b"400"),
    "a chunk size that is a word": (b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"400"),
    "a chunk of 2^64": (b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", b"413"),
    "a chunk extension of 64 KiB": (b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;"
                                    + b"e" * 65536 + b"\r\nx\r\n0\r\n\r\n", b"500"),
}

INJECTIONS = ("'; DROP TABLE runs; --", "\" OR 1=1 --", "$1); DELETE FROM measurements; --", "{a,b}\\\"'", "\\x27\\",
              "<script>alert(1)</script>", "%s%n%x", "../../../etc/passwd", "${jndi:ldap://x}", "`id`$(id)", "a\r\nSet-Cookie: x=1",
              "\u202e\ufeff\u0000"[:2], "NULL", "x" * 3000)

# Texts that clients choose: their path in the document, and how the document is sent.
TEXTS = ([("id",), ("project",), ("commit",), ("branch",), ("suite",), ("suite_hash",), ("machine", "name"), ("machine", "class"),
          ("machine", "fingerprint", "cpu"), ("started_at",), (*M, "benchmark"), (*M, "metric"), (*M, "backend"), (*M, "unit"),
          (*M, "direction")])


# libmicrohttpd 1.0 is stricter than 0.9.75 and refuses these, too, before our code sees them.
MHD = tuple(int(n) for n in subprocess.run(["pkg-config", "--modversion", "libmicrohttpd"], check=True, capture_output=True,
                                           text=True).stdout.split("."))
REFUSED_BY_1_0 = {"length and chunks", "an encoding that is not chunked", "two encodings", "a blank before the colon"} if MHD >= (1,) else set()


def head_and_body(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), head.decode("latin-1").lower(), body


class Hostile(unittest.TestCase):
    def held(self):
        return {k: v for k, v in server.call("GET", "/api/v1/stats").json.items() if k in ("runs", "measurements", "series")}

    def check(self, cases):
        before = self.held()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = dict(zip(cases, pool.map(raw, cases.values())))
        for name, answer in answers.items():
            with self.subTest(case=name):
                self.assertTrue(answer, "no answer at all")
                status, head, body = head_and_body(answer)
                self.assertIn(status // 100, (4,), answer[:300])
                if name in REFUSED_BY_1_0:
                    self.assertEqual(status, 400, answer[:300])
                    self.assertIn("connection: close", head)
                else:
                    self.assertIn("application/json", head)
                    error = json.loads(body)["error"]
                    self.assertTrue(error["code"] and error["message"], error)
                self.assertEqual(answer.count(b"HTTP/1.1 "), 1, "a second answer")
        self.assertEqual(self.held(), before, "something was stored")
        self.assertEqual(server.call("GET", "/healthz").status, 200)

    def test_all_cases_are_refused_with_a_json_4xx(self):
        groups = (broken_json(), wrong_documents(), framing(), addresses(), other_bodies())
        self.assertGreaterEqual(sum(map(len, groups)), 60)
        for group in groups:
            self.check(group)

    def test_a_refusal_names_the_limit_and_the_limit_itself_is_taken(self):
        many = [{**document()["measurements"][0], "benchmark": f"b{i}", "samples": [[1]]} for i in range(20001)]
        m = many[0]
        over = {
            "16 MiB": (413, post(GOOD + b" " * (16 * 1024 * 1024 + 1 - len(GOOD)))),
            "16 MiB after gunzip": (413, post(gzip.compress(random.Random(1).randbytes(1 << 16).hex().encode() * 129), "Content-Encoding: gzip")),
            "100 times": (413, post(gzip.compress(GOOD + b" " * (8 << 20)), "Content-Encoding: gzip")),
            "expected gzip": (415, post(GOOD, "Content-Encoding: br")),
            "32 levels": (400, post(b"[" * 33 + b"]" * 33)),
            "1000000 arrays and objects, got 1000003": (413, post(b'{"a":[' + b"{}," * 1000000 + b"[]]}")),
            "50000 arrays and objects, got 50002": (413, post(b"[" + b"{}," * 50000 + b"[]]", path="/api/v1/jobs")),
            "1000000 values, got 1000002": (413, post(b"[" + b"1," * 1000000 + b"1]", path="/api/v1/jobs")),
            "20000 entries, got 20001": (400, post(edited(("measurements",), many))),
            "10000 entries, got 10001": (400, post(edited((*M, "samples"), [[1]] * 10001))),
            "100000 samples": (400, post(edited((*M, "samples"), [[1] * 100001]))),
            "200 bytes, got 201": (400, post(edited((*M, "benchmark"), "b" * 201))),
            "4096 bytes, got 4097": (400, post(edited((*M, "reason"), "b" * 4097))),
            "128 members, got 129": (400, post(edited((*M, "params"), {f"k{i}": "" for i in range(129)}))),
            "-1e+300 to 1e+300": (400, post(edited((*M, "samples"), [[1.1e300]]))),
            "1 to 200 printable": (400, post(GOOD, "Idempotency-Key: " + "k" * 201)),
        }
        for words, (status, data) in over.items():
            with self.subTest(words=words):
                got, _, body = head_and_body(raw(data))
                self.assertEqual(got, status, body)
                self.assertIn(words, json.loads(body)["error"]["message"])
        before = self.held()["runs"]
        widest = {"benchmark": "b" * 200, "reason": "r" * 4096, "params": {f"k{i}": "" for i in range(128)}, "samples": [[1e300]] * 10000}
        at = [post(json.dumps(support.run_document(800, 1)).encode().ljust(16 << 20))]
        at += [post(json.dumps(support.run_document(801, 1, measurements=[{**m, **widest}])).encode(), "Idempotency-Key: " + "k" * 200),
               post(json.dumps(support.run_document(802, 1, measurements=[{**m, "samples": [[1] * 100000]}])).encode()),
               post(gzip.compress(json.dumps(support.run_document(803, 1)).encode().ljust(1 << 20)), "Content-Encoding: gzip")]
        for data in at:
            got, _, body = head_and_body(raw(data))
            self.assertEqual(got, 201, body)
        self.assertEqual(self.held()["runs"], before + len(at))

    def test_a_fault_far_from_ascii_has_its_sentence_and_path(self):
        for old, new, field in ((b'"suite"', ('"\u00e9\u20ac' + "\u00e9" * 40 + '"').encode(), "\u00e9\u20ac" + "\u00e9" * 27),
                                (b'"lower"', ('"' + "x" * 31 + "\u00e9" + '"').encode(), "measurements[0].direction"),
                                (b'"perfci.run/1"', ('"' + "x" * 59 + "\u00e9" + '"').encode(), "schema")):
            with self.subTest(field=field):
                status, _, body = head_and_body(raw(post(spliced(old, new))))
                error = json.loads(body)["error"]
                self.assertEqual((status, error.get("field")), (400, field))
                self.assertTrue(error["message"].startswith(field), error)

    def test_what_libmicrohttpd_answers_itself_is_what_the_document_lists(self):
        for name, (data, status) in BEFORE_US.items():
            with self.subTest(case=name):
                answer = raw(data, hasty)
                self.assertIn(answer.split(b" ")[1] if answer else b"", (status, b""), answer[:200])
                self.assertNotIn(b"application/json", answer)
        self.assertEqual(hasty.call("GET", "/healthz").status, 200)

    def test_injections_are_refused_or_stored_as_the_text_they_are(self):
        number, stored, before = 1000, 0, self.held()["runs"]
        for path in TEXTS:
            for text in INJECTIONS:
                number += 1
                d = support.run_document(number, 1)
                at = d
                for step in path[:-1]:
                    at = at[step]
                at[path[-1]] = text
                with self.subTest(field=path, text=text[:30]):
                    answer = server.as_admin("POST", RUNS, d)
                    self.assertIn(answer.status, (201, 400, 403, 404, 409, 413), answer)
                    if answer.status != 201:
                        self.assertTrue(answer.json["error"]["message"])
                        continue
                    stored += 1
                    back = server.call("GET", f"/api/v1/runs/{d['id']}").json
                    for step in path:
                        back = back[step]
                    self.assertEqual(back, text)
        self.assertGreater(stored, 0, "no field takes free text: the test asks for nothing")
        for text in INJECTIONS[:-1]:
            quoted = "".join(f"%{b:02x}" for b in text.encode())
            for path in (f"/api/v1/projects/demo/series?q={quoted}", f"/api/v1/projects/demo/series?metric={quoted}",
                         f"/api/v1/projects/{quoted}", f"/api/v1/compare?project=demo&a={quoted}&b={quoted}",
                         f"/api/v1/jobs?state={quoted}", f"/api/v1/alerts?project={quoted}"):
                with self.subTest(path=path):
                    answer = server.call("GET", path)
                    self.assertIn(answer.status, (200, 400, 404), answer)
        figures = server.call("GET", "/api/v1/stats").json
        self.assertEqual(figures["runs"], before + stored)


class Slow(unittest.TestCase):
    """The clock is the server's own: libmicrohttpd counts only the time without a byte."""

    def test_drips_are_ended_by_a_total_time_while_others_are_served(self):
        starts = (b"G", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: ", b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\n",
                  b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n", b"")
        drips = [socket.create_connection(("127.0.0.1", hasty.port)) for _ in range(60)]
        self.addCleanup(lambda: [s.close() for s in drips])
        for i, s in enumerate(drips):
            s.sendall(starts[i % len(starts)])
            s.settimeout(0.001)
        alive, end = set(drips), time.monotonic() + support.DEADLINE_S
        while alive and time.monotonic() < end:
            for s in list(alive):
                try:
                    s.send(b"a")  # a byte now and then: there is never a pause to count
                    while part := s.recv(4096):
                        self.assertNotIn(b"HTTP/1.1 5", part)
                    alive.discard(s)
                except TimeoutError:
                    pass
                except OSError:
                    alive.discard(s)
            self.assertEqual(hasty.call("GET", "/healthz").status, 200)
        self.assertEqual(len(alive), 0, "still open after the total time")
        self.assertTrue(re.search(rb"(?m)^perfci_http_timeouts_total [1-9]", hasty.call("GET", "/metrics").body))


if __name__ == "__main__":
    unittest.main(verbosity=1)
