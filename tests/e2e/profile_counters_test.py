"""tools/compare_counters: on a GPU with ncu every op's counts in the simulator against those measured; everywhere, that
the comparison can say no.

profile_counters_test.py PROGRAM"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
ROOT = pathlib.Path(os.environ.get("GPUFORGE_SOURCE", pathlib.Path(__file__).parents[2]))
CASE = ["copy_transpose", "--shape", "64x96", "--variant", "tiled"]


def compare(*arguments):
    return subprocess.run([sys.executable, ROOT / "tools/compare_counters", PROGRAM, *arguments], capture_output=True, text=True)


class OnAGpu(unittest.TestCase):
    def test_every_op_agrees(self):
        for dtype in ("f32", "f16"):
            result = compare("--dtype", dtype)
            if result.returncode == 3:
                self.skipTest(result.stderr.strip())
            print(result.stdout)
            self.assertEqual(result.returncode, 0, result.stderr)


class TheCases(unittest.TestCase):
    def test_are_every_variant_of_every_op(self):
        known = json.loads(subprocess.run([PROGRAM, "ops", "--json"], capture_output=True, text=True).stdout)["ops"]
        self.assertGreater(len(known), 5)
        expected = [f"{op['name']} --variant {variant['name']} --dtype f16 --shape 8x9" for op in known for variant in op["variants"]]
        result = compare("--list", "--dtype", "f16", "--shape", "8x9")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(result.stdout.splitlines(), expected)
        result = compare("--list", "--op", "softmax_online", "--op", "reduce")
        self.assertEqual({line.split()[0] for line in result.stdout.splitlines()}, {"softmax_online", "reduce"})

    def test_an_unknown_op_is_named(self):
        result = compare("--op", "softmx")
        self.assertEqual(result.returncode, 2)
        self.assertIn("there is no op 'softmx'", result.stderr)
        self.assertEqual(result.stdout, "")


class TheComparison(unittest.TestCase):
    def setUp(self):
        result = subprocess.run([PROGRAM, "--json", "profile", "sim", *CASE], capture_output=True, text=True)
        document = json.loads(result.stdout)
        if document.get("error", {}).get("code") == "unavailable":
            self.skipTest(document["error"]["message"])
        self.launches = [{"grid": "(" + ", ".join(map(str, launch["grid"])) + ")",
                          "block": "(" + ", ".join(map(str, launch["block"])) + ")",
                          **{counter["ncu"]: counter["value"] for counter in launch["counters"].values()}}
                         for launch in document["launches"]]

    def compare(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "recorded.json"
            path.write_text(json.dumps({"cases": [{"case": CASE, "launches": self.launches}]}))
            result = compare("--recorded", path)
        self.assertEqual(result.stderr, "")
        return result

    def test_the_same_counts_agree(self):
        result = self.compare()
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("1 cases, 0 wrong", result.stdout)

    def test_every_op_and_variant_counts_what_ncu_counted_on_an_h200(self):
        result = compare("--recorded", ROOT / "tests/profile/ops_h200.json")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("25 cases, 0 wrong", result.stdout)

    def test_six_per_cent_are_too_many(self):
        self.launches[0]["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] *= 1.06
        result = self.compare()
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"global_load_sectors .*  WRONG")

    def test_instructions_need_not_agree(self):
        self.launches[0]["smsp__inst_executed.sum"] *= 2
        self.assertEqual(self.compare().returncode, 0)

    def test_a_missing_metric_another_grid_and_another_number_of_launches_are_wrong(self):
        removed = self.launches[0].pop("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum")
        self.assertIn("ncu has no such metric", self.compare().stdout)
        self.launches[0]["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"] = removed
        grid, self.launches[0]["grid"] = self.launches[0]["grid"], "(1, 1, 1)"
        self.assertEqual(self.compare().returncode, 1)
        self.launches[0]["grid"] = grid
        self.launches.append(self.launches[0])
        self.assertEqual(self.compare().returncode, 1)


unittest.main(verbosity=2)
