"""Faults that may not change the result: order of arrival, the runner's clock, the place where a connection is cut."""
import concurrent.futures
import datetime
import json

import ground
from ground import CLIENTS, sql, support, want

RUNS = 24
ORDERS = 50  # on one database: what is stored must not make the later ones slow
DAY_S = 86400


def stamp(seconds):
    at = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


class Shuffle:
    """The same runs, in an order of its own for each project, posted to two servers; some of them twice."""

    def __init__(self, place, seed):
        self.ledger = place.ledger(seed, 2)
        self.random = self.ledger.random
        self.database = self.ledger.database

    def post(self, server, document):
        answer = server.call("POST", "/api/v1/runs", document, token=self.ledger.token)
        want(answer.status in (200, 201), answer)

    def state(self, project, clock, each=1):
        """Of all runs, `each` of a commit; `clock` says by how many seconds the clock of who measured a run is wrong."""
        servers = self.ledger.servers
        self.ledger.project(project)
        numbers = list(range(1, RUNS + 1))
        numbers += self.random.sample(numbers, RUNS // 3)
        skew = {n: clock() for n in numbers}
        self.random.shuffle(numbers)
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            for done in [pool.submit(self.post, servers[n % 2], support.run_document(
                    n, 1 + (n - 1) // each, 100.0 if n <= RUNS // 2 else 120.0, project, started_at=stamp(skew[n]), finished_at=stamp(skew[n] + 60)))
                    for n in numbers]:
                done.result(timeout=support.DEADLINE_S)
        support.until("all are judged", lambda: sql(
            self.database, f"SELECT count(*) FROM jobs j JOIN projects p ON p.id = j.project_id WHERE p.name = '{project}'"
                           " AND j.state <> 'done'") == "0")
        return ground.state(self.database, project)


def permutations(place, trials, seed):
    """The same set of runs in any order, some twice: one state, one change."""
    first = shuffle = None
    for trial in trials:
        if trial % ORDERS == 0:
            if shuffle:
                ground.check(shuffle.database)
                place.end_servers()
            shuffle = Shuffle(place, seed + trial)
        found = shuffle.state(f"p{trial}", lambda: 0, 2)
        first = first or found
        want(found == first, f"order {trial} of one set of runs has led to another state")
    rows = int(first.split()[1])
    want(rows == RUNS + 2, f"{rows} rows: expected each run, one change and one series")  # a state of nothing is always the same
    ground.check(shuffle.database)
    return f"{trials.done} orders of {RUNS} runs, one state"


def runner_clocks(place, trials, seed):
    """Runners whose clocks are a day behind, a day ahead, or step between two runs: the same results."""
    shuffle = Shuffle(place, seed)
    rng = shuffle.random
    right = shuffle.state("right", lambda: 0)
    for trial in trials:
        clock = (lambda: -DAY_S, lambda: DAY_S, lambda: rng.randrange(-DAY_S, DAY_S))[trial % 3]
        want(shuffle.state(f"p{trial}", clock) == right, "the runner's clock has changed what was found")
    ground.check(shuffle.database)
    return f"{trials.done} times {RUNS} runs, the same state as by a right clock"


def cut_everywhere(place, trials, seed):
    """The connection is reset after each number of bytes of an upload, from none to all: nothing of it is stored before all is there."""
    ledger = place.ledger(seed)
    server = ledger.servers[0]
    longest = 0
    for trial in trials:
        n, = ledger.numbers(1)
        document = ledger.document(n)
        body = json.dumps(document).encode()
        head = (f"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nX-Long: {'x' * 1200}\r\nAuthorization: Bearer {ledger.token}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode()
        whole = head + body
        longest = len(whole)
        at = trial * len(whole) // trials.most
        ground.cut(server, whole[:at])
        answer = server.call("POST", "/api/v1/runs", document, token=ledger.token)
        want(answer.status == 201, f"cut after {at} of {len(whole)} bytes: {answer}")
        ledger.note(n, answer.json)
        if trial % 50 == 49:
            # As autovacuum does, which the test clusters have off: a plan that was made for an empty table reads this series for seconds.
            sql(ledger.database, "ANALYZE")
            ledger.counts()
    ledger.finish()
    return f"cut at {trials.done} of {longest} places, {ledger.last} runs"
