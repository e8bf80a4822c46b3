"""Requests whose end two readers may see in different places (request smuggling), each with a second request behind it.

A form that is refused or that is a matter of opinion must end the connection: the second request is never answered. A well-formed
request before the second one is the control: there, both are answered. DNS rebinding (the name in Host) is tested here, too.
"""
import concurrent.futures
import itertools
import socket
import unittest

import support

SECOND = b"GET /version HTTP/1.1\r\nHost: localhost\r\nX-Second: yes\r\n\r\n"
HOST = b"Host: localhost\r\n"
PATHS = (b"POST /api/v1/runs HTTP/1.1\r\n", b"POST /nowhere HTTP/1.1\r\n", b"GET /api/v1/projects HTTP/1.1\r\n")


def setUpModule():
    global cluster, server
    cluster = support.Cluster()
    server = support.Server(cluster.database(migrated=True), "--public-read")


def tearDownModule():
    server.close()
    cluster.close()


def ask(data):
    """(statuses of the answers, whether the server closed the connection)"""
    with socket.create_connection(("127.0.0.1", server.port), timeout=support.DEADLINE_S) as s:
        text, closed = b"", False
        s.settimeout(1.5)  # an open connection says nothing more: only then is this waited for
        try:
            s.sendall(data)
            while part := s.recv(65536):
                text += part
            closed = True
        except TimeoutError:
            pass
        except ConnectionError:
            closed = True
    answers = text.split(b"HTTP/1.1 ")[1:]
    # libmicrohttpd 0.9.75 writes the head of its own 400 and 413 twice, before one body: that is one answer.
    if len(answers) == 2 and answers[1].startswith(answers[0]) and b"<html>" in answers[1]:
        del answers[0]
    return [int(part[:3]) for part in answers], closed


def length(n):
    return b"%d" % n


def forms():
    """name -> bytes; each is followed by SECOND, and none may have it answered."""
    n = len(SECOND)
    found = {}
    # folded lines (RFC 9112, 5.2: a server must refuse them or replace them)
    for path, name, blank in itertools.product(PATHS, (b"Content-Length", b"content-length", b"Transfer-Encoding"), (b" ", b"\t", b"  \t")):
        value = b"chunked" if name == b"Transfer-Encoding" else length(n)
        found[f"folded {name} {blank} {path[:20]}"] = path + HOST + name + b":\r\n" + blank + value + b"\r\n\r\n"
    for where in (b" 1", b"\t1", b" "):
        found[f"folded Host {where}"] = PATHS[0] + b"Host:\r\n" + where + b"\r\nContent-Length: 0\r\n\r\n"
    # lengths that are none, two, or signed
    for value in (b"-1", b"+3", b"0x3", b"3,3", b"3, 3", b"3 3", b"3;", b"03e0", b"", b"18446744073709551616", b"3\x0b", b"\x003", b"three", b"1_0"):
        found[f"length {value}"] = PATHS[0] + HOST + b"Content-Length: " + value + b"\r\n\r\n"
    for a, b in ((b"0", length(n)), (length(n), b"0"), (b"3", b"3")):
        found[f"two lengths {a} {b}"] = PATHS[0] + HOST + b"Content-Length: " + a + b"\r\nContent-Length: " + b + b"\r\n\r\n"
    # names that another reader may take for Content-Length or Transfer-Encoding
    for name in (b"Content-Length ", b"Content-Length\t", b" Content-Length", b"Content-Length\x0b", b"Content-Length\x00", b"Transfer-Encoding ",
                 b"Transfer-Encoding\t", b"Content-Lengthx", b"Transfer-Encodingx"):
        value = b"chunked" if b"Transfer" in name else length(n)
        found[f"name {name}"] = PATHS[0] + HOST + name + b": " + value + b"\r\n\r\n"
    # codings that are not chunked alone, and both at once
    for value in (b"xchunked", b"chunked, identity", b"identity, chunked", b"gzip, chunked", b"chunked;q=1", b"\x0bchunked", b"chunked\x00", b"'chunked'",
                  b"chunked chunked", b"identity", b"chunked,", b",chunked"):
        found[f"coding {value}"] = PATHS[0] + HOST + b"Transfer-Encoding: " + value + b"\r\n\r\n0\r\n\r\n"
    for order in (0, 1):
        pair = [b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n"]
        found[f"both {order}"] = PATHS[0] + HOST + b"".join(pair[::-1] if order else pair) + b"\r\n0\r\n\r\n"
    found["two codings"] = PATHS[0] + HOST + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n0\r\n\r\n"
    found["chunks in HTTP/1.0"] = PATHS[0].replace(b"1.1", b"1.0") + HOST + b"Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    # chunks whose lines end or begin otherwise
    for name, body in {"LF after the size": b"3\nabc\r\n0\r\n\r\n", "LF after the data": b"3\r\nabc\n0\r\n\r\n", "LF at the end": b"3\r\nabc\r\n0\n\n",
                       "LF everywhere": b"3\nabc\n0\n\n", "an extension": b"3;a=b\r\nabc\r\n0\r\n\r\n", "LF in an extension": b"3;a\nb\r\nabc\r\n0\r\n\r\n",
                       "a blank before the size": b" 3\r\nabc\r\n0\r\n\r\n", "a blank after the size": b"3 \r\nabc\r\n0\r\n\r\n", "0x": b"0x3\r\nabc\r\n0\r\n\r\n",
                       "a sign": b"+3\r\nabc\r\n0\r\n\r\n", "a minus": b"-3\r\nabc\r\n0\r\n\r\n", "2^64 + 3": b"10000000000000003\r\nabc\r\n0\r\n\r\n",
                       "many zeros": b"0" * 40 + b"3\r\nabc\r\n0\r\n\r\n", "more data than said": b"3\r\nabcd\r\n0\r\n\r\n", "a trailer": b"3\r\nabc\r\n0\r\nX: y\r\n\r\n",
                       "a trailer of a length": b"3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n", "no size": b"\r\nabc\r\n0\r\n\r\n", "CR alone": b"3\rabc\r0\r\r"}.items():
        found[f"chunks: {name}"] = PATHS[0] + HOST + b"Transfer-Encoding: chunked\r\n\r\n" + body
    # bytes that end a line elsewhere
    for name, line in {"CR in a value": b"X: a\rContent-Length: 9", "CR before a name": b"\rX: a", "a line without a colon": b"nothing",
                       "DEL": b"X: a\x7f"}.items():
        found[name] = PATHS[2] + HOST + line + b"\r\n\r\n"
    return found


class Desync(unittest.TestCase):
    def test_the_second_request_is_answered_behind_a_good_one(self):
        for first in (PATHS[2] + HOST + b"\r\n", PATHS[0] + HOST + b"Content-Length: 3\r\n\r\nabc"):
            statuses, closed = ask(first + SECOND)
            self.assertEqual((statuses[1:], closed), ([200], False), first)

    def test_no_form_has_a_second_request_answered(self):
        cases = forms()
        self.assertGreaterEqual(len(cases), 60)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = dict(zip(cases, pool.map(lambda form: ask(form + SECOND), cases.values())))
        for name, (statuses, closed) in answers.items():
            with self.subTest(form=name):
                self.assertLessEqual(len([s for s in statuses if s < 400]), 0, statuses)
                self.assertLessEqual(len(statuses), 1, statuses)
                self.assertTrue(closed, "the connection stays open")

    def test_a_name_of_another_site_is_misdirected(self):
        with_host = lambda host: ask(b"GET /api/v1/projects HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n")[0]
        for host in (b"localhost", b"LOCALHOST:7420", b"127.0.0.1", b"127.0.0.1:1", b"[::1]:80", b"a.localhost", b"10.0.0.1", b"localhost."):
            self.assertEqual(with_host(host), [200], host)
        for host in (b"evil.example", b"evil.example:7420", b"localhost.evil.example", b"127.0.0.1.evil.example", b"xlocalhost", b"", b"localhost:x",
                     b"[::1", b"1.2.3", b"localhost@evil.example", b"a" * 300):
            self.assertEqual(with_host(host), [421], host)
        named = support.Server(cluster.database(migrated=True), "--hosts", "perfci.example, other.example")
        try:
            for host, status in ((b"perfci.example", 200), (b"OTHER.example:1", 200), (b"evil.example", 421)):
                with socket.create_connection(("127.0.0.1", named.port), timeout=support.DEADLINE_S) as s:
                    s.sendall(b"GET /version HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n")
                    self.assertIn(b"HTTP/1.1 %d" % status, s.recv(100), host)
        finally:
            named.close()


if __name__ == "__main__":
    unittest.main()
