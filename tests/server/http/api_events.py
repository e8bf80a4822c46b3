"""Event streams of the running server, which test_api.py starts: its class of the same name has these."""
import http.client
import json
import re
import socket
import unittest

import support

server = None


class Events(unittest.TestCase):
    def test_a_stream_hears_of_a_run(self):
        server.as_admin("POST", "/api/v1/projects", {"name": "events"})
        with socket.create_connection(("127.0.0.1", server.port), timeout=support.DEADLINE_S) as stream:
            stream.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
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

    def test_a_stream_goes_on_where_it_was_and_ends_with_its_token(self):
        server.as_admin("POST", "/api/v1/projects", {"name": "events"})
        made = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["read"]}).json

        def listen(last=None):
            stream = http.client.HTTPConnection("127.0.0.1", server.port, timeout=support.DEADLINE_S)
            self.addCleanup(stream.close)
            head = {"Authorization": "Bearer " + made["token"], **({"Last-Event-ID": last} if last else {})}
            stream.request("GET", "/api/v1/events", headers=head)
            return stream.getresponse()

        def read(reply, until=None):
            text = ""
            while not until or not re.search(until, text):
                line = reply.readline().decode()
                if not line:
                    self.assertIsNone(until, text)
                    return text
                text += line
            return text

        first = listen()
        last = re.search("id: (.*)", read(first, "(?m)^id: .*\n")).group(1)
        first.close()
        self.assertEqual(server.as_admin("POST", "/api/v1/runs", support.run_document(4002, 1, project="events")).status, 201)
        again = listen(last)
        self.assertEqual(again.status, 200)
        self.assertIn(f'"id":"{4002:032x}"', read(again, "(?m)^event: run\ndata: .*\n"))
        self.assertEqual(server.as_admin("DELETE", f"/api/v1/tokens/{made['id']}").status, 204)
        read(again)
        self.assertEqual(listen(last).status, 401)

    def more(self, stream):
        data = stream.recv(4096)
        self.assertTrue(data, "the stream ended")
        return data
