"""Event streams of the running server, which test_api.py starts: its class of the same name has these."""
import http.client
import json
import socket
import time
import unittest

import support

server = None


class Events(unittest.TestCase):
    def test_a_stream_hears_of_a_run(self):
        server.as_admin("POST", "/api/v1/projects", {"name": "events"})
        with socket.create_connection(("127.0.0.1", server.port), timeout=support.DEADLINE_S) as stream:
            stream.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            text = b""
            while b": open" not in text:
                text += self.more(stream)
            self.assertIn(b"text/event-stream", text)
            posted = server.as_admin("POST", "/api/v1/runs", support.run_document(4001, 1, project="events"))
            self.assertEqual(posted.status, 201, posted)
            while b"event: run\n" not in text:
                text += self.more(stream)
        line = text.split(b"event: run\ndata: ")[1].split(b"\n")[0]
        self.assertEqual(json.loads(line)["project"], "events")

    def listen(self, token=None, last=None):
        """An open event stream, which misses no event after this returns: its lines, and its first event id."""
        stream = http.client.HTTPConnection("127.0.0.1", server.port, timeout=support.DEADLINE_S)
        self.addCleanup(stream.close)
        stream.request("GET", "/api/v1/events", headers={**({"Authorization": "Bearer " + token} if token else {}),
                                                         **({"Last-Event-ID": last} if last else {})})
        reply = stream.getresponse()
        self.addCleanup(reply.close)
        return reply

    def opened(self, token=None):
        reply = self.listen(token)
        self.assertEqual(reply.status, 200)
        line = self.line(reply)
        while not line.startswith("id: "):
            line = self.line(reply)
        return reply, line.removeprefix("id: ").strip()

    def line(self, reply):
        line = reply.readline().decode()
        self.assertTrue(line, "the stream ended")
        return line

    def hear(self, reply, kind, project, good=lambda event: True):
        """The next event of that kind and project that is good, with its id; every event before it is well formed, too, and is gone
        then. A stream that goes on without it has its pings, so that no read ever times out: the end is a time of our own."""
        heard, end = [], time.monotonic() + support.DEADLINE_S
        while True:
            self.assertLess(time.monotonic(), end, f"no {kind} among {heard}")
            fields = {}
            line = self.line(reply)
            while line != "\n":
                name, _, value = line.rstrip("\n").partition(": ")
                if name:  # else a comment
                    fields[name] = value
                line = self.line(reply)
            if "data" not in fields:
                continue
            heard.append(fields["data"])
            event = json.loads(fields["data"])
            self.assertEqual(fields["data"], json.dumps(event, separators=(",", ":")))  # in compact JSON, whatever part of the server sends it
            self.assertEqual(event["type"], fields["event"])
            if (event["type"], event.get("project")) == (kind, project) and good(event):
                return event, fields["id"]

    def test_streams_hear_of_a_machine_that_moves_and_comes_back(self):
        server.as_admin("POST", "/api/v1/projects", {"name": "swaying"})
        server.as_admin("POST", "/api/v1/projects", {"name": "events"})
        server.as_admin("POST", "/api/v1/projects/swaying/commits", support.commits(1, 3))
        token = {p: server.as_admin("POST", "/api/v1/tokens", {"scopes": ["read"], "project": p}).json for p in ("swaying", "events")}
        (anybody, _), (own, _), (other, _) = self.opened(), self.opened(token["swaying"]["token"]), self.opened(token["events"]["token"])
        for n, infra in ((1, False), (2, True), (3, False)):
            run = {**support.run_document(4100 + n, n, project="swaying"), "infra": infra}
            self.assertEqual(server.as_admin("POST", "/api/v1/runs", run).status, 201)
        kept = server.call("GET", "/api/v1/environment?project=swaying").json["events"][0]["id"]
        for stream in (anybody, own):
            moved, number = self.hear(stream, "environment", "swaying")
            self.assertEqual(moved, {"type": "environment", "project": "swaying", "id": kept, "open": True})
            self.assertEqual(self.hear(stream, "environment", "swaying")[0], {**moved, "open": False})
        # a client that reconnects gets the events that it missed, and no others
        self.assertEqual(self.hear(self.listen(last=number), "environment", "swaying")[0]["open"], False)
        # another project's stream got no event in between
        self.assertEqual(server.as_admin("POST", "/api/v1/runs", support.run_document(4110, 1, project="events")).status, 201)
        event, _ = self.hear(other, "run", "events")
        self.assertEqual(event["id"], f"{4110:032x}")
        self.assertEqual(server.as_admin("DELETE", f"/api/v1/tokens/{token['swaying']['id']}").status, 204)
        self.hear(own, "run", "swaying", lambda e: e["id"] == f"{4103:032x}")
        self.assertNotIn(b"event: ", own.read())

    def test_streams_hear_of_a_person_who_dismisses_a_step(self):
        stream, _ = self.opened()
        event = support.moved_machine(server, "strode")
        found, number = self.hear(stream, "environment", "strode")
        self.assertEqual((found["id"], found["open"]), (event["id"], True))
        for dismissed in (True, False):
            answer = server.as_admin("PATCH", f"/api/v1/environment/{event['id']}", {"dismissed": dismissed})
            self.assertEqual(answer.status, 200, answer)
            if dismissed:
                for _ in range(6):  # its alerts, all in one transaction with it
                    self.hear(stream, "alert", "strode", lambda e: e["state"] == "untriaged")
                self.hear(stream, "environment", "strode", lambda e: (e["id"], e["open"]) == (event["id"], False))
        self.hear(self.listen(last=number), "environment", "strode", lambda e: (e["id"], e["open"]) == (event["id"], False))

    def test_streams_hear_of_a_search_from_its_beginning_to_its_end(self):
        server.as_admin("POST", "/api/v1/projects", {"name": "searched"})
        server.as_admin("POST", "/api/v1/projects/searched/commits", support.commits(1, 12))
        for n in (1, 12):
            run = support.run_document(4200 + n, n, 100.0 if n < 8 else 200.0, project="searched")
            self.assertEqual(server.as_admin("POST", "/api/v1/runs", run).status, 201)
        order = {"project": "searched", "mode": "remote", "metric": "time_ns", "good": support.commit_id(1), "bad": support.commit_id(12)}
        stream, _ = self.opened()
        begun = server.as_admin("POST", "/api/v1/bisections", order)
        self.assertEqual(begun.status, 201, begun)
        mine = lambda state: lambda e: (e["id"], e["state"]) == (begun.json["id"], state)
        number = self.hear(stream, "bisection", "searched", mine("running"))[1]
        self.assertEqual(server.as_admin("DELETE", f"/api/v1/bisections/{begun.json['id']}").status, 200)
        self.hear(stream, "bisection", "searched", mine("cancelled"))
        self.hear(self.listen(last=number), "bisection", "searched", mine("cancelled"))
        # and of a local bisection
        report = {"project": "searched", "metric": "time_ns", "benchmark": "gemm/f32/m64n64k64", "backend": "cpu-scalar",
                  "good": support.commit_id(1), "bad": support.commit_id(12), "verdict": "found", "runs": 9, "builds": 4,
                  "culprits": [{"commits": [support.commit_id(8)], "probability": 0.99, "rel_change": 1.0, "rel_low": 0.9, "rel_high": 1.1}],
                  "commits_measured": 4, "seconds": 12.5, "steps": []}
        shown = server.as_admin("POST", "/api/v1/bisections", report)
        self.assertEqual(shown.status, 201, shown)
        self.hear(stream, "bisection", "searched", lambda e: (e["id"], e["verdict"]) == (shown.json["id"], "found"))

    def test_a_stream_goes_on_where_it_was_and_ends_with_its_token(self):
        server.as_admin("POST", "/api/v1/projects", {"name": "events"})
        made = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["read"]}).json
        first, last = self.opened(made["token"])
        first.close()
        self.assertEqual(server.as_admin("POST", "/api/v1/runs", support.run_document(4002, 1, project="events")).status, 201)
        again = self.listen(made["token"], last)
        self.assertEqual(again.status, 200)
        self.hear(again, "run", "events", lambda e: e["id"] == f"{4002:032x}")
        self.assertEqual(server.as_admin("DELETE", f"/api/v1/tokens/{made['id']}").status, 204)
        again.read()
        self.assertEqual(self.listen(made["token"], last).status, 401)

    def more(self, stream):
        data = stream.recv(4096)
        self.assertTrue(data, "the stream ended")
        return data
