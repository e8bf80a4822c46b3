"""The systemd units: readable by systemd, hardened, and naming flags that the programs have."""
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])
BIN = pathlib.Path(os.environ["PERFCI_BIN_DIR"])
UNITS = sorted((ROOT / "deploy/systemd").glob("*.service")) + [ROOT / "deploy/slurm/perfci-dispatcher.service"]
SOCKETS = sorted((ROOT / "deploy/systemd").glob("*.socket")) + sorted((ROOT / "deploy/systemd").glob("*.timer"))
sys.path.insert(0, str(ROOT / "tests/server/http"))
import sandbox  # noqa: E402


class Units(unittest.TestCase):
    # Directives that each unit must have; directives that would break its work are listed with the reason.
    DIRECTIVES = {"NoNewPrivileges": "yes", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes",
                  "PrivateMounts": "yes", "ProtectKernelTunables": "yes", "ProtectKernelModules": "yes",
                  "ProtectKernelLogs": "yes", "ProtectControlGroups": "yes", "ProtectClock": "yes", "ProtectHostname": "yes",
                  "ProtectProc": "invisible", "RestrictNamespaces": "yes", "RestrictRealtime": "yes", "RestrictSUIDSGID": "yes",
                  "LockPersonality": "yes", "RemoveIPC": "yes", "CapabilityBoundingSet": "", "AmbientCapabilities": "",
                  "SystemCallArchitectures": "native", "SystemCallErrorNumber": "EPERM", "UMask": "0077", "DynamicUser": "yes",
                  "StateDirectoryMode": "0700", "PrivateDevices": "yes", "DevicePolicy": "closed", "PrivateUsers": "yes",
                  "MemoryDenyWriteExecute": "yes"}
    # Benchmarks that write their code as they go, and what the sandbox of each job needs: namespaces, and a /proc without
    # covered places (else the kernel refuses a new one in the sandbox).
    OPEN = {"perfci-sandbox.service": {"MemoryDenyWriteExecute", "RestrictNamespaces", "ProtectKernelTunables", "ProtectKernelLogs"},
            # Its user has the same uid on the nodes, and munge must see it.
            "perfci-dispatcher.service": {"DynamicUser", "PrivateUsers"}}
    # systemd's own measure, 0 to 10; the rest is the network, and for the sandbox namespaces, mounts and /proc instead.
    EXPOSURE = {"perfci-server.service": 1.2, "perfci-nightly@.service": 1.5, "perfci-runner.service": 1.2,
                "perfci-sandbox.service": 1.7, "perfci-dispatcher.service": 1.2}

    def test_there_are_five(self):
        self.assertEqual([u.name for u in UNITS], ["perfci-nightly@.service", "perfci-runner.service", "perfci-sandbox.service",
                                                   "perfci-server.service", "perfci-dispatcher.service"])

    def test_what_starts_commits_has_no_network_and_no_secret(self):
        text = (ROOT / "deploy/systemd/perfci-sandbox.service").read_text()
        for line in ("PrivateNetwork=yes", "IPAddressDeny=any", "User=perfci-runner",
                     "InaccessiblePaths=-/var/lib/private/perfci-runner/spool -/var/lib/perfci-runner/spool -/run/credentials"):
            self.assertIn("\n" + line + "\n", text)
        self.assertNotRegex(text, "LoadCredential|EnvironmentFile|AF_INET")
        socket_unit = (ROOT / "deploy/systemd/perfci-sandbox.socket").read_text()
        for line in ("SocketMode=0600", "SocketUser=perfci-runner"):
            self.assertIn("\n" + line + "\n", socket_unit)

    def test_each_says_what_a_hardened_unit_says(self):
        for unit in UNITS:
            said = {}
            for name, value in re.findall(r"^(\w+)=(.*)$", unit.read_text(), re.M):
                said.setdefault(name, value)
            for name, value in self.DIRECTIVES.items():
                if name not in self.OPEN.get(unit.name, ()):
                    self.assertEqual(said.get(name), value, f"{unit.name}: {name}")
            # what it writes lies in its state directory: nothing else is writable
            self.assertNotIn("ReadWritePaths", said, unit.name)
            self.assertIn("StateDirectory", said, unit.name)

    def test_systemd_finds_little_exposed(self):
        for unit in UNITS:
            done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager",
                                   f"--threshold={round(10 * self.EXPOSURE[unit.name])}", unit], capture_output=True, text=True,
                                  timeout=120, stdin=subprocess.DEVNULL, check=False)
            self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr)

    def test_a_build_runs_under_the_sandboxs_filter_of_system_calls(self):
        allowed = sandbox.allowed_calls((ROOT / "deploy/systemd/perfci-sandbox.service").read_text())
        self.assertFalse(allowed & {"init_module", "kexec_load", "reboot", "swapon", "settimeofday", "bpf"})
        with tempfile.TemporaryDirectory(prefix="pfc-units-") as folder:
            pathlib.Path(folder, "a.c").write_text(
                '#include <stdlib.h>\n#include <stdio.h>\nint main(void) { void *p = malloc(9); puts("built"); free(p); return 0; }\n')
            script = ("git init -q . && cc -fsanitize=address -o a a.c && ./a && taskset -c 0 ./a"
                      f" && {BIN}/perfci-runner --help >/dev/null && {BIN}/perfci-bench --list >/dev/null")
            done = subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, text=True, timeout=240,
                                  stdin=subprocess.DEVNULL, check=False, preexec_fn=lambda: sandbox.restrict(allowed))
            self.assertEqual((done.returncode, done.stdout), (0, "built\nbuilt\n"), done.stderr)

    def test_jobs_are_isolated_under_the_filters_of_system_calls_of_both_units(self):
        units = {name: (ROOT / f"deploy/systemd/perfci-{name}.service").read_text() for name in ("sandbox", "runner")}
        self.assertIn(" --sandbox require --sandbox-socket /run/perfci/sandbox.sock\n", units["runner"])
        self.assertIn(" --few-namespaces\n", units["sandbox"])
        allowed = {name: sandbox.allowed_calls(text) for name, text in units.items()}
        self.assertFalse(allowed["runner"] & {"mount", "pivot_root", "chroot", "ptrace", "perf_event_open"})

        def become(name):
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(1000)
                os.setuid(1000)
            sandbox.restrict(allowed[name])

        with tempfile.TemporaryDirectory(prefix="pfc-units-") as folder:
            if os.geteuid() == 0:
                os.chown(folder, 1000, 1000)
            words = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "cwd": "/",
                     "env": {"PATH": os.environ["PATH"], "PERFCI_TOKEN": "pfc_" + "0" * 64}}
            launcher = subprocess.Popen([BIN / "perfci-sandbox", "serve", "--work", f"{folder}/work", "--socket", f"{folder}/socket",
                                         "--few-namespaces"], preexec_fn=lambda: become("sandbox"), **words)
            self.addCleanup(launcher.stderr.close)
            self.addCleanup(launcher.wait)
            self.addCleanup(launcher.kill)
            while not pathlib.Path(folder, "socket").exists():
                self.assertIsNone(launcher.poll())
                time.sleep(0.02)
            done = subprocess.run([BIN / "perfci-runner", "--url", "http://127.0.0.1:1", "--work", f"{folder}/work", "--once",
                                   "--sandbox", "require", "--sandbox-socket", f"{folder}/socket"],
                                  preexec_fn=lambda: become("runner"), timeout=240, check=False, **words)
        self.assertIn('"jobs_isolated","by":"bubblewrap by perfci-sandbox, uid', re.sub(r'"program":"[a-z-]+",', "", done.stderr))

    def test_the_server_tells_the_manager_how_it_is(self):
        text = (ROOT / "deploy/systemd/perfci-server.service").read_text()
        for line in ("Type=notify", "WatchdogSec=60s", "ExecReload=/bin/kill -HUP $MAINPID"):
            self.assertIn("\n" + line + "\n", text)

    def test_the_runner_tells_the_manager_how_it_is(self):
        for unit, limit in (("systemd/perfci-runner", "30min"), ("slurm/perfci-dispatcher", "5min")):
            text = (ROOT / f"deploy/{unit}.service").read_text()
            for line in ("Type=notify", "NotifyAccess=main", f"WatchdogSec={limit}"):
                self.assertIn("\n" + line + "\n", text)
        # Ready, then signs of life three times in the manager's limit, then stopping; none while it hangs.
        with tempfile.TemporaryDirectory(prefix="pfc-units-") as folder:
            manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.addCleanup(manager.close)
            manager.bind(f"{folder}/notify")
            manager.settimeout(120)
            runner = subprocess.Popen([BIN / "perfci-runner", "--url", "http://127.0.0.1:1", "--work", f"{folder}/work", "--sandbox", "off"],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
                                      env={"PATH": os.environ["PATH"], "PERFCI_TOKEN": "pfc_" + "0" * 64, "NOTIFY_SOCKET": f"{folder}/notify",
                                           "WATCHDOG_USEC": "300000"})
            self.addCleanup(runner.wait)
            self.addCleanup(runner.kill)
            self.assertEqual([manager.recv(4096) for _ in range(4)], [b"READY=1"] + 3 * [b"WATCHDOG=1"])
            runner.send_signal(signal.SIGSTOP)
            manager.settimeout(1)
            with self.assertRaises(TimeoutError):  # after those that were under way
                while True:
                    self.assertEqual(manager.recv(4096), b"WATCHDOG=1")
            manager.settimeout(120)
            runner.send_signal(signal.SIGCONT)
            runner.terminate()
            while (said := manager.recv(4096)) != b"STOPPING=1":
                self.assertEqual(said, b"WATCHDOG=1")

    def test_the_runner_is_ready_when_the_isolation_of_jobs_was_tried(self):
        for sandbox, status, expected in (("require", 5, [b"STOPPING=1"]), ("auto", 0, [b"READY=1", b"STOPPING=1"])):
            with self.subTest(sandbox=sandbox), tempfile.TemporaryDirectory(prefix="pfc-units-") as folder:
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, open(f"{folder}/log", "w+") as log:
                    manager.bind(f"{folder}/notify")
                    manager.settimeout(120)
                    # No bubblewrap is in this PATH.
                    runner = subprocess.Popen([BIN / "perfci-runner", "--url", "http://127.0.0.1:1", "--work", f"{folder}/work",
                                               "--sandbox", sandbox], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, cwd="/",
                                              env={"PATH": folder, "PERFCI_TOKEN": "pfc_" + "0" * 64, "NOTIFY_SOCKET": f"{folder}/notify"})
                    self.addCleanup(runner.wait)
                    self.addCleanup(runner.kill)
                    said = [manager.recv(4096)]
                    if said == [b"READY=1"]:
                        self.assertIn("jobs_not_isolated", pathlib.Path(folder, "log").read_text())
                        runner.terminate()
                        said.append(manager.recv(4096))
                    self.assertEqual(said, expected)
                    self.assertEqual(runner.wait(120), status)

    def test_the_example_of_the_settings_is_taken(self):
        program = BIN / "perfci-server"
        self.assertTrue(program.exists(), f"{program} is not built")
        # Status 5 is the database that is not there: the settings before it were in order.
        done = subprocess.run([program, "--settings", ROOT / "deploy/systemd/server.env", "--database",
                               "host=/nonexistent", "--database-wait", "0", "--listen", "127.0.0.1:0"],
                              capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, 5, done.stderr)

    def test_the_sockets_of_the_server_are_told_apart_by_the_name_that_it_knows(self):
        said = {unit.name: unit.read_text() for unit in SOCKETS if unit.suffix == ".socket"}
        self.assertEqual(set(said), {"perfci-server.socket", "perfci-server-ops.socket", "perfci-sandbox.socket"})
        path = re.search(r"^ListenSequentialPacket=(.*)$", said.pop("perfci-sandbox.socket"), re.M).group(1)
        self.assertIn(f" --sandbox-socket {path}\n", (ROOT / "deploy/systemd/perfci-runner.service").read_text())
        name, = re.findall(r'strcmp\(names\[i\], "(\w+)"\)', (ROOT / "server/manager.c").read_text())
        self.assertIn(f"\nFileDescriptorName={name}\nService=perfci-server.service\n", said["perfci-server-ops.socket"])
        self.assertNotIn("FileDescriptorName", said["perfci-server.socket"])
        # the addresses that the settings' example has
        example = dict(re.findall(r"^#? ?(PERFCI_\w+)=(.*)$", (ROOT / "deploy/systemd/server.env").read_text(), re.M))
        streams = {unit: re.search(r"^ListenStream=(.*)$", text, re.M).group(1) for unit, text in said.items()}
        self.assertEqual(streams, {"perfci-server.socket": example["PERFCI_LISTEN"],
                                   "perfci-server-ops.socket": example["PERFCI_OPS_LISTEN"]})

    def test_no_secret_stands_in_them(self):
        for unit in UNITS:
            self.assertNotRegex(unit.read_text(), r"(?i)password|pfc_[0-9a-f]|://[^/ ]*@", unit)

    def test_the_programs_have_the_flags(self):
        for unit in UNITS:
            command = re.search(r"^ExecStart=(.*)$", unit.read_text(), re.M).group(1).split()
            program = BIN / pathlib.Path(command[0]).name
            self.assertTrue(program.exists(), f"{program} is not built")
            known = subprocess.run([program, *(w for w in command[1:2] if not w.startswith("--")), "--help"], capture_output=True, text=True, timeout=240,
                                   stdin=subprocess.DEVNULL, check=True).stdout
            for flag in (word for word in command if word.startswith("--")):
                self.assertIn(flag, known)

    def test_systemd_reads_them(self):
        with tempfile.TemporaryDirectory(prefix="pfc-units-") as folder:
            for unit in UNITS + SOCKETS:
                # The program's place is the package's; here any that exists will do. A template needs a name.
                copy = pathlib.Path(folder) / unit.name.replace("@.", "@demo.")
                copy.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", unit.read_text(), flags=re.M))
            for unit in UNITS + SOCKETS:
                copy = pathlib.Path(folder) / unit.name.replace("@.", "@demo.")
                done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True,
                                      text=True, timeout=120, stdin=subprocess.DEVNULL, check=False)
                about = [line for line in done.stderr.splitlines() if copy.name in line]
                self.assertEqual(about, [], done.stderr)

    def test_the_users_are_made(self):
        with tempfile.TemporaryDirectory(prefix="pfc-units-") as folder:
            pathlib.Path(folder, "etc").mkdir()
            done = subprocess.run(["systemd-sysusers", "--root=" + folder, ROOT / "deploy/systemd/perfci.sysusers"],
                                  capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            users = dict(line.split(":", 1) for line in pathlib.Path(folder, "etc/passwd").read_text().splitlines())
            self.assertEqual(set(users), {"perfci-server", "perfci-runner"})
            self.assertTrue(all(rest.endswith("/nologin") for rest in users.values()), users)


class Documented(unittest.TestCase):
    """docs/reference/settings.md has every setting of the programs, with its default, and no other."""
    TEXT = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")

    def help_of(self, program):
        self.assertTrue((BIN / program).exists(), f"{program} is not built")
        return subprocess.run([BIN / program, "--help"], capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL, check=True).stdout

    def tables(self):
        """Entries under each head: names, flag, default, and whether a reload applies the setting."""
        found = []
        for section in self.TEXT.split("\n## ")[1:]:
            found.append([])
            for entry in re.findall(r"^- (.*?)(?=^- |^$|\Z)", section, re.M | re.S):
                head, said = re.match(r"(.*?): (\S.*)", " ".join(entry.split()).replace("http://", "http//")).groups()
                default = re.search(r"\(default (.*?)(; R)?\)$", head)
                flag = re.search(r"`(--[a-z-]+)`", head)
                found[-1].append({"names": re.findall(r"`(PERFCI_\w+)`", head.split("(")[0]), "flag": flag.group(1) if flag else None,
                                  "default": default.group(1) if default else None, "R": bool(default and default.group(2)), "said": said})
        return found

    def test_the_servers(self):
        helped = self.help_of("perfci-server")
        in_file, beside, _ = self.tables()
        names = [name for row in in_file for name in row["names"]]
        self.assertEqual(len(names), len(in_file))
        flags = [row["flag"] for row in in_file + beside if row["flag"]]
        secret = {name for row in beside for name in row["names"]}
        self.assertEqual(sorted(names), sorted(set(names)))
        self.assertEqual(set(flags), set(re.findall(r"--[a-z-]+", helped)) - {"--version", "--help"})
        self.assertEqual(set(names) | secret, {name.removesuffix("_FILE") for name in re.findall(r"PERFCI_\w+", helped)})
        source = (ROOT / "server/settings.c").read_text()
        table = lambda name: set(re.findall(r'"(PERFCI_\w+)"', re.search(name + r"\[\] = \{(.*?)NULL", source, re.S).group(1)))
        self.assertEqual(set(names), table("known"))
        self.assertEqual({name for name, row in zip(names, in_file) if row["R"]}, table("taken_over"))
        # each default as the code has it
        defaults = dict(re.findall(r'"(PERFCI_\w+)",\s*"([^"]*)"', source.split("static const char *pick(")[1]))
        defaults.update({name: "none" for name in re.findall(r'"(PERFCI_\w+)",\s*NULL\)', source)}, PERFCI_LISTEN="127.0.0.1:7420")
        for name, row in zip(names, in_file):
            if not row["default"].startswith("near "):
                self.assertEqual(row["default"].strip("`").removesuffix("s" if defaults[name].isdigit() else ""), defaults[name], name)
        near = {name: row["default"] for name, row in zip(names, in_file) if row["default"].startswith("near ")}
        coded = {name: f"near {a or 'none'}, else {b}" for name, a, b in re.findall(
            r'"(PERFCI_\w+)",\s*near \? (?:NULL|"(\w+)")\s*: "([^"]*)"', source)}
        self.assertEqual({name: text.replace("`", "") for name, text in near.items() if name in coded}, coded)
        self.assertEqual(set(near) - set(coded), {"PERFCI_CONNECTIONS_PER_ADDRESS"})  # a quarter, computed

    def test_the_runners(self):
        helped = self.help_of("perfci-runner")
        flags = [row["flag"] for row in self.tables()[2]]
        self.assertEqual(set(flags), set(re.findall(r"^  (--[a-z-]+)", helped, re.M)) - {"--version"})
        for row in self.tables()[2]:
            said = re.search(rf"^  {row['flag']} .*?(?=^  --|\Z)", helped, re.M | re.S).group()
            default = re.search(r"default:? (\d\w*|info|local)\b", said)
            if default:
                self.assertEqual(row["default"], default.group(1), row["flag"])


if __name__ == "__main__":
    unittest.main(verbosity=1)
