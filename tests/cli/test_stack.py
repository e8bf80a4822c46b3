"""The embedded service where something is wrong: PostgreSQL replaced or read-only under it, folders that cannot be
written, data folders without a service; and the removal of what it made."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import support
from test_up import Stack, alive


def programs():
    return pathlib.Path(subprocess.run([os.path.join(os.environ["PERFCI_TEST_DIR"], "pfc-cluster"), "programs"], check=True,
                                       capture_output=True, text=True).stdout.strip())


class Heal(Stack):
    def record(self):
        with open(self.path("data/stack.json"), encoding="utf-8") as f:
            return json.load(f)

    def sql(self, text):
        return subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", self.record()["socket"], "-U", "perfci", "-d",
                               "dbname=perfci options='-c default_transaction_read_only=off'", "-c", text], check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout.strip()

    def read_only(self, then):
        """A running PostgreSQL that answers reads and refuses writes; `then`: what its settings say at the next start."""
        self.sql("ALTER SYSTEM SET default_transaction_read_only = on")
        self.sql("SELECT pg_reload_conf()")
        support.wait_for(lambda: self.perfci("status", "--data", self.data).returncode == 5, "the server has noticed")
        if then == "off":
            self.sql("ALTER SYSTEM RESET default_transaction_read_only")

    def test_a_postgresql_whose_programs_were_replaced_is_restarted(self):
        # A tree as a package installs it, so that it can be upgraded under the running postmaster: PostgreSQL finds its
        # libraries and its share folder from where its program is.
        real = programs()
        tree = pathlib.Path(tempfile.mkdtemp(prefix="pfc-pg-", dir="/tmp"))
        self.addCleanup(shutil.rmtree, tree)
        tree.chmod(0o755)
        own = tree / real.relative_to("/")
        shutil.copytree(real, own)
        share = subprocess.run([real / "pg_config", "--sharedir"], check=False, capture_output=True, text=True).stdout.strip() \
            or f"/usr/share/postgresql/{real.parent.name}"
        for folder in (pathlib.Path(share), real.parent / "lib"):
            (tree / folder.relative_to("/")).parent.mkdir(parents=True, exist_ok=True)
            (tree / folder.relative_to("/")).symlink_to(folder)
        self.env["PERFCI_PG_BIN"] = str(own)
        self.start()
        self.expect(self.perfci("project", "create", "kept", "--data", self.data), 0)
        before = self.members()
        self.assertEqual(self.json_of(self.perfci("status", "--json", "--data", self.data))["restart_needed"], False)
        # As dpkg does it: a new file under the old name.
        shutil.copy(real / "postgres", own / "postgres.new")
        os.rename(own / "postgres.new", own / "postgres")
        done = self.expect(self.perfci("status", "--data", self.data), 0)
        self.assertIn("restart needed: PostgreSQL's programs were replaced", done.stdout)
        self.assertEqual(self.json_of(self.perfci("status", "--json", "--data", self.data))["restart_needed"], True)
        done = self.up()
        self.assertIn("programs were replaced while it ran (a package upgrade): restarting PostgreSQL and the server", done.stderr)
        after = self.members()
        self.assertTrue(all(after[name] and after[name] != before[name] for name in before), (before, after))
        self.assertFalse(any(alive(pid) for pid in before.values()))
        self.assertEqual([p["name"] for p in self.ask("/api/v1/projects")["projects"]], ["kept"])
        self.assertIn("already running", self.up().stdout)

        # The programs are gone and nothing could start the cluster again: what runs is left as it is.
        shutil.rmtree(own)
        done = self.up(status=5)
        self.assertIn("it cannot be restarted: ", done.stderr)
        self.assertEqual(self.members(), after)

    def test_a_postgresql_that_takes_no_writes_is_restarted(self):
        self.start()
        self.expect(self.perfci("project", "create", "kept", "--data", self.data), 0)
        before = self.members()
        self.read_only(then="off")
        done = self.expect(self.perfci("status", "--data", self.data), 5)
        self.assertRegex(done.stdout, "not ready: the database takes no writes: .*read-only transaction")
        done = self.up()
        self.assertRegex(done.stderr, "PostgreSQL accepts no writes: .*read-only transaction.*: restarting PostgreSQL and the server")
        after = self.members()
        self.assertNotEqual((after["postgres"], after["server"]), (before["postgres"], before["server"]))
        self.expect(self.perfci("status", "--data", self.data), 0)
        self.expect(self.perfci("project", "create", "more", "--data", self.data), 0)

        # Where a restart does not help the reason is said, and nothing is left running.
        self.read_only(then="on")
        done = self.up(status=5)
        self.assertRegex(done.stderr, "(?m)^perfci up: PostgreSQL accepts no writes: .*read-only transaction")
        self.assertEqual([pid for pid in self.members().values() if pid], [])


class Delete(Stack):
    def delete(self, status=0):
        return self.expect(self.perfci("down", "--delete", "--data", self.data), status)

    def test_all_of_a_service_is_removed(self):
        self.start()
        pids = self.members()
        done = self.delete()
        self.assertEqual(done.stdout, f"removed {self.data}\n")
        self.assertFalse(os.path.exists(self.data))
        self.assertFalse(any(alive(pid) for pid in pids.values()))
        self.assertIn("no service was started", self.delete().stderr)

    def test_what_others_put_there_stays(self):
        self.start()
        mine = self.write("data/notes.txt", "mine\n")
        answer = self.json_of(self.perfci("down", "--delete", "--json", "--data", self.data))
        self.assertEqual((answer["was_running"], answer["kept"]), (True, 1))
        self.assertIn(self.path("data/pg"), answer["removed"])
        self.assertEqual(os.listdir(self.data), ["notes.txt"])
        # The rest is no longer a data folder.
        self.assertIn("is not a data folder of perfci", self.delete(2).stderr)
        self.assertTrue(os.path.exists(mine))

    def test_a_record_that_names_another_cluster_removes_nothing(self):
        precious = self.path("precious")
        os.mkdir(precious)
        record = self.write("data/stack.json", json.dumps({"cluster": precious, "port": 0}))
        self.assertIn("where perfci up makes none: nothing is removed", self.delete(2).stderr)
        self.assertTrue(os.path.isdir(precious))
        os.unlink(record)

    @support.needs_root("only root has a home that others cannot enter")
    def test_the_cluster_that_root_made_elsewhere_is_removed(self):
        os.mkdir(self.path("closed"), 0o700)
        self.data = self.path("closed", "data")
        self.up("--port", "0")
        with open(os.path.join(self.data, "stack.json"), encoding="utf-8") as f:
            record = json.load(f)
        self.addCleanup(subprocess.run, ["rm", "-rf", record["cluster"], record["socket"]], check=False)
        self.assertTrue(record["cluster"].startswith("/var/lib/perfci/pg-"))
        done = self.delete()
        self.assertEqual(done.stdout.splitlines(), [f"removed {path}" for path in (record["cluster"], record["socket"], self.data)])
        for path in (record["cluster"], record["socket"], self.data):
            self.assertFalse(os.path.exists(path), path)


class Refused(support.Case):
    def test_a_data_folder_without_a_service_is_an_error(self):
        # The service of another user at the address in PERFCI_URL must not be asked instead.
        self.git("init", "-q", "-b", "main", cwd=self.dir)
        self.git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "one", cwd=self.dir)
        numbers = self.write("numbers.txt", "12.5\n")
        for missing in (self.path("nothing"), self.dir):
            for args in (("project", "list"), ("token", "list"), ("series", "--project", "p"), ("alerts", "--project", "p"), ("jobs",),
                         ("push", numbers, "--commit", "HEAD", "--project", "p"), ("replay", "--show", "--project", "p")):
                done = self.expect(self.perfci(*args, "--data", missing, env={"PERFCI_URL": "http://127.0.0.1:9"}), 5)
                self.assertIn(f"no service runs in the data folder {missing}\nhint: start one with \"perfci up --data {missing}\"", done.stderr)
                self.assertEqual(done.stdout, "")
        self.assertFalse(os.path.exists(self.path("nothing")))
        done = self.expect(self.perfci("status", "--json", "--data", self.path("nothing")), 5)
        self.assertEqual((json.loads(done.stdout)["ready"], json.loads(done.stdout)["reason"]), (False, "never started"))

    def as_nobody(self, *args, status):
        environment = {"PATH": os.environ["PATH"], "PERFCI_UP_VOLATILE": "1"}
        return self.expect(subprocess.run(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", support.PERFCI, *args],
                                          stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/", env=environment, check=False), status)

    @support.needs_root("becoming another user takes root")
    def test_an_ordinary_user_runs_a_service_where_it_may_write(self):
        os.chmod(self.dir, 0o711)
        closed = self.path("closed")
        os.mkdir(closed)
        for folder in (closed, os.path.join(closed, "data")):
            done = self.as_nobody("up", "--detach", "--port", "0", "--data", folder, status=5)
            self.assertRegex(done.stderr, f"^perfci up: the data folder .*{folder}.*: Permission denied\nhint: .*--data DIR\n$")
        self.assertEqual(os.listdir(closed), [])
        os.mkdir(self.path("own"))
        shutil.chown(self.path("own"), "nobody", "nogroup")
        data = self.path("own/data")
        self.as_nobody("up", "--detach", "--port", "0", "--no-runner", "--data", data, status=0)
        self.assertEqual(self.as_nobody("down", "--delete", "--data", data, status=0).stdout, f"removed {data}\n")

    @support.needs_root("a mount of its own takes root, and a root folder that is a mount", subprocess.run(
        ["unshare", "--mount", "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0)
    def test_a_read_only_disk_is_one_sentence(self):
        folder = self.path("disk")
        os.makedirs(os.path.join(folder, "data"))
        script = f'mount --bind "{folder}" "{folder}" && mount -o remount,bind,ro "{folder}" && exec "$@"'
        for data in ("data", "new"):
            done = self.expect(subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", support.PERFCI, "up", "--detach", "--port", "0",
                                               "--data", os.path.join(folder, data)], stdin=subprocess.DEVNULL, capture_output=True,
                                              text=True, env=self.env, check=False), 5)
            self.assertRegex(done.stderr, f"^perfci up: the data folder .*{folder}.*: Read-only file system\nhint: .*--data DIR\n$")
        self.assertEqual(os.listdir(folder), ["data"])


if __name__ == "__main__":
    support.main()
