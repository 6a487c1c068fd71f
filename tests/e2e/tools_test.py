"""The house checks pass on a good tree and fail, naming the place, on each kind of bad one; bootstrap behaves."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

GOOD = {
    "gpuforge/base/text.h": "#pragma once\n#include <string>\nstd::string text();\n",
    "gpuforge/base/text.cpp": '#include "gpuforge/base/text.h"\n\n#include <fmt/format.h>\n',
    "gpuforge/base/environment.cpp": '#include <cstdlib>\nconst char* home() { return std::getenv("HOME"); }\n',
    "gpuforge/jit/jit.cpp": '#include "gpuforge/base/text.h"\n// std::cout and exit( in a comment are fine\n'
                            'const char* kText = "printf(";\n',
    "gpuforge/array/copy.cu": '#include "gpuforge/kernels/half.cuh"\n',
    ".clang-format": "BasedOnStyle: Google\n",
}


class TreeCase(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix="gpuforge_tools_"))
        self.addCleanup(shutil.rmtree, self.root)

    def write(self, files):
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_bytes(text if isinstance(text, bytes) else text.encode())

    def check(self, tool, *arguments):
        run = subprocess.run([sys.executable, ROOT / "tools" / tool, *arguments, self.root], capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr

    def assert_refused(self, tool, path, text, message, line=None):
        self.write(GOOD)
        self.assertEqual(self.check(tool)[0], 0, "the good tree must pass")
        self.write({path: text})
        code, output = self.check(tool)
        self.assertEqual(code, 1, output)
        self.assertIn(f"{path}:{line}:" if line else f"{path}:", output)
        self.assertIn(message, output)


class CheckLayers(TreeCase):
    def test_an_include_that_goes_up(self):
        self.assert_refused("check_layers", "gpuforge/base/up.h", '#pragma once\n#include "gpuforge/jit/jit.h"\n',
                            "room 'base' may not include 'jit'", 2)

    def test_an_include_that_goes_sideways(self):
        self.assert_refused("check_layers", "gpuforge/memory/pool.cpp", '#include "gpuforge/jit/jit.h"\n',
                            "may not include 'jit'", 1)

    def test_a_test_may_not_go_up_either(self):
        self.assert_refused("check_layers", "gpuforge/base/text_test.cpp", '#include "gpuforge/array/array.h"\n',
                            "may not include 'array'", 1)

    def test_a_room_nobody_wrote_down(self):
        self.assert_refused("check_layers", "gpuforge/attic/a.cpp", '#include "gpuforge/base/text.h"\n',
                            "is not in the table", 1)

    def test_the_library_including_the_command(self):
        self.assert_refused("check_layers", "gpuforge/base/a.cpp", '#include "cli/parse.h"\n', "may not include 'cli/", 1)

    def test_a_fake_for_tests_is_for_tests(self):
        self.assert_refused("check_layers", "gpuforge/base/a.cpp", '#include "tests/fake/a.h"\n', "may not include 'tests/", 1)
        (self.root / "gpuforge/base/a.cpp").rename(self.root / "gpuforge/base/a_test.cpp")
        self.assertEqual(self.check("check_layers")[0], 0)

    def test_a_relative_include(self):
        self.assert_refused("check_layers", "gpuforge/base/a.cpp", '#include "text.h"\n', "path from the root", 1)

    def test_our_header_in_angle_brackets(self):
        self.assert_refused("check_layers", "cli/a.cpp", "#include <gpuforge/base/text.h>\n", "with quotes", 1)

    def test_a_third_party_header_in_a_header(self):
        self.assert_refused("check_layers", "gpuforge/base/a.h", "#pragma once\n#include <fmt/core.h>\n", "third-party", 2)

    def test_a_third_party_header_in_a_header_of_the_command(self):
        self.assert_refused("check_layers", "cli/a.h", "#pragma once\n#include <nlohmann/json.hpp>\n", "third-party", 2)

    def test_a_header_of_nvidia(self):
        self.assert_refused("check_layers", "gpuforge/cuda/a.cpp", "#include <cuda.h>\n", "our own declarations", 1)

    def test_a_kernel_with_a_foreign_header(self):
        self.assert_refused("check_layers", "gpuforge/array/a.cu", "#include <cuda_fp16.h>\n", "own device headers", 1)

    def test_reading_the_environment(self):
        self.assert_refused("check_layers", "gpuforge/jit/a.cpp", '\nauto x = getenv("HOME");\n', "reads the environment", 2)

    def test_printing_and_ending_the_program(self):
        for line, message in [("std::cout << 1;", "prints"), ('printf("x");', "prints"), ('std::fprintf(f, "x");', "prints"),
                              ("exit(1);", "ends the program"), ("std::abort();", "ends the program"),
                              ("::_exit(2);", "ends the program"), ("std::terminate();", "ends the program")]:
            with self.subTest(line):
                self.assert_refused("check_layers", "gpuforge/jit/a.cpp", f"void f() {{\n  {line}\n}}\n", message, 2)
                (self.root / "gpuforge/jit/a.cpp").unlink()

    def test_a_function_that_only_sounds_like_one(self):
        self.write(GOOD)
        self.write({"gpuforge/jit/a.cpp": "void f() {\n  snprintf(b, 1, x);\n  on_exit_do(1);\n  stream.abort();\n}\n"})
        self.assertEqual(self.check("check_layers")[0], 0)

    def test_text_that_is_not_ascii(self):
        self.assert_refused("check_layers", "gpuforge/base/a.h", "#pragma once\n// \u03bcs\n".encode(), "ASCII", 2)

    def test_names_that_say_nothing(self):
        for path in ["gpuforge/base/utils.h", "gpuforge/common/a.h", "gpuforge/jit/string_helpers.cpp", "cli/misc.cpp",
                     "gpuforge/jit/cache_v2.cpp", "gpuforge/jit/cache_new.cpp", "examples/sum_opt.cu"]:
            with self.subTest(path):
                self.assert_refused("check_layers", path, "", "name says nothing")
                (self.root / path).unlink()

    def test_an_empty_folder_is_no_success(self):
        self.assertEqual(self.check("check_layers")[0], 2)


class CheckSizes(TreeCase):
    def test_six_hundred_lines_pass_and_one_more_does_not(self):
        self.write({"gpuforge/base/a.cpp": "\n" * 600})
        self.assertEqual(self.check("check_sizes")[0], 0)
        self.assert_refused("check_sizes", "gpuforge/base/a.cpp", "\n" * 601, "601 lines")


class CheckHeaders(TreeCase):
    def test_a_header_that_needs_its_includer(self):
        self.assert_refused("check_headers", "gpuforge/base/a.h", "#pragma once\nstd::string f();\n", "does not compile alone")

    def test_a_header_without_a_guard(self):
        self.assert_refused("check_headers", "cli/a.h", "struct A {};\n", "does not compile alone")

    def test_a_header_that_the_build_compiles_alone(self):
        header = {"gpuforge/base/b.h": "#pragma once\nstd::string g();\n"}
        self.write({**header, "gpuforge/base/b.cpp": '#include "gpuforge/base/b.h"\n'})
        self.assertEqual(self.check("check_headers")[0], 0)
        self.write({"gpuforge/base/b.cpp": '#include <string>\n#include "gpuforge/base/b.h"\n'})
        self.assertEqual(self.check("check_headers")[0], 1)


class CheckFormat(TreeCase):
    def setUp(self):
        super().setUp()
        if self.has_no_formatter():
            self.skipTest("clang-format 14 is not installed")

    def has_no_formatter(self):
        self.write(GOOD)
        return self.check("check_format")[0] == 3

    def test_refuses_then_fixes(self):
        self.assert_refused("check_format", "gpuforge/base/a.cpp", "int  f( );\n", "make format", 1)
        self.assertEqual(self.check("check_format", "--fix")[0], 0)
        self.assertEqual((self.root / "gpuforge/base/a.cpp").read_text(), "int f();\n")
        self.assertEqual(self.check("check_format")[0], 0)


class Bootstrap(TreeCase):
    """In a copy with a made-up PATH, so that nothing is ever installed from here."""

    def setUp(self):
        super().setUp()
        (self.root / "tools").mkdir()
        shutil.copy(ROOT / "bootstrap", self.root)
        shutil.copy(ROOT / "tools/nvrtc_requirements.txt", self.root / "tools")
        self.bin = self.root / "bin"
        self.bin.mkdir()
        for name in ("bash", "env", "dirname", "readlink", "sed", "head", "rm", "mv", "mkdir"):
            (self.bin / name).symlink_to(shutil.which(name))

    def command(self, name, script):
        (self.bin / name).unlink(missing_ok=True)  # never write through a link to the machine's own program
        (self.bin / name).write_text(f"#!{shutil.which('bash')}\n{script}\n")
        (self.bin / name).chmod(0o755)

    def run_bootstrap(self, *arguments, **variables):
        environment = {"PATH": str(self.bin), "HOME": str(self.root), "ROOT": str(self.root), **variables}
        run = subprocess.run([self.root / "bootstrap", *arguments], capture_output=True, text=True, env=environment)
        return run.returncode, run.stdout, run.stderr

    def test_without_root_it_prints_the_one_line_and_exits_3(self):
        self.command("id", "echo 1000")
        self.command("apt-get", "echo called >> $ROOT/log")
        code, output, talk = self.run_bootstrap()
        self.assertEqual(code, 3, talk)
        self.assertRegex(output, r"^sudo apt-get install -y .*\bcmake\b.*\n$")
        self.assertNotIn("clang-format", output)
        self.assertFalse((self.root / "log").exists())

    def test_a_sudo_that_wants_a_password_is_not_used(self):
        self.command("id", "echo 1000")
        self.command("sudo", "echo sudo >> $ROOT/log; exit 1")
        self.command("apt-get", "echo called >> $ROOT/log")
        code, output, _ = self.run_bootstrap("checks")
        self.assertEqual(code, 3)
        self.assertIn("clang-format-14", output)
        self.assertEqual((self.root / "log").read_text(), "sudo\n")

    def test_with_password_less_sudo_it_installs(self):
        self.command("id", "echo 1000")
        self.command("sudo", 'while [[ $1 == -* ]]; do shift; done; [[ $1 == true ]] && exit 0; echo sudo >> $ROOT/log; "$@"')
        self.command("apt-get", 'echo "$@" >> $ROOT/log; [[ $* == *install* ]] && for c in g++ cmake ninja python3; do '
                                'printf "#!/bin/bash\\n" > $ROOT/bin/$c; done; chmod +x $ROOT/bin/*++ $ROOT/bin/[cnp]*; true')
        self.command("chmod", f'{shutil.which("chmod")} "$@"')
        nvrtc = self.root / "lib/libnvrtc.so.13"
        nvrtc.parent.mkdir()
        nvrtc.touch()
        code, _, talk = self.run_bootstrap(GPUFORGE_LIBRARY_PATH=str(nvrtc.parent))
        self.assertEqual(code, 0, talk)
        log = (self.root / "log").read_text()
        self.assertLess(log.index("update"), log.index("install -y"))
        self.assertIn("sudo", log)

    def test_an_apt_that_fails_is_tried_again_and_then_said(self):
        self.command("id", "echo 0")
        self.command("sleep", "true")
        self.command("apt-get", 'echo "$@" >> $ROOT/log; exit 100')
        code, _, talk = self.run_bootstrap()
        self.assertEqual(code, 3)
        self.assertEqual((self.root / "log").read_text().count("install -y"), 3)
        self.assertIn("could not install", talk)

    def test_without_pypi_it_goes_on_and_says_what_compiles_kernels(self):
        for name in ("g++", "cmake", "ninja"):
            self.command(name, "true")
        self.command("python3", '[[ $* != *nvrtc_requirements* ]]')
        self.command("ldconfig", "true")
        machines_own = " /usr/local/cuda{,-*}/lib64 /opt/cuda/lib64 /usr/lib/x86_64-linux-gnu"
        text = (self.root / "bootstrap").read_text()
        self.assertIn(machines_own, text)
        (self.root / "bootstrap").write_text(text.replace(machines_own, ""))
        code, _, talk = self.run_bootstrap(CUDA_HOME=str(self.root))
        self.assertEqual(code, 0, talk)
        self.assertIn("could not bring NVRTC from PyPI", talk)
        self.assertIn("kernels are compiled by clang", talk)
        self.assertIn("for the simulator alone", talk)

    def test_an_unknown_purpose(self):
        self.assertEqual(self.run_bootstrap("chekcs")[0], 2)


if __name__ == "__main__":
    unittest.main()
