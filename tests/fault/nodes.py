"""Three nodes with etcd, Patroni and PostgreSQL, HAProxy and PgBouncer, on this machine, from the files of deploy/ha as they are shipped.

The names db1, db2 and db3 become addresses of the loopback network, so that all nodes have the ports of the shipped files;
folders of the host become folders of one temporary folder. Every process of a node has its working folder below the
node's, by which it is found. A guard kills them all, and removes the folder, when this process ends, however it ends.
"""
import contextlib
import http.client
import json
import os
import pathlib
import pwd
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

PATH = os.environ.get("PATH", "") + ":/usr/sbin"
PROGRAMS = {"pgbouncer": "pgbouncer", "patroni": "patroni", "patronictl": "patroni", "etcd": "etcd-server", "haproxy": "haproxy", "pgbackrest": "pgbackrest"}
WAYS = ("host list", "HAProxy", "PgBouncer")
# The files that the page has written on a node; here they are in its folder etc.
FILES = ("/etc/default/etcd", "/etc/patroni_env.conf", "/etc/patroni/config.yml", "/etc/pgbackrest.conf")


def missing():
    """The sentence that names what this machine lacks; None when nothing is missing."""
    lacking = sorted({package for program, package in PROGRAMS.items() if not shutil.which(program, path=PATH)})
    return f"not installed: {', '.join(lacking)} (deploy/install.sh test installs them)" if lacking else None


def below(folder):
    """The processes whose working folder is in this one."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            where = os.readlink(path / "cwd").removesuffix(" (deleted)")
            if (where == folder or where.startswith(folder + "/")) and path.joinpath("stat").read_text(
                    errors="replace").rsplit(")", 1)[1].split()[0] != "Z":
                found.append(int(path.name))
    return found


def signal_all(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def kill_all(folder):
    """kill -9 of all of them; stopped first, so that none starts another meanwhile."""
    while pids := below(folder):
        signal_all(pids, signal.SIGSTOP)
        signal_all(pids, signal.SIGKILL)


def guard(folder):
    """In a process of its own: waits for the end of the test."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.stdin.buffer.read()
    kill_all(folder)
    shutil.rmtree(folder, ignore_errors=True)


class Node:
    """One of the three: its folder, its address, its Patroni with PostgreSQL, its etcd."""

    def __init__(self, nodes, number):
        self.nodes, self.name = nodes, f"db{number}"
        self.address = f"{nodes.network}.{number}"
        self.folder, self.etcd_folder = f"{nodes.folder}/{self.name}", f"{nodes.folder}/etcd{number}"
        self.agent = self.etcd = self.database = None

    def make(self):
        for folder in (self.folder, self.etcd_folder, self.folder + "/run", self.folder + "/etc"):
            self.nodes.own(folder)

    def fill(self, text):
        """A page's commands, or a file that they wrote, with this node's folders and addresses."""
        places = {"/usr/lib/postgresql/15/bin": self.nodes.bin, "/var/lib/postgresql/15": self.folder,
                  "/var/lib/postgresql": self.folder, "/run/postgresql": self.folder + "/run", "/var/lib/etcd": self.etcd_folder,
                  "/var/lib/pgbackrest": self.nodes.folder + "/pgbackrest"}
        places.update((path, self.folder + "/etc/" + os.path.basename(path)) for path in FILES)
        for shipped, here in places.items():
            text = re.sub(rf"(?<![\w/]){re.escape(shipped)}\b", here, text)
        if self.nodes.owner and self.nodes.owner.pw_name != "postgres" or not self.nodes.owner:
            text = re.sub(r"\bpeer\b", "trust", text)  # PostgreSQL's superuser is not this user's name
        return self.nodes.fill(text)

    def adapt(self):
        """Puts this node's folders and addresses into the files that the page's commands have just written."""
        for path in FILES:
            here = pathlib.Path(self.folder, "etc", os.path.basename(path))
            if here.exists():
                here.write_text(self.fill(here.read_text()))

    def settings(self, name):
        """Of a file that systemd would read for the unit."""
        path = pathlib.Path(self.folder, "etc", name)
        lines = path.read_text().splitlines() if path.exists() else []
        return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))

    def environment(self):
        return {"PGBACKREST_CONFIG": self.folder + "/etc/pgbackrest.conf",
                "PGBACKREST_LOCK_PATH": self.folder + "/run", "PGBACKREST_SPOOL_PATH": self.folder + "/run"}

    def unit(self, action, name):
        """Starts or stops a unit, as systemd does on a real node."""
        starts = action in ("start", "enable --now")
        if name == "etcd":
            self.start_etcd() if starts else self.stop_etcd()
        elif name == "patroni":
            self.start() if starts else self.stop()
        elif name == "postgresql":
            self.start_database() if starts else self.stop_database()
        else:
            raise AssertionError(f"a unit that no node has: {name}")

    def make_database(self):
        """The cluster that Debian's package makes, reached by its socket and the network; its settings are elsewhere."""
        self.nodes.run(self.nodes.bin + "/initdb", "-D", self.folder + "/main", "-U", "postgres", "-E", "UTF8", "--no-locale", "-A", "trust",
                       node=self)
        os.rename(self.folder + "/main/postgresql.conf", self.folder + "/etc/postgresql.conf")
        self.nodes.write(self.folder + "/etc/pg_hba.conf", "local all all trust\nhost all all samenet scram-sha-256\n")

    def start_database(self):
        etc, main = self.folder + "/etc", self.folder + "/main"
        self.database = self.nodes.start(
            [self.nodes.bin + "/postgres", "-D", main, "-c", f"config_file={etc}/postgresql.conf", "-c", f"hba_file={etc}/pg_hba.conf",
             "-c", f"listen_addresses={self.address}", "-c", f"unix_socket_directories={self.folder}/run"], self.folder)

    def stop_database(self):
        self.database.send_signal(signal.SIGINT)
        self.database.wait()

    def stop(self):
        self.agent.terminate()
        self.agent.wait()
        self.agent = None

    def start_etcd(self):
        self.etcd = self.nodes.start(["etcd"], self.etcd_folder, {**self.settings("etcd"), "GOMAXPROCS": "1"})

    def stop_etcd(self):
        self.etcd.kill()
        self.etcd.wait()

    def start(self):
        """The agent, which starts PostgreSQL."""
        self.agent = self.nodes.start(["patroni", self.folder + "/etc/config.yml"], self.folder,
                                      {**self.settings("patroni_env.conf"), **self.environment()})

    def kill(self):
        """kill -9 of PostgreSQL and of the agent; etcd goes on."""
        kill_all(self.folder)
        self.agent.wait()

    def freeze(self):
        signal_all(below(self.folder), signal.SIGSTOP)

    def thaw(self):
        signal_all(below(self.folder), signal.SIGCONT)

    def status(self, path="/patroni"):
        """Status and answer of the agent; 0 without one."""
        connection = http.client.HTTPConnection(self.address, 8008, timeout=2)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or "{}")
        except (OSError, http.client.HTTPException, ValueError):
            return 0, {}
        finally:
            connection.close()

    def leads(self):
        return self.status("/primary")[0] == 200


class Nodes:
    def __init__(self, source, programs):
        self.source, self.bin = pathlib.Path(source), programs
        self.folder = tempfile.mkdtemp(prefix="pfc-ha-", dir="/tmp")
        os.chmod(self.folder, 0o755)
        self.guard = subprocess.Popen([sys.executable, __file__, self.folder], stdin=subprocess.PIPE, start_new_session=True, cwd="/")
        self.user, self.owner = [], None
        if os.geteuid() == 0:
            known = {user.pw_name: user for user in pwd.getpwall()}
            self.owner = known.get("postgres") or known["nobody"]
            self.user = ["setpriv", f"--reuid={self.owner.pw_uid}", f"--regid={self.owner.pw_gid}", "--clear-groups"]
        self.network = self.free_network()
        self.password = os.urandom(8).hex()
        self.nodes = [Node(self, number) for number in (1, 2, 3)]
        self.passfile = self.folder + "/passwords"
        pathlib.Path(self.passfile).write_text(f"*:*:*:perfci:{self.password}\n")
        os.chmod(self.passfile, 0o600)
        shutil.copytree(self.source / "deploy/ha", self.folder + "/source/deploy/ha")  # the user of the nodes may read it there
        self.own(self.folder + "/proxy")
        self.own(self.folder + "/pooler")
        self.own(self.folder + "/pgbackrest")
        for node in self.nodes:
            node.make()

    @staticmethod
    def free_network():
        """A part of the loopback network on which nothing listens yet."""
        while True:
            network = f"127.{random.randrange(1, 255)}.{random.randrange(1, 255)}"
            with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
                for number, port in ((1, 5432), (2, 5432), (3, 5432), (1, 2379), (1, 8008), (9, 5000), (9, 6432)):
                    stack.enter_context(socket.socket()).bind((f"{network}.{number}", port))
                return network

    def own(self, folder):
        os.makedirs(folder, exist_ok=True)
        os.chmod(folder, 0o700)
        if self.owner:
            os.chown(folder, self.owner.pw_uid, self.owner.pw_gid)

    def write(self, path, text):
        pathlib.Path(path).write_text(text)
        if self.owner:
            os.chown(path, self.owner.pw_uid, self.owner.pw_gid)

    def shipped(self, name):
        return (self.source / "deploy/ha" / name).read_text()

    def fill(self, text):
        """Names of nodes, and what the nodes have in common, as they are here."""
        text = text.replace("bind 127.0.0.1:", f"bind {self.network}.9:")
        return re.sub(r"\bdb([123])(?=:)", rf"{self.network}.\1", text)

    def share_passwords(self):
        """As a person copies the file from the first node to the others."""
        text = pathlib.Path(self.nodes[0].folder, "etc/patroni_env.conf").read_text()
        for node in self.nodes[1:]:
            self.write(node.folder + "/etc/patroni_env.conf", text)
        password = self.nodes[0].settings("patroni_env.conf")["PATRONI_SUPERUSER_PASSWORD"]
        with open(self.passfile, "a", encoding="ascii") as file:
            file.write(f"*:*:*:postgres:{password}\n")

    def start(self, command, folder, environment=()):
        env = {key: value for key, value in os.environ.items() if not key.startswith(("PERFCI_", "PG", "PATRONI"))}
        with open(os.path.join(self.folder, os.path.basename(folder) + ".log"), "ab") as log:
            return subprocess.Popen([*self.user, *command], cwd=folder, env={**env, **dict(environment)}, stdin=subprocess.DEVNULL,
                                    stdout=log, stderr=log)

    def run(self, *command, node=None, timeout=120, good=True):
        """A command of the page as PostgreSQL's user; its output."""
        node = node or self.nodes[0]
        env = {key: value for key, value in os.environ.items() if not key.startswith(("PERFCI_", "PG", "PATRONI"))}
        done = subprocess.run([*self.user, *command], cwd="/", env={**env, **node.environment()}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=timeout, check=False)
        if good and done.returncode:
            raise AssertionError(f"{' '.join(command)}: status {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def start_etcd(self):
        for node in self.nodes:
            node.start_etcd()

    def stop_etcd(self):
        for node in self.nodes:
            node.stop_etcd()

    def start_proxy(self):
        self.write(self.folder + "/proxy/haproxy.cfg", self.fill(self.shipped("haproxy.cfg")))
        self.proxy = self.start(["haproxy", "-db", "-f", self.folder + "/proxy/haproxy.cfg"], self.folder + "/proxy")

    def start_pooler(self):
        """PgBouncer in front of HAProxy."""
        folder = self.folder + "/pooler"
        text = self.shipped("pgbouncer.ini").replace("127.0.0.1", f"{self.network}.9").replace("/etc/pgbouncer", folder)
        self.write(folder + "/userlist.txt", f'"perfci" "{self.password}"\n')
        self.write(folder + "/pgbouncer.ini", text)
        self.pooler = self.start([shutil.which("pgbouncer", path=PATH), folder + "/pgbouncer.ini"], folder)

    def environment(self, way):
        """Of a server that reaches the leader by one of the WAYS."""
        pooled = {"PERFCI_DATABASE_PREPARE": "0", "PERFCI_DATABASE_DIRECT_URL": self.url("HAProxy")} if way == "PgBouncer" else {}
        return {"PERFCI_DATABASE_READ_URL": self.url(way, standby=True), "PERFCI_DATABASE_UNSAFE": "0", **pooled}

    def leader(self):
        for node in self.nodes:
            if node.agent and node.agent.poll() not in (None, -signal.SIGKILL) or node.etcd and node.etcd.poll() not in (None, -signal.SIGKILL):
                raise SystemError(f"the agent or etcd of {node.name} has ended")
        return next((node for node in self.nodes if node.leads()), None)

    def url(self, way, name="perfci", user="perfci", standby=False):
        """The connection string of the database by one of the WAYS."""
        tail = f" dbname={name} user={user} passfile={self.passfile}"
        if way == "PgBouncer" and not standby:
            return f"host={self.network}.9 port=6432{tail}"
        if way in ("HAProxy", "PgBouncer"):
            return f"host={self.network}.9 port={5001 if standby else 5000}{tail}"
        if way == "one":
            return f"host={self.nodes[0].address} port=5432{tail}"
        hosts = ",".join(node.address for node in self.nodes)
        return f"host={hosts} port=5432{tail} target_session_attrs={'prefer-standby' if standby else 'read-write'}"

    def logs(self, lines=12):
        """The ends of what all of them printed, for a test that fails."""
        return "\n".join(f"--- {path.name}\n" + "\n".join(line[:200] for line in path.read_text(errors="replace").splitlines()[-lines:])
                         for path in sorted(pathlib.Path(self.folder).glob("*.log")))

    def close(self):
        self.guard.stdin.close()
        self.guard.wait()


if __name__ == "__main__":
    guard(sys.argv[1])
