"""tools/gpu_test with stand-ins for the built programs: what it runs, what it reports, how it ends."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

GPUFORGE = """#!/bin/sh
echo "$@" >> "$CALLS"
case "$*" in
  *devices*) cat "$DEVICES";;
  check*) echo '63 checks, all good'; exit ${CHECK_EXIT:-0};;
  profile*racecheck*) exit ${RACECHECK_EXIT:-0};;
  bench*) echo '| case | GB/s |'; [ -n "$BENCH_HANGS" ] && sleep 60; exit 0;;
esac
"""
ROOM = """#!/bin/sh
case "$*" in
  *--gtest_list_tests*) printf 'Suite.\\n  OnGpu\\n';;
  *) echo "$@" >> "$CALLS"; printf '[==========]\\n%b' "$ROOM_SAYS"; exit ${ROOM_EXIT:-0};;
esac
"""
GPU = {"devices": [{"kind": "cuda", "name": "cuda:0", "product": "NVIDIA H200", "usable": True, "reason": ""}]}
NO_GPU = {"devices": [{"kind": "cuda", "name": "cuda", "product": "", "usable": False, "reason": "no driver here"}]}


class GpuTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuforge-gpu-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "bin").mkdir()
        self.program("gpuforge", GPUFORGE)
        self.program("device_test", ROOM)
        self.program("text_test", "#!/bin/sh\necho 'Suite.'\n")  # none of its tests is for a GPU

    def program(self, name, text):
        path = self.folder / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def run_tool(self, *arguments, devices=GPU, **variables):
        (self.folder / "devices.json").write_text(json.dumps(devices))
        environment = {**os.environ, "CALLS": str(self.folder / "calls"), "DEVICES": str(self.folder / "devices.json"),
                       "ROOM_SAYS": "[       OK ] Suite.OnGpu (1 ms)\\n[  PASSED  ] 1 test.\\n", **variables}
        result = subprocess.run([sys.executable, ROOT / "tools/gpu_test", self.folder / "bin", self.folder / "out", *arguments],
                                capture_output=True, text=True, env=environment, timeout=60)
        report = self.folder / "out/report.md"
        return result.returncode, report.read_text() if report.exists() else "", result.stdout + result.stderr

    STEPS = ("--only", "_test", "--only", "check", "--only", "bench")

    def test_all_good(self):
        code, report, _ = self.run_tool(*self.STEPS)
        self.assertEqual(code, 0, report)
        self.assertIn("NVIDIA H200", report)
        self.assertIn("| device_test | ok |", report)
        self.assertNotIn("text_test", report)
        self.assertIn("63 checks, all good", report)
        self.assertIn("| case | GB/s |", report)
        calls = (self.folder / "calls").read_text()
        for call in ("--gtest_filter=*Gpu*\n", "check --all --device cuda:0", "sanitizer --tool memcheck -- check softmax_online",
                     "sanitizer --tool racecheck -- check copy_transpose", "bench --suite smoke"):
            self.assertIn(call, calls)

    def test_a_failure_is_reported_with_the_end_of_its_log(self):
        code, report, talk = self.run_tool(*self.STEPS, CHECK_EXIT="1")
        self.assertEqual(code, 1)
        self.assertIn("| check_all | FAILED |", report)
        self.assertIn("## check_all: FAILED", report)
        self.assertIn("63 checks", talk)
        self.assertEqual(self.run_tool(*self.STEPS, ROOM_EXIT="1")[0], 1)

    def test_a_step_that_hangs_is_ended(self):
        code, report, _ = self.run_tool("--only", "bench", "--step-timeout", "0.5", BENCH_HANGS="1")
        self.assertEqual(code, 1)
        self.assertIn("| bench_smoke | timed out |", report)

    def test_what_is_missing_is_no_success(self):
        code, report, _ = self.run_tool(*self.STEPS, RACECHECK_EXIT="3")
        self.assertEqual(code, 3)
        self.assertIn("| racecheck_copy_transpose_33x65 | missing |", report)
        self.assertEqual(self.run_tool(*self.STEPS, "--allow-missing", RACECHECK_EXIT="3")[0], 0)
        skipped = "[  SKIPPED ] Suite.OnGpu (0 ms)\\n[  PASSED  ] 0 tests.\\n"
        code, report, _ = self.run_tool("--only", "device_test", ROOM_SAYS=skipped)
        self.assertEqual(code, 3)
        self.assertIn("- device_test: Suite.OnGpu", report)

    def test_the_longest_program_runs_in_parts(self):
        self.program("ops_test", ROOM.replace('echo "$@"', 'echo "part $GTEST_SHARD_INDEX of $GTEST_TOTAL_SHARDS"'))
        code, report, _ = self.run_tool("--only", "ops_test", "--parts", "3")
        self.assertEqual(code, 0, report)
        self.assertIn("| 3 passed |", report)
        calls = (self.folder / "calls").read_text().splitlines()
        self.assertEqual(sorted(call for call in calls if call.startswith("part")), ["part 0 of 3", "part 1 of 3", "part 2 of 3"])
        self.program("ops_test", ROOM.replace("exit ${ROOM_EXIT:-0}", "exit $((GTEST_SHARD_INDEX == 1))"))
        self.assertIn("| ops_test | FAILED |", self.run_tool("--only", "ops_test", "--parts", "3")[1])

    def fake_python_tools(self, pytest_says="3 passed in 0.1s", pytest_exit=0):
        """cmake and c++ that do nothing, and the modules a build asks for; the tests are run by this pytest."""
        for name in ("cmake", "c++"):
            self.program(name, '#!/bin/sh\necho "cmake $*" >> "$CALLS"\n')
        modules = self.folder / "modules"
        for module in ("nanobind", "numpy", "pytest", "jax"):
            (modules / module).mkdir(parents=True, exist_ok=True)
            (modules / module / "__init__.py").write_text("")
        (modules / "pytest/__main__.py").write_text(
            f"import os, sys\nopen(os.environ['CALLS'], 'a').write('pytest ' + ' '.join(sys.argv[1:]) + os.environ['PYTHONPATH'] + chr(10))\n"
            f"print({pytest_says!r})\nsys.exit({pytest_exit})\n")
        libraries = self.folder / "libraries"
        libraries.mkdir(exist_ok=True)
        (libraries / "libgpuforge_base.a").write_text("")
        return {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(modules)}

    def test_the_python_package_is_built_and_tested(self):
        python = ("--only", "python", "--libraries", str(self.folder / "libraries"))
        code, report, _ = self.run_tool(*python, **self.fake_python_tools())
        self.assertEqual(code, 0, report)
        self.assertRegex(report, r"\| python \| ok \| [\d.]+ \| 3 passed \|")
        calls = (self.folder / "calls").read_text()
        self.assertIn(f"-DGPUFORGE_LIBRARIES={self.folder / 'libraries'} -DGPUFORGE_PROGRAM={self.folder / 'bin/gpuforge'}", calls)
        self.assertRegex(calls, r"pytest .*python/tests/test_array.py .*test_kernel.py.*out/python:")
        self.assertNotIn("test_wheel.py", calls)
        self.assertRegex(report, r"beside: .*jax.*; left out: ")
        code, report, _ = self.run_tool(*python, **self.fake_python_tools("1 failed, 2 passed in 0.1s", 1))
        self.assertEqual(code, 1)
        self.assertIn("| python | FAILED |", report)

    def test_what_the_python_package_lacks_is_said(self):
        variables = self.fake_python_tools()
        code, report, talk = self.run_tool("--only", "python", "--libraries", str(self.folder / "nowhere"), **variables)
        self.assertEqual(code, 3)
        self.assertIn("| python | missing |", report)
        self.assertIn(f"no lib*.a in {self.folder / 'nowhere'}, which tools/python_libraries makes", report)
        self.assertEqual(self.run_tool("--only", "python", "--allow-missing", "--libraries", str(self.folder / "nowhere"), **variables)[0], 0)

    def test_without_a_gpu(self):
        code, report, talk = self.run_tool(devices=NO_GPU)
        self.assertEqual(code, 3)
        self.assertIn("Nothing was run: no driver here", report)
        self.assertIn("no driver here", talk)

    def test_nothing_chosen_is_no_success(self):
        self.assertEqual(self.run_tool("--only", "nothing_like_this")[0], 1)

    def test_a_folder_without_programs(self):
        (self.folder / "bin/gpuforge").unlink()
        code, _, talk = self.run_tool()
        self.assertEqual(code, 2)
        self.assertIn("build/release/bin", talk)


if __name__ == "__main__":
    unittest.main()
