"""`gpuforge run` in the simulator: results, findings, counts, and what ends it. See cli_case.py for arguments."""
import json
import os
import signal
import subprocess
import time
import unittest.mock

from cli_case import SAXPY, CliTest, main, program

# Off by one: the last thread of the last block is one element too far.
OFF_BY_ONE = """extern "C" __global__ void shift(float* y, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i + 1];
}
"""
# A missing __syncthreads().
LAST_WINS = """extern "C" __global__ void last(int* y) { if (threadIdx.x == 0) atomicExch(y, blockIdx.x); }
"""
RACY = """extern "C" __global__ void reverse(int* y) {
  __shared__ int t[128];
  t[threadIdx.x] = threadIdx.x;
  y[threadIdx.x] = t[127 - threadIdx.x];
}
"""
SPIN = 'extern "C" __global__ void spin(volatile int* x) { while (x[0] == 0) { } }\n'
HELLO = 'extern "C" __global__ void hello(int n) { printf("thread %d of %d\\n", threadIdx.x, n); }\n'
PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry answer(.param .u64 p)
{
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [p];
  cvta.to.global.u64 %rd2, %rd1;
  st.global.u32 [%rd2], 42;
  ret;
}
"""


class RunOnSim(CliTest):
    def setUp(self):
        super().setUp()
        self.need_nvrtc()

    def launch(self, source, *arguments, device="sim", grid="1", block="32", code=0, env=None):
        return self.run_cli("run", source, "--device", device, "--grid", grid, "--block", block, *arguments, code=code, env=env)

    def saxpy(self):
        return self.file("saxpy.cu", SAXPY)

    GOOD = ["--arg", "i32:4", "--arg", "f32:2", "--arg", "in:f32[4]=arange", "--arg", "y=inout:f32[4]=ones"]

    def test_prints_outputs_like_a_gpu(self):
        result = self.launch(self.saxpy(), *self.GOOD)
        self.assertRegex(result.stdout, r"^y = array\(\[1\., 3\., 5\., 7\.\], dtype=f32, device=sim\)\n$")
        self.assertIn("saxpy(int n, float a, const float* x, float* y) on sim (simulated", result.stderr)
        self.assertNotIn("finding", result.stderr)

    def test_is_taken_when_there_is_no_gpu(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("there is a GPU")
        result = self.run_cli("run", self.saxpy(), "--grid", "1", "--block", "32", *self.GOOD)
        self.assertIn("device=sim", result.stdout)
        warnings = [line for line in result.stderr.splitlines() if "warning" in line]
        self.assertEqual(len(warnings), 1)
        self.assertRegex(warnings[0], "Falling back to CPU simulation backend: .*--device sim")
        self.run_cli("run", self.saxpy(), "--grid", "1", "--block", "32", *self.GOOD, "--strict", code=3)

    def test_every_chip(self):
        for arch in ("sm_80", "sm_86", "sm_89", "sm_90a", "sm_120a"):
            document = self.document("run", self.saxpy(), "--device", f"sim:{arch}", "--grid", "1", "--block", "32", *self.GOOD)
            self.assertEqual(document["device"]["arch"], arch)
            self.assertEqual(document["outputs"][0]["values"], [1, 3, 5, 7], arch)
        self.assertIn("sm_86", self.error("run", self.saxpy(), "--device", "sim:sm_75", "--grid", "1", "--block", "32", code=2))

    def test_the_limits_of_the_chip(self):
        shared = ["--shared", "120000", *self.GOOD]
        self.launch(self.saxpy(), *shared, device="sim:sm_90a")
        result = self.launch(self.saxpy(), *shared, device="sim:sm_86", code=2)
        self.assertIn("101376 bytes a block can have", result.stderr)

    def test_ptx_files(self):
        result = self.launch(self.file("answer.ptx", PTX), "--arg", "y=out:i32[1]", block="1")
        self.assertIn("y = array([42]", result.stdout)
        bad = self.file("bad.ptx", PTX.replace("st.global.u32 [%rd2], 42;", "frobnicate.u32 %rd2;"))
        message = self.error("run", bad, "--device", "sim", "--grid", "1", "--block", "1", "--arg", "y=out:i32[1]", code=2)
        self.assertIn("frobnicate", message)

    def test_ptx_for_a_newer_chip_runs_on_that_chip(self):
        source = self.file("answer.ptx", PTX.replace("sm_80", "sm_100a").replace("8.0", "8.6"))
        result = self.launch(source, "--arg", "y=out:i32[1]", block="1")
        self.assertEqual(result.stdout, "y = array([42], dtype=i32, device=sim:sm_100a)\n")
        result = self.launch(source, "--arg", "y=out:i32[1]", block="1", device="sim:sm_86", code=2)
        self.assertIn("its .target is sm_100a, which this chip, sm_86, does not run; use the device sim:sm_100a", result.stderr)

    def test_findings_are_told_with_their_line_and_exit_code_1(self):
        source = self.file("shift.cu", OFF_BY_ONE)
        arguments = ["--arg", "y=out:f32[64]", "--arg", "in:f32[64]=arange", "--arg", "i32:64"]
        result = self.launch(source, *arguments, block="64", code=1)
        self.assertIn("y = array([", result.stdout)
        self.assertIn("gpuforge: error: run: the simulator has 1 finding in kernel shift", result.stderr)
        self.assertRegex(result.stderr, r"1\. out of bounds at shift\.cu:4, kernel shift,\s+block \(0, 0, 0\),\s+thread\s+\(63, 0, 0\)")
        document = json.loads(self.run_cli("run", source, "--json", "--device", "sim", "--grid", "1", "--block", "64",
                                           *arguments, code=1).stdout)
        (finding,) = document["report"]["findings"]
        self.assertEqual((finding["kind"], finding["place"]["line"], finding["thread"]), ("out_of_bounds", 4, [63, 0, 0]))
        result = self.launch(source, *arguments, "--suppress", "shift.cu:4", block="64")
        self.assertIn("suppressed: 1 finding (shift.cu:4)", result.stderr)

    def test_races(self):
        source = self.file("reverse.cu", RACY)
        result = self.launch(source, "--arg", "y=out:i32[128]", block="128", code=1)
        self.assertRegex(result.stderr, r"race at reverse\.cu:[34]")
        self.assertIn("the other access: reverse.cu:", result.stderr)
        for seed in ("0", "1", "7"):
            self.launch(source, "--arg", "y=out:i32[128]", "--schedule", seed, block="128", code=1)
        self.launch(source, "--arg", "y=out:i32[128]", "--no-races", block="128", code=unittest.mock.ANY)
        fixed = self.file("fixed.cu", RACY.replace("  y[threadIdx.x]", "  __syncthreads();\n  y[threadIdx.x]"))
        result = self.launch(fixed, "--arg", "y=out:i32[128]", block="128")
        self.assertNotIn("finding", result.stderr)

    def test_order_dependence(self):
        source = self.file("last.cu", LAST_WINS)
        result = self.launch(source, "--arg", "y=out:i32[1]", "--schedules", "3", grid="8", code=1)
        self.assertIn("order dependence", result.stderr)
        self.launch(source, "--arg", "y=out:i32[1]", grid="8")

    def test_values_never_written(self):
        arguments = [*self.GOOD[:6], "--arg", "y=out:f32[4]"]  # y is read before it is written
        result = self.launch(self.saxpy(), *arguments, code=1)
        self.assertIn("uninitialized at saxpy.cu:3", result.stderr)
        self.launch(self.saxpy(), *arguments, "--no-init")

    def test_the_report(self):
        result = self.launch(self.saxpy(), *self.GOOD, "--report")
        self.assertIn("by line of saxpy.cu", result.stdout)
        self.assertIn("totals by class", result.stdout)
        self.assertTrue(all(len(line) <= 80 for line in result.stdout.splitlines()), result.stdout)
        report = self.document("run", self.saxpy(), "--device", "sim", "--grid", "1", "--block", "32", *self.GOOD)["report"]
        self.assertTrue(report["clean"])
        self.assertEqual(report["kernel"], "saxpy")
        (line,) = [line for line in report["lines"] if line.get("line") == 3]
        self.assertEqual(line["global"]["requests"], 3)  # x, y, and y again

    def test_printf(self):
        result = self.launch(self.file("hello.cu", HELLO), "--arg", "i32:3", block="3")
        self.assertEqual(result.stdout, "thread 0 of 3\nthread 1 of 3\nthread 2 of 3\n")
        document = self.document("run", "hello.cu", "--device", "sim", "--grid", "1", "--block", "3", "--arg", "i32:3")
        self.assertIn("thread 1 of 3\n", document["report"]["printed"])

    def test_endless_loops_end(self):
        source = self.file("spin.cu", SPIN)
        result = self.launch(source, "--arg", "in:i32[1]=zeros", "--max-steps", "1e5", block="1", code=1)
        self.assertIn("step limit", result.stderr)
        process = subprocess.Popen([program(), "run", source, "--device", "sim", "-g", "1", "-b", "1", "-a", "in:i32[1]=zeros"],
                                   env=self.environment, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(2)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertLess(time.monotonic() - start, 5)

    def test_repeats_start_from_the_same_memory(self):
        document = self.document("run", self.saxpy(), "--device", "sim", "--grid", "1", "--block", "32", *self.GOOD, "--repeat", "3")
        self.assertEqual(document["outputs"][0]["values"], [1, 3, 5, 7])

    def test_options_of_the_simulator_are_refused_elsewhere(self):
        gpu = self.fake_gpu(SM=190)
        for option in (["--no-races"], ["--no-init"], ["--report"], ["--schedule", "1"], ["--schedules", "2"], ["--max-steps", "9"],
                       ["--suppress", "a.cu:1"]):
            message = self.error("run", self.saxpy(), "--grid", "1", "--block", "32", *self.GOOD, *option, code=2, env=gpu)
            self.assertIn(f"{option[0]} is for the simulator alone, and the device is cuda:0", message)
        for wrong in (["--suppress", "a.cu"], ["--schedule", "x"], ["--schedules", "-1"], ["--max-steps", "0"]):
            self.error("run", self.saxpy(), "--device", "sim", "--grid", "1", "--block", "32", *self.GOOD, *wrong, code=2)

    def test_blocks_in_clusters(self):
        grid = ["--grid", "2", "--block", "32", "--cluster", "2", *self.GOOD]
        result = self.run_cli("run", self.saxpy(), "--device", "sim", *grid, "--report")
        self.assertRegex(result.stdout + result.stderr, r"cluster\s+\(2, 1, 1\)")
        message = self.error("run", self.saxpy(), "--device", "sim:sm_86", *grid, code=2)
        self.assertIn("this device has no clusters (SM 90 or newer has)", message)


class Listing(CliTest):
    def test_devices_lists_the_simulator(self):
        self.assertRegex(self.run_cli("devices").stdout, r"(?m)^sim +simulated H100 SXM, sm_90a +sm_90a .* yes$")
        (sim,) = [d for d in self.document("devices")["devices"] if d["name"] == "sim"]
        self.assertEqual((sim["usable"], sim["kind"], sim["arch"]), (True, "sim", "sm_90a"))

    def test_doctor_too(self):
        findings = self.document("doctor", code=unittest.mock.ANY)["findings"]
        (sim,) = [f for f in findings if f["section"] == "simulator"]
        self.assertEqual(sim["status"], "PASS")
        self.assertIn("sm_86", sim["text"])


if __name__ == "__main__":
    main()
