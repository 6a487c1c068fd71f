"""gpuforge tune in the simulator: finding, keeping, resuming, merging, and `best` taking what was found."""
import json
import signal
import subprocess
import time

import cli_case
from cli_case import CliTest, program

PROBLEM = ("copy_transpose", "--device", "sim", "--shape", "32x32", "--dtype", "f32")


class Tune(CliTest):
    def setUp(self):
        super().setUp()
        self.need_nvrtc()

    def tuned(self, *arguments, **options):
        return self.document("tune", *PROBLEM, *arguments, **options)

    def records(self):
        return [json.loads(line) for path in sorted((self.cache / "tuning").glob("*.jsonl"))
                for line in path.read_text().splitlines()]

    def test_finds_keeps_and_goes_on(self):
        first = self.tuned("--strategy", "random", "--budget", "4")
        (problem,) = first["problems"]
        self.assertEqual((problem["looked_at"], problem["known"], first["kept"]), (4, 0, 4))
        self.assertGreaterEqual(problem["space"], 20)
        self.assertEqual(first["unit"], "proxy")
        self.assertIn("no time", first["what_is_ranked"])
        self.assertEqual(problem["discarded"], {})
        self.assertLessEqual(problem["best"]["p50"], problem["default"]["p50"])
        self.assertEqual([r["config"] for r in problem["records"]], [r["config"] for r in self.records()])
        self.assertEqual([r["default"] for r in self.records()], [True, False, False, False])

        second = self.tuned("--strategy", "random", "--budget", "4")
        self.assertEqual((second["problems"][0]["known"], second["kept"]), (4, 0))
        self.assertEqual(second["problems"][0]["best"], problem["best"])
        self.assertEqual(len(self.records()), 4)
        self.assertEqual(self.tuned("--budget", "1", "--again")["kept"], 1)

        text = self.run_cli("tune", *PROBLEM, "--strategy", "random", "--budget", "5").stdout
        self.assertIn("The simulator has no time, and this is none", text)
        self.assertIn("the default\n", text)
        self.assertRegex(text, r"looked at 5 of \d+: 1 tried now, 4 known from earlier runs, 0 discarded")
        self.assertIn("1 new results in ", text)
        listed = self.run_cli("tune", "--list").stdout
        self.assertIn("copy_transpose", listed)
        self.assertIn("nothing was tuned of softmax_online", self.run_cli("tune", "--list", "softmax_online").stdout)

        # The cache tells of it, and clears it when asked alone.
        self.assertEqual(self.document("cache")["tuning"]["records"], 6)
        self.run_cli("cache", "clear")
        self.assertIn("6 results of tuning", self.run_cli("cache", "size").stdout)
        self.assertIn("--tuning goes with clear", self.error("cache", "size", "--tuning", code=2))
        self.run_cli("cache", "clear", "--tuning")
        self.assertEqual(self.document("cache")["tuning"]["records"], 0)

    def test_an_interrupt_keeps_what_was_measured(self):
        command = [program(), "tune", "copy_transpose", "--device", "sim", "--shape", "512x512", "--dtype", "f32"]
        process = subprocess.Popen(command, env=self.environment, cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while not (self.cache / "tuning").exists() or len(self.records()) < 2:
            self.assertLess(time.monotonic(), deadline)
            self.assertIsNone(process.poll(), "it ended before it could be interrupted")
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)
        kept = len(self.records())
        self.assertIn(f"{kept} new results are kept; the same command goes on from there", said)
        again = self.document(*command[1:], "--budget", str(kept + 1))["problems"][0]
        self.assertEqual((again["known"], again["looked_at"]), (kept, kept + 1))

    def write_record(self, config, **changes):
        """As if `config` had been found best."""
        self.tuned("--budget", "1")
        (path,) = (self.cache / "tuning").glob("*.jsonl")
        record = {**self.records()[0], "config": config, "default": False, "p50": 1.0, **changes}
        with path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        return path

    def config_of(self, *arguments):
        return self.document("profile", "sim", *PROBLEM[:1], *PROBLEM[3:], *arguments)["config"]

    def test_what_was_tuned_is_chosen(self):
        usual = self.config_of()
        self.write_record({"tile": 16, "rows": 8, "vector": 1})
        self.assertEqual(self.config_of(), "rows=8 tile=16 vector=1")
        self.assertEqual(self.config_of("--no-tuning"), usual)
        self.assertIn("tuned on this device", self.run_cli("profile", "sim", *PROBLEM[:1], *PROBLEM[3:]).stdout)
        bench = ("bench", "--op", "copy_transpose", "--sizes", "32x32", "--dtypes", "f32", "--device", "sim")
        self.assertIn("rows=8 tile=16 vector=1 (tuned on this device)", self.run_cli(*bench, "--verbose").stderr)
        self.assertNotIn("tuned on this device", self.run_cli(*bench, "--verbose", "--no-tuning").stderr)
        said = self.run_cli("check", *PROBLEM, "--quick", "--variant", "best", "--verbose").stderr
        self.assertIn("1 choice was tuned on sim", said)
        self.assertIn("rows=8 tile=16 vector=1 (tuned on this device)", said)

    def test_what_an_op_no_longer_has_is_left_alone(self):
        usual = self.config_of()
        self.write_record({"tile": 17})
        self.assertEqual(self.config_of(), usual)
        path = self.write_record({"tile": 16, "rows": 8, "vector": 1}, arch="sm_80")
        self.assertEqual(self.config_of(), usual, "another device's")
        with path.open("a") as file:
            file.write('{"tuning": 1, "op')
        result = self.run_cli("profile", "sim", *PROBLEM[:1], *PROBLEM[3:])
        self.assertIn("1 line is no result of tuning and is skipped", result.stderr)

    def test_shards_and_merging(self):
        whole = self.tuned("--budget", "1")["problems"][0]["space"]
        parts = [self.tuned("--shard", f"{i}/3", "--budget", "1")["problems"][0]["space"] for i in (1, 2, 3)]
        self.assertEqual(sum(parts), whole + 2, "the default is in each")
        (path,) = (self.cache / "tuning").glob("*.jsonl")
        theirs = self.file("theirs.jsonl", path.read_text().replace("f32", "f16") + path.read_text())
        merged = self.document("tune", "--merge", str(theirs))
        self.assertEqual((merged["added"], merged["known"], merged["skipped"]), (1, 1, 0))
        self.assertIn("0 results added", self.run_cli("tune", "--merge", theirs, theirs).stdout)
        self.assertIn("cannot read", self.error("tune", "--merge", "absent.jsonl", code=2))

    def test_a_kernel_file_is_tuned_too(self):
        self.file("twice.cu", """/* gpuforge:
operands:
  x: in T [N]
  y: out T [N]
kernel: twice
parameters: [y, x, N]
grid: ceil_div(N, BLOCK)
block: BLOCK
tunables: {BLOCK: [64, 32, 128]}
dtypes: [f32]
reference: {kernel: slow, grid: 1, block: 1}
*/
extern "C" __global__ void twice(float* y, const float* x, int n) {
#if BLOCK == 128
  n -= 1;
#endif
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
extern "C" __global__ void slow(double* y, const double* x, long long n) {
  for (long long i = 0; i < n; ++i) y[i] = 2 * x[i];
}
""")
        document = self.document("tune", "twice.cu", "--device", "sim", "--shape", "100")
        (problem,) = document["problems"]
        self.assertEqual((problem["space"], problem["discarded"]), (3, {"wrong result": 1}))
        (wrong,) = [r for r in problem["records"] if r["outcome"] != "good"]
        self.assertEqual(wrong["config"], {"BLOCK": 128})
        self.assertIn("never written", wrong["reason"])
        text = self.run_cli("tune", "twice.cu", "--device", "sim", "--shape", "100").stdout
        self.assertIn("0 tried now, 3 known from earlier runs, 1 discarded", text)
        self.assertIn("discarded, wrong result: 1, the first BLOCK=128: ", " ".join(text.split()))

    def test_bad_arguments(self):
        for arguments, words in (
            ((), "name one op or kernel file"),
            (("copy_transpose", "reduce"), "name one op or kernel file"),
            (("copy_transpos",), "copy_transpose"),
            (("absent.cu",), "absent.cu"),
            ((*PROBLEM, "--budget", "0"), "--budget"),
            ((*PROBLEM, "--budget", "xs"), "seconds such as 30s"),
            ((*PROBLEM, "--budget", "-1s"), "seconds such as 30s"),
            ((*PROBLEM, "--shard", "0/2"), "i/N such as 2/4"),
            ((*PROBLEM, "--shard", "3"), "i/N such as 2/4"),
            ((*PROBLEM, "--strategy", "best"), "--strategy"),
            ((*PROBLEM, "--variant", "naive"), "has no choices to tune"),
            ((*PROBLEM, "--variant", "nave"), "naive"),
            ((*PROBLEM, "--set", "tile=16"), "what tune chooses"),
            (("copy_transpose", "--device", "sim", "--shape", "3"), "two axes"),
            (("copy_transpose", "--device", "cpu", "--shape", "8x8"), "runs no kernels"),
        ):
            self.assertIn(words, self.error("tune", *arguments, code=2), arguments)
        self.assertFalse((self.cache / "tuning").exists())


if __name__ == "__main__":
    cli_case.main()
