"""The weight-stationary array in Verilog takes the cycles of scalesim-ws and computes its results: 200 random problems on
ten arrays. Simulated by Icarus Verilog, else by Verilator; skipped where neither is installed."""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
SOURCES = [str(ROOT / "kernels/accel/reference/array.v"), str(ROOT / "tests/kernels/accel/array_bench.v")]
ARRAYS = 10
CASES = 20  # on each
SKIPPED = 77


def build_icarus(rows, cols, folder):
    out = str(folder / "bench.vvp")
    subprocess.run(["iverilog", "-g2005", "-Wall", "-s", "bench", f"-Pbench.R={rows}", f"-Pbench.C={cols}", "-o", out] + SOURCES,
                   check=True)
    return ["vvp", "-n", out]


def build_verilator(rows, cols, folder):
    made = subprocess.run(["verilator", "--binary", "--timing", "-Wno-fatal", "-O3", "--top-module", "bench", f"-GR={rows}",
                           f"-GC={cols}", "--Mdir", str(folder), "-o", "bench"] + SOURCES, capture_output=True, text=True)
    if made.returncode:
        raise SystemExit(f"verilator failed:\n{made.stderr[-2000:]}")
    return [str(folder / "bench")]


def problems(witness, rows, cols, seed):
    """Lines for the bench, and what the engine says: a line for each problem, its cycles first."""
    text = subprocess.run([witness, str(rows), str(cols), str(CASES), str(seed)], check=True, capture_output=True, text=True)
    lines = text.stdout.splitlines()
    assert len(lines) == 4 * CASES, f"expected {4 * CASES} lines of the witness, got {len(lines)}"
    return [line for i, line in enumerate(lines) if i % 4 < 3], lines[3::4]


def compare(where, shapes, engine, verilog):
    assert len(verilog) == CASES, f"{where}: expected {CASES} lines of the simulation, got {len(verilog)}"
    for shape, ours, theirs in zip(shapes, engine, verilog):
        cycles, *sums = map(int, ours.split())
        ticks, *other = map(int, theirs.split())
        # SCALE-Sim numbers its cycles from zero and prints the last one's number
        assert cycles == ticks - 1, f"{where}, {shape}: the array in Verilog took {ticks} ticks, the engine says {cycles} + 1"
        assert sums == other, f"{where}, {shape}: the array in Verilog computed another result"


def main():
    if shutil.which("iverilog") and shutil.which("vvp"):
        build = build_icarus
    elif shutil.which("verilator"):
        build = build_verilator
    else:
        print("skipped: no Verilog simulator (package iverilog): run deploy/install.sh test")
        return SKIPPED
    rng = random.Random(17)
    witness = os.path.join(os.environ["PERFCI_TEST_DIR"], "pfc-accel-witness")
    for i in range(ARRAYS):
        rows, cols = (1, 1) if i == 0 else (rng.randint(1, 16), rng.randint(1, 16))
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            lines, engine = problems(witness, rows, cols, i)
            (folder / "cases").write_text("\n".join(lines) + "\n")
            ran = subprocess.run(build(rows, cols, folder) + [f"+cases={folder / 'cases'}"], check=True, capture_output=True,
                                 text=True)
            verilog = [line for line in ran.stdout.splitlines() if line[:1].isdigit()]
            compare(f"array {rows}x{cols}", lines[::3], engine, verilog)
    print(f"{ARRAYS * CASES} problems on {ARRAYS} arrays: equal cycles and results")
    return 0


if __name__ == "__main__":
    sys.exit(main())
