"""The figures of perfci-bench-accel are a file of which `perfci push` makes a series for each figure."""

import json
import os
import subprocess
import tempfile
import unittest

BIN = os.environ.get("PERFCI_BIN_DIR") or os.path.join(os.path.dirname(__file__), "../../../build/release/bin")
CHIPS = ("pfc-edge", "pfc-server", "pfc-server2", "pfc-trn", "pfc-xf")


def figures(part):
    """The table that the part prints, and the measurements that perfci reads from its file, by name and metric."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "figures.json")
        ran = subprocess.run([os.path.join(BIN, "perfci-bench-accel"), "--only", part, "--figures", path], check=True,
                             capture_output=True, text=True)
        read = subprocess.run([os.path.join(BIN, "perfci"), "import", "--dry-run", "--json", path], check=True,
                              capture_output=True, text=True)
    measurements = json.loads(read.stdout)["measurements"]
    return ran.stdout, {(m["benchmark"], m["metric"]): m for m in measurements}


class Figures(unittest.TestCase):
    def test_every_cell_of_the_attainable_table_is_a_series_of_cycles_and_one_of_the_share(self):
        printed, series = figures("attainable")
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines()[2:]]
        self.assertEqual(len(series), 2 * len(rows))
        for what, dtype, chip, cycles, share, *_ in rows:
            name = f"accel/attainable/{what.replace(' ', '-').replace(',', '-')}/{dtype}/{chip}"
            self.assertEqual(series[name, "cycles"]["value"], float(cycles), name)
            self.assertEqual(series[name, "cycles"]["direction"], "lower")
            self.assertAlmostEqual(series[name, "efficiency_pct"]["value"], float(share), delta=0.051)
            self.assertEqual(series[name, "efficiency_pct"]["direction"], "higher")
            self.assertEqual(series[name, "efficiency_pct"]["unit"], "%")

    def test_the_rates_of_memory_are_series_of_every_chip(self):
        _, series = figures("memory")
        for chip in CHIPS:
            stream = series[f"accel/memory/stream/{chip}", "efficiency_pct"]
            self.assertTrue(80 < stream["value"] < 90, chip)
            self.assertEqual(stream["direction"], "higher")
            self.assertIn((f"accel/memory/transfers-of-4096-bytes/{chip}", "efficiency_pct"), series)


if __name__ == "__main__":
    unittest.main()
