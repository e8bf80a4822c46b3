"""A stand-in of the service for tests of perfci-runner: it hands out jobs, and keeps what the runner sends."""
import http.server
import json
import queue
import threading


class JobsService:
    """jobs: a queue of what the next leases get. told: (what, the job's id or the body) in the runner's order, where what
    is lease, heartbeat, runs, or complete. runs and ends: the bodies of runs and complete. Further requests get {}."""

    def __init__(self, *jobs):
        self.jobs, self.told, self.runs, self.ends = queue.SimpleQueue(), queue.SimpleQueue(), [], []
        for job in jobs:
            self.jobs.put(job)
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
                what = self.path.split("?")[0].rpartition("/")[2]
                job = outer.take(what, body)
                reply = b"" if what == "lease" and not job else json.dumps({"job": job} if job else {}).encode()
                self.send_response(200 if reply else 204)
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def take(self, what, body):
        """Notes a request; the job that it leases, or None."""
        job = None
        if what == "lease":
            try:
                job = self.jobs.get_nowait()
            except queue.Empty:
                pass
        elif what == "runs":
            self.runs.append(body)
        elif what == "complete":
            self.ends.append(body)
        self.told.put((what, job["id"] if job else body))
        return job

    def next(self, *whats, timeout_s=300):
        """The next message of one of these kinds."""
        while True:
            what, detail = self.told.get(timeout=timeout_s)
            if what in whats:
                return what, detail

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
