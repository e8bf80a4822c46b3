"""The width of partitions: changed while runs are stored, and known to backup, restore, check and retention."""
import json
import os
import pathlib
import shutil
import signal
import tempfile
import threading
import unittest

import support
from test_store import admin, as_restored, contents

BOUNDS = "SELECT name, since, until FROM measurements_partitions ORDER BY since"
DROP = "DO $$ DECLARE t text; BEGIN FOR t IN SELECT name FROM measurements_partitions LOOP EXECUTE 'DROP TABLE ' || t; END LOOP; END $$"


class Widths(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = support.Cluster()
        cls.addClassCleanup(cls.cluster.close)

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pfc-widths-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.settings = self.folder / "server.env"

    def limited(self):
        """A database, and the same as the role of a server, which owns nothing."""
        url = self.cluster.database()
        name = dict(word.split("=", 1) for word in url.split())["dbname"]
        support.sql(url, f"CREATE ROLE {name}_server LOGIN")
        admin(url, "migrate", "--server-role", f"{name}_server")
        return url, " ".join(f"user={name}_server" if word.startswith("user=") else word for word in url.split())

    def widths(self, url):
        return set(support.sql(url, "SELECT DISTINCT extract(day FROM until - since)::int FROM measurements_partitions"
                                    " WHERE until > now() AT TIME ZONE 'UTC'").split())

    def change(self, server, width):
        said = server.log().count("settings_reloaded") + server.log().count("settings_not_reloaded")
        self.settings.write_text(f"PERFCI_PARTITION_WIDTH={width}\n")
        server.process.send_signal(signal.SIGHUP)
        support.until("reloaded", lambda: server.log().count("settings_reloaded")
                      + server.log().count("settings_not_reloaded") > said)

    def test_a_changed_width_loses_nothing_and_comes_back_from_a_backup(self):
        url, limited = self.limited()
        support.sql(url, DROP)
        self.settings.write_text("PERFCI_PARTITION_WIDTH=day\n")
        server = support.Server(limited, "--settings", str(self.settings))
        self.addCleanup(server.close)
        server.as_admin("POST", "/api/v1/projects", {"name": "demo"})
        server.as_admin("POST", "/api/v1/projects/demo/commits", support.commits(1, 30))
        acknowledged, failed, stop = set(), [], threading.Event()

        def post(first):
            for n in range(first, first + 100000, 2):
                if stop.is_set():
                    return
                answer = server.as_admin("POST", "/api/v1/runs", support.run_document(n, 1 + n % 30, 100.0))
                (acknowledged.add(n) if answer.status == 201 else failed.append((n, answer)))

        clients = [threading.Thread(target=post, args=(first,)) for first in (100, 101)]
        for client in clients:
            client.start()
        try:
            support.until("days", lambda: self.widths(url) == {"1"} and len(acknowledged) > 20)
            self.change(server, "week")
            support.until("weeks", lambda: "7" in self.widths(url))
            self.change(server, "fortnight")
            self.assertIn('--partition-width: expected auto, month, week or day, got \\"fortnight\\"', server.log())
            # rows of now land in the default partition again, and are moved while others come
            support.sql(url, "BEGIN; LOCK TABLE measurements; CREATE TABLE held AS SELECT * FROM measurements;" + DROP
                        + "; TRUNCATE measurements; INSERT INTO measurements SELECT * FROM held; DROP TABLE held; COMMIT")
            before = len(acknowledged)
            support.until("more", lambda: len(acknowledged) > before + 20)
            self.change(server, "month")
            support.until("months", lambda: self.widths(url) & {"28", "29", "30", "31"})
            self.change(server, "day")
            before = len(acknowledged)
            support.until("more", lambda: len(acknowledged) > before + 20)
        finally:
            stop.set()
            for client in clients:
                client.join()
        self.assertEqual(failed, [])
        support.until("all judged", lambda: server.as_admin("GET", "/api/v1/stats").json["detection_lag_s"] == 0)
        self.assertEqual(server.stop(), 0)
        self.assertEqual({int(line, 16) for line in support.sql(url, "SELECT run_id FROM runs").split()}, acknowledged)
        self.assertEqual(support.sql(url, "SELECT count(*) FROM measurements_default").strip(), "0")
        self.assertEqual(json.loads(admin(url, "check", "--json").stdout)["holds"], True)

        # old weeks and days, partly thinned: the backup has them as they are
        support.sql(url, "SELECT measurements_partition('2024-01-01', '2024-01-08'), measurements_partition('2024-01-08', '2024-01-09'),"
                         " measurements_partition('2024-02-01', '2024-03-01');"
                         "UPDATE measurements SET stored_at = (ARRAY['2024-01-01', '2024-01-07 23:59:59.999999', '2024-01-08',"
                         " '2024-02-29'])[1 + run_id % 4]::timestamp AT TIME ZONE 'UTC' WHERE run_id <= 20;"
                         "UPDATE runs r SET received_at = m.stored_at FROM measurements m WHERE m.run_id = r.id AND r.id <= 20")
        self.settings.write_text("PERFCI_PARTITION_WIDTH=week\nPERFCI_RETAIN_RAW=3\n")
        server = support.Server(limited, "--settings", str(self.settings))
        self.addCleanup(server.close)
        support.until("thinned", lambda: support.sql(url, "SELECT month, until FROM retention ORDER BY 1")
                      == "2024-01-01|2024-01-08\n2024-01-08|2024-01-09\n2024-02-01|2024-03-01\n")
        self.assertEqual(server.stop(), 0)
        admin(url, "check")
        admin(limited, "backup", self.folder / "all.dump")
        fresh = self.cluster.database()
        admin(fresh, "restore", self.folder / "all.dump")
        self.assertEqual(contents(fresh), as_restored(contents(url)))
        self.assertEqual(support.sql(fresh, BOUNDS), support.sql(url, BOUNDS))
        # those of today have one width on the first day of a month, and two or three on others
        for bounds in ("2024-01-01 00:00:00|2024-01-08 00:00:00", "2024-01-08 00:00:00|2024-01-09 00:00:00",
                       "2024-02-01 00:00:00|2024-03-01 00:00:00"):
            self.assertIn(f"|{bounds}\n", support.sql(fresh, BOUNDS))
        admin(fresh, "check")
        again = support.Server(fresh, "--partition-width", "day")
        self.addCleanup(again.close)
        n = max(acknowledged)
        self.assertEqual(again.as_admin("POST", "/api/v1/runs", support.run_document(n, 1 + n % 30, 100.0)).status, 200)
        self.assertEqual(again.as_admin("POST", "/api/v1/runs", support.run_document(n + 1, 1, 100.0)).status, 201)
        self.assertEqual(again.stop(), 0)
        self.assertEqual(support.sql(fresh, "SELECT count(*) FROM measurements_default").strip(), "0")


if __name__ == "__main__":
    os.umask(0o077)
    unittest.main(verbosity=2)
