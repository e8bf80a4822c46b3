"""Receivers of notices that the tests look into: they answer as a script says and keep what they were sent."""
import http.server
import json
import socket
import socketserver
import threading


class Receiver(http.server.ThreadingHTTPServer):
    """Hears what is posted to it; `script` says for each path what the calls get, the last for ever."""

    daemon_threads = True

    def __init__(self, script=None, port=0):
        super().__init__(("127.0.0.1", port), Hears)
        self.script, self.calls, self.lock = script or {}, [], threading.Lock()
        self.comments = []  # of GitHub
        self.left = 0       # callers that gave up
        self.port = self.server_address[1]
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    def to(self, path):
        with self.lock:
            return [c for c in self.calls if c["path"] == path]

    def close(self):
        self.shutdown()
        self.server_close()
        self.thread.join()

    def handle_error(self, request, client_address):
        pass  # a client that gives up is what some of the tests are about


class Hears(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def reply(self, status, document=None, **headers):
        body = json.dumps(document).encode() if document is not None else b""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_call(self):
        path, _, _ = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        server = self.server
        with server.lock:
            number = len([c for c in server.calls if c["path"] == path])
            server.calls.append({"method": self.command, "path": path, "headers": dict(self.headers), "body": body})
        if path == "/user" or path.startswith("/repos/"):
            return self.github(path, body)
        script = server.script.get(path, [204])
        action = script[min(number, len(script) - 1)]
        if action == "close":
            return self.connection.shutdown(socket.SHUT_RDWR)
        if action == "hang":
            self.connection.recv(1)  # until the caller gives up
            with server.lock:
                server.left += 1
            return None
        if action == "redirect":
            return self.reply(302, Location=f"http://127.0.0.1:{server.port}/elsewhere")
        return self.reply(action)

    def github(self, path, body):
        if self.headers.get("Authorization") != "Bearer token-of-16-bytes":
            return self.reply(401, {"message": "Bad credentials"})
        if path == "/user":
            return self.reply(200, {"id": 1, "login": "bot"})
        if self.command == "GET":
            return self.reply(200, self.server.comments)
        text = json.loads(body)["body"]
        if self.command == "POST":
            self.server.comments.append({"id": 5, "body": text, "html_url": "http://x", "user": {"id": 1}})
        else:
            self.server.comments[0]["body"] = text
        return self.reply(201, self.server.comments[0])

    do_GET = do_POST = do_PATCH = handle_call


class Mailbox(socketserver.ThreadingTCPServer):
    """An SMTP server without TLS, as far as a client needs one; `script`: the answers to the ends of messages, the last for ever."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, script=("250 kept",), login=None):
        super().__init__(("127.0.0.1", 0), Mails)
        self.script, self.login, self.messages, self.lock = script, login, [], threading.Lock()
        self.port = self.server_address[1]
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.shutdown()
        self.server_close()
        self.thread.join()


class Mails(socketserver.StreamRequestHandler):
    def say(self, text):
        self.wfile.write(text.encode() + b"\r\n")

    def message(self):
        """The lines up to the one with a dot alone."""
        lines = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line[1:] if line.startswith(b".") else line)
        return b"".join(lines)

    def handle(self):
        server, sender, recipients = self.server, None, []
        self.say("220 mailbox.test")
        while line := self.rfile.readline():
            text = line.decode().rstrip()
            word = text.split(" ")[0].upper()
            if word == "EHLO":
                self.say("250-mailbox.test")
                self.say("250 AUTH PLAIN" if server.login else "250 8BITMIME")
            elif word == "AUTH":
                self.say("334 ")
                self.say("235 in" if self.rfile.readline().decode().strip() == server.login else "535 refused")
            elif word == "MAIL":
                sender = text
                self.say("250 ok")
            elif word == "RCPT":
                recipients.append(text)
                self.say("250 ok")
            elif word == "DATA":
                self.say("354 go on")
                body = self.message()
                with server.lock:
                    answer = server.script[min(len(server.messages), len(server.script) - 1)]
                    server.messages.append({"sender": sender, "recipients": recipients, "body": body})
                self.say(answer)
            elif word == "QUIT":
                self.say("221 bye")
                return
            else:
                self.say("502 not known")
