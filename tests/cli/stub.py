"""A service that answers from a table of documents: what a command prints about them, without a database."""

import http.server
import json
import sys
import threading


class Stub:
    """Answers (method, path without query) from `answers`: a document, (status, document), or a function that gives one."""

    def __init__(self, answers):
        self.answers, self.calls = answers, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                path = self.path.partition("?")[0]
                binary = self.headers.get("Content-Type") == "application/octet-stream"
                outer.calls.append((self.command, self.path, f"{len(body)} bytes" if binary else json.loads(body) if body else None))
                found = outer.answers.get((self.command, path))
                found = found() if callable(found) else found
                if found is None:
                    found = (404, {"error": {"code": "not_found", "message": f"no such path {path}"}})
                status, document = found if isinstance(found, tuple) else (200, found)
                text = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = do_DELETE = answer

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, request, client_address):
                """A client that ended before its answer is not a fault of the test."""
                if not isinstance(sys.exc_info()[1], ConnectionError):
                    super().handle_error(request, client_address)

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
