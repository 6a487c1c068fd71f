"""A range of a profiler that is off costs a comparison: instructions of a call with and without, counted by callgrind.

profiler_instructions_test.py CONTEXT_BENCH"""
import re
import shutil
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)
ALLOWED = 20  # a test of a pointer twice, and the registers kept for the case that it is not null


def count(benchmark, function):
    result = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--toggle-collect=gpuforge::{function}(*",
         PROGRAM, f"--benchmark_filter=^{benchmark}$", "--benchmark_min_time=0"], capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode != 0 or not found or found[1] == "0":
        raise AssertionError(result.stdout + result.stderr)
    return int(found[1])


@unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed: it counts the instructions")
class Off(unittest.TestCase):
    def test_a_range_that_is_off_is_a_comparison(self):
        self.assertLessEqual(count("range_off", "call_in_a_range") - count("alone", "call_alone"), ALLOWED)


if __name__ == "__main__":
    unittest.main()
