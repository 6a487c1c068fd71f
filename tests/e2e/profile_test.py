"""gpuforge profile with stand-ins for ncu, nsys and compute-sanitizer, which no test machine needs to have.

The stand-ins log their arguments, run the program they are given and print what the real ones printed on an H200."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

import cli_case
from cli_case import CliTest, program

ROOT = pathlib.Path(os.environ.get("GPUFORGE_SOURCE", pathlib.Path(__file__).parents[2]))
RECORDED = ROOT / "tests/profile"

# Runs what follows its own options, as told by STANDIN_*; its arguments go to a file, one a line.
STANDIN = """#!/usr/bin/env python3
import os, pathlib, subprocess, sys
arguments = sys.argv[1:]
with open(os.environ["STANDIN_LOG"], "a") as log:
    log.write("\\n".join(arguments) + "\\n")
if "--import" in arguments:
    print(pathlib.Path(os.environ["STANDIN_TABLE"]).read_text(), end="")
    sys.exit(0)
at = next(i for i, word in enumerate(arguments) if word.endswith("/gpuforge"))
print("==PROF== Connected to process 1", flush=True)
code = subprocess.run(arguments[at:]).returncode
for option in ("--export", "--output", "-o"):
    if option in arguments[:at] and "STANDIN_NO_REPORT" not in os.environ:
        pathlib.Path(arguments[arguments.index(option) + 1]).write_text("a report")
        print("==PROF== Report: " + arguments[arguments.index(option) + 1])
print(os.environ.get("STANDIN_SAYS", ""))
sys.exit(int(os.environ.get("STANDIN_EXIT", code)))
"""


class Profile(CliTest):
    def setUp(self):
        super().setUp()
        self.tools = self.folder / "tools"
        self.tools.mkdir()
        self.log = self.folder / "arguments.txt"
        self.environment.update(PATH=f"{self.tools}:{self.environment['PATH']}", STANDIN_LOG=str(self.log),
                                STANDIN_TABLE=str(RECORDED / "row_sum_raw.csv"))
        self.environment["GPUFORGE_LIBRARY_PATH"] = "none"  # whatever the machine has in NVIDIA's folders

    def tool(self, name, text=STANDIN):
        path = self.tools / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def arguments(self):
        return self.log.read_text().splitlines()

    def test_ncu_gets_its_options_and_the_verb(self):
        self.tool("ncu")
        result = self.run_cli("profile", "ncu", "--section", "A", "--section", "B", "-c", "3", "--cache-control=none",
                              "--kernel", "row<4>", "--", "version")
        arguments = self.arguments()
        at = next(i for i, word in enumerate(arguments) if word.endswith("/gpuforge"))
        self.assertEqual(arguments[at + 1:], ["version"])
        report = arguments[arguments.index("--export") + 1]
        self.assertRegex(report, r"^profiles/ncu_\d{8}_\d{6}\.ncu-rep$")
        self.assertTrue((self.folder / report).exists())
        self.assertEqual(arguments[:at], ["--kernel-name", "regex:row<4>", "--export", report, "--section", "A", "--section",
                                          "B", "-c", "3", "--cache-control=none"])
        self.assertIn("gpuforge 0.", result.stdout)  # the verb's own output
        self.assertIn(f"report: {report}", result.stderr)

    def test_defaults_and_the_users_own_report(self):
        self.tool("ncu")
        self.run_cli("profile", "ncu", "--", "gpuforge", "version")
        self.assertEqual(self.arguments()[:3], ["--set", "full", "--export"])
        self.log.unlink()
        self.run_cli("profile", "ncu", "--set", "basic", "-o", "mine.ncu-rep", "--", "version")
        self.assertEqual(self.arguments()[:4], ["--set", "basic", "-o", "mine.ncu-rep"])
        self.assertTrue((self.folder / "mine.ncu-rep").exists())

    def test_two_reports_in_one_second_are_two_files(self):
        self.tool("ncu")
        for _ in range(2):
            self.run_cli("profile", "ncu", "--", "version")
        self.assertEqual(len(list((self.folder / "profiles").iterdir())), 2)

    def test_extract_follows_the_run(self):
        self.tool("ncu")
        text = self.run_cli("profile", "ncu", "--extract", "--", "version").stdout
        self.assertIn("launch 0: row_sum, grid (512, 1, 1)", text)
        self.assertIn("GPU throughput", text)
        result = self.run_cli("profile", "ncu", "--extract", "--json", "--", "version")
        document = json.loads(result.stdout)  # one document, whatever the tool prints
        self.assertEqual(len(document["launches"]), 2)
        self.assertIn("Connected to process", result.stderr)
        self.assertTrue((self.folder / document["report"]).exists())

    def test_the_verbs_exit_code_is_passed_on(self):
        self.tool("ncu")
        says = {"STANDIN_SAYS": "==ERROR== The application returned an error code (2).", "STANDIN_EXIT": "1"}
        self.assertIn("ended with exit code 2", self.run_cli("profile", "ncu", "--", "run", "nothere.cu", code=2, env=says).stderr)
        self.run_cli("profile", "ncu", "--", "version", code=3, env={"STANDIN_EXIT": "9"})
        self.run_cli("profile", "ncu", "--nonsense", "--", "version", code=2,
                     env={"STANDIN_EXIT": "1", "STANDIN_SAYS": "==ERROR== unrecognised option '--nonsense'"})
        self.tool("ncu", "#!/bin/sh\nkill -SEGV $$\n")
        self.run_cli("profile", "ncu", "--", "version", code=128 + signal.SIGSEGV)

    def test_barred_counters_are_told_with_what_is_still_known(self):
        self.need_nvrtc_of_the_machine()
        self.tool("ncu")
        source = self.file("saxpy.cu", cli_case.SAXPY)
        says = {"STANDIN_EXIT": "1", "STANDIN_NO_REPORT": "1", "STANDIN_SAYS":
                "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters"}
        result = self.run_cli("profile", "ncu", "--", "run", source, "--grid", "1", code=3, env={**says, **self.nvrtc})
        self.assertIn("NVreg_RestrictProfilingToAdminUsers=0", result.stderr)
        self.assertIn("registers", result.stdout)
        self.assertIn("--device sim --report", result.stdout)

    def need_nvrtc_of_the_machine(self):
        self.nvrtc = {"GPUFORGE_LIBRARY_PATH": os.environ.get("GPUFORGE_LIBRARY_PATH", "")}
        self.environment["GPUFORGE_LIBRARY_PATH"] = self.nvrtc["GPUFORGE_LIBRARY_PATH"]
        self.need_nvrtc()

    def test_an_absent_tool_is_told_with_what_is_still_known(self):
        for name, program_name in (("ncu", "ncu"), ("nsys", "nsys"), ("sanitizer", "compute-sanitizer")):
            message = self.error("profile", name, "--", "version", code=3,
                                 env={"PATH": "/nonexistent"})
            self.assertIn(f"{program_name} is neither on PATH", message)
            self.assertIn("install", message)
        self.need_nvrtc_of_the_machine()
        result = self.run_cli("profile", "nsys", "--", "profile", "once", "copy_transpose", "--dtype", "f16", "--variant=naive",
                              code=3, env={**self.nvrtc, "PATH": "/nonexistent"})
        self.assertIn("transpose_naive", result.stdout)
        self.assertIn("profile sim copy_transpose --variant naive --dtype f16", result.stdout)

    def test_no_kernel_on_a_gpu(self):
        self.tool("ncu")
        result = self.run_cli("profile", "ncu", "--", "version", code=3,
                              env={"STANDIN_SAYS": "==WARNING== No kernels were profiled.", "STANDIN_NO_REPORT": "1"})
        self.assertIn("ncu saw no kernel", result.stderr)
        self.assertIn("profile sim", result.stdout)

    def test_the_sanitizers_errors_are_exit_code_1(self):
        self.tool("compute-sanitizer")
        says = {"STANDIN_SAYS": (RECORDED / "sanitizer_memcheck.txt").read_text(), "STANDIN_EXIT": "86"}
        result = self.run_cli("profile", "sanitizer", "--", "version", code=1, env=says)
        self.assertIn("compute-sanitizer found 1 error", result.stderr)
        self.assertEqual(self.arguments()[:4], ["--tool", "memcheck", "--error-exitcode", "86"])
        reports = list((self.folder / "profiles").glob("sanitizer_*.txt"))
        self.assertEqual(len(reports), 1)
        self.assertIn("cuFuncGetParamInfo", reports[0].read_text())
        self.run_cli("profile", "sanitizer", "--tool", "racecheck", "--", "version",
                     env={"STANDIN_SAYS": "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"})
        self.run_cli("profile", "sanitizer", "--", "run", "nothere.cu", code=2,
                     env={"STANDIN_SAYS": "========= ERROR SUMMARY: 0 errors"})

    def test_nsys_records_the_run(self):
        self.tool("nsys")
        self.run_cli("profile", "nsys", "--trace=cuda,nvtx", "--stats", "true", "--", "version")
        arguments = self.arguments()
        self.assertEqual(arguments[:2], ["profile", "--output"])
        self.assertRegex(arguments[2], r"^profiles/nsys_\d{8}_\d{6}\.nsys-rep$")
        self.assertEqual(arguments[3:6], ["--trace=cuda,nvtx", "--stats", "true"])
        self.run_cli("profile", "nsys", "--", "run", "nothere.cu", code=2)

    def test_dry_run_prints_a_line_for_the_shell(self):
        line = self.run_cli("profile", "nsys", "--trace", "a b", "--dry-run", "--", "run", "it's.cu").stdout
        self.assertRegex(line, r"^nsys profile --output profiles/nsys_\S+ --trace 'a b' \S+/gpuforge run 'it'\\''s.cu'\n$")
        self.assertFalse((self.folder / "profiles").exists())
        self.assertEqual(json.loads(self.run_cli("--json", "profile", "ncu", "--dry-run", "--", "version").stdout)["command"][0],
                         "ncu")
        line = self.run_cli("profile", "sanitizer", "--dry-run", "--", "version").stdout
        self.assertRegex(line, r"^GPUFORGE_POOL=off compute-sanitizer --tool memcheck ")
        document = json.loads(self.run_cli("--json", "profile", "sanitizer", "--dry-run", "--", "version").stdout)
        self.assertEqual(document["environment"], {"GPUFORGE_POOL": "off"})

    def test_the_sanitizer_sees_every_array_by_itself(self):
        self.tool("compute-sanitizer", '#!/bin/sh\necho "pool: $GPUFORGE_POOL"\n')
        self.assertIn("pool: off", self.run_cli("profile", "sanitizer", "--", "version").stdout)
        self.assertIn("pool: on", self.run_cli("profile", "sanitizer", "--", "version", env={"GPUFORGE_POOL": "on"}).stdout)
        self.assertIn("GPUFORGE_POOL: it is on or off; found small",
                      self.error("check", "softmax_online", "--device", "cpu", code=2, env={"GPUFORGE_POOL": "small"}))

    def test_control_c_reaches_the_tool(self):
        self.tool("ncu", "#!/bin/sh\ntrap 'echo tidied > tidied; exit 130' INT\necho ready\nwhile :; do sleep 0.05; done\n")
        process = subprocess.Popen([program(), "profile", "ncu", "--", "version"], env=self.environment, cwd=self.folder,
                                   stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=20), 130)
        process.stdout.close()
        self.assertEqual((self.folder / "tidied").read_text(), "tidied\n")

    def test_bad_command_lines(self):
        self.assertIn("found nothing", self.error("profile", "ncu", "--set", "full", code=2))
        self.assertIn("did you mean 'run'?", self.error("profile", "ncu", "--", "runn", code=2))
        self.assertIn("--extract reads reports of ncu", self.error("profile", "nsys", "--extract", "--", "version", code=2))
        self.assertIn("--lines is for profile sim", self.error("profile", "extract", "x.csv", "--lines", code=2))
        self.assertIn("WITH is one of ncu", self.error("profile", "ncuu", code=2))
        self.assertIn("REPORT is missing", self.error("profile", "extract", code=2))
        (self.folder / "profiles").write_text("in the way")
        self.tool("ncu")
        self.assertIn("profiles cannot be made", self.error("profile", "ncu", "--", "version", code=3))


class Extract(CliTest):
    def test_a_table(self):
        text = self.run_cli("profile", "extract", RECORDED / "row_sum_raw.csv").stdout
        for line in (r"launch 1: row_sum, grid \(512, 1, 1\), block \(32, 8, 1\), NVIDIA H200", r"  duration +8\.67 us",
                     r"  achieved occupancy +43\.8 %", r"  long scoreboard +30\.80 +77\.6 %",
                     r"  global load sectors per request +2\.66", r"  shared load bank conflicts +0", r"  DRAM read +15\.6 MiB"):
            self.assertRegex(text, line)

    def test_a_document(self):
        document = self.document("profile", "extract", RECORDED / "transpose_raw.csv")
        launch = document["launches"][0]
        self.assertTrue(document["complete"])
        self.assertEqual(launch["memory"]["shared_load_wavefronts"],
                         {"value": 32770, "unit": "", "metric": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"})
        self.assertEqual(launch["launch"]["duration"]["unit"], "ns")

    def test_missing_metrics_are_na(self):
        text = self.run_cli("profile", "extract", RECORDED / "live_basic.txt").stdout
        self.assertRegex(text, "warp stalls.*: n/a, not in the report")
        self.assertRegex(text, r"  active lanes +n/a")
        document = self.document("profile", "extract", RECORDED / "live_basic.txt")
        self.assertIsNone(document["launches"][0]["warp_stalls"]["barrier"])

    def test_kernels_by_name(self):
        self.run_cli("profile", "extract", RECORDED / "row_sum_raw.csv", "--kernel", "row_")
        self.assertIn("the report has row_sum", self.error("profile", "extract", RECORDED / "row_sum_raw.csv", "--kernel", "x", code=2))

    def test_a_file_that_is_cut_off(self):
        whole = (RECORDED / "row_sum_raw.csv").read_text()
        result = self.run_cli("profile", "extract", self.file("cut.csv", whole[:-400]), code=1)
        self.assertIn("cut off in the middle of a launch", result.stderr)
        self.assertIn("launch 0", result.stdout)
        self.assertNotIn("launch 1", result.stdout)

    def test_what_is_no_report(self):
        self.assertIn("--page raw", self.error("profile", "extract", RECORDED / "transpose_details.csv", code=2))
        self.assertIn("no table of ncu's", self.error("profile", "extract", self.file("x.csv", "a,b\n"), code=2))
        self.assertIn("cannot read", self.error("profile", "extract", "nothere.csv", code=2))
        self.assertIn("there is no file", self.error("profile", "extract", "nothere.ncu-rep", code=2))

    def test_a_report_needs_ncu(self):
        report = self.file("r.ncu-rep", "binary")
        nothing = {"PATH": "/nonexistent", "GPUFORGE_LIBRARY_PATH": "none"}
        self.assertIn("extract the .csv", self.error("profile", "extract", report, code=3, env=nothing))


class Sim(CliTest):
    def setUp(self):
        super().setUp()
        self.need_nvrtc()

    def counters(self, *arguments):
        document = self.document("profile", "sim", *arguments)
        return [{name: counter["value"] for name, counter in launch["counters"].items()} for launch in document["launches"]]

    def test_counts_of_a_transpose(self):
        self.assertEqual([{"global_load_requests": 2048, "global_load_sectors": 8192, "global_store_requests": 2048,
                           "global_store_sectors": 8192, "shared_load_wavefronts": 2048, "shared_store_wavefronts": 2048,
                           "least_read_bytes": 262144}],
                         [{name: value for name, value in launch.items()
                           if name not in ("warp_instructions", "active_lanes", "divergent_branches")}
                          for launch in self.counters("copy_transpose", "--shape", "256x256", "--set", "tile=32", "--set", "rows=8")])
        naive = self.counters("copy_transpose", "--shape", "256x256", "--variant", "naive")[0]
        self.assertEqual(naive["shared_load_wavefronts"], 0)
        self.assertEqual(naive["global_load_sectors"] + naive["global_store_sectors"], 8192 + 8 * 8192)

    def test_text_and_lines(self):
        text = self.run_cli("profile", "sim", "copy_transpose", "--dtype", "f16", "--set", "tile_size=16").stdout
        for line in (r"copy_transpose best, f16 .* tile_size=16", "instruction mix: ", "sectors a request", "without bank conflicts",
                     r"global load sectors +\d+  l1tex__t_sectors_pipe_lsu_mem_global_op_ld\.sum", r"all launches moved", r"registers"):
            self.assertRegex(text, line)
        self.assertNotIn("by line of", text)
        self.assertIn("by line of copy_transpose.cu", self.run_cli("profile", "sim", "copy_transpose", "--lines").stdout)

    def test_nothing_to_do(self):
        self.assertIn("no kernel was launched", self.run_cli("profile", "sim", "copy_transpose", "--shape", "0x5").stdout)

    def test_bad_requests(self):
        self.assertIn("there is no op 'nothere'", self.error("profile", "sim", "nothere", code=2))
        self.assertIn("an OP or a kernel file is missing", self.error("profile", "sim", code=2))
        self.assertIn("cannot read 'x.cu': No such file or directory", self.error("profile", "sim", "x.cu", code=2))
        for words, message in ((["--dtype", "f99"], "'f99' is not a dtype"), (["--shape", "4"], "two axes"),
                               (["--variant", "fastest"], "fastest"), (["--set", "tile"], "NAME=VALUE"),
                               (["--set", "tile=big"], "whole number"), (["--set", "colour=3"], "no configuration colour=3"),
                               (["--kernel", "softmax"], "launches no kernel"), (["--device", "cpu"], "use --device sim")):
            self.assertIn(message, self.error("profile", "sim", "copy_transpose", *words, code=2), words)

    def test_a_kernel_of_clusters(self):
        cluster = [word for value in ("cluster=4", "threads=512", "items=64", "vector=8", "rows=1") for word in ("--set", value)]
        words = ["softmax_online", "--dtype", "f16", "--shape", "4x131072", *cluster]
        report = self.run_cli("profile", "sim", *words).stdout
        self.assertIn("moved 2.0 MiB, 1.00 of the least", report)
        message = self.error("profile", "sim", *words, "--device", "sim:sm_86", code=3)
        self.assertIn("cluster=4 needs a GPU that has clusters of blocks (SM 90 or newer); sim:sm_86 has none", message)


cli_case.main()
