"""SIGTERM under load: what was taken is answered, nothing that was answered is cut, and the end comes within 10 s.

Each trial posts runs over connections that stay open, ends the server at a random instant, and counts: exit status and time;
answers that were cut; runs that were stored, which must be those that were answered, no more and no fewer.

    env PERFCI_SOURCE_DIR=$PWD PERFCI_BIN_DIR=$PWD/build/release/bin PERFCI_TEST_DIR=$PWD/build/release/tests \\
        python3 tests/fault/drain.py --trials 200
"""
import argparse
import http.client
import json
import math
import os
import pathlib
import random
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(os.environ["PERFCI_SOURCE_DIR"]) / "tests/server/http"))
import support

CLIENTS = 8
LIMIT_S = 10


class Client(threading.Thread):
    """Posts until its connection ends; knows what became of each run."""

    def __init__(self, port, token, trial, number):
        super().__init__(daemon=True)
        self.port, self.token, self.base = port, token, (trial * 1000 + number) * 100000
        self.answered, self.cut, self.refused = [], [], 0

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=support.DEADLINE_S)
        for n in range(1, 100000):
            document = json.dumps(support.run_document(self.base + n, 1))
            try:
                connection.request("POST", "/api/v1/runs", document, {"Authorization": "Bearer " + self.token})
                reply = connection.getresponse()
            except (http.client.RemoteDisconnected, ConnectionError):
                break  # nothing of an answer came: the run must not be there
            try:
                reply.read()
            except (http.client.HTTPException, OSError) as fault:
                self.cut.append((self.base + n, repr(fault)))
                break
            if reply.status in (200, 201):
                self.answered.append(f"{self.base + n:032x}")
            else:
                self.refused += 1
            if reply.will_close:
                break
        connection.close()


def trial(server, number, rng):
    """Returns what went wrong, and how long the end took."""
    wrong = []
    token = server.admin
    clients = [Client(server.port, token, number, i) for i in range(CLIENTS)]
    for c in clients:
        c.start()
    support.until("a first answer", lambda: any(c.answered for c in clients))
    time.sleep(rng.uniform(0, 0.05))  # the instant of the signal is what is varied
    begin = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    status = server.process.wait(timeout=support.DEADLINE_S)
    took = time.monotonic() - begin
    for c in clients:
        c.join(timeout=support.DEADLINE_S)
    if status != 0:
        wrong.append(f"exit status {status}")
    wrong += [f"answer cut: {c.cut}" for c in clients if c.cut]
    answered = {run for c in clients for run in c.answered}
    server.start()
    stored = set(support.sql(server.database, "SELECT run_id FROM runs").split())
    support.sql(server.database, "TRUNCATE runs CASCADE")
    if stored != answered:
        wrong.append(f"{len(answered - stored)} answered and not stored, {len(stored - answered)} stored and not answered")
    return wrong, took, len(answered)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=math.inf, help="the most that it takes: no trial begins after that")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-clock", action="store_true", help="do not hold the end to 10 s: the machine has other work")
    opts = parser.parse_args()
    rng = random.Random(opts.seed)
    until = time.monotonic() + 60 * opts.minutes
    cluster = support.Cluster()
    server = support.Server(cluster.database(migrated=True))
    took, runs, failed = [], 0, 0
    try:
        assert server.as_admin("POST", "/api/v1/projects", {"name": "demo"}).status == 201
        for number in range(1, opts.trials + 1):
            if took and time.monotonic() > until:
                break
            wrong, seconds, answered = trial(server, number, rng)
            if seconds > LIMIT_S and not opts.no_clock:
                wrong.append(f"the end took {seconds:.1f} s")
            took.append(seconds)
            runs += answered
            if wrong:
                failed += 1
                print(f"trial {number}: {'; '.join(wrong)}", flush=True)
            if number % 50 == 0 and number < opts.trials:
                print(f"  {number} of {opts.trials} ends, {failed} failed", flush=True)
    finally:
        server.close()
        cluster.close()
    short = f" of {opts.trials} (the time was over)" if len(took) < opts.trials else ""
    print(f"{len(took)}{short} ends under load, seed {opts.seed}: {runs} runs answered, {failed} trials failed, "
          f"longest end {max(took):.2f} s, median {sorted(took)[len(took) // 2]:.2f} s")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
