"""PgBouncer between servers and their database, pooling transactions."""
import os
import shutil
import subprocess
import tempfile

import support


class Pooler:
    """A PgBouncer that pools transactions of one database."""

    def __init__(self, cluster_url, connections=2):
        parts = dict(part.split("=", 1) for part in cluster_url.split())
        owner = os.stat(os.path.join(parts["host"], "data"))  # it does not run as root either
        self.folder = tempfile.mkdtemp(prefix="pfc-pool-")
        self.path = os.path.join(self.folder, "ini")
        with open(self.path, "w", encoding="ascii") as file:
            file.write(f"[databases]\n{parts['dbname']} = host={parts['host']} user={parts['user']}\n[pgbouncer]\n"
                       f"unix_socket_dir = {self.folder}\nlisten_port = 6432\nauth_type = any\npool_mode = transaction\n"
                       f"default_pool_size = {connections}\nmax_db_connections = {connections}\nmax_client_conn = 1000\n"
                       f"admin_users = {parts['user']}\n"
                       "server_login_retry = 1\nserver_reset_query_always = 1\n")  # settings of one session do not reach the next
        shutil.chown(self.folder, owner.st_uid, owner.st_gid)
        self.owner, self.url = owner, f"host={self.folder} port=6432 user={parts['user']} dbname={parts['dbname']}"
        self.process = None
        self.start()

    def start(self):
        program = shutil.which("pgbouncer", path=os.environ.get("PATH", "") + ":/usr/sbin") or "pgbouncer"
        self.process = subprocess.Popen([program, self.path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, user=self.owner.st_uid, group=self.owner.st_gid)

    def connections(self):
        """To the database, and from clients, now."""
        done = subprocess.run(["psql", "-XAtq", "-d", self.url.rsplit("dbname=", 1)[0] + "dbname=pgbouncer", "-P", "footer=off", "-P",
                               "tuples_only=off", "-c", "SHOW POOLS"], check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        names, *rows = [line.split("|") for line in done.stdout.splitlines()]
        rows = [dict(zip(names, row)) for row in rows if row[0] != "pgbouncer"]
        return tuple(sum(int(n) for row in rows for name, n in row.items() if name.startswith(side)) for side in ("sv_", "cl_"))

    def kill(self):
        self.process.kill()
        self.process.wait(timeout=support.DEADLINE_S)

    def close(self):
        self.kill()
        shutil.rmtree(self.folder)
