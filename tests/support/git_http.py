"""Bare repositories of a folder by HTTP, to read and to push: git http-backend behind a small server. Every client may push.

git_http.py FOLDER PORT     serves http://127.0.0.1:PORT/NAME.git until it is ended"""

import http.server
import os
import subprocess
import sys
import urllib.parse


class Backend(http.server.BaseHTTPRequestHandler):
    folder = ""

    def do_GET(self):
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        env = {**os.environ, "GIT_PROJECT_ROOT": self.folder, "GIT_HTTP_EXPORT_ALL": "1", "REMOTE_USER": "somebody",
               "REQUEST_METHOD": self.command, "PATH_INFO": urllib.parse.unquote(path), "QUERY_STRING": query,
               "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
               "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
               "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
        done = subprocess.run(["git", "http-backend"], input=body, env=env, stdout=subprocess.PIPE, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode("ascii").split("\r\n"))
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET


if __name__ == "__main__":
    Backend.folder = os.path.abspath(sys.argv[1])
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Backend).serve_forever()
