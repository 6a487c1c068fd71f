"""The library as others use it: installed and found, and as a subdirectory. Also what the program needs to run.
Environment: GPUFORGE_BUILD, a finished build folder of this tree."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["GPUFORGE_BUILD"])
THIRD_PARTY = ("fmt", "nlohmann_json", "xxHash", "yaml-cpp", "GTest", "benchmark")


def run(*command, **options):
    """The command's output; a failed one fails the test with all it said."""
    result = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if result.returncode != 0:
        raise AssertionError(f"{' '.join(str(c) for c in command)}: exit {result.returncode}\n{result.stdout}")
    return result.stdout


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="gpuforge_package_"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.prefix = cls.folder / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)

    def build_outside(self, name, *options):
        build = self.folder / name
        run("cmake", "-S", ROOT / "examples/outside", "-B", build, "-G", "Ninja", *options)
        run("cmake", "--build", build)
        environment = {**os.environ, "GPUFORGE_CACHE_DIR": str(self.folder / "cache")}
        output = run(build / "outside", env=environment, cwd=self.folder)
        self.assertIn("array([[0., 3.],", output)
        self.assertIn("device=cpu", output)
        self.assertRegex(output, r"twice: \d+ registers on sm_90a|NVRTC JIT compiler not available")

    def test_installed_and_found(self):
        # A user has none of the libraries we were built with.
        without = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in THIRD_PARTY]
        self.build_outside("found", f"-DCMAKE_PREFIX_PATH={self.prefix}", *without)

    def test_as_a_subdirectory(self):
        launcher = shutil.which("ccache")
        self.build_outside("subdirectory", f"-DGPUFORGE_SOURCE={ROOT}",
                           *([f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"] if launcher else []))

    def test_the_exported_targets_name_no_third_party_and_no_build_folder(self):
        for file in self.prefix.rglob("*.cmake"):
            text = file.read_text()
            self.assertIsNone(re.search(r"fmt|nlohmann|xxhash|yaml", text, re.I), file)
            self.assertNotIn(str(BUILD), text, file)
            self.assertNotIn(str(ROOT), text, file)

    def test_what_reads_yaml_travels_inside_the_library(self):
        library = next(self.prefix.rglob("libgpuforge_base.a"))
        self.assertRegex(run("nm", "-C", "--defined-only", library), r" T YAML::LoadAll\(")

    def test_every_header_the_installed_ones_include_is_installed(self):
        headers = {str(h.relative_to(self.prefix / "include")) for h in (self.prefix / "include").rglob("*.h")}
        self.assertIn("gpuforge/array/array.h", headers)
        for header in sorted(headers):
            for name in re.findall(r'^#include "([^"]+)"', (self.prefix / "include" / header).read_text(), re.M):
                self.assertIn(name, headers, f"{header} includes it")

    def test_the_program_is_installed_and_runs(self):
        output = run(self.prefix / "bin/gpuforge", "--version", cwd="/")
        self.assertIn("0.1.0", output)
        self.assertTrue(any(self.prefix.rglob("LICENSE")))
        for file in ("bash-completion/completions/gpuforge", "zsh/site-functions/_gpuforge",
                     "fish/vendor_completions.d/gpuforge.fish"):
            self.assertIn("doctor", (self.prefix / "share" / file).read_text())

    def test_another_minor_version_is_refused(self):
        probe = self.folder / "probe"
        probe.mkdir()
        (probe / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.22)\nproject(probe LANGUAGES CXX)\nfind_package(gpuforge 0.2 REQUIRED)\n")
        with self.assertRaises(AssertionError) as failure:
            run("cmake", "-S", probe, "-B", probe / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.assertIn("0.1.0", str(failure.exception))


class Program(unittest.TestCase):
    """One build serves every machine: no CUDA library, no libstdc++, no symbol newer than Debian 12's glibc."""

    PROGRAM = BUILD / "bin/gpuforge"

    def test_it_links_the_c_library_alone(self):
        output = run("ldd", self.PROGRAM)
        libraries = {line.split()[0].split("/")[-1] for line in output.splitlines() if line.strip()}
        allowed = {"linux-vdso.so.1", "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
                   "ld-linux-x86-64.so.2"}
        self.assertIn("libc.so.6", libraries)
        self.assertEqual(libraries - allowed, set())

    def test_it_runs_on_glibc_2_36_and_later(self):
        versions = {tuple(int(n) for n in v.split(".")) for v in
                    re.findall(r"GLIBC_(\d+\.\d+(?:\.\d+)?)", run("readelf", "--version-info", self.PROGRAM))}
        self.assertTrue(versions)
        self.assertLessEqual(max(versions), (2, 36))


if __name__ == "__main__":
    unittest.main()
