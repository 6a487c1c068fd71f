"""gpuforge bench as a user runs it: on cpu, in the simulator, and on the stand-in driver, whose kernels do nothing."""
import csv
import io
import json
import re
import unittest

import cli_case
from cli_case import CliTest

SMALL = ("bench", "--op", "copy_transpose", "--sizes", "64", "--quick")


class Bench(CliTest):
    def test_on_the_cpu_the_times_are_said_to_be_its_own(self):
        output = self.run_cli(*SMALL, "--device", "cpu").stdout
        self.assertRegex(output, r"^Times are this CPU's \(.+\), not a GPU's\.")
        self.assertRegex(output, r"copy_transpose +best +f16 +64x64 .* us .* yes")

    def test_the_document_has_what_it_takes_to_know_what_was_measured(self):
        document = self.document(*SMALL, "--device", "cpu", "--iterations", "16")
        self.assertEqual(document["schema"], 1)
        self.assertEqual(document["device"]["name"], "cpu")
        self.assertRegex(document["commit"], r"^([0-9a-f]{12}|unknown)$")
        self.assertRegex(document["time"], r"^\d{4}-\d\d-\d\dT")
        case = document["cases"][0]
        self.assertEqual((case["status"], case["op"], case["dtype"], case["shape"]), ("ok", "copy_transpose", "f16", [64, 64]))
        self.assertEqual([len(samples) for samples in case["time"]["samples_ms"]], [2] * 8)
        self.assertGreater(case["gb_per_s"], 0)
        self.assertEqual(case["kernels"], [])

    def test_a_run_compares_with_what_it_saved(self):
        case = (*SMALL, "--device", "cpu")
        self.run_cli(*case, "--save", "base.json")
        output = self.run_cli(*case, "--compare", "base.json").stdout
        self.assertRegex(output, r"against the baseline")
        before = (self.folder / "base.json").read_text()
        self.run_cli(*case, "--compare", "base.json", "--save", "base.json")  # read before it is written
        self.assertNotEqual((self.folder / "base.json").read_text(), before)
        self.file("base.json", before)
        document = json.loads((self.folder / "base.json").read_text())
        # The same run, a million times as fast: this one is slower beyond doubt.
        for result in document["cases"]:
            result["time"]["samples_ms"] = [[1e-6 + s / 1e6 for s in r] for r in result["time"]["samples_ms"]]
        self.file("fast.json", json.dumps(document))
        result = self.run_cli(*case, "--compare", "fast.json", "--fail-on-regression", code=1)
        self.assertIn("slower", result.stdout)
        self.assertRegex(result.stderr, r"error: copy_transpose best f16 64x64 tile_size=auto became slower by")
        self.run_cli(*case, "--compare", "fast.json")
        changes = self.document(*case, "--compare", "fast.json")["changes"]
        self.assertEqual(changes[0]["verdict"], "slower")
        more = self.run_cli("bench", "--op", "copy_transpose", "--sizes", "32", "--quick", "--device", "cpu",
                            "--compare", "base.json").stdout
        self.assertIn("only in the baseline: copy_transpose best f16 64x64", more)
        self.assertIn("new", more)

    def test_a_baseline_that_does_not_fit_is_refused(self):
        case = (*SMALL, "--device", "cpu")
        self.run_cli(*case, "--save", "base.json")
        document = json.loads((self.folder / "base.json").read_text())
        document["device"]["product"] = "NVIDIA H200"
        self.file("other.json", json.dumps(document))
        self.assertIn("measured on NVIDIA H200", self.error(*case, "--compare", "other.json", code=2))
        self.file("text.json", "no")
        self.assertIn("text.json", self.error(*case, "--compare", "text.json", code=2))
        self.file("empty.json", "{}")
        self.assertIn("expected what `gpuforge bench --save` writes", self.error(*case, "--compare", "empty.json", code=2))
        self.assertIn("nowhere.json", self.error(*case, "--compare", "nowhere.json", code=2))

    def test_tables_for_other_programs(self):
        text = self.run_cli(*SMALL, "--device", "cpu", "--csv").stdout
        row = next(csv.DictReader(io.StringIO(text)))
        self.assertEqual((row["op"], row["shape"], row["status"]), ("copy_transpose", "64x64", "ok"))
        self.assertGreater(float(row["median_us"]), 0)
        markdown = self.run_cli(*SMALL, "--device", "cpu", "--markdown").stdout
        self.assertRegex(markdown, r"\n\| copy_transpose \| best \| f16 \| 64x64 \|")

    def test_a_page_that_needs_nothing_else(self):
        self.run_cli("bench", "--op", "copy_transpose", "--sizes", "32,64,128", "--quick", "--device", "cpu",
                     "--html", "page.html")
        page = (self.folder / "page.html").read_text()
        self.assertIn("Bandwidth against size", page)
        self.assertEqual(page.count("<circle"), 3)
        self.assertNotRegex(page, r"<script|src=|href=|url\(")

    def test_history_is_kept_and_shown(self):
        case = (*SMALL, "--device", "cpu", "--history")
        first = self.run_cli(*case)
        self.assertIn("no earlier results", first.stderr)
        second = self.run_cli(*case, "--html", "page.html")
        self.assertRegex(second.stdout, r"earlier +commit +case")
        self.assertEqual(len(re.findall(r"\n\d{4}-\d\d-\d\dT", second.stdout)), 1)
        self.assertIn(">History<", (self.folder / "page.html").read_text())
        self.assertTrue((self.cache / "bench_history.sqlite").exists())
        self.assertEqual(len(self.document(*case)["history"]), 2)

    def test_each_case_in_its_own_process(self):
        output = self.run_cli(*SMALL, "--device", "cpu", "--isolate", "--variant", "all").stdout
        self.assertEqual(len(re.findall(r"copy_transpose .* yes", output)), 3)
        # The reference of a large matrix takes longer than a second.
        result = self.run_cli("bench", "--op", "copy_transpose", "--sizes", "8192x16384", "--device", "cpu", "--isolate",
                              "--time-limit", "1", code=1)
        self.assertIn("FAILED", result.stdout)
        self.assertIn("its process gave no answer in 1 s", result.stderr)

    def test_suites_of_ones_own(self):
        self.file("mine.yaml", "tiny:\n  cases:\n    - {op: copy_transpose, shapes: [[4, 8], [0, 3]], dtypes: [f16, f32]}\n")
        output = self.run_cli("bench", "--suites", "mine.yaml", "--suite", "tiny", "--device", "cpu", "--quick").stdout
        self.assertEqual(len(re.findall(r"copy_transpose .* yes", output)), 4)
        self.file("bad.yaml", "tiny:\n  cases:\n    - {op: copy_transpose, shape: 4}\n")
        self.assertTrue(self.error("bench", "--suites", "bad.yaml", "--suite", "tiny", code=2)
                        .startswith("bad.yaml:3: expected a list; found '4'"))
        self.file("unknown.yaml", "tiny:\n  cases:\n    - {op: no_such_op, shape: [4]}\n")
        self.assertTrue(self.error("bench", "--suites", "unknown.yaml", "--suite", "tiny", code=2)
                        .startswith("unknown.yaml:3: there is no op 'no_such_op'"))

    def test_mistakes(self):
        for arguments in (("--suite", "nope"), ("--op", "nope"), ("--op", "copy_transpose", "--sizes", "x"),
                          ("--fail-on-regression", "--op", "copy_transpose"), ("--op", "copy_transpose", "--variant", "nope")):
            self.error("bench", *arguments, code=2)
        self.assertIn("Unknown copy_transpose backend 'nope'; there are kernel, ref",
                      self.error(*SMALL, "--backend", "nope", code=2))


class InTheSimulator(CliTest):
    def test_counts_stand_where_times_would(self):
        self.need_nvrtc()
        output = self.run_cli(*SMALL, "--device", "sim").stdout
        self.assertRegex(output, r"^Counted in the simulator \(sm_90a\): .* It has no times\.")
        self.assertIn("x least", output)
        self.assertNotIn("GB/s", output)
        case = self.document(*SMALL, "--device", "sim")["cases"][0]
        self.assertEqual(case["counts"]["global_sectors"], 2 * 64 * 64 * 2 // 32)
        self.assertRegex(case["kernels"][0]["key"], r"^[0-9a-f]{32}$")
        self.assertNotIn("time", case)

    def test_choices_are_explained(self):
        self.need_nvrtc()
        softmax = ("bench", "--op", "softmax_online", "--sizes", "64x256", "--dtypes", "f16", "--device", "sim", "--no-tuning")
        held = "rows of 256 are held by 32 threads, 8 elements each"
        output = self.run_cli(*softmax, "--explain").stdout
        self.assertIn(f"softmax_online best f16 64x256 dim=-1: columns=0 items=8 rows=1 threads=32 vector=8: {held}",
                      " ".join(output.split()))
        self.assertTrue(all(len(line) <= 80 for line in output.splitlines()[-3:]), output)
        self.assertNotIn(held, " ".join(self.run_cli(*softmax).stdout.split()))
        self.assertIn(f": {held}\n", self.run_cli(*softmax, "--explain", "--markdown").stdout)
        case = self.document(*softmax)["cases"][0]
        self.assertEqual((case["config"]["threads"], case["config_reason"]), (32, held))
        self.assertIn(held, " ".join(self.run_cli(*softmax, "--explain", "--isolate").stdout.split()))
        self.assertIn("the naive variant has no choices", self.run_cli(*softmax, "--explain", "--variant", "naive").stdout)
        self.assertIn("leave --csv out", self.error(*softmax, "--explain", "--csv", code=2))
        self.assertIn("there is nothing to choose", self.run_cli(*SMALL, "--device", "cpu", "--explain").stdout)

    def test_no_comparison_of_what_has_no_time(self):
        self.need_nvrtc()
        self.run_cli(*SMALL, "--device", "sim", "--save", "base.json")
        self.assertIn("has no times", self.error(*SMALL, "--device", "sim", "--compare", "base.json", code=2))


class OnTheStandInGpu(CliTest):
    def test_kernels_that_do_nothing_fail_and_are_not_timed(self):
        self.need_nvrtc()
        gpu = self.fake_gpu(SM=190)
        result = self.run_cli(*SMALL, code=1, env=gpu)
        self.assertRegex(result.stdout, r"copy_transpose .* FAILED")
        self.assertIn("elements of out were never written", result.stderr)
        document = self.document(*SMALL, code=1, env=gpu)
        self.assertEqual(document["cases"][0]["status"], "failed")
        self.assertNotIn("time", document["cases"][0])
        self.assertEqual(document["device"]["kind"], "cuda")


if __name__ == "__main__":
    cli_case.main()
