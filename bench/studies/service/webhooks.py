"""Measures how fast webhooks are answered at a fixed rate.

webhooks.py [--rate N] [--seconds N] [--clients N] [--bytes N]

Signed GitHub deliveries of pull requests, each with an id of its own, are due at fixed times (open loop). An answer's
time counts from when its delivery was due, so that a slow answer delays no later measurement unseen. The bot's thread
works on what is stored meanwhile. PostgreSQL syncs to the disk. Prints p50, p99 and the maximum, first of /healthz at
the same rate, for comparison. Exit status 1: a delivery was refused or not stored once.
"""
import argparse
import hashlib
import hmac
import http.client
import json
import os
import sys
import threading
import time
import uuid

sys.path.insert(0, os.path.join(os.environ["PERFCI_SOURCE_DIR"], "tests/server/http"))
import support  # noqa: E402

SECRET = "a secret of this study"
PATH = "/api/v1/webhooks/github"


def delivery(size):
    """A pull request's event of about `size` bytes, as large as those that GitHub sends."""
    side = {"sha": "c" * 40, "ref": "topic", "repo": {"full_name": "octo/demo"}}
    event = {"action": "opened", "number": 9, "repository": {"full_name": "octo/demo", "clone_url": "https://example.org/x.git"},
             "sender": {"login": "ada", "type": "User"},
             "pull_request": {"number": 9, "title": "t", "state": "open", "draft": False, "user": {"login": "ada"},
                              "html_url": "https://example.org", "head": side, "base": {**side, "ref": "main"}, "body": ""}}
    event["pull_request"]["body"] = "x" * max(0, size - len(json.dumps(event)))
    return json.dumps(event).encode()


def sender(body):
    """Sends one delivery; returns the status."""
    mac = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()

    def send(connection):
        connection.request("POST", PATH, body, {
            "Content-Type": "application/json", "X-GitHub-Event": "pull_request", "X-GitHub-Delivery": str(uuid.uuid4()),
            "X-Hub-Signature-256": "sha256=" + mac})
        reply = connection.getresponse()
        reply.read()
        return reply.status

    return send


def healthz(connection):
    connection.request("GET", "/healthz")
    reply = connection.getresponse()
    reply.read()
    return reply.status


def at_rate(port, send, rate, seconds, clients):
    """Times in seconds and the statuses of rate * seconds calls."""
    calls, times, statuses, lock = rate * seconds, [], set(), threading.Lock()
    start = time.monotonic() + 0.5

    def work(first):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=support.DEADLINE_S)
        for n in range(first, calls, clients):
            due = start + n / rate
            time.sleep(max(0.0, due - time.monotonic()))
            status = send(connection)
            with lock:
                times.append(time.monotonic() - due)
                statuses.add(status)
        connection.close()

    threads = [threading.Thread(target=work, args=(first,)) for first in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(times), statuses


def row(what, times):
    last = len(times) - 1
    print(f"{what:<10} n {len(times)}  p50 {1e3 * times[last // 2]:.1f} ms  p99 {1e3 * times[last * 99 // 100]:.1f} ms  "
          f"max {1e3 * times[-1]:.1f} ms", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rate", type=int, default=100, help="deliveries a second")
    options.add_argument("--seconds", type=int, default=15)
    options.add_argument("--clients", type=int, default=8, help="connections")
    options.add_argument("--bytes", type=int, default=25000, help="of a delivery")
    o = options.parse_args()
    os.environ.setdefault("PERFCI_TEST_FSYNC", "1")
    cluster = support.Cluster()
    try:
        server = support.Server(cluster.database(migrated=True), environment={"PERFCI_GITHUB_WEBHOOK_SECRET": SECRET})
        server.as_admin("POST", "/api/v1/projects", {"name": "demo"})
        server.as_admin("POST", "/api/v1/projects/demo/forge", {"forge": "github", "repo": "octo/demo"})
        row("/healthz", at_rate(server.port, healthz, o.rate, o.seconds, o.clients)[0])
        times, statuses = at_rate(server.port, sender(delivery(o.bytes)), o.rate, o.seconds, o.clients)
        row("webhooks", times)
        stored = int(support.sql(server.database, "SELECT count(*) FROM webhook_deliveries"))
        print(f"stored {stored} of {len(times)}, statuses {sorted(statuses)}")
        server.close()
        return 0 if statuses == {202} and stored == len(times) else 1
    finally:
        cluster.close()


if __name__ == "__main__":
    sys.exit(main())
