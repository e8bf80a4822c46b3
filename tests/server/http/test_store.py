"""Backup and restore into a fresh cluster, the check of what is stored, two servers on one database."""
import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import support
from pooler import Pooler

SOURCE = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])


def admin(url, *args, status=0):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PERFCI_", "PG"))}
    done = subprocess.run([support.BIN / "perfci", "admin", *args], capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, env={**env, "PERFCI_DATABASE_URL": url}, check=False)
    if done.returncode != status:
        raise AssertionError(f"admin {args}: status {done.returncode}, expected {status}: {done.stderr}")
    return done


def contents(url):
    """Every row of every table, in an order that does not depend on where they lie, and where ids go on."""
    tables = support.sql(url, "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
                              " AND NOT relispartition").split()
    query = " UNION ALL ".join(f"SELECT '{t}', to_jsonb(t)::text FROM {t} AS t" for t in tables)
    found = {t: [] for t in tables}
    for line in support.sql(url, query + " UNION ALL SELECT 'sequences', sequencename || ' ' || coalesce(last_value, 0)"
                                         " FROM pg_sequences ORDER BY 1, 2").splitlines():
        table, _, row = line.partition("|")
        found.setdefault(table, []).append(row)
    return found


def as_restored(rows):
    """The same, and new jobs have ids that none can have had which were made after the backup."""
    jobs = re.compile(r"^(jobs_id_seq) (\d+)$")
    moved = [jobs.sub(lambda m: f"{m[1]} {int(m[2]) + 1000000}", s) for s in rows["sequences"]]
    assert moved != rows["sequences"]
    return {**rows, "sequences": moved}


def checks(url, damage):
    """The findings of the check after `damage`, which is rolled back. Foreign keys are off, as after a disk fault."""
    text = (SOURCE / "schema" / "queries" / "checks.sql").read_text(encoding="utf-8").partition("-- name: store_checks\n")[2]
    rows = support.sql(url, f"SET session_replication_role = replica; BEGIN; {damage}; {text.rstrip().rstrip(';')}; ROLLBACK")
    return {what: int(wrong) for what, _, wrong in (row.rpartition("|") for row in rows.splitlines()) if wrong != "0"}


class Store(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = support.Cluster()
        cls.addClassCleanup(cls.cluster.close)

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pfc-backup-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = os.path.join(self.folder, "all.dump")

    def filled(self):
        url = self.cluster.database()
        server = support.Server(url)
        self.addCleanup(server.close)
        server.as_admin("POST", "/api/v1/projects", {"name": "demo"})
        server.as_admin("POST", "/api/v1/projects/demo/commits", support.commits(1, 30))
        for n in range(1, 31):
            answer = server.as_admin("POST", "/api/v1/runs", support.run_document(n, n, 100.0 if n < 16 else 150.0))
            self.assertEqual(answer.status, 201, answer)
        support.until("all judged", lambda: server.as_admin(
            "GET", "/api/v1/stats").json["detection_lag_s"] == 0)
        return url, server

    def test_a_backup_comes_back_whole_in_a_fresh_cluster(self):
        url, server = self.filled()
        self.assertEqual(json.loads(admin(url, "check", "--json").stdout)["holds"], True)
        self.assertEqual(server.stop(), 0)
        before = contents(url)
        self.assertEqual(len(before["runs"]), 30)
        admin(url, "backup", self.file)
        self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o600)
        self.assertEqual(os.listdir(self.folder), ["all.dump"])

        other = support.Cluster(own=True)  # of the day of its making
        self.addCleanup(other.close)
        fresh = other.database()
        admin(fresh, "restore", self.file)
        self.assertEqual(contents(fresh), as_restored(before))
        admin(fresh, "check")
        everybodys = ("SELECT count(*), count(*) FILTER (WHERE has_function_privilege('public', oid, 'EXECUTE')) FROM pg_proc"
                      " WHERE prosecdef AND pronamespace = 'public'::regnamespace")
        self.assertEqual([support.sql(at, everybodys).strip() for at in (url, fresh)], ["8|0", "8|0"])
        # and a server goes on from there: the same run again is the same run, a new one gets a new number
        again = support.Server(fresh)
        self.addCleanup(again.close)
        self.assertEqual(again.as_admin("POST", "/api/v1/runs", support.run_document(1, 1, 100.0)).status, 200)
        answer = again.as_admin("POST", "/api/v1/runs", support.run_document(99, 30, 150.0))
        self.assertEqual(answer.status, 201)
        self.assertGreater(answer.json["run_id"], 30)

    def test_a_large_backup_names_the_better_tool(self):
        url = self.cluster.database(migrated=True)
        folder = dict(pair.split("=", 1) for pair in url.split())["host"]
        number = support.sql(url, "SELECT oid FROM pg_database WHERE datname = current_database()").strip()
        self.assertNotIn("warning", admin(url, "backup", self.file).stderr)
        with open(f"{folder}/data/base/{number}/large", "wb") as file:  # without blocks on the disk
            file.truncate(51 << 30)
        self.addCleanup(os.unlink, file.name)
        self.assertIn("from 50 GiB on use base backups by pgBackRest", admin(url, "backup", self.file).stderr)

    def test_restore_refuses_what_it_cannot_bring_back_whole(self):
        url, server = self.filled()
        self.assertEqual(server.stop(), 0)
        admin(url, "backup", self.file)
        self.assertIn("not empty", admin(url, "restore", self.file, status=2).stderr)
        fresh = self.cluster.database()
        newer, foreign = os.path.join(self.folder, "newer"), os.path.join(self.folder, "foreign")
        support.sql(url, "INSERT INTO schema_migrations VALUES (9999, 'from_the_future')")
        admin(url, "backup", newer)
        self.assertIn("9999", admin(fresh, "restore", newer, status=2).stderr)
        self.assertIn("9999", admin(url, "check", status=2).stderr)
        subprocess.run(["pg_dump", "-Fc", "-d", fresh, "-f", foreign], check=True, stdin=subprocess.DEVNULL)
        self.assertIn("holds no database of perfci", admin(fresh, "restore", foreign, status=2).stderr)
        self.assertIn("holds nothing of perfci", admin(fresh, "check", status=2).stderr)
        with open(foreign, "wb") as file:
            file.write(b"no backup at all")
        admin(fresh, "restore", foreign, status=5)
        with open(self.file, "rb+") as file:
            file.truncate(os.path.getsize(self.file) // 2)
        admin(fresh, "restore", self.file, status=5)
        self.assertEqual(support.sql(fresh, "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace").strip(), "0")

    def test_a_restore_that_is_interrupted_leaves_the_database_empty(self):
        url, server = self.filled()
        self.assertEqual(server.stop(), 0)
        admin(url, "backup", self.file)
        fresh = self.cluster.database()
        # it waits at its last index for a lock that we hold
        support.sql(fresh, "CREATE SCHEMA test; CREATE FUNCTION test.halt() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN"
                           " PERFORM pg_advisory_xact_lock(42); END $$;"
                           "CREATE EVENT TRIGGER halt ON ddl_command_end WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION test.halt()")
        holder = subprocess.Popen(["psql", "-XqAt", "-d", fresh], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(holder.communicate)
        holder.stdin.write("SELECT pg_advisory_lock(42);\n\\echo held\n")
        holder.stdin.flush()
        support.until("the lock is held", lambda: "held" in holder.stdout.readline())
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PERFCI_", "PG"))}
        restoring = subprocess.Popen([support.BIN / "perfci", "admin", "restore", self.file], stdin=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL, env={**environment, "PERFCI_DATABASE_URL": fresh})
        support.until("it is in the middle", lambda: support.sql(fresh, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
                                                                        " AND NOT granted").strip() == "1")
        restoring.terminate()
        self.assertNotEqual(restoring.wait(timeout=support.DEADLINE_S), 0)
        holder.stdin.write("SELECT pg_advisory_unlock(42);\n")
        holder.stdin.flush()
        support.until("its backend has given up", lambda: support.sql(
            fresh, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pg_restore'").strip() == "0")
        self.assertEqual(support.sql(fresh, "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace").strip(), "0")
        support.sql(fresh, "DROP EVENT TRIGGER halt")
        admin(fresh, "restore", self.file)
        self.assertEqual(contents(fresh), as_restored(contents(url)))

    def test_a_backup_under_load_is_of_one_moment_and_what_came_later_is_sent_again(self):
        url, server = self.filled()
        documents = {n: support.run_document(n, 1 + n % 30, 100.0) for n in range(100, 160)}

        def post(n, where=server):
            status = where.as_admin("POST", "/api/v1/runs", documents[n]).status
            self.assertIn(status, (200, 201))
            acknowledged.add(n)

        acknowledged = set()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            pending = [pool.submit(post, n) for n in documents]
            support.until("some are stored", lambda: len(acknowledged) >= 10)
            before = set(acknowledged)
            admin(url, "backup", self.file)
            for p in pending:
                p.result(timeout=support.DEADLINE_S)
        self.assertEqual(server.stop(), 0)
        fresh = self.cluster.database()
        admin(fresh, "restore", self.file)
        self.assertEqual(json.loads(admin(fresh, "check", "--json").stdout)["holds"], True)
        there = {int(line, 16) for line in support.sql(fresh, "SELECT run_id FROM runs").split()}
        self.assertLessEqual(before, there, "acknowledged before the backup began")
        again = support.Server(fresh)
        self.addCleanup(again.close)
        for n in documents:  # as a runner's spool does
            post(n, again)
        self.assertEqual(support.sql(fresh, "SELECT count(*), count(DISTINCT run_id) FROM runs").strip(), "90|90")
        admin(fresh, "check")

    def test_a_restored_backup_is_given_again_what_runners_had_sent_since(self):
        url, server = self.filled()
        work = pathlib.Path(self.folder, "work")
        (work / "spool").mkdir(parents=True)
        token = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["runner", "ingest"]}).json["token"]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PERFCI_", "PG"))}

        def runner(*flags, **more):
            done = subprocess.run([support.BIN / "perfci-runner", "--work", work, *flags], capture_output=True, text=True, check=False,
                                  stdin=subprocess.DEVNULL, timeout=300, env={**environment, **more})
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        def work_for(where, *numbers):
            for n in numbers:  # as a runner keeps what it has measured
                document = json.dumps(support.run_document(n, 1 + n % 30, 100.0))
                (work / "spool" / f"{n:012d}.000000000-{n:032x}-000.json").write_text(document, encoding="ascii")
            runner("--once", "--url", f"http://127.0.0.1:{where.port}", "--class", "none", PERFCI_TOKEN=token)

        work_for(server, 41, 42)
        admin(url, "backup", self.file)
        work_for(server, 43, 44, 45)
        stored = lambda at: {int(line, 16) for line in support.sql(at, "SELECT run_id FROM runs").split()}
        self.assertEqual(stored(url), {*range(1, 31), *range(41, 46)})
        self.assertEqual(server.stop(), 0)
        fresh = self.cluster.database()
        admin(fresh, "restore", self.file)
        self.assertEqual(stored(fresh), {*range(1, 31), 41, 42})
        again = support.Server(fresh)
        self.addCleanup(again.close)
        work_for(again)  # no query waits: nothing is sent
        self.assertEqual(len(stored(fresh)), 32)
        self.assertIn("5 documents", runner("--resend"))
        work_for(again, 46)
        self.assertEqual(stored(fresh), {*range(1, 31), *range(41, 47)})
        self.assertEqual(support.sql(fresh, "SELECT count(*) FROM runs").strip(), "36")
        self.assertEqual([len(list((work / "spool" / f).glob("*.json"))) for f in ("", "sent", "rejected")], [0, 6, 0])
        admin(fresh, "check")

    def test_check_finds_what_does_not_hold(self):
        url, server = self.filled()
        self.assertEqual(server.stop(), 0)
        support.sql(url, "DELETE FROM jobs WHERE kind = 'detect' AND run_id = 3;"
                 "UPDATE measurements SET n = n + 1 WHERE run_id = 4")
        report = json.loads(admin(url, "check", "--json", status=5).stdout)
        wrong = {c["what"]: c["wrong"] for c in report["checks"] if c["wrong"]}
        self.assertEqual(report["holds"], False)
        self.assertEqual(wrong, {"runs that are never judged": 1,
                                 "measurements whose samples do not fit their number or blocks": 1})

    def test_check_knows_every_kind_of_damage(self):
        url, server = self.filled()
        self.assertEqual(server.stop(), 0)
        support.sql(url, "UPDATE series SET points = 0; INSERT INTO series_chunks (project_id, series_id, from_at, until_at, line_version,"
                         " points, packed) SELECT 1, p.series_id, date_trunc('month', now()), now() + interval '1 day', b.line_version,"
                         " count(*), string_agg(p.packed, '' ORDER BY p.position, p.run_id) FROM series_points p"
                         " JOIN branches b ON b.project_id = 1 AND b.name = p.branch GROUP BY p.series_id, b.line_version;"
                         "INSERT INTO notices (project_id, kind, alert_id, sha, text) SELECT 1, 'culprit_confirmed', id, repeat('0', 40),"
                         " '' FROM alerts LIMIT 1")
        self.assertEqual(checks(url, "SELECT FROM runs LIMIT 0"), {})
        one_run = "(SELECT id FROM runs ORDER BY id LIMIT 1)"
        job = "INSERT INTO jobs (project_id, kind, state, tries, lease_until, lease_hash, runner, run_id, task, finished_at) VALUES (1, "
        for damage, found in (
                (f"DELETE FROM runs WHERE id = {one_run}", {
                    "parts without their run": 1, "measurements without their run, commit or series": 1,
                    "jobs of a run or notice that is not there": 1, "tallies that are not what they count": 1}),
                (f"DELETE FROM run_parts WHERE run_id = {one_run}", {
                    "runs without a part": 1, "tallies that are not what they count": 1}),
                ("UPDATE tallies SET n = n + 1 WHERE what = 'series'", {"tallies that are not what they count": 1}),
                ("DELETE FROM tallies", {"tallies that are not what they count": 4}),
                ("DELETE FROM series_keys WHERE series_id = 1", {"series that the list does not find or sorts by another change": 1}),
                ("UPDATE series_keys SET direction = 1, change = -0.5 WHERE series_id = 1", {
                    "series that the list does not find or sorts by another change": 1}),
                (f"UPDATE measurements SET series_id = 99 WHERE run_id = {one_run}", {
                    "measurements without their run, commit or series": 1, "chunks that are not what their measurements are": 1}),
                (f"CREATE TEMP TABLE t AS SELECT * FROM measurements WHERE run_id = {one_run};"
                 "UPDATE t SET stored_at = stored_at + interval '1 second'; INSERT INTO measurements SELECT * FROM t", {
                     "measurements stored twice": 1, "runs whose parts do not sum up to what is stored": 1,
                     "chunks that are not what their measurements are": 1}),
                (f"DELETE FROM measurements WHERE run_id = {one_run}", {
                    "runs whose parts do not sum up to what is stored": 1, "chunks that are not what their measurements are": 1}),
                (f"UPDATE measurements SET blocks = '{{1}}' WHERE run_id = {one_run}", {
                    "measurements whose samples do not fit their number or blocks": 1}),
                (f"UPDATE measurements SET median = high * 2, high = high * 3 WHERE run_id = {one_run}", {
                    "measurements whose figures are not those of their samples": 1,
                    "chunks that are not what their measurements are": 1}),
                (f"UPDATE measurements SET low = high * 2 WHERE run_id = {one_run}", {
                    "measurements whose figures are not those of their samples": 1}),
                (f"DELETE FROM jobs WHERE run_id = {one_run}", {"runs that are never judged": 1}),
                (f"UPDATE jobs SET finished_at = NULL WHERE run_id = {one_run}", {"jobs that ended at no time": 1}),
                (job + "'nightly', 'leased', 1, now(), NULL, 'r', NULL, '{}', NULL)", {"jobs that are leased to nobody": 1}),
                (job + "'nightly', 'failed', 4, NULL, NULL, 'r', NULL, '{}', now())", {"jobs that were tried more often than is allowed": 1}),
                (job + "'notify', 'queued', 0, NULL, NULL, NULL, NULL, '{\"notice\": 99}', NULL)", {
                    "jobs of a run or notice that is not there": 1}),
                ("UPDATE notices SET dispatched_at = now()", {"notices of a missing alert, or marked as sent without a delivery": 2}),
                ("UPDATE notices SET alert_id = 99", {"notices of a missing alert, or marked as sent without a delivery": 2}),
                # a notice of the installation is about a fault and has no alert
                ("INSERT INTO faults (project_id, kind, key, text) VALUES (1, 'silent_runner', 'r', 't');"
                 "INSERT INTO notices (project_id, kind, fault_id, text) SELECT project_id, 'infrastructure', id, '' FROM faults", {}),
                ("UPDATE change_points SET undone_commit_id = 999", {"changes at commits that are not there": 1}),
                ("UPDATE alerts SET state = 'noise'", {"alerts whose history does not end in their state": 1}),
                ("UPDATE alerts SET series_id = 99", {"alerts without their change": 1}),
                ("UPDATE alerts SET suppressed_by = 1; INSERT INTO suppressed_alerts (project_id, suppression_id, alert_id, released_at)"
                 " SELECT project_id, 1, id, now() FROM alerts", {"hidden alerts without the record of their rule": 1}),
                ("UPDATE alerts SET suppressed_by = 1; INSERT INTO suppressed_alerts (project_id, suppression_id, alert_id)"
                 " SELECT project_id, 1, id FROM alerts", {}),
                ("INSERT INTO bisection_steps (project_id, bisection_id, n, place, state, job_id) VALUES (1, 1, 0, 0, 'asked', 999)", {
                    "steps of a search whose job or run is not there": 1}),
                ("INSERT INTO environment_events (project_id, machine_id, first_run_id, last_run_id) VALUES (1, 1, 1, 999)", {
                    "events between runs that are not there": 1}),
                ("UPDATE branch_commits SET position = NULL WHERE position = 7", {
                    "branches whose line has gaps or places taken twice": 1, "chunks that are not what their measurements are": 1}),
                ("UPDATE branch_commits SET position = 8 WHERE position = 7", {
                    "branches whose line has gaps or places taken twice": 1, "chunks that are not what their measurements are": 1}),
                ("DELETE FROM schema_migrations WHERE version = 3", {"gaps in the schema's versions": 1}),
                (f"UPDATE measurements SET stored_at = '2001-01-01' WHERE run_id = {one_run}", {
                    "rows in the default partition": 1, "chunks that are not what their measurements are": 1})):
            with self.subTest(damage):
                self.assertEqual(checks(url, damage), found)

    def roles(self):
        """A database that one role owns, who cannot log in, and as whom another connects."""
        url = self.cluster.database()
        name = dict(word.split("=", 1) for word in url.split())["dbname"]
        support.sql(url, f"CREATE ROLE {name}_owner NOLOGIN; CREATE ROLE {name}_server LOGIN;"
                         f"ALTER DATABASE {name} OWNER TO {name}_owner")
        return url, re.sub(r"user=\S+", f"user={name}_server", url), f"{name}_owner", f"{name}_server"

    def start_in_vain(self, url):
        done = subprocess.run([support.BIN / "perfci-server", "--listen", "127.0.0.1:0", "--database-unsafe"], check=False, text=True,
                              capture_output=True, env={**os.environ, "PERFCI_DATABASE_URL": url}, timeout=support.DEADLINE_S)
        self.assertEqual(done.returncode, 5, done.stderr)
        return done.stderr.splitlines()[-1]

    def refused(self, url, text):
        with self.assertRaises(AssertionError, msg=text) as caught:
            support.sql(url, text)
        self.assertRegex(str(caught.exception), r"permission denied|must be owner|must be member", text)

    def test_a_server_may_connect_as_a_role_that_owns_nothing(self):
        url, limited, owner, role = self.roles()
        run = f'run `perfci admin migrate --server-role {role}` as role "{owner}" or a superuser'
        self.assertRegex(self.start_in_vain(limited), f'role "{role}" may not bring its schema from version 0 to .*: {run}$')
        admin(url, "migrate")
        self.assertRegex(self.start_in_vain(limited), f'role "{role}" may not read its schema: {run}$')
        for wrong, why in (("nobody_at_all", "is not there"), ("perfci", "is a superuser"), (owner, "owns the tables")):
            self.assertIn(f'role "{wrong}" {why}', admin(url, "migrate", "--server-role", wrong, status=2).stderr)
        admin(url, "migrate", "--server-role", role)
        self.assertIn("may not grant rights", admin(limited, "migrate", "--server-role", role, status=5).stderr)
        self.assertEqual(support.sql(url, "SELECT DISTINCT relowner::regrole FROM pg_class WHERE relnamespace = 'public'::regnamespace")
                         .split(), [owner], "also what the superuser made")
        # the months to come are its work, too
        last = support.sql(url, "SELECT name FROM measurements_partitions ORDER BY since OFFSET 1 LIMIT 1").strip()
        support.sql(url, f"DROP TABLE {last}")
        server = support.Server(limited)
        self.addCleanup(server.close)
        server.as_admin("POST", "/api/v1/projects", {"name": "demo"})
        server.as_admin("POST", "/api/v1/projects/demo/commits", support.commits(1, 30))
        for n in range(1, 31):
            answer = server.as_admin("POST", "/api/v1/runs", support.run_document(n, n, 100.0 if n < 16 else 150.0))
            self.assertEqual(answer.status, 201, answer)
        alerts = support.until("judged", lambda: server.as_admin("GET", "/api/v1/alerts?project=demo").json["alerts"])
        self.assertEqual(len(alerts), 1)
        support.until("the month is there again", lambda: support.sql(url, f"SELECT to_regclass('{last}') IS NOT NULL") == "t\n")
        self.assertEqual(server.stop(), 0)
        # rows of a month without a partition are moved to a new one, and thinned
        support.sql(url, "UPDATE measurements SET stored_at = '2024-01-15' WHERE run_id <= 3")
        again = support.Server(limited, "--retain-raw", "1")
        self.addCleanup(again.close)
        support.until("thinned", lambda: support.sql(url, "SELECT month, rows_before FROM retention") == "2024-01-01|3\n")
        self.assertEqual(again.stop(), 0)
        admin(limited, "check")
        admin(limited, "backup", self.file)
        # and that is all it may
        for text in ("DROP TABLE runs", "ALTER TABLE runs ADD COLUMN x int", "CREATE TABLE x (x int)", "CREATE SCHEMA x",
                     "CREATE FUNCTION now() RETURNS int LANGUAGE sql AS 'SELECT 1'", "TRUNCATE jobs", "DELETE FROM runs",
                     "DELETE FROM audit", "UPDATE audit SET actor = ''", "DELETE FROM measurements", "UPDATE measurements SET median = 1",
                     "INSERT INTO schema_migrations VALUES (99, '')", "DROP TABLE measurements_202401", "DELETE FROM retention",
                     "DELETE FROM measurements_202401", f"SET ROLE {owner}", "ALTER FUNCTION retention_apply SECURITY INVOKER"):
            self.refused(limited, text)
        # another version's server: it may not be newer than what the owner brought
        support.sql(url, "DELETE FROM schema_migrations WHERE version = (SELECT max(version) FROM schema_migrations)")
        self.assertRegex(self.start_in_vain(limited), rf'may not bring its schema from version \d+ to this program\'s \d+: {run}$')

    def test_the_role_of_a_server_may_run_every_statement_and_gets_what_later_tables_need(self):
        url, limited, owner, role = self.roles()
        admin(url, "migrate", "--server-role", role)
        statements = {}
        for path in sorted((SOURCE / "schema" / "queries").glob("*.sql")):
            for name, text in re.findall(r"^-- name: (\w+)\n(.*?)(?=^-- name: |\Z)", path.read_text(encoding="utf-8"), re.M | re.S):
                text = re.sub(r"^--.*\n", "", text, flags=re.M).strip().rstrip(";")
                statements.update({} if text.startswith("COPY ") else {name: text})
        lines = ["SET plan_cache_mode = force_generic_plan;"]
        for name, text in statements.items():
            count = max(map(int, re.findall(r"\$(\d+)", text)), default=0)
            lines.append(f"\\warn == {name}\nPREPARE q AS {text}; EXPLAIN EXECUTE q"
                         f"{'(' + ', '.join(['NULL'] * count) + ')' if count else ''}; DEALLOCATE q;")
        done = subprocess.run(["psql", "-XAtq", "-d", limited], input="\n".join(lines), capture_output=True, text=True, check=False,
                              timeout=support.DEADLINE_S)
        shown = re.split(r"^== (\w+)\n", done.stderr, flags=re.M)
        self.assertEqual(shown[1::2], list(statements), "each was tried")
        self.assertEqual({name: text for name, text in zip(shown[1::2], shown[2::2]) if "ERROR" in text and name != "migration_insert"}, {})
        self.assertIn("permission denied", shown[2::2][shown[1::2].index("migration_insert")])
        # what a migration does after its own text, as the owner
        support.sql(url, f"SET ROLE {owner}; CREATE TABLE later (x int); {statements['server_grant_again']}")
        self.assertEqual(support.sql(url, f"SELECT string_agg(p, ' ') FROM unnest('{{SELECT,INSERT,UPDATE,DELETE,TRUNCATE}}'::text[]) p"
                                          f" WHERE has_table_privilege('{role}', 'later', p)").strip(), "SELECT INSERT")

    def test_what_others_planted_is_not_taken_for_ours(self):
        url, limited, _, role = self.roles()
        admin(url, "migrate", "--server-role", role)
        self.plant(url, f"ALTER ROLE {role}", f'"{role}"')
        for text in ("SELECT now()", "SELECT 'a'::text = 'a'::text", "SELECT set_config('a.b', 'c', false)"):
            with self.assertRaisesRegex(AssertionError, "planted"):
                support.sql(limited, text)
        self.assertEqual(support.sql(limited, "SELECT count(*) FROM runs").strip(), "1", "the planted one")
        server = support.Server(limited)
        self.addCleanup(server.close)
        self.use(server)
        admin(limited, "check")
        self.assertEqual(support.sql(url, "SELECT count(*) FROM public.runs").strip(), "3")

    @staticmethod
    def plant(url, whose, schema):
        """Tables, functions and an operator of the same names, in schemas that come first where the role looks."""
        support.sql(url, f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.runs AS SELECT 1 AS id; CREATE TABLE {schema}.jobs (id int);"
                         f"CREATE TABLE {schema}.schema_migrations (version int); INSERT INTO {schema}.schema_migrations VALUES (9999);"
                         + "".join(f"CREATE FUNCTION {schema}.{head} LANGUAGE plpgsql AS $$ BEGIN RAISE 'planted'; END $$;" for head in (
                             "now() RETURNS timestamptz", "set_config(text, text, boolean) RETURNS text",
                             "same(text, text) RETURNS boolean", "to_regclass(text) RETURNS regclass"))
                         + f"CREATE OPERATOR {schema}.= (LEFTARG = text, RIGHTARG = text, FUNCTION = {schema}.same);"
                         f"GRANT USAGE ON SCHEMA {schema} TO PUBLIC; GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO PUBLIC;"
                         f"{whose} SET search_path = {schema}, pg_catalog, public")

    def use(self, server):
        server.as_admin("POST", "/api/v1/projects", {"name": "demo"})
        server.as_admin("POST", "/api/v1/projects/demo/commits", support.commits(1, 3))
        for n in range(1, 4):
            answer = server.as_admin("POST", "/api/v1/runs", support.run_document(n, n))
            self.assertEqual(answer.status, 201, answer)
        support.until("judged", lambda: server.as_admin("GET", "/api/v1/stats").json["detection_lag_s"] == 0)
        series = server.as_admin("GET", "/api/v1/projects/demo/series").json["series"]
        window = server.as_admin("GET", f"/api/v1/series/{series[0]['id']}").json
        self.assertEqual(len(window["columns"]["median"]), 3, window)

    def test_a_password_in_the_url_is_refused(self):
        done = admin("postgresql://a:secret@db/perfci", "check", status=2)
        self.assertNotIn("secret", done.stderr)

    def test_events_cross_between_two_servers(self):
        url, first = self.filled()
        second = support.Server(url, "--workers", "0")
        self.addCleanup(second.close)
        stream = http.client.HTTPConnection("127.0.0.1", second.port, timeout=support.DEADLINE_S)
        self.addCleanup(stream.close)
        stream.request("GET", "/api/v1/events", headers={"Authorization": "Bearer " + second.admin})
        reply = stream.getresponse()
        self.assertEqual(reply.status, 200)
        self.assertEqual(first.as_admin("POST", "/api/v1/runs", support.run_document(77, 30, 150.0)).status, 201)
        wanted = f"{77:032x}"
        end = time.monotonic() + support.DEADLINE_S
        while True:
            line = reply.readline().decode()  # a comment line comes from time to time, whatever happens
            self.assertTrue(line, "the stream ended")
            self.assertLess(time.monotonic(), end, "the event never came")
            if line.startswith("data:") and json.loads(line[5:]).get("id") == wanted:
                break
        # and what one has stored the other reads
        self.assertEqual(second.as_admin("GET", f"/api/v1/runs/{wanted}").status, 200)


class Pooled(unittest.TestCase):
    def test_a_pooler_of_transactions_may_stand_between(self):
        cluster = support.Cluster()
        self.addCleanup(cluster.close)
        url = cluster.database()
        # settings of the first session do not hold for later statements
        support.sql(url, "CREATE SCHEMA planted; CREATE TABLE planted.runs (id int); CREATE TABLE planted.tokens (id int);"
                         "CREATE TABLE planted.schema_migrations (version int); INSERT INTO planted.schema_migrations VALUES (9999);"
                         "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = planted, public', current_database()); END $$")
        pooler = Pooler(url)
        self.addCleanup(pooler.close)
        server = support.Server(pooler.url, environment={"PERFCI_DATABASE_PREPARE": "0", "PERFCI_DATABASE_DIRECT_URL": url})
        self.addCleanup(server.close)
        stream = http.client.HTTPConnection("127.0.0.1", server.port, timeout=support.DEADLINE_S)
        self.addCleanup(stream.close)
        stream.request("GET", "/api/v1/events", headers={"Authorization": "Bearer " + server.admin})
        events = stream.getresponse()
        self.assertEqual(events.status, 200)
        server.as_admin("POST", "/api/v1/projects", {"name": "demo"})
        server.as_admin("POST", "/api/v1/projects/demo/commits", support.commits(1, 40))
        documents = [support.run_document(n, n, 100.0 if n < 21 else 150.0) for n in range(1, 41)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda d: server.as_admin("POST", "/api/v1/runs", d).status, documents * 2))
        self.assertEqual((answers.count(201), answers.count(200)), (40, 40), answers)
        heard = b""
        while b"event: alert" not in heard:  # judged, and the news came past the pooler
            part = events.read1(65536)
            self.assertTrue(part, "the stream ended")
            heard += part
        series = server.as_admin("GET", "/api/v1/projects/demo/series").json["series"]
        window = server.as_admin("GET", f"/api/v1/series/{series[0]['id']}?points=10").json
        self.assertEqual((len(window["columns"]["median"]), window["bucketed"]), (10, True))
        answer = server.as_admin("GET", f"/api/v1/compare?project=demo&a={support.commit_id(2)}&b={support.commit_id(39)}")
        self.assertEqual(len(answer.json["rows"]), 1, answer)
        used = support.sql(url, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'perfci' AND pid <> pg_backend_pid()")
        self.assertLessEqual(int(used), 2 + 2, "the pool's two, and two that listen")
        admin(url, "check")


if __name__ == "__main__":
    unittest.main(verbosity=1)
