"""Host instructions the simulator needs, counted by callgrind, against those recorded in tests/sim/instructions.json.

Wall time says little on a shared machine; instruction counts repeat. They are of one compiler, the one named there.

sim_instructions_test.py SIM_BENCH [--record]"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import recorded_counts  # takes --record from the command line

PROGRAM = sys.argv.pop(1)
RECORDED = pathlib.Path(os.environ.get("GPUFORGE_SOURCE", pathlib.Path(__file__).parents[2])) / "tests/sim/instructions.json"

FUNCTIONS = {"parse": "gpuforge::ptx::parse(*", "decode": "gpuforge::sim::decode_image(*"}


def names():
    listed = subprocess.run([PROGRAM, "--benchmark_list_tests"], capture_output=True, text=True, check=True)
    return listed.stdout.split()


def count(name):
    """Instructions of one run of the benchmark, per thread instruction where it has such."""
    choice = [f"--benchmark_filter=^{name}$", "--benchmark_min_time=0", "--benchmark_format=json"]
    # Compiles the kernels into the cache, so that the compiler does not run under callgrind.
    known = json.loads(subprocess.run([PROGRAM, *choice], capture_output=True, text=True, check=True).stdout)
    function = FUNCTIONS.get(name, "gpuforge::sim::launch(*")
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", "--collect-atstart=no",
             f"--toggle-collect={function}", PROGRAM, *choice], capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode != 0 or not found:
        raise RuntimeError(f"callgrind of {name}: {result.stderr[-2000:]}")
    return int(found[1]) / known["benchmarks"][0].get("thread_instructions", 1)


class Instructions(unittest.TestCase):
    def test_no_more_than_recorded(self):
        if shutil.which("valgrind") is None:
            self.skipTest("valgrind is not installed; ./bootstrap checks brings it")
        counts = {name: count(name) for name in names()}
        recorded_counts.compare(self, counts, RECORDED)


unittest.main()
