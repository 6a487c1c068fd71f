"""`gpuforge check` and `gpuforge ops`. See cli_case.py for arguments."""
import pathlib
import re
import shutil
import signal
import subprocess
import time

from cli_case import CliTest, main, program

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRANSPOSE = "gpuforge/ops/copy_transpose/copy_transpose.cu"


class CheckTest(CliTest):
    def broken_tree(self, old, new):
        """A source tree whose copy_transpose.cu has a mistake: what --kernel-dir is for."""
        tree = self.folder / "tree"
        if not tree.exists():
            for path in (ROOT / "gpuforge").rglob("*.cu*"):
                to = tree / path.relative_to(ROOT)
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, to)
        text = (ROOT / TRANSPOSE).read_text()
        self.assertIn(old, text)
        (tree / TRANSPOSE).write_text(text.replace(old, new))
        return ["--kernel-dir", str(tree), "--device", "sim"]


class Right(CheckTest):
    def test_a_table_and_a_summary(self):
        result = self.run_cli("check", "copy_transpose", "--device", "cpu", "--variant", "naive", "--dtype", "f16,f32")
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0].split(), ["op", "variant", "dtype", "cases", "failed", "error", "time"])
        self.assertEqual([line.split()[:3] for line in lines[1:3]],
                         [["copy_transpose", "naive", "f16"], ["copy_transpose", "naive", "f32"]])
        cases = int(lines[1].split()[3])
        self.assertGreater(cases, 50)
        self.assertRegex(lines[-1], rf"^{2 * cases} of {2 * cases} cases passed on cpu \(.*\), seed 1, ")
        self.assertEqual(result.stderr, "")

    def test_all_in_the_simulator(self):
        self.need_nvrtc()
        document = self.document("check", "--all", "--quick", "--device", "sim")
        self.assertTrue(document["good"])
        ops = {op["name"]: op for op in self.document("ops")["ops"]}
        self.assertEqual({group["op"] for group in document["groups"]}, set(ops))
        for name, op in ops.items():
            groups = [(group["variant"], group["dtype"]) for group in document["groups"] if group["op"] == name]
            self.assertEqual(groups, [(v["name"], d) for v in op["variants"] for d in op["dtypes"]])
        self.assertEqual(document["passed"], len(document["cases"]))

    def test_json_has_every_case(self):
        document = self.document("check", "copy_transpose", "--device", "cpu", "--shape", "3x5", "--dtype", "f32",
                                 "--variant", "tiled", "--set", "tile_size=16", "--contents", "normal,nans")
        self.assertEqual([(c["contents"], c["placement"]) for c in document["cases"]],
                         [("normal", "contiguous"), ("nans", "contiguous"), ("normal", "transposed"),
                          ("normal", "spread"), ("normal", "shifted")])
        case = document["cases"][0]
        self.assertEqual((case["shape"], case["options"], case["good"], case["complaints"]),
                         ([3, 5], {"tile_size": "16"}, True, []))
        output = case["outputs"][0]
        self.assertEqual((output["name"], output["shape"], output["elements"], output["wrong"]), ("out", [5, 3], 15, 0))
        self.assertEqual(output["worst"]["got"], output["worst"]["expected"])
        self.assertEqual(document["device"]["name"], "cpu")

    def test_the_seed_decides_the_inputs(self):
        def first(*seed):
            case = self.document("check", "copy_transpose", "--device", "cpu", "--shape", "1x1", "--dtype", "f32",
                                 "--variant", "best", "--contents", "normal", "--placement", "contiguous", *seed)
            return case["cases"][0]["outputs"][0]["worst"]["expected"], case["seed"]
        self.assertEqual(first(), first("--seed", "1"))
        self.assertNotEqual(first()[0], first("--seed", "2")[0])
        value, seed = first("--seed", "random")
        self.assertEqual(first("--seed", seed)[0], value)

    def test_empty_shapes_are_shapes(self):
        result = self.run_cli("check", "copy_transpose", "--shape", "0x5", "--shape", "5x0", "--device", "cpu")
        self.assertIn("failed", result.stdout)
        self.assertRegex(result.stdout, r"(\d+) of \1 cases passed")

    def test_a_narrow_terminal(self):
        for verb in (["check", "copy_transpose", "--quick", "--device", "cpu"], ["ops"], ["ops", "copy_transpose"]):
            text = self.terminal(*verb)
            for line in text.split("\n"):
                self.assertLessEqual(len(line), 60, line)

    def test_a_reader_that_goes_away(self):
        command = f"{program()} check copy_transpose --device cpu | head -1"
        result = subprocess.run(["bash", "-c", command], env=self.environment, cwd=self.folder, capture_output=True,
                                text=True, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(result.stdout.count("\n"), 1)

    def test_the_default_device_says_what_it_is(self):
        self.need_nvrtc()
        result = self.run_cli("check", "copy_transpose", "--quick", env={"GPUFORGE_LIBRARY_PATH": "/nowhere"},
                              code=0)
        if "passed on cuda" in result.stdout:
            self.skipTest("there is a GPU here")
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertIn("Falling back to CPU simulation backend", result.stderr)
        self.assertIn("passed on sim", result.stdout)
        self.run_cli("check", "copy_transpose", "--quick", "--strict", code=3)

    def test_ctrl_c_ends_it_at_once(self):
        self.need_nvrtc()
        process = subprocess.Popen([program(), "check", "copy_transpose", "--device", "sim", "--shape", "2048x2048"],
                                   env=self.environment, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   # also where whoever runs this test ignores it
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.addCleanup(process.kill)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=10), 128 + signal.SIGINT)


class Wrong(CheckTest):
    def setUp(self):
        super().setUp()
        self.need_nvrtc()

    def test_an_unwritten_row_is_shown_and_can_be_repeated(self):
        tree = self.broken_tree("(m.columns - first_column)", "(m.columns - 1 - first_column)")
        result = self.run_cli("check", "copy_transpose", "--variant", "tiled,naive", "--dtype", "f16", *tree, code=1)
        self.assertRegex(result.stdout, r"(?m)^copy_transpose  tiled +f16 +\d+ +\d+ +inf ")
        self.assertRegex(result.stdout, r"(?m)^copy_transpose  naive +f16 +\d+ +- +exact ")
        self.assertIn("FAILED copy_transpose tiled f16 68x132 tile_size=auto\n"
                      "- 68 of 8976 elements of out were never written, the first at [131, 0]\n"
                      "- 68 of 8976 elements of out are wrong, the worst at [131, 0]: got nan, expected", result.stdout)
        self.assertIn("(a cell is 9 x 3 elements)", result.stdout)
        self.assertIn("    " + "." * 23 + "\n    " + "+" * 23 + "\n  again:\n", result.stdout)
        self.assertRegex(result.stdout, r"\d+ more failed; --failures \d+ shows all\n")
        # The command it gives shows the same failure, and nothing else.
        failure = result.stdout.split("FAILED copy_transpose tiled f16 68x132", 1)[1]
        again = re.search(r"again:\n((?:.*\\\n)*.*)\n", failure)[1].replace("\\\n", " ").split()
        self.assertEqual(again[:2], ["gpuforge", "check"])
        repeated = self.run_cli(*again[1:], code=1)
        self.assertIn("0 of 1 cases passed", repeated.stdout)
        worst = r"the\s+worst\s+at\s+\[131,\s+0\]:\s+got\s+nan,\s+expected\s+\S+"
        self.assertEqual(re.search(worst, repeated.stdout)[0].split(), re.search(worst, failure)[0].split())

    def test_what_the_simulator_finds_is_a_failure_of_the_case(self):
        tree = self.broken_tree("const long long j = at % m.columns;", "const long long j = at % m.columns + (at == count - 1);")
        result = self.run_cli("check", "copy_transpose", "--variant", "naive", "--dtype", "f32", "--shape", "4x4",
                              "--placement", "contiguous", "--contents", "normal", *tree, code=1)
        self.assertRegex(result.stdout, r"- out of bounds at copy_transpose.cu:\d+: A load of 4 bytes at 0x")
        self.assertIn("0 of 1 cases passed", result.stdout)
        tree = self.broken_tree("  __syncthreads();\n", "")
        result = self.run_cli("check", "copy_transpose", "--variant", "tiled", "--dtype", "f32", "--shape", "33x33",
                              "--placement", "contiguous", "--contents", "normal", *tree, code=1)
        self.assertRegex(result.stdout, r"- race at copy_transpose.cu:\d+: ")

    def test_a_kernel_that_does_not_compile_is_a_failure(self):
        tree = self.broken_tree("const long long count =", "const long count_ =")
        document = self.document("check", "copy_transpose", "--variant", "naive", "--dtype", "f32", "--shape", "4x4",
                                 "--contents", "normal", "--placement", "contiguous", *tree, code=1)
        self.assertEqual((document["good"], document["failed"]), (False, 1))
        complaint, = document["cases"][0]["complaints"]
        self.assertIn("it did not run: ", complaint)
        self.assertIn("count", complaint)

    def test_json_of_a_failure(self):
        tree = self.broken_tree("(m.columns - first_column)", "(m.columns - 1 - first_column)")
        document = self.document("check", "copy_transpose", "--variant", "tiled", "--dtype", "f32", "--shape", "8x4",
                                 "--contents", "normal", "--placement", "contiguous", *tree, code=1)
        output = document["cases"][0]["outputs"][0]
        self.assertEqual((output["wrong"], output["worst"]["at"], output["worst"]["got"]), (8, [3, 0], "NaN"))
        self.assertEqual(output["map"], {"cell": [1, 1], "lines": ["........"] * 3 + ["########"]})


class Mistakes(CheckTest):
    def test_each_has_a_sentence(self):
        op = "copy_transpose"
        for arguments, message in {
            (): "name one or more ops, or pass --all",
            ("copy_transpos",): "there is no op 'copy_transpos'; there are copy_transpose",
            ("--all", op): "--all was given, and copy_transpose too",
            (op, "--shape", "5"): "x must have two axes or more; found shape [5]",
            (op, "--shape", "4x"): "a shape is written like 4096x1024; found '4x'",
            (op, "--shape", ""): "a shape is written like 4096x1024; found ''",
            (op, "--shape", "1x" * 20 + "1"): "at most 16 dimensions",
            (op, "--dtype", "f17"): "--dtype is a type such as f16, bf16 or f32, but 'f17' was given",
            (op, "--dtype", "i8"): "copy_transpose: dtype i8 was asked for; it has f16, bf16, f32",
            (op, "--variant", "fast"): "copy_transpose: there is no variant 'fast'; it has best, tiled, naive",
            (op, "--set", "tile=16"): "copy_transpose: there is no option 'tile'; it has tile_size",
            (op, "--set", "tile_size=3"): "copy_transpose: tile_size is one of 16, 32, auto; found '3'",
            (op, "--set", "tile_size"): "--set takes NAME=VALUE such as dim=0, but 'tile_size' was given",
            (op, "--contents", "nan"): "but 'nan' was given; did you mean 'nans'?",
            (op, "--placement", "sideways"): "--placement is one of contiguous, transposed, spread, shifted",
            (op, "--seed", "x"): "--seed is a whole number",
            (op, "--failures", "-1"): "--failures",
            (op, "--device", "gpu"): "there is no such device",
        }.items():
            self.assertIn(message, self.error("check", *arguments, code=2))
        self.assertIn("did you mean 'copy_transpose'?", self.error("ops", "copy_transpos", code=2))

    def test_more_memory_than_there_is(self):
        self.assertIn("GiB of the host's memory",
                      self.error("check", "copy_transpose", "--shape", "3000000x1000000", "--device", "cpu", code=3))

    def test_nothing_to_compile_with(self):
        nothing = {"GPUFORGE_LIBRARY_PATH": "none", "PATH": "/nonexistent"}
        result = self.run_cli("check", "copy_transpose", "--quick", env=nothing)
        self.assertIn("passed on cpu", result.stdout)
        self.assertIn("Falling back to CPU simulation backend", result.stderr)
        self.assertIn("nothing to compile kernels with, so the cpu's own code runs", result.stderr)
        self.assertIn("NVRTC JIT compiler not available",
                      self.error("check", "copy_transpose", "--quick", "--device", "sim", code=3, env=nothing))
        self.run_cli("check", "copy_transpose", "--quick", "--strict", env=nothing, code=3)


class Ops(CheckTest):
    def test_the_list_and_one(self):
        names = [op["name"] for op in self.document("ops")["ops"]]
        self.assertIn("copy_transpose", names)
        listed = self.run_cli("ops").stdout
        for name in names:
            self.assertIn(f"{name}\n", listed)
            page = self.run_cli("ops", name).stdout
            self.assertTrue(page.startswith(f"{name}: "), page)
        page = self.run_cli("ops", "copy_transpose").stdout
        for text in ("tiled         through shared memory", "tile_size     edge of the square", "out f16       exact",
                     "elements move and are not computed with", "33x65 tile_size=16"):
            self.assertIn(text, re.sub(r"\n {16}", " ", page))

    def test_every_tolerance_has_a_reason(self):
        for op in self.document("ops")["ops"]:
            self.assertTrue(op["summary"] and op["variants"] and op["tolerances"], op["name"])
            for tolerance in op["tolerances"]:
                self.assertTrue(tolerance["reason"], op["name"])


if __name__ == "__main__":
    main()
