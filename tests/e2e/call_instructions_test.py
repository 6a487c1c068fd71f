"""Host instructions of one call of an op, from its arguments to the driver's launch, counted by callgrind on the stand-in
driver, against those recorded beside this file. They are of one compiler, the one named there.

call_instructions_test.py OPS_BENCH FAKE_DRIVER_FOLDER [--record]"""
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

PROGRAM, FAKE_DRIVER = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
RECORDED = pathlib.Path(__file__).parent / "call_instructions.json"
ENVIRONMENT = {**os.environ, "GPUFORGE_LIBRARY_PATH": FAKE_DRIVER, "FAKE_CUDA_SM": "190"}


def run(command):
    result = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    if result.returncode != 0:
        raise RuntimeError(f"{command}: {result.stdout[-1000:]} {result.stderr[-2000:]}")
    return result


def names():
    return run([PROGRAM, "--benchmark_list_tests"]).stdout.split()


def inclusive(profile, function):
    """Instructions of a function and what it calls."""
    found = re.findall(rf"^ *([\d,]+) \(.*?\)  [^:]*:{function}", profile, re.MULTILINE)
    return sum(int(number.replace(",", "")) for number in found)


def count(name):
    """Of one call that found everything ready, without what the driver does."""
    choice = [f"--benchmark_filter=^{name}$", "--benchmark_min_time=0", "--benchmark_format=json"]
    with tempfile.TemporaryDirectory() as folder:
        result = run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", "--collect-atstart=no",
                      "--toggle-collect=gpuforge::ops::call_op(*", PROGRAM, *choice])
        profile = run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", f"{folder}/out"]).stdout
    benchmark = json.loads(result.stdout)["benchmarks"][0]
    if benchmark.get("error_occurred"):
        raise RuntimeError(benchmark["error_message"])
    if inclusive(profile, "cuLaunchKernel(?:Ex)? ") == 0:
        raise RuntimeError(f"{name}: no launch was seen")
    driver = inclusive(profile, "cu[A-Z][A-Za-z_0-9]* ")  # none of them calls another
    return (inclusive(profile, r"gpuforge::ops::call_op\(") - driver) // benchmark["iterations"]


@unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed; ./bootstrap checks brings it")
class Calls(unittest.TestCase):
    def test_no_more_than_recorded(self):
        # Compiles the kernels into the cache, so that the compiler does not run under callgrind.
        first = json.loads(run([PROGRAM, "--benchmark_min_time=0", "--benchmark_format=json"]).stdout)["benchmarks"]
        failed = [benchmark["error_message"] for benchmark in first if benchmark.get("error_occurred")]
        if failed and "NVRTC" in failed[0]:
            self.skipTest(failed[0])
        self.assertEqual(failed, [])
        counts = {name: count(name) for name in names()}
        recorded_counts.compare(self, counts, RECORDED)


unittest.main()
