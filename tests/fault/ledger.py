"""The jobs of a database under test: filling the queue is the caller's, counting and the rules of every fleet are here."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server", "http"))
import support  # noqa: E402

TELL_S = 30  # between two lines of progress


def want(condition, what):
    if not condition:
        raise AssertionError(what)


def one(database, text):
    return support.sql(database, text).strip()


def open_ledger(database):
    """The view `work`: jobs of runners. The server's own jobs, such as those of the commits that runs name, are not theirs."""
    support.sql(database, "CREATE VIEW work AS SELECT * FROM jobs WHERE kind NOT IN ('detect', 'notify')")


def waiting(database):
    return int(one(database, "SELECT count(*) FROM work WHERE state IN ('queued', 'leased')"))


def judge(database):
    """Rules that hold for every job when none waits: three tries at most, completed once, or ended with a reason. Returns
    the number of jobs by state."""
    want(waiting(database) == 0, "jobs are left")
    want(one(database, "SELECT count(*) FROM work WHERE tries > 3") == "0", "more than three tries")
    want(one(database, "SELECT string_agg(id || ' ' || state || ' ' || tries, ', ') FROM work WHERE state NOT IN ('done', 'cancelled')"
                       " AND (state <> 'failed' OR coalesce(reason, '') = '')") == "", "a job is neither done nor failed with a reason")
    want(one(database, "SELECT string_agg(id::text, ', ') FROM work j WHERE state = 'done' AND 1 <> (SELECT count(*) FROM audit a"
                       " WHERE a.action = 'complete' AND a.object = 'job ' || j.id)") == "", "done, and not once")
    counts = dict(line.split("|") for line in one(database, "SELECT state, count(*) FROM work GROUP BY state").splitlines())
    return {state: int(counts.get(state, 0)) for state in ("done", "failed", "cancelled")}
