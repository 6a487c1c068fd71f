"""The simulator's counts against those ncu read on a GPU (tests/sim/ncu_h200.json), within 5 per cent.

sim_counters_test.py PROGRAM"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)
ROOT = pathlib.Path(os.environ.get("GPUFORGE_SOURCE", pathlib.Path(__file__).parents[2]))

# Which sites of the report a metric adds up, and what of them.
METRICS = {
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": ("global", "load", "requests"),
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": ("global", "store", "requests"),
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": ("global", "load", "sectors"),
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": ("global", "store", "sectors"),
    # By instruction: the pipe's own count, without smsp__sass, also has replays that depend on timing.
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": ("shared", "load", "wavefronts"),
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum": ("shared", "store", "wavefronts"),
}


class Counters(unittest.TestCase):
    def test_counts_equal_the_gpus(self):
        recorded = json.loads((ROOT / "tests/sim/ncu_h200.json").read_text())
        self.assertGreater(len(recorded["cases"]), 20)
        for case in recorded["cases"]:
            source, *arguments = case["run"]
            result = subprocess.run([PROGRAM, "run", ROOT / source, *arguments, "--device", "sim", "--json", "--quiet"],
                                    capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, f"{case['name']}: {result.stderr}")
            sites = json.loads(result.stdout)["report"]["sites"]
            for metric, value in case["metrics"].items():
                space, kind, what = METRICS[metric]
                counted = sum(site.get(what, 0) for site in sites if site.get("space") == space and site["class"] == kind)
                self.assertLessEqual(abs(counted - value), 0.05 * value, f"{case['name']}: {metric}: {counted}, on the GPU {value}")


unittest.main()
