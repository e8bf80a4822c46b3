"""The forms of test_desync.py behind HAProxy and nginx, which keep connections to the server and share them.

Each form is followed by a second request on the client's connection. A proxy may refuse the form, mend it, or read two
requests where the client sent two: all of that is its right. The server must read the same requests as the proxy: it
never handles the second one unless the client gets its answer, and the next client, whose request may travel on the
same connection, gets the answer to its own request. Every request has an id, which the server writes into its answer
and its log.
"""
import json
import pathlib
import shutil
import socket
import subprocess
import tempfile
import unittest

import support
import test_desync

HAPROXY = """defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  http-reuse always
frontend front
  bind 127.0.0.1:{port}
  default_backend back
backend back
  server one 127.0.0.1:{server}
"""
NGINX = """daemon off;
pid {dir}/pid;
error_log {dir}/error.log;
worker_processes 1;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {dir}/a; proxy_temp_path {dir}/b; fastcgi_temp_path {dir}/c; uwsgi_temp_path {dir}/d; scgi_temp_path {dir}/e;
  upstream back {{ server 127.0.0.1:{server}; keepalive 4; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://back; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host localhost;
      proxy_request_buffering off;
    }}
  }}
}}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def second(name):
    return f"GET /version HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: {name}\r\n\r\n".encode()


class Proxies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = support.Cluster()
        cls.server = support.Server(cls.cluster.database(migrated=True), "--public-read")

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        cls.cluster.close()

    def start(self, program, config, *arguments):
        """The proxy's port."""
        found = shutil.which(program) or shutil.which(program, path="/usr/sbin")
        if not found:
            self.skipTest(f"{program} is not installed (deploy/packages/test.txt)")
        folder, port = tempfile.mkdtemp(prefix="pfc-proxy-"), free_port()
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        path = pathlib.Path(folder, "conf")
        path.write_text(config.format(port=port, server=self.server.port, dir=folder))
        with open(pathlib.Path(folder, "log"), "wb") as log:
            process = subprocess.Popen([found, *(a.format(conf=path, dir=folder) for a in arguments)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        support.until(f"{program} answers", lambda: process.poll() is None and self.own(port, "start"))
        return port

    def exchange(self, port, data, wait_s):
        with socket.create_connection(("127.0.0.1", port), timeout=support.DEADLINE_S) as s:
            text = b""
            s.settimeout(wait_s)
            try:
                s.sendall(data)
                while part := s.recv(65536):
                    text += part
            except (TimeoutError, ConnectionError):
                pass
            return text

    def own(self, port, name):
        """Whether a request of a new client gets the answer to itself."""
        try:
            text = self.exchange(port, f"GET /nowhere HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: {name}\r\nConnection: close\r\n\r\n".encode(),
                                 support.DEADLINE_S)
        except OSError:
            return False
        return text.startswith(b"HTTP/1.1 404") and f"x-request-id: {name}\r\n".encode() in text.lower()

    def handled(self, program):
        """Ids of the second requests that the server handled."""
        lines = (json.loads(line) for line in self.server.log().splitlines() if f'"{program}-second-' in line)
        return {line["request"] for line in lines if "request" in line}

    def walk(self, program, port):
        cases = test_desync.forms()
        self.assertGreaterEqual(len(cases), 60)
        answered = set()
        for number, (name, form) in enumerate(cases.items()):
            own = f"{program}-second-{number}"
            text = self.exchange(port, form + second(own), 0.4)
            if f"x-request-id: {own}\r\n".encode() in text.lower():
                answered.add(own)
            for turn in range(2):
                self.assertTrue(self.own(port, f"{program}-own-{number}-{turn}"), f"{name}: another client got a foreign answer")
        self.assertEqual(self.handled(program) - answered, set(), "the server handled a request that the proxy did not send as one")
        # the way is open all the same: a good request with another one behind it
        good = b"GET /api/v1/projects HTTP/1.1\r\nHost: localhost\r\n\r\n" + second(program + "-last")
        self.assertIn(f"x-request-id: {program}-last\r\n".encode(), self.exchange(port, good, 2).lower())

    def test_behind_haproxy(self):
        self.walk("haproxy", self.start("haproxy", HAPROXY, "-db", "-f", "{conf}"))

    def test_behind_nginx(self):
        self.walk("nginx", self.start("nginx", NGINX, "-p", "{dir}", "-c", "{conf}", "-e", "{dir}/error.log"))


if __name__ == "__main__":
    unittest.main()
