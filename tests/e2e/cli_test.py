"""The command as a user meets it: help, completion, settings, pipes, signals, doctor. See cli_case.py for arguments."""
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import time
import unittest.mock

from cli_case import SAXPY, CliTest, main, program

VERBS = ["doctor", "devices", "compile", "run", "layout", "cache", "completion", "help", "version"]


class Help(CliTest):
    def test_every_verb_fits_a_narrow_terminal(self):
        for arguments in [["--help"], *[[verb, "--help"] for verb in VERBS], ["help", "run"]]:
            text = re.sub(r"\x1b\[[0-9;]*m", "", self.terminal(*arguments))
            self.assertIn("Usage:", text)
            for line in text.split("\n"):
                self.assertLessEqual(len(line), 60, f"{arguments}: {line}")

    def test_doctor_fits_a_narrow_terminal_where_words_allow(self):
        text = re.sub(r"\x1b\[[0-9;]*m", "", self.terminal("doctor"))
        for line in text.split("\n"):
            if len(line.split()) > 2:  # a path alone may be longer, also after PASS
                self.assertLessEqual(len(line), 60, line)

    def test_colour_only_on_a_terminal_and_not_against_the_users_will(self):
        self.assertIn("\x1b[", self.terminal("--help"))
        self.assertNotIn("\x1b[", self.terminal("--help", env={"NO_COLOR": "1"}))
        self.assertNotIn("\x1b[", self.terminal("--help", "--color", "never"))
        self.assertNotIn("\x1b[", self.run_cli("doctor").stdout)
        self.assertNotIn("\x1b[", self.terminal("doctor", env={"NO_COLOR": "1"}))
        self.assertIn("\x1b[", self.terminal("doctor"))
        self.assertIn("\x1b[", self.run_cli("doctor", "--color", "always").stdout)

    def test_no_verb_is_bad_usage_and_help_is_not(self):
        result = self.run_cli(code=2)
        self.assertEqual(result.stdout, "")
        self.assertIn("Verbs:", result.stderr)
        help_text = self.run_cli("--help").stdout
        for verb in VERBS:
            self.assertIn(f"  {verb} ", help_text)
        self.assertNotIn("probe-library", help_text)
        self.assertEqual(self.run_cli("-h").stdout, help_text)
        self.assertEqual(self.run_cli("help").stdout, help_text)
        self.assertIn("gpuforge compile", self.run_cli("compile", "nonsense", "--bogus", "-h").stdout)

    def test_a_pipe_counts_as_80_columns(self):
        for verb in VERBS:
            for line in self.run_cli(verb, "--help").stdout.split("\n"):
                self.assertLessEqual(len(line), 80, line)

    def test_version(self):
        self.assertRegex(self.run_cli("--version").stdout, r"^gpuforge \d+\.\d+\.\d+\n$")
        self.assertEqual(self.run_cli("version").stdout, self.run_cli("--version").stdout)
        self.assertEqual(self.document("version")["verb"], "version")

    def test_help_works_whatever_the_configuration_says(self):
        self.file("gpuforge.yaml", "nonsense: [\n")
        self.run_cli("--help")
        self.run_cli("help", "run")
        self.run_cli("version")
        self.run_cli("completion", "bash")

    def test_did_you_mean(self):
        self.assertIn("did you mean 'doctor'?", self.error("docter", code=2))
        self.assertIn("did you mean '--arch'?", self.error("compile", "x.cu", "--arhc", "sm_80", code=2))
        self.assertIn("did you mean 'never'?", self.error("doctor", "--color", "nevr", code=2))
        self.assertIn("did you mean 'verify'?", self.error("cache", "verfy", code=2))
        self.assertIn("did you mean 'zsh'?", self.error("completion", "zhs", code=2))
        self.assertIn("did you mean 'random'?",
                      self.error("run", "x.cu", "--grid", "1", "--block", "1", "--arg", "in:f32[4]=randmo", code=2))

    def test_usage_errors(self):
        self.assertIn("needs a value", self.error("compile", "x.cu", "--arch", code=2))
        self.assertIn("takes no value", self.error("doctor", "--strict=1", code=2))
        self.assertIn("FILE is missing", self.error("compile", code=2))
        self.assertIn("one argument too many", self.error("devices", "extra", code=2))
        self.assertIn("exclude each other", self.error("devices", "-q", "-v", code=2))


class Completion(CliTest):
    def test_scripts_are_good_shell(self):
        for shell in ("bash", "zsh", "fish"):
            with self.subTest(shell=shell):
                script = self.run_cli("completion", shell).stdout
                self.assertEqual(self.document("completion", shell)["script"], script)
                if shutil.which(shell) is None:
                    self.skipTest(f"{shell} is not installed here")
                path = self.file(f"completion.{shell}", script)
                checked = subprocess.run([shell, "-n", path], capture_output=True, text=True)
                self.assertEqual((checked.returncode, checked.stderr), (0, ""))

    def complete(self, line):
        """What bash offers at the end of the line."""
        path = self.file("completion.bash", self.run_cli("completion", "bash").stdout)
        script = (f"source {path}; COMP_LINE=$1; COMP_POINT=${{#1}}; _gpuforge; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        result = subprocess.run(["bash", "-c", script, "bash", line], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(result.stderr, "")
        return result.stdout.split()

    def test_bash_offers_verbs_options_values_and_files(self):
        if shutil.which("bash") is None:
            self.skipTest("bash is not installed here")
        self.file("kernel.cu", SAXPY)
        self.assertEqual(self.complete("gpuforge do"), ["doctor"])
        self.assertEqual(self.complete("gpuforge compile --ar"), ["--arch"])
        self.assertIn("sm_90a", self.complete("gpuforge compile x.cu --arch "))
        self.assertEqual(self.complete("gpuforge compile x.cu --arch=sm_12"), ["sm_120a"])
        self.assertEqual(self.complete("gpuforge doctor --color n"), ["never"])
        self.assertEqual(self.complete("gpuforge run ker"), ["kernel.cu"])
        self.assertEqual(self.complete("gpuforge run x.cu --device cuda:"), ["0"])
        self.assertEqual(self.complete("gpuforge cache cl"), ["clear"])
        self.assertEqual(self.complete("gpuforge --json cache ver"), ["verify"])


class Settings(CliTest):
    def setting(self, key, *arguments, env=None, cwd=None):
        result = self.run_cli("doctor", "--json", *arguments, env={"GPUFORGE_LIBRARY_PATH": "none", **(env or {})},
                              cwd=cwd or self.folder)
        return next(s for s in json.loads(result.stdout)["settings"] if s["key"] == key)

    def test_precedence_is_shown(self):
        self.assertEqual(self.setting("device")["source"], "default")
        user = self.folder / "home/.config/gpuforge"
        user.mkdir(parents=True)
        (user / "gpuforge.yaml").write_text("device: cpu\ncache-limit: 2GiB\n")
        self.assertEqual(self.setting("device")["value"], "cpu")
        self.file("gpuforge.yaml", "# project\ndevice: cuda:1\n")
        below = self.folder / "below"
        below.mkdir()
        self.assertRegex(self.setting("device", cwd=below)["source"], r"gpuforge\.yaml:2$")
        self.assertEqual(self.setting("cache-limit")["value"], "2GiB")
        self.assertEqual(self.setting("device", env={"GPUFORGE_DEVICE": "sim"})["source"], "GPUFORGE_DEVICE")
        self.assertEqual(self.setting("device", "-d", "cuda:0", env={"GPUFORGE_DEVICE": "sim"}),
                         {"key": "device", "value": "cuda:0", "source": "--device"})

    def test_bad_files_are_errors_with_file_and_line(self):
        self.file("gpuforge.yaml", "device: cpu\ncache_dir: x\n")
        self.assertRegex(self.error("devices", code=2), r"gpuforge\.yaml:2: unknown key 'cache_dir'; did you mean 'cache-dir'")
        self.file("gpuforge.yaml", "cache-limit: many\n")
        self.assertRegex(self.error("cache", code=2), r"gpuforge\.yaml:1: cache-limit is a size")
        self.file("gpuforge.yaml", "a: [\n")
        self.assertRegex(self.error("devices", code=2), r"gpuforge\.yaml:\d+: ")
        self.file("gpuforge.yaml", "")
        self.assertIn("GPUFORGE_LOG: log is", self.error("devices", code=2, env={"GPUFORGE_LOG": "loud"}))


class Streams(CliTest):
    def test_a_closed_pipe_ends_quietly(self):
        for arguments in (["doctor"], ["--help"], ["run", "--help"]):
            reader, writer = os.pipe()
            os.close(reader)
            process = subprocess.run([program(), *arguments], env=self.environment, cwd=self.folder, stdout=writer,
                                     stderr=subprocess.PIPE, timeout=60)
            os.close(writer)
            self.assertEqual((process.returncode, process.stderr), (141, b""), arguments)
        piped = subprocess.run(f"'{program()}' doctor | head -1", shell=True, env=self.environment, cwd=self.folder,
                               capture_output=True, text=True, timeout=60)
        self.assertEqual((piped.stdout, piped.stderr), ("driver\n", ""))

    def test_a_full_disk_is_said_and_is_exit_code_3(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("this system has no /dev/full")
        for arguments in (["doctor"], ["version"], ["devices", "--json"], ["nonsense", "--json"]):
            with open("/dev/full", "w") as full:
                result = self.run_cli(*arguments, code=3, stdout=full, stderr=subprocess.PIPE)
            self.assertIn("cannot write to standard output: No space left on device", result.stderr)

    def test_closed_standard_files_are_no_others(self):
        def closed(file, *arguments, code):
            result = subprocess.run(["sh", "-c", f'"$@" {file}&-', "sh", program(), *arguments], env=self.environment,
                                    cwd=self.folder, capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, code, (arguments, result.stdout, result.stderr))
            return result
        self.assertIn("cannot read standard input: Bad file descriptor", closed("<", "layout", "-", code=2).stderr)
        self.assertIn("cannot write to standard output: Bad file descriptor", closed(">", "version", code=3).stderr)
        self.assertIn("size    8", closed("2>", "layout", "8:1", "--svg", "x.svg", code=0).stdout)
        self.assertTrue((self.folder / "x.svg").read_text().endswith("</svg>\n"))

    def test_data_and_talk_stay_apart(self):
        self.need_nvrtc()
        source = self.file("k.cu", SAXPY)
        result = self.run_cli("compile", source, "--arch", "sm_80", "-v")
        self.assertIn("compiled", result.stderr)
        self.assertNotIn("gpuforge:", result.stdout)
        self.assertEqual(self.run_cli("compile", source, "--arch", "sm_80", "-q").stderr, "")

    def test_progress_shows_on_a_terminal_after_a_second_and_goes_away(self):
        stub = self.stub_driver("sleep(2); return 100;")
        self.assertEqual(self.run_cli("devices", env=stub).stderr, "")
        reader, writer = pty.openpty()
        process = subprocess.Popen([program(), "devices"], env={**self.environment, **stub}, cwd=self.folder,
                                   stdout=subprocess.DEVNULL, stderr=writer)
        os.close(writer)
        self.assertEqual(process.wait(timeout=60), 0)
        text = os.read(reader, 65536).decode()
        os.close(reader)
        self.assertIn("asking the CUDA driver (1 s)", text)
        self.assertTrue(text.endswith("\r\x1b[K"), text)


class Interrupt(CliTest):
    def interrupt(self, *arguments, number=signal.SIGINT, env=None, after=1.0):
        process = subprocess.Popen([program(), *map(str, arguments)], env={**self.environment, **(env or {})},
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(after)
        self.assertIsNone(process.poll(), "it ended before it could be interrupted")
        start = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        self.assertLess(time.monotonic() - start, 5)
        self.assertEqual(out, "")
        return process.returncode, err

    def leftovers(self):
        return [str(path) for path in self.folder.rglob("*") if "tmp" in path.name or path.suffix == ".cubin"]

    def test_during_a_long_compile(self):
        self.need_nvrtc()
        lines = "\n".join(f"  x = sinf(x * {i}.5f + y); y = cosf(y + x / ({i}.25f + x));" for i in range(4000))
        source = self.file("slow.cu", f'extern "C" __global__ void slow(float* p) {{\n  float x = p[0], y = p[1];\n'
                           f"{lines}\n  p[0] = x + y;\n}}\n")
        arguments = ("compile", source, "--arch", "sm_90a", "-o", self.folder / "slow.cubin")
        self.assertEqual(self.interrupt(*arguments), (130, ""))
        self.assertEqual(self.interrupt(*arguments, number=signal.SIGTERM), (143, ""))
        self.assertEqual(self.leftovers(), [])

    def test_while_a_driver_hangs(self):
        stub = self.stub_driver("sleep(60); return 0;")
        self.assertEqual(self.interrupt("doctor", env=stub), (130, ""))
        self.assertEqual(self.interrupt("devices", env=stub), (130, ""))

    def test_an_ignored_signal_stays_ignored(self):
        stub = self.stub_driver("sleep(3); return 100;")
        process = subprocess.Popen([program(), "devices"], env={**self.environment, **stub}, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        time.sleep(1)
        process.send_signal(signal.SIGHUP)
        _, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, err), (0, b""))


class Doctor(CliTest):
    def findings(self, *arguments, code=0, env=None):
        document = self.document("doctor", *arguments, code=code, env=env)
        self.assertEqual(document["verb"], "doctor")
        for finding in document["findings"]:
            if finding["status"] in ("WARN", "FAIL"):
                self.assertTrue(finding["costs"], finding)
        sections = {}
        for finding in document["findings"]:
            sections.setdefault(finding["section"], []).append(finding)
        return sections

    def test_with_nothing_installed(self):
        nothing = {"GPUFORGE_LIBRARY_PATH": "none", "PATH": "/nonexistent"}
        text = self.run_cli("doctor", env=nothing).stdout
        self.assertIn("CUDA driver not detected", text)
        self.assertIn("NVRTC JIT compiler not available", text)
        self.assertIn("to get it:", text)
        for variable in ("GPUFORGE_DEVICE", "GPUFORGE_CACHE_DIR", "NO_COLOR", "PATH"):
            self.assertIn(variable, text)
        sections = self.findings(env=nothing)
        for section in ("driver", "NVRTC", "CUDA headers", "cuBLASLt", "self-test"):
            self.assertEqual([f["status"] for f in sections[section]], ["WARN"], section)
            self.assertTrue(section == "self-test" or sections[section][0]["fix"], section)
        self.assertEqual([f["status"] for f in sections["profilers"]], ["WARN"] * 3)
        self.assertEqual(sections["cache"][0]["status"], "PASS")
        self.run_cli("doctor", "--strict", code=3, env=nothing)
        self.run_cli("doctor", code=3, env={**nothing, "GPUFORGE_STRICT": "1"})

    def test_the_alias(self):
        nothing = {"GPUFORGE_LIBRARY_PATH": "none", "PATH": "/nonexistent"}
        self.assertEqual(self.run_cli("env-check", env=nothing).stdout, self.run_cli("doctor", env=nothing).stdout)

    def test_the_tiled_transpose_goes_as_far_as_this_machine_can(self):
        self.need_nvrtc()
        finding = self.findings()["self-test"][0]
        self.assertEqual(finding["status"], "PASS", finding)
        self.assertRegex(finding["text"], r"on (cuda:0|sim) all 8710 elements agree with the host loop")

    def test_nvrtc_is_shown_with_version_and_archs(self):
        self.need_nvrtc()
        self.assertRegex(self.findings()["NVRTC"][0]["text"], r"NVRTC \d+\.\d+\.\d+, .*nvrtc.* compiles for sm.* 80 .* 90")

    def test_a_driver_that_crashes_or_hangs_is_a_line_of_the_report(self):
        crashed = self.findings(code=3, env=self.stub_driver("abort(); return 0;"))["driver"][0]
        self.assertEqual(crashed["status"], "FAIL")
        self.assertIn("signal 6", crashed["text"])
        start = time.monotonic()
        hung = self.findings(code=3, env=self.stub_driver("sleep(600); return 0;"))["driver"][0]
        self.assertEqual(hung["status"], "FAIL")
        self.assertIn("gave no answer in 10 s", hung["text"])
        self.assertLess(time.monotonic() - start, 40)

    def test_a_driver_without_gpu(self):
        sections = self.findings(env=self.stub_driver("return 100;"))
        self.assertEqual(sections["driver"][0]["status"], "PASS")
        self.assertEqual(sections["GPU"][0]["status"], "WARN")
        self.assertTrue(sections["GPU"][0]["text"].startswith("No GPU devices found (cudaGetDeviceCount == 0)"))

    def test_gpus_are_listed_and_an_old_driver_is_told(self):
        sections = self.findings(code=unittest.mock.ANY, env=self.fake_gpu(DEVICES=2, VERSION=12080))
        self.assertIn("CUDA driver 12.8", sections["driver"][0]["text"])
        self.assertEqual([f["text"].split(":")[0] + ":" + f["text"].split(":")[1] for f in sections["GPU"]],
                         ["cuda:0", "cuda:1"])
        self.need_nvrtc()
        old = [f for f in sections["NVRTC"] if f["status"] == "WARN"]
        self.assertRegex(old[0]["text"] if old else "NVRTC of CUDA 12", r"driver is of CUDA 12\.8 .* NVRTC of CUDA 1[3-9]|NVRTC of CUDA 12")

    def test_a_gpu_that_computes_wrongly_is_found(self):
        self.need_nvrtc()
        # The stand-in runs nothing, so the output stays as it was filled.
        finding = self.findings(code=3, env=self.fake_gpu(SM=190))["self-test"][0]
        self.assertEqual(finding["status"], "FAIL")
        self.assertIn("8710 of 8710 elements differ", finding["text"])

    def test_an_old_gpu_is_named_with_its_reason(self):
        finding = self.findings(env=self.fake_gpu(SM=75))["GPU"][0]
        self.assertEqual(finding["status"], "WARN")
        self.assertIn("SM 75", finding["text"])

    def test_a_cache_folder_that_is_a_file_or_cannot_be_written(self):
        self.file("cache", "a file")
        finding = self.findings()["cache"][0]
        self.assertEqual(finding["status"], "WARN")
        self.assertIn("is a file, not a folder", finding["text"])
        self.assertIn("compiled anew", finding["costs"])
        finding = self.findings(env={"GPUFORGE_CACHE_DIR": "/proc/no/such"})["cache"][0]
        self.assertEqual(finding["status"], "WARN")
        self.assertEqual((self.folder / "cache").read_text(), "a file")


class Devices(CliTest):
    def test_lists_what_is_usable_and_why_not(self):
        document = self.document("devices", env={"GPUFORGE_LIBRARY_PATH": "none"})
        names = {device["name"]: device for device in document["devices"]}
        self.assertTrue(names["cpu"]["usable"])
        self.assertFalse(names["cuda"]["usable"])
        self.assertIn("CUDA driver not detected", names["cuda"]["reason"])
        text = self.run_cli("devices", env={"GPUFORGE_LIBRARY_PATH": "none"}).stdout
        self.assertIn("CUDA driver not detected", text.replace("\n", " "))

    def test_facts_of_a_gpu(self):
        devices = self.document("devices", env=self.fake_gpu(NAME="Test GPU", SM=90))["devices"]
        self.assertEqual((devices[0]["name"], devices[0]["product"], devices[0]["arch"], devices[0]["usable"]),
                         ("cuda:0", "Test GPU", "sm_90a", True))


if __name__ == "__main__":
    main()
