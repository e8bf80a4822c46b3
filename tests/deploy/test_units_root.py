"""Mounts and users as the systemd units make them, made by hand: root alone can do it."""
import fcntl
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])
BIN = pathlib.Path(os.environ["PERFCI_BIN_DIR"])
sys.path.insert(0, str(ROOT / "tests/support"))
from jobs_service import JobsService  # noqa: E402


class Surroundings(unittest.TestCase):
    # As the unit's PrivateUsers, ProtectProc, PrivateDevices and ProtectSystem make them: the kernel allows a new /proc in the
    # sandbox only while the old one is not covered anywhere.
    SURROUNDINGS = """
        mount -t proc -o hidepid=invisible proc /proc && mount -t tmpfs -o mode=755 tmpfs "$1" || exit 9
        for d in null zero full random urandom tty; do touch "$1/$d"; mount --bind /dev/$d "$1/$d"; done
        mkdir "$1/pts" "$1/shm" && mount --bind /dev/pts "$1/pts" && ln -s pts/ptmx "$1/ptmx" && mount --rbind "$1" /dev || exit 9
        shift
        exec setpriv --reuid=1000 --regid=1000 --clear-groups unshare --user --map-current-user "$@" """

    def test_jobs_are_isolated_among_the_sandbox_units_users_processes_and_devices(self):
        unit = (ROOT / "deploy/systemd/perfci-sandbox.service").read_text()
        for line in ("PrivateUsers=yes", "ProtectProc=invisible", "PrivateDevices=yes", "PrivateNetwork=yes"):
            self.assertIn("\n" + line + "\n", unit)
        with tempfile.TemporaryDirectory(prefix="pfc-units-") as folder:
            devices, work = pathlib.Path(folder, "dev"), pathlib.Path(folder, "work")
            devices.mkdir()
            work.mkdir()
            os.chmod(folder, 0o755)
            os.chown(work, 1000, 1000)
            launcher = subprocess.Popen(["unshare", "--mount", "--net", "--propagation", "private", "sh", "-c", self.SURROUNDINGS, "sh", devices,
                                         BIN / "perfci-sandbox", "serve", "--work", f"{work}/runner", "--socket", f"{work}/socket",
                                         "--few-namespaces"], stdin=subprocess.DEVNULL, cwd="/")
            self.addCleanup(launcher.wait)
            self.addCleanup(launcher.kill)
            while not pathlib.Path(work, "socket").exists():
                if launcher.poll() is not None:
                    self.skipTest(f"the unit's surroundings cannot be made here: status {launcher.returncode}")
                time.sleep(0.02)
            done = subprocess.run(["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", BIN / "perfci-runner", "--url", "http://127.0.0.1:1",
                                   "--work", f"{work}/runner", "--once", "--sandbox", "require", "--sandbox-socket", f"{work}/socket"],
                                  capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL, check=False, cwd="/",
                                  env={"PATH": os.environ["PATH"], "PERFCI_TOKEN": "pfc_" + "0" * 64})
        self.assertIn('"jobs_isolated"', done.stderr)

    def test_a_machine_that_cannot_isolate_gets_one_sentence(self):
        for stand_in, sentence in (("/dev/null", "bubblewrap (bwrap) is not installed\nhint: on Debian: apt install bubblewrap"),
                                   ("/bin/false", "bubblewrap cannot isolate a command here: no output")):
            with tempfile.TemporaryDirectory(prefix="pfc-units-") as folder:
                done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c",
                                       'mount --bind "$0" /usr/bin/bwrap && exec "$@"', stand_in, BIN / "perfci-runner", "--url", "http://127.0.0.1:1",
                                       "--work", folder, "--once", "--sandbox", "require"], capture_output=True, text=True, timeout=240, check=False,
                                      stdin=subprocess.DEVNULL, cwd="/", env={"PATH": os.environ["PATH"], "PERFCI_TOKEN": "pfc_" + "0" * 64})
            self.assertEqual((done.returncode, done.stderr.split("\nperfci-runner: ")[-1]), (5, f"sandbox: {sentence}\n"))

    # /run is read-only to a unit with ProtectSystem=strict.
    READ_ONLY_RUN = """
        mount --rbind /run /run && mount -o remount,bind,ro /run && mount -o remount,bind,ro /run/lock 2>/dev/null
        ! touch /run/lock/perfci-units 2>/dev/null && exec setpriv --reuid=1000 --regid=1000 --clear-groups "$@" """

    def test_a_unit_and_another_user_take_turns_by_the_file_that_the_package_makes(self):
        rule = (ROOT / "deploy/systemd/perfci.tmpfiles").read_text()
        self.assertIn(" lib/tmpfiles.d RENAME perfci.conf", (ROOT / "deploy/cmake/install.cmake").read_text())
        self.assertIn("\nProtectSystem=strict\n", (ROOT / "deploy/systemd/perfci-runner.service").read_text())
        place, = re.findall(r"^f (\S+) 0444 root root -$", rule, re.M)
        self.assertIn(f'#define PFC_MACHINE_LOCK "{place}"', (ROOT / "runner/agent/machine_lock.h").read_text())
        lock = pathlib.Path(f"{place}.test-{os.getpid()}")  # other runners of this machine go on
        with tempfile.TemporaryDirectory(prefix="pfc-units-") as folder:
            pathlib.Path(folder, "perfci.conf").write_text(rule.replace(place, str(lock)))
            made = subprocess.run(["systemd-tmpfiles", "--create", f"{folder}/perfci.conf"], capture_output=True, text=True, timeout=120,
                                  stdin=subprocess.DEVNULL, check=False)
            self.addCleanup(lock.unlink, missing_ok=True)
            self.assertEqual((made.returncode, lock.stat().st_mode & 0o777, lock.stat().st_uid), (0, 0o444, 0), made.stderr)
            os.chmod(folder, 0o755)
            work = pathlib.Path(folder, "work")
            work.mkdir()
            os.chown(work, 1000, 1000)
            service = JobsService({"id": 7, "lease": "0" * 32 + "-1", "fence": 1, "lease_s": 1, "kind": "measure", "project": "demo",
                            "commit": "main", "branch": "main", "source": "/nowhere"})
            self.addCleanup(service.close)
            with open(lock, "rb") as other:  # as a runner of another user does; the name of the socket stays free
                fcntl.flock(other, fcntl.LOCK_EX)
                runner = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c", self.READ_ONLY_RUN, "sh",
                                           BIN / "perfci-runner", "--url", service.url, "--work", work / "runner", "--once", "--sandbox", "off"],
                                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/",
                                          env={"PATH": os.environ["PATH"], "PERFCI_TOKEN": "pfc_" + "0" * 64, "PERFCI_MACHINE_LOCK": str(lock)})
                self.addCleanup(runner.wait)
                self.addCleanup(runner.kill)
                said = service.next("heartbeat", "complete")  # "complete", with the reason, when it does not wait
                self.assertEqual((said[0], said[1].get("progress")), ("heartbeat", "waiting for another runner of this machine"))
            self.assertIn("/nowhere", service.next("complete")[1]["reason"])
            output, _ = runner.communicate(timeout=120)
            self.assertNotIn("machine_lock_file_unavailable", output)


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: mounting /proc and making /run read-only, as the units do, needs root")
        sys.exit(77)
    unittest.main(verbosity=1)
