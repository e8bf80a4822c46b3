"""The promises of the nightly units, checked beside a real systemd (boot_box.sh): docs/how-to/install.md and without-a-service.md, typed to
the letter on the demonstration repository, then the timers, the nights, their statuses and reports.

The benchmark's clock counts steps (BENCH_CLOCK=steps), so no verdict depends on this machine. Nights that must still be running when
something else is tried are held by what they wait for: a runner that is stopped, a compiler that waits for a file."""

import datetime
import json
import os
import pathlib
import pwd
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["PERFCI_BIN_DIR"]).parent
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tests/server/http")]
import support  # noqa: E402
import test_first_day  # noqa: E402

GIT = pathlib.Path("/srv/git")
STAMPS = pathlib.Path("/var/lib/systemd/timers")
DAY_S = 86400
FACTS = {}
# Typed on a machine without perfci; here it is built, the machine has the packages, and both pages begin with what is installed.
LEFT_OUT = ("deploy/install.sh build runtime", "cmake --preset release -DPERFCI_TESTS=OFF", "cmake --build build/release",
            "cmake --install build/release --prefix /usr/local")


def call(*words, status=0, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
                          timeout=support.DEADLINE_S, **more)
    if status is not None and done.returncode != status:
        raise AssertionError(f"{' '.join(map(str, words))} ended with {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done


def setUpModule():
    support.until("systemd has started", lambda: call("systemctl", "is-system-running", status=None).stdout.strip() in ("running", "degraded"))
    GIT.mkdir()
    made = call(ROOT / "deploy/demo/make_demo.py", GIT / "demo", "--seed", "1", "--json", env={**os.environ, "BENCH_CLOCK": "steps"})
    FACTS.update(json.loads(made.stdout))
    call("systemd-run", "--quiet", "--unit=git-http", sys.executable, ROOT / "tests/support/git_http.py", GIT, 80)
    call("cmake", "--install", BUILD, "--prefix", "/usr/local")


def drop_in(unit, *lines):
    folder = pathlib.Path(f"/run/systemd/system/{unit}.d")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"test-{len(list(folder.iterdir()))}.conf").write_text("\n".join(lines) + "\n", encoding="ascii")
    call("systemctl", "daemon-reload")


def remove_drop_ins(unit):
    call("rm", "-r", f"/run/systemd/system/{unit}.d")
    call("systemctl", "daemon-reload")


def show(unit, name):
    return call("systemctl", "show", "--value", "-p", name, unit).stdout.strip()


class Nights(unittest.TestCase):
    """A remote with the demonstration's history up to the commit before the plant, typed commands, and questions to systemd."""

    def setUp(self):
        self.exported = []
        self.remote = GIT / f"{self.name}.git"
        call("git", "clone", "-q", "--bare", GIT / "demo", self.remote)
        self.head("planted", "~1")
        self.service, self.timer = f"{self.name}@kernels.service", f"{self.name}@kernels.timer"

    def head(self, fact, suffix=""):
        call("git", "-C", self.remote, "update-ref", "refs/heads/main", FACTS[fact] + suffix)

    def typed(self, line):
        """A line of a page; what it exports stays."""
        moved = line.replace("https://git.example.org/kernels.git", f"http://127.0.0.1/{self.name}.git")
        if re.match("(export|unset) ", moved):
            self.exported.append(moved)
            return ""
        return call("bash", "-euo", "pipefail", "-c", "\n".join([*self.exported, moved]), cwd=ROOT).stdout

    # ---- systemd ----

    def night(self):
        return show(self.service, "InvocationID")

    def running(self):
        return show(self.service, "ActiveState") == "activating"

    def over(self, night):
        """Waits until a later night than this one has ended; its status and what systemd makes of it."""
        support.until("another night has begun", lambda: self.night() not in ("", night))
        support.until("the night is over", lambda: show(self.service, "ActiveState") in ("inactive", "failed"))
        return int(show(self.service, "ExecMainStatus")), show(self.service, "Result")

    def journal(self, night=None):
        call("journalctl", "--sync")
        return call("journalctl", "-o", "cat", f"_SYSTEMD_INVOCATION_ID={night or self.night()}", status=None).stdout

    def due(self, hour, minute, spread_s):
        """The timer as it is shipped: enabled, running, and due at its hour within a day."""
        self.assertEqual(call("systemctl", "is-enabled", self.timer).stdout.strip(), "enabled")
        self.assertEqual(call("systemctl", "is-active", self.timer).stdout.strip(), "active")
        self.assertIn(self.timer, call("systemctl", "list-timers", "--no-pager", "--full").stdout)
        due = datetime.datetime.strptime(show(self.timer, "NextElapseUSecRealtime").split(" ", 1)[1].rsplit(" ", 1)[0], "%Y-%m-%d %H:%M:%S")
        after = (due - due.replace(hour=hour, minute=minute, second=0)).total_seconds()
        self.assertTrue(0 <= after <= spread_s, due)
        self.assertTrue(0 < (due - datetime.datetime.now()).total_seconds() <= DAY_S + 3600 + spread_s, due)

    def slept(self):
        """The machine was off for two nights: the timer's last start is three days ago."""
        stamp = STAMPS / f"stamp-{self.timer}"
        call("systemctl", "stop", self.timer)
        STAMPS.mkdir(exist_ok=True)
        call("touch", "-d", "3 days ago", stamp)

    def statuses(self):
        """Each exit status of a night, and the result that systemd derives from it."""
        for status, result in ((0, "success"), (1, "success"), (2, "exit-code"), (3, "success"), (4, "exit-code"), (5, "exit-code")):
            drop_in(self.service, "[Service]", "ExecStartPre=", "ExecStart=", f"ExecStart=/bin/sh -c 'exit {status}'")
            call("systemctl", "start", self.service, status=int(result != "success"))
            self.assertEqual((int(show(self.service, "ExecMainStatus")), show(self.service, "Result")), (status, result))
            self.assertEqual(call("systemctl", "is-failed", self.service, status=None).stdout.strip(),
                             "inactive" if result == "success" else "failed")
        remove_drop_ins(self.service)

    def one_at_a_time(self, night):
        """A second start while a night runs begins no second one."""
        self.assertTrue(self.running())
        call("systemctl", "start", "--no-block", self.service)
        call("systemctl", "start", "--no-block", self.timer)
        self.assertEqual(self.night(), night)
        self.assertTrue(self.running())


class Service(Nights):
    """perfci-nightly@.service and .timer: a night that the service's runner measures."""
    name = "perfci-nightly"

    def install(self):
        """The first day of install.md, up to the morning after; what each of its lines printed."""
        text = (ROOT / "docs/how-to/install.md").read_text(encoding="utf-8").split("### State of the installation")[0] + "\n## End\n"
        lines = test_first_day.commands(text, "The first day")
        self.assertEqual([line for line in LEFT_OUT if line not in lines], [])
        newest = max(int(folder.name) for folder in pathlib.Path("/usr/lib/postgresql").iterdir())
        printed = {}
        for line in lines:
            if line in LEFT_OUT:
                continue
            if line == "systemctl enable --now perfci-runner":
                with open("/etc/perfci/runner.env", "a", encoding="ascii") as file:
                    file.write("BENCH_CLOCK=steps\nPERFCI_JOB_ENV=BENCH_CLOCK\n")
            printed[line] = self.typed(re.sub(r"^(pg_createcluster --start) \d+ ", rf"\1 {newest} ", line))
            if line == "systemctl enable --now perfci-nightly@kernels.timer":
                self.due(2, 0, 1800)
        return printed

    def queued(self):
        answer = self.typed("curl -fsS -H \"Authorization: Bearer $(cat \"$PERFCI_TOKEN_FILE\")\" "
                            "'http://127.0.0.1:7420/api/v1/jobs?project=kernels'")
        return [job["kind"] for job in json.loads(answer)["jobs"] if job["state"] == "queued"]

    def test_nights_of_the_service(self):
        printed = self.install()
        before = call("git", "-C", self.remote, "rev-parse", "main").stdout[:12]
        first = self.night()
        self.assertEqual(self.over(""), (0, "success"))
        self.assertIn(before, printed["journalctl -u perfci-nightly@kernels -o cat"])
        state = pathlib.Path("/var/lib/private/perfci-nightly")
        self.assertNotEqual(state.stat().st_uid, 0)
        self.assertEqual(state.stat().st_mode & 0o777, 0o700)

        # The timer makes up for a night that it slept through; no runner is there yet, so the night waits.
        call("systemctl", "stop", "perfci-runner")
        self.head("planted")
        drop_in(self.timer, "[Timer]", "RandomizedDelaySec=0")
        self.slept()
        call("systemctl", "start", self.timer)
        night = support.until("the timer has fired", lambda: self.night() if self.night() != first else None)
        support.until("the night waits for a runner", self.queued)
        self.one_at_a_time(night)
        # A night by hand is about the same commits: it waits for the job that is there.
        clone = "/root/kernels"
        call("git", "clone", "-q", f"http://127.0.0.1/{self.name}.git", clone)
        call("bash", "-c", "\n".join([*self.exported, f"perfci nightly --jobs --wait 1s --project kernels --repo {clone}"]), status=5)
        self.assertEqual(self.queued(), ["nightly"])
        call("systemctl", "start", "perfci-runner")
        self.assertEqual(self.over(first), (1, "success"))
        planted = FACTS["planted"][:12]
        self.assertRegex(self.journal(), rf"(?m)^.*{planted}.* slower ")
        self.assertIn(planted[:7], self.typed("perfci alerts --project kernels"))
        self.due(2, 0, 0)
        remove_drop_ins(self.timer)
        call("systemctl", "restart", self.timer)
        self.due(2, 0, 1800)
        self.assertEqual(self.night(), night)

        # A service that does not answer: the night has failed, and the next one is due all the same.
        call("systemctl", "stop", "perfci-server")
        cursor = call("journalctl", "-n", "0", "--show-cursor").stdout.rpartition("cursor: ")[2].strip()
        call("systemctl", "start", self.service, status=1)
        self.assertEqual(self.over(night), (5, "exit-code"))
        # By its name: the journal reads unit and invocation of so short a process after its end, and may not find them.
        call("journalctl", "--sync")
        self.assertIn("http://127.0.0.1:7420", call("journalctl", "-o", "cat", "-t", "perfci", f"--cursor={cursor}").stdout)
        self.due(2, 0, 1800)
        call("systemctl", "start", "perfci-server")
        call("systemctl", "start", self.service)
        self.assertEqual(self.over(night), (0, "success"))
        self.assertNotIn(f"{planted} ", self.journal())
        self.statuses()


class Store(Nights):
    """perfci-store@.service and .timer: a night without a service, whose history is a branch."""
    name = "perfci-store"
    held = pathlib.Path("/srv/test")  # the compiler waits while there is a file "hold"

    def stored(self):
        """The branch at the remote: kinds of its files, and its page."""
        names = call("git", "-C", self.remote, "ls-tree", "-r", "--name-only", "perfci-data").stdout.split()
        return names, call("git", "-C", self.remote, "show", "perfci-data:index.html").stdout

    def compiler(self):
        """Written once the user is there."""
        self.held.mkdir()
        compiler = self.held / "cc"
        compiler.write_text(f"#!/bin/sh\necho >{self.held}/asked\nwhile [ -e {self.held}/hold ]; do sleep 0.1; done\nexec cc \"$@\"\n", encoding="ascii")
        compiler.chmod(0o755)
        call("chown", "-R", "perfci:", self.held)
        drop_in(self.service, "[Service]", f"Environment=BENCH_CLOCK=steps CC={compiler}")

    def install(self):
        lines = call(ROOT / "tests/deploy/page_commands.sh", ROOT / "docs/how-to/without-a-service.md", "With systemd").stdout.splitlines()
        for line in lines:
            said = self.typed(line)
            if line.startswith("useradd "):
                self.compiler()
            if line.startswith("systemctl enable --now"):
                self.due(2, 17, 0)
                self.assertEqual(self.night(), "")
        return said

    def test_nights_without_a_service(self):
        report = self.install()
        before = call("git", "-C", self.remote, "rev-parse", "main").stdout[:12]
        first = self.night()
        self.assertEqual(self.over(""), (0, "success"))
        self.assertIn(before, report)
        names, page = self.stored()
        self.assertEqual(sum(name.startswith("runs/") for name in names), 1)
        self.assertIn("<svg", page)
        clone = pathlib.Path("/srv/perfci/kernels")
        self.assertEqual(pwd.getpwuid((clone / ".git/perfci").stat().st_uid).pw_name, "perfci")

        # The timer, as it is shipped, makes up for a night that it slept through.
        (self.held / "asked").unlink()
        (self.held / "hold").touch()
        self.head("planted")
        self.slept()
        call("systemctl", "start", self.timer)
        night = support.until("the timer has fired", lambda: self.night() if self.night() != first else None)
        support.until("the night builds", (self.held / "asked").exists)
        self.one_at_a_time(night)
        second = call("runuser", "-u", "perfci", "--", "env", "-C", clone, "perfci", "nightly", "--store", "branch:perfci-data", status=5)
        self.assertIn(f"another perfci (process {show(self.service, 'MainPID')}) uses the store", second.stderr)
        (self.held / "hold").unlink()
        self.assertEqual(self.over(first), (1, "success"))
        self.assertEqual(self.night(), night)
        planted = FACTS["planted"][:12]
        self.assertRegex(self.journal(), rf"(?m)^.*{planted}.* slower ")
        later, page = self.stored()
        self.assertLess(set(names), set(later))
        alerts = [json.loads(call("git", "-C", self.remote, "show", f"perfci-data:{name}").stdout) for name in later if name.startswith("alerts/")]
        self.assertEqual([alert["commit"] for alert in alerts], [FACTS["planted"]])
        self.assertIn(planted, page)
        self.due(2, 17, 0)

        # A remote that does not answer.
        self.remote.rename(f"{self.remote}.away")
        call("systemctl", "start", self.service, status=1)
        self.assertEqual(show(self.service, "Result"), "exit-code")
        self.assertIn("perfci-store.git", self.journal())
        self.due(2, 17, 0)
        pathlib.Path(f"{self.remote}.away").rename(self.remote)
        call("systemctl", "start", self.service)
        self.assertEqual(self.over(night), (0, "success"))
        self.statuses()


if __name__ == "__main__":
    done = unittest.main(verbosity=2, exit=False)
    if not done.result.wasSuccessful():
        print(call("journalctl", "--no-pager", "-o", "short", "-n", "80", "-u", "perfci*", status=None).stdout)
    sys.exit(not done.result.wasSuccessful())
