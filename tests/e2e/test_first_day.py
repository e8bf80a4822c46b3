"""An operator's first day: every command of that section of docs/how-to/install.md, as written there.

The tree is installed into a folder, and paths of the system are moved into it; PostgreSQL is a private
cluster; what systemd does with the units that the section starts is done by a few lines here.
"""

import os
import pathlib
import re
import shlex
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest

from stack import ROOT, clean_environment, git, make_repository

sys.path.insert(0, os.path.join(ROOT, "tests", "server", "http"))
import support  # noqa: E402

BUILD = pathlib.Path(os.environ["PERFCI_BIN_DIR"]).parent
# Commands that a test cannot run on its host; each must be in the text, and all others are run.
LEFT_OUT = ("deploy/install.sh build runtime", "cmake --preset release -DPERFCI_TESTS=OFF", "cmake --build build/release",
            "systemd-sysusers", "systemd-tmpfiles --create perfci.conf", "pg_createcluster --start 15 main", "git pull --ff-only")
# Other users than ours.
SHELL = """set -euo pipefail
runuser() { shift 2; [ "$1" != -- ] || shift; "$@"; }
install() { local words=(); while [ $# -gt 0 ]; do case "$1" in -o) shift ;; *) words+=("$1") ;; esac; shift; done; command install "${words[@]}"; }
journalctl() { [ "$1" = -u ]; cat "$LOGS/$2.log"; }
"""


def commands(text, title):
    """The lines of the indented blocks of a section."""
    section = re.search(rf"^## {re.escape(title)}$(.*?)(?=^## )", text, re.M | re.S).group(1)
    found = []  # a line that is indented further continues the command
    for line in (line[4:] for line in section.splitlines() if line.startswith("    ")):
        if found and line.startswith(" "):
            found[-1] += "\n" + line
        else:
            found.append(line)
    return found


class Units:
    """As much of systemd as the units ask for: environment, credentials, sockets, what goes before, READY=1, reload, stop."""

    def __init__(self, root, place, environment):
        self.root, self.place, self.environment, self.running, self.sockets = root, place, environment, {}, {}

    def read(self, name, kind="service"):
        base, _, instance = name.partition("@")
        path = self.root / "usr/local/lib/systemd/system" / (f"{base}@.{kind}" if instance else f"{base}.{kind}")
        said = {}
        for key, value in re.findall(r"^(\w+)=(.*)$", path.read_text(), re.M):
            said.setdefault(key, []).append(self.place(value.replace("%i", instance)))
        return said

    def listen(self, name):
        """Starts a socket, which stays open when its service stops, and its service, here without waiting for a connection."""
        if name not in self.sockets:
            path, = self.read(name, "socket")["ListenSequentialPacket"]
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self.sockets[name] = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.sockets[name].bind(path)
            self.sockets[name].listen()
        if name not in self.running:
            self.start(name)

    def start(self, name):
        said = self.read(name)
        for required in " ".join(said.get("Requires", [])).split():
            if required.endswith(".socket") and required != f"{name}.socket":
                self.listen(required.removesuffix(".socket"))
        env = dict(self.environment)
        env.update(word.split("=", 1) for line in said.get("Environment", []) for word in shlex.split(line))
        for file in said.get("EnvironmentFile", []):
            if os.path.exists(file.lstrip("-")) or not file.startswith("-"):
                env.update(line.split("=", 1) for line in pathlib.Path(file.lstrip("-")).read_text().splitlines())
        secrets = tempfile.mkdtemp(prefix="credentials-", dir=self.root)
        for one in said.get("LoadCredential", []):
            target, source = one.split(":", 1)
            pathlib.Path(secrets, target).write_bytes(pathlib.Path(source).read_bytes())
            pathlib.Path(secrets, target).chmod(0o400)
        states = [pathlib.Path(self.place("/var/lib/" + one)) for one in said["StateDirectory"][0].split()]
        for state in states:
            state.mkdir(mode=0o700, parents=True, exist_ok=True)
        env["CREDENTIALS_DIRECTORY"] = secrets
        words = lambda line: [w.replace("%d", secrets) for w in shlex.split(line)]
        log = open(self.root / "logs" / f"{name}.log", "ab")
        how = {"env": env, "cwd": said.get("WorkingDirectory", states)[0], "stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
        with log:
            if said.get("Type") == ["oneshot"]:
                fine = {0, *(int(n) for line in said.get("SuccessExitStatus", []) for n in line.split())}
                for line in said.get("ExecStartPre", []) + said["ExecStart"]:
                    done = subprocess.run(words(line), timeout=support.DEADLINE_S, check=False, **how)
                    if done.returncode not in fine:
                        raise AssertionError(f"{name}: {line} ended with {done.returncode}\n{self.log(name)}")
                return
            heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            heard.bind(os.path.join(secrets, "notify"))
            heard.settimeout(support.DEADLINE_S)
            env["NOTIFY_SOCKET"] = os.path.join(secrets, "notify")
            command = words(said["ExecStart"][0])
            if name in self.sockets:  # the service gets it as descriptor 3
                env["LISTEN_FDS"] = "1"
                how["stdin"] = self.sockets[name]
                command = ["sh", "-c", 'LISTEN_PID=$$ exec "$@" 3<&0 0</dev/null', "sh", *command]
            self.running[name] = subprocess.Popen(command, **how)
        try:
            while said.get("Type") == ["notify"] and b"READY=1" not in heard.recv(65536):
                pass
        except socket.timeout:
            raise AssertionError(f"{name} never said READY=1\n{self.log(name)}") from None
        finally:
            heard.close()

    def stop(self, name):
        process = self.running.pop(name)
        process.send_signal(signal.SIGTERM)
        # SIGTERM is a clean end for systemd; a service that says READY=1 has more to do at its end.
        clean = {0} if self.read(name).get("Type") == ["notify"] else {0, -signal.SIGTERM}
        if process.wait(timeout=support.DEADLINE_S) not in clean:
            raise AssertionError(f"{name} ended with {process.returncode}\n{self.log(name)}")
        for other in [one for one in self.running if f"{name}.service" in self.read(one).get("PartOf", [])]:
            self.stop(other)

    def log(self, name):
        return (self.root / "logs" / f"{name}.log").read_text(errors="replace")[-4000:]

    def obey(self, words):
        verb, names = words[0], [w for w in words[1:] if not w.startswith("-")]
        if verb == "daemon-reload":
            return
        for name in names:
            if name.endswith(".timer"):
                assert (self.root / "usr/local/lib/systemd/system" / re.sub(r"@.*\.", "@.", name)).exists(), name
            elif verb == "reload":
                before = self.log(name).count('"settings_reloaded"')
                self.running[name].send_signal(signal.SIGHUP)
                support.until("reloaded", lambda: self.log(name).count('"settings_reloaded"') > before)
            else:
                if verb in ("stop", "restart"):
                    self.stop(name)
                if verb in ("start", "restart", "enable"):
                    self.start(name)

    def close(self):
        for process in self.running.values():
            process.kill()
            process.wait()
        for one in self.sockets.values():
            one.close()
        self.running, self.sockets = {}, {}


class FirstDay(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="pfc-day-", dir="/tmp")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        cluster = support.Cluster()
        self.addCleanup(cluster.close)
        database = dict(word.split("=", 1) for word in shlex.split(cluster.url))
        ports = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        moved = {"/etc/perfci": f"{self.root}/etc/perfci", "/var/lib/perfci": f"{self.root}/var/lib/perfci",
                 "/var/backups": f"{self.root}/var/backups", "/usr/local": f"{self.root}/usr/local",
                 "/run/postgresql": database["host"], "/run/perfci": f"{self.root}/run/perfci",
                 "https://git.example.org/kernels.git": f"file://{self.root}/kernels",
                 **{f"127.0.0.1:{there}": "127.0.0.1:%d" % here.getsockname()[1] for there, here in zip((7420, 7421), ports)}}
        for one in ports:
            one.close()
        self.place = lambda text: re.sub(rf"(?<![\w-])(?:{'|'.join(map(re.escape, moved))})", lambda m: moved[m.group()], text)
        self.ids = make_repository(str(self.root / "kernels"), [2.0, 2.0])
        for name in ("logs", "counters", "etc", "var/lib"):
            (self.root / name).mkdir(parents=True)
        self.env = clean_environment(
            PATH=f"{self.root}/usr/local/bin:{os.environ['PATH']}", HOME=str(self.root), LOGS=str(self.root / "logs"),
            PGHOST=database["host"], PGUSER=database["user"], PFC_TEST_COUNTERS=str(self.root / "counters"),
            PERFCI_DATABASE_UNSAFE="1", RENEWED_LINEAGE=str(self.root), PERFCI_URL=self.place("http://127.0.0.1:7420"))
        self.exported = {}
        self.units = Units(self.root, self.place, self.env)
        self.addCleanup(self.units.close)

    def certificate(self, name):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                        "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.root / "privkey.pem",
                        "-out", self.root / "fullchain.pem"], check=True, capture_output=True, timeout=support.DEADLINE_S)

    def verify(self):
        """systemd finds nothing wrong with the units, and the programs where they say."""
        units = sorted((self.root / "usr/local/lib/systemd/system").iterdir())
        sources = [source for name in ("systemd", "slurm", "ci") for source in pathlib.Path(ROOT, "deploy", name).glob("perfci-*")]
        self.assertEqual(sorted(u.name for u in units), sorted(s.name for s in sources))
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", *(str(u).replace("@.", "@kernels.") for u in units)],
                              capture_output=True, text=True, timeout=support.DEADLINE_S, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual([line for line in done.stderr.splitlines() if "perfci" in line], [], done.stderr)

    def forget(self):
        """A missing argument is reported with its name."""
        for command, status, wanted in (("perfci token list", 2, "\nhint: set PERFCI_TOKEN_FILE to the file of a valid token of"),
                                        ("perfci admin check", 2, "no database: set PERFCI_DATABASE_URL"),
                                        ("perfci admin restore none.dump", 2, "set PERFCI_DATABASE_URL"),
                                        ("perfci-runner --work runner", 2, "no token: expected --token-file FILE")):
            done = subprocess.run(command.split(), capture_output=True, text=True, env=self.env, cwd=self.root, check=False,
                                  stdin=subprocess.DEVNULL, timeout=support.DEADLINE_S)
            self.assertEqual((done.returncode, done.stderr.count("\nhint: ")), (status, command.startswith("perfci ")), done.stderr)
            self.assertIn(wanted, done.stderr)

    def renew(self, lines):
        """Once it answers by HTTPS, the lines for the certificate bring another one."""
        address = self.place("127.0.0.1:7420").split(":")
        served = lambda: ssl.get_server_certificate(tuple(address))
        before = served()
        self.assertIn(before.strip(), (self.root / "fullchain.pem").read_text())
        self.certificate("second")
        self.assertEqual(len(lines), 3)
        for line in lines:
            self.run_line(line)
        support.until("the renewed one is served", lambda: served() != before)
        self.assertIn(served().strip(), (self.root / "fullchain.pem").read_text())

    def run_line(self, line):
        if line.startswith("systemctl "):
            self.units.obey(shlex.split(line)[1:])
            return ""
        if re.match(r"(export|unset) ", line):
            verb, rest = shlex.split(line)
            self.exported.pop(rest, None) if verb == "unset" else self.exported.update([self.place(rest).split("=", 1)])
            return ""
        moved = self.place(line)
        if line.startswith("cmake --install"):
            moved = moved.replace("build/release", shlex.quote(str(BUILD)))
        done = subprocess.run(["bash", "-c", SHELL + moved], capture_output=True, text=True, cwd=ROOT, stdin=subprocess.DEVNULL,
                              env={**self.env, **self.exported}, timeout=support.DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout[-2000:]}{done.stderr[-2000:]}\n"
                         + "".join(f"--- {name}\n{self.units.log(name)}" for name in self.units.running))
        return done.stdout

    def test_every_command_of_it_works_as_it_stands(self):
        lines = commands(pathlib.Path(ROOT, "docs/how-to/install.md").read_text(encoding="utf-8"), "The first day")
        self.assertEqual([line for line in LEFT_OUT if line not in lines], [])
        self.certificate("first")
        said = {}
        for line in lines:
            if line not in LEFT_OUT:
                said.setdefault(line, self.run_line(line))
            if line.startswith("install") and line.endswith("server.env"):
                example = self.root / "etc/perfci/server.env"
                example.write_text(self.place(example.read_text()))
            if line.startswith("cmake --install"):
                self.verify()
            if "7420/readyz" in line:
                self.forget()
            if "7421/readyz" in line:
                self.renew([line for line in lines if "RENEWED_LINEAGE" in line or line.startswith("systemctl reload")])
        find = lambda text: next(value for line, value in said.items() if text in line)
        self.assertIn('{"status":"ok"}', find("7420/readyz"))
        self.assertIn("bootstrap", find("perfci token list"))
        self.assertRegex(find("journalctl -u perfci-nightly@kernels"), self.ids[-1][:8])
        self.assertRegex(find("/metrics"), r"(?m)^perfci_runners 1$")
        self.assertRegex(find("perfci project list"), r"(?m)^kernels +main +2 +1 ")
        self.assertRegex(find("admin check"), r"0 ")
        self.assertRegex(find('"event":"request"'), r"(?m)^[0-9.]+ /api/v1/")
        self.assertEqual(self.units.running, {})
        # the runner cloned: what it measured is not the folder of the nightly round
        self.assertEqual(len(list((self.root / "var/lib/perfci-runner").rglob("mirrors/*.git"))), 1)
        # no other user can read the secret
        for name in ("etc/perfci/runner-token", "etc/perfci/nightly-token", "etc/perfci/database-url", "var/lib/perfci/admin.token"):
            self.assertEqual((self.root / name).stat().st_mode & 0o077, 0, name)


if __name__ == "__main__":
    unittest.main()
