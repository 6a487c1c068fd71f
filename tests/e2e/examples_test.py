"""The kernels and programs of examples/ do what they say. Environment: GPUFORGE_BUILD, a finished build folder."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ["GPUFORGE_BUILD"]) / "bin"
HAS_GPU = os.path.exists("/dev/nvidiactl")
ARCHS = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"]


class ExamplesCase(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="gpuforge_examples_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def call(self, *command, expected=0):
        environment = {**os.environ, "GPUFORGE_CACHE_DIR": str(self.folder / "cache")}
        run = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=environment, cwd=self.folder)
        self.assertEqual(run.returncode, expected, run.stdout + run.stderr)
        return run.stdout


class Kernels(ExamplesCase):
    def test_every_kernel_compiles_for_every_arch_without_spills_or_warnings(self):
        kernels = sorted((ROOT / "examples").rglob("*.cu"))
        self.assertTrue(kernels)
        document = json.loads(self.call(BIN / "gpuforge", "compile", *kernels, "--arch", "all", "--json"))
        self.assertEqual([r["arch"] for r in document["results"]], ARCHS * len(kernels))
        for result in document["results"]:
            with self.subTest(f"{result['file']} {result['arch']}"):
                self.assertEqual(result["warnings"], [])
                self.assertTrue(result["entries"])
                for entry in result["entries"]:
                    self.assertEqual((entry["spill_store_bytes"], entry["spill_load_bytes"], entry["stack_bytes"]), (0, 0, 0))

    def test_saxpy_through_the_command(self):
        arguments = ["run", ROOT / "examples/saxpy.cu", "--grid", "1", "--block", "32", "--arg", "f32:2", "--arg",
                     "in:f32=[1,2,3,4,5]", "--arg", "y=inout:f32=[10,20,30,40,50]", "--arg", "i32:4", "--json"]
        for device in ["sim", "cuda:0"] if HAS_GPU else ["sim"]:
            document = json.loads(self.call(BIN / "gpuforge", *arguments, "--device", device))
            # Four of five: the last one is beyond n and stays.
            (output,) = document["outputs"]
            self.assertEqual(output["values"], [12, 24, 36, 48, 50])
        self.assertEqual(document.get("report", {"findings": []})["findings"], [])


class FirstKernels(ExamplesCase):
    PROGRAM = BIN / "first_kernels"

    def test_the_table(self):
        rows = self.call(self.PROGRAM).splitlines()
        self.assertEqual(rows[0].split()[0], "kernel")
        self.assertEqual({row.split()[0] for row in rows[1:]}, {"tiled_transpose", "row_sum"})
        for row in rows[1:]:
            self.assertRegex(row, r"\bmax error [\d.e-]+$" if HAS_GPU else r" sim +-  max error [\d.e-]+, findings 0$")
            self.assertNotIn("cached", row)

    def test_the_second_time_comes_from_the_cache(self):
        self.call(self.PROGRAM)
        for row in self.call(self.PROGRAM).splitlines()[1:]:
            self.assertIn("cached", row)

    def test_strict_wants_a_gpu(self):
        self.call(self.PROGRAM, "--strict", expected=0 if HAS_GPU else 3)

    def test_bad_usage(self):
        self.call(self.PROGRAM, "--fast", expected=2)
        self.call(self.PROGRAM, "--strict", "--strict", expected=2)


class Overlap(ExamplesCase):
    PROGRAM = BIN / "overlap"

    def test_results_are_right_and_the_trace_has_kernels_and_copies_on_one_clock(self):
        output = self.call(self.PROGRAM, "--batches", "3", "--trace", "trace.json")
        self.assertRegex(output, r"\n3 batches of \d+ elements on (sim|cuda:0): 0 wrong\n$")
        self.assertRegex(output, r"\nsaxpy +range +3 ")
        events = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        spans = {e["name"]: e for e in events if e["ph"] == "X" and e["cat"] == "copy"}
        self.assertEqual(sorted(spans), sorted(f"{way} {i}" for way in ("up", "down") for i in range(3)))
        kernels = sorted((e for e in events if e["ph"] == "X" and e["cat"] == "range"), key=lambda e: e["ts"])
        self.assertEqual(len(kernels), 3)
        for i, kernel in enumerate(kernels):
            # A kernel needs its copy up, and its copy down needs the kernel; some time for clocks on a busy machine.
            self.assertGreater(kernel["ts"] + 50000, spans[f"up {i}"]["ts"])
            self.assertLess(kernel["ts"] + kernel["dur"], spans[f"down {i}"]["ts"] + 50000)

    def test_bad_usage(self):
        for arguments in (["--batches", "0"], ["--batches", "x"], ["--fast", "1"], ["--trace"]):
            self.call(self.PROGRAM, *arguments, expected=2)
        self.call(self.PROGRAM, "--batches", "1", "--trace", "no/such/folder/t.json", expected=2)


if __name__ == "__main__":
    unittest.main()
