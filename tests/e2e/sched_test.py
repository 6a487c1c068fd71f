"""gpuforge sched: workload files, simulated and on the CPU."""
import json
import pathlib
import shutil
import subprocess

import cli_case
from cli_case import CliTest

TWO = """device: {memory: 8GiB}
until: 200ms
tasks:
  - {name: served, class: guaranteed, memory: 2GiB, bandwidth: 0.3, requests: 100000, kernels: [{spin: 150us}]}
  - {name: hog, memory: 8GiB, requests: 100000, kernels: [{spin: 1ms, vary: 0.2}]}
"""


class Sched(CliTest):
    def test_a_table_of_tasks_partitions_and_decisions(self):
        path = self.file("two.yaml", TWO + "expect:\n  - {task: served, share: 0.3}\n")
        text = self.run_cli("sched", path, "--simulate").stdout
        self.assertRegex(text, r"task +class +state +asked +share +used +done +p50 +p99\n")
        self.assertRegex(text, r"served +guaranteed +cancelled +0\.3 +0\.3\d\d ")
        self.assertIn("compute 1 (soft: pacing by measured time)", text.replace("\n", " "))
        self.assertIn("memory 8.0 GiB (hard: reservations never exceed it)", text.replace("\n", " "))
        self.assertRegex(text, r"\d+ decisions: 1 admit, 1 throttle, ")
        self.assertIn("all 1 expectations are met", text)
        self.assertEqual(text, self.run_cli("sched", path, "--simulate").stdout)

    def test_decisions_say_why(self):
        path = self.file("two.yaml", TWO)
        text = self.run_cli("sched", path, "--simulate", "--decisions").stdout
        self.assertRegex(text, r"0 us  served  admit     2\.0 GiB are kept for it, 2\.0 GiB it may use;")
        self.assertRegex(text, r"hog     throttle  may use 6\.0 GiB of its limit of 8\.0 GiB for now;")
        self.assertRegex(text, r"hog     preempt   served goes first: priority 100 over 0")

    def test_json(self):
        document = self.document("sched", self.file("two.yaml", TWO), "--simulate", "--decisions")
        self.assertEqual([task["name"] for task in document["tasks"]], ["served", "hog"])
        self.assertAlmostEqual(document["tasks"][0]["share"], 0.3, delta=0.03)
        self.assertEqual(len(document["decisions"]), document["decisions_made"])
        self.assertEqual(document["decisions"][0]["inputs"]["reserved_bytes"], 2 << 30)
        self.assertNotIn("decisions", self.document("sched", self.file("two.yaml", TWO), "--simulate"))

    def test_a_trace(self):
        path = self.folder / "trace.json"
        self.run_cli("sched", self.file("two.yaml", TWO), "--simulate", "--trace", path)
        events = json.loads(path.read_text())["traceEvents"]
        self.assertEqual({e["args"]["name"] for e in events if e["name"] == "process_name"},
                         {"tasks", "simulated", "decisions"})
        kernels = [e for e in events if e.get("cat") == "kernel"]
        self.assertGreater(len(kernels), 100)
        self.assertTrue(all(e["ph"] == "X" and e["dur"] > 0 for e in kernels))
        self.assertEqual([e["ts"] for e in events if "ts" in e], sorted(e["ts"] for e in events if "ts" in e))

    def test_what_is_not_met_is_exit_code_1(self):
        path = self.file("two.yaml", TWO + "expect:\n  - {task: hog, share: 0.9}\n")
        result = self.run_cli("sched", path, "--simulate", code=1)
        self.assertIn("two.yaml:7: expected hog to get 0.9", result.stdout.replace("\n", " "))
        document = self.document("sched", path, "--simulate", code=1)
        self.assertEqual((document["expectations"], len(document["unmet"])), (1, 1))

    def test_a_failure_nobody_expected_is_exit_code_1(self):
        path = self.file("bad.yaml", "tasks: [{name: a, kernels: [{spin: 1ms, fails: no weights}]}]")
        self.assertIn("a failed: no weights", self.run_cli("sched", path, "--simulate", code=1).stdout)
        self.file("bad.yaml", "tasks: [{name: a, kernels: [{spin: 1ms, fails: no weights}]}]\n"
                  "expect: [{task: a, state: failed}]\n")
        self.run_cli("sched", path, "--simulate")

    def test_kernels_of_the_library_and_of_files(self):
        path = pathlib.Path(__file__).resolve().parents[2] / "examples/shared_gpu.yaml"
        for how in (("--simulate",), ("--device", "sim")):
            text = self.run_cli("sched", path, *how).stdout
            self.assertRegex(text, r"answers +guaranteed +completed ")
            self.assertRegex(text, r"batch +best_effort +completed ")
            self.assertIn("all 2 expectations are met", text)

    def test_a_kernel_that_is_not_there_is_told_with_its_line(self):
        head = "tasks:\n  - name: a\n    memory: 1MiB\n    kernels:\n"
        for step, why in (("{kernel: softmax_onlin, shape: 8x8}", "did you mean 'softmax_online'"),
                          ("{kernel: missing.cu, shape: 8}", "missing.cu"),
                          ("{kernel: softmax_online, shape: 8xx}", "8xx"),
                          ("{kernel: softmax_online, shape: 8x8, dtype: f99}", "f99"),
                          ("{kernel: softmax_online, shape: 8x8, variant: odd}", "odd")):
            path = self.file("kernels.yaml", head + f"      - {step}\n")
            result = self.run_cli("sched", path, "--device", "cpu", code=2)
            self.assertIn("kernels.yaml:5: kernel ", result.stderr)
            self.assertIn(why, result.stderr)
        path = self.file("kernels.yaml", head + "      - {kernel: softmax_online, shape: 8x8}\ndevice: {memory: 1GiB}\n")
        self.assertIn("kernels.yaml:5: a simulation does not run softmax_online",
                      self.run_cli("sched", path, "--simulate", code=2).stderr.replace("\n", " "))

    def test_a_task_cannot_have_more_than_it_was_granted(self):
        path = self.file("greedy.yaml", """tasks:
  - {name: greedy, memory: 1MiB, kernels: [{kernel: softmax_online, shape: 1024x1024, dtype: f32}]}
  - {name: modest, memory: 1MiB, kernels: [{kernel: softmax_online, shape: 64x64, dtype: f32}]}
""")
        text = self.run_cli("sched", path, "--device", "cpu", code=1).stdout.replace("\n", " ")
        self.assertRegex(text, r"greedy failed: .*task greedy: an allocation of 4194304 bytes wanted")
        self.assertRegex(text, r"modest +best_effort +completed")

    def test_partitions_say_how_compute_is_kept(self):
        path = self.file("parts.yaml", """partitions:
  - {name: a, compute: 0.5, bandwidth: 0.5}
tasks:
  - {name: x, partition: a, kernels: [{spin: 100us}]}
""")
        text = self.run_cli("sched", path, "--device", "cpu").stdout.replace("\n", " ")
        self.assertIn("compute 0.5 (soft: pacing by measured time; cpu: has no multiprocessors to split", text)

    def test_on_a_device_the_same_decisions_take_real_time(self):
        path = self.file("ends.yaml", """until: 2s
tasks:
  - {name: served, class: guaranteed, bandwidth: 0.3, every: 5ms, requests: 10, kernels: [{spin: 200us, count: 3}]}
  - {name: hog, cancel: 100ms, requests: 100000, kernels: [{spin: 500us}]}
  - {name: broken, kernels: [{spin: 100us, fails: bad weights}]}
expect:
  - {task: served, state: completed}
  - {task: hog, state: cancelled, message: cancelled by the workload}
  - {task: broken, state: failed, message: bad weights}
""")
        for device in ("cpu", "sim"):
            document = self.document("sched", path, "--device", device, "--decisions")
            self.assertEqual((document["device"], document["unmet"]), (device, []))
            served = document["tasks"][0]
            self.assertEqual(served["requests"], 10)
            self.assertGreaterEqual(served["latency_p50_us"], 600)
            self.assertGreater(document["end_us"], 45000)
        self.assertIn("all 3 expectations are met", self.run_cli("sched", path, "--device", "cpu").stdout)

    def test_bad_files(self):
        path = self.file("bad.yaml", "tasks:\n  - {name: a, class: gold, kernels: [{spin: 1ms}]}\n")
        self.assertIn("bad.yaml:2: expected the class", self.error("sched", path, "--simulate", code=2))
        self.assertIn("nowhere.yaml", self.error("sched", "nowhere.yaml", "--simulate", code=2))
        path = self.file("bad.yaml", "tasks:\n  - {name: a, memory: 1GiB, kernels: [{spin: 1ms}]}\n")
        self.assertIn("device: {memory: 80GiB}", self.error("sched", path, "--simulate", code=2))
        self.assertIn("WORKLOAD.yaml", self.error("sched", code=2))

    def test_a_narrow_terminal(self):
        path = self.file("two.yaml", TWO)
        for columns, heading in ((40, "task    state "), (70, "task    class "), (100, "task    class ")):
            text = self.terminal("sched", str(path), "--simulate", columns=columns)
            self.assertTrue(text.startswith(heading), text)
            self.assertLessEqual(max(map(len, text.splitlines())), columns)

    def test_devices_watched_without_nvml(self):
        environment = {"GPUFORGE_LIBRARY_PATH": "none"}
        result = self.run_cli("devices", "--watch=10ms", "--looks", "2", env=environment)
        self.assertIn("NVML is not there, so memory alone is shown", result.stderr)
        self.assertEqual(len([line for line in result.stdout.splitlines() if line.startswith("cpu ")]), 2)
        result = self.run_cli("--json", "devices", "--watch=10ms", "--looks", "3", env=environment)
        looks = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([(look["nvml"], look["use"][0]["device"]) for look in looks], [(False, "cpu")] * 3)
        self.assertGreater(looks[0]["use"][0]["memory_used_bytes"], 0)
        self.assertLess(looks[0]["seconds"], looks[2]["seconds"])
        self.assertIn("--looks goes with --watch", self.error("devices", "--looks", "2", code=2))
        self.assertIn("at least 10ms", self.error("devices", "--watch=soon", code=2))

    def test_devices_watched_with_nvml(self):
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            self.skipTest("no C compiler to make a stand-in NVML with")
        source = self.file("nvml.c", NVML)
        (self.folder / "nvml").mkdir()
        subprocess.run([compiler, "-shared", "-fPIC", "-o", self.folder / "nvml" / "libnvidia-ml.so.1", source], check=True)
        environment = {"GPUFORGE_LIBRARY_PATH": f"{self.folder}/nvml:none"}
        result = self.run_cli("devices", "--watch", "--looks", "1", env=environment)
        self.assertRegex(result.stdout, r"gpu 0 +4\.0 GiB +140\.0 GiB +87 % +12 % +650 W +-\n")
        self.assertEqual(result.stderr, "")


NVML = """
typedef struct { unsigned long long total, free, used; } Memory;
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
const char* nvmlErrorString(int code) { return "no"; }
int nvmlDeviceGetCount_v2(unsigned* count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void** handle) { *handle = handle; return 0; }
int nvmlDeviceGetName(void* d, char* name, unsigned length) { name[0] = 'H'; name[1] = 0; return 0; }
int nvmlDeviceGetMemoryInfo(void* d, Memory* m) { m->total = 140ull << 30; m->used = 4ull << 30; return 0; }
int nvmlDeviceGetUtilizationRates(void* d, unsigned* rates) { rates[0] = 87; rates[1] = 12; return 0; }
int nvmlDeviceGetPowerUsage(void* d, unsigned* mw) { *mw = 650000; return 0; }
int nvmlDeviceGetTemperature(void* d, unsigned sensor, unsigned* c) { return 3; }
"""


if __name__ == "__main__":
    cli_case.main()
