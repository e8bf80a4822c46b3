"""The systemd units: readable by systemd, hardened, and naming flags that the programs have."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])
BIN = pathlib.Path(os.environ["PERFCI_BIN_DIR"])
UNITS = sorted((ROOT / "deploy/systemd").glob("*.service"))
SOCKETS = sorted((ROOT / "deploy/systemd").glob("*.socket"))


class Units(unittest.TestCase):
    def test_there_are_two(self):
        self.assertEqual([u.name for u in UNITS], ["perfci-runner.service", "perfci-server.service"])

    def test_the_server_tells_the_manager_how_it_is(self):
        text = (ROOT / "deploy/systemd/perfci-server.service").read_text()
        for line in ("Type=notify", "WatchdogSec=60s", "ExecReload=/bin/kill -HUP $MAINPID"):
            self.assertIn("\n" + line + "\n", text)

    def test_the_example_of_the_settings_is_taken(self):
        program = BIN / "perfci-server"
        self.assertTrue(program.exists(), f"{program} is not built")
        # Status 5 is the database that is not there: the settings before it were in order.
        done = subprocess.run([program, "--settings", ROOT / "deploy/systemd/server.env", "--database",
                               "host=/nonexistent", "--database-wait", "0", "--listen", "127.0.0.1:0"],
                              capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, 5, done.stderr)

    def test_both_are_hardened(self):
        for unit in UNITS:
            text = unit.read_text()
            for line in ("NoNewPrivileges=yes", "ProtectSystem=strict", "ProtectHome=yes", "DynamicUser=yes",
                         "CapabilityBoundingSet="):
                self.assertIn("\n" + line + "\n", text, unit)
            self.assertNotRegex(text, r"(?i)password|pfc_[0-9a-f]", unit)

    def test_the_programs_have_the_flags(self):
        for unit in UNITS:
            command = re.search(r"^ExecStart=(.*)$", unit.read_text(), re.M).group(1).split()
            program = BIN / pathlib.Path(command[0]).name
            self.assertTrue(program.exists(), f"{program} is not built")
            known = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=240,
                                   stdin=subprocess.DEVNULL, check=True).stdout
            for flag in (word for word in command if word.startswith("--")):
                self.assertIn(flag, known)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_systemd_reads_them(self):
        with tempfile.TemporaryDirectory(prefix="pfc-units-") as folder:
            for unit in UNITS + SOCKETS:
                # The program's place is the package's; here any that exists will do.
                copy = pathlib.Path(folder) / unit.name
                copy.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", unit.read_text(), flags=re.M))
                done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True,
                                      text=True, timeout=120, stdin=subprocess.DEVNULL, check=False)
                about = [line for line in done.stderr.splitlines() if unit.name in line]
                self.assertEqual(about, [], done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
