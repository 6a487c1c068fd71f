"""What the tests of the command share: a fresh folder and environment for each, and what they need or skip without.

A test file is called as  X_test.py PROGRAM [FAKE_DRIVER_FOLDER] [unittest arguments].  FAKE_DRIVER_FOLDER holds the
stand-in libcuda.so.1 of tests/fake_driver: it runs no kernels, so outputs stay as they were.
"""
import ast
import fcntl
import json
import os
import pathlib
import pty
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unittest
import unittest.mock

SAXPY = """extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""

_given = {"program": None, "fake_driver": None}


def program():
    return _given["program"]


def fake_driver_folder():
    return _given["fake_driver"]


def main():
    arguments = sys.argv[1:]
    _given["program"] = os.path.abspath(arguments.pop(0) if arguments else os.environ["GPUFORGE_PROGRAM"])
    if arguments and os.path.isdir(arguments[0]):
        _given["fake_driver"] = os.path.abspath(arguments.pop(0))
    unittest.main(module="__main__", argv=[sys.argv[0], *arguments], verbosity=2)


def npy(dtype, shape, data):
    header = repr({"descr": dtype, "fortran_order": False, "shape": tuple(shape)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def read_npy(path):
    content = pathlib.Path(path).read_bytes()
    length = struct.unpack("<H", content[8:10])[0]
    return ast.literal_eval(content[10:10 + length].decode()), content[10 + length:]


class CliTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuforge-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.cache = self.folder / "cache"
        (self.folder / "home").mkdir()
        self.environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self.folder / "home"),
            "GPUFORGE_CACHE_DIR": str(self.cache),
        }
        for name in ("CUDA_HOME", "LD_LIBRARY_PATH", "GPUFORGE_LIBRARY_PATH", "ASAN_OPTIONS"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def run_cli(self, *arguments, code=0, env=None, **options):
        result = subprocess.run([program(), *map(str, arguments)], env={**self.environment, **(env or {})},
                                cwd=options.pop("cwd", self.folder), capture_output="stdout" not in options,
                                text=True, timeout=120, **options)
        self.assertEqual(result.returncode, code, f"{arguments}\n{result.stdout}\n{result.stderr}")
        return result

    def document(self, *arguments, code=0, env=None):
        result = self.run_cli("--json", *arguments, code=code, env=env)
        document = json.loads(result.stdout)
        self.assertRegex(document["gpuforge"], r"^\d+\.\d+\.\d+")
        self.assertNotIn("\x1b", result.stdout)
        return document

    def error(self, *arguments, code, env=None):
        """The one sentence on stderr, which is also in the JSON document."""
        result = self.run_cli(*arguments, code=code, env=env)
        self.assertTrue(result.stderr.startswith("gpuforge: error: "), result.stderr)
        message = result.stderr[len("gpuforge: error: "):].strip()
        document = self.document(*arguments, code=code, env=env)
        self.assertTrue(message.startswith(document["error"]["message"]), (message, document))
        return message

    def terminal(self, *arguments, columns=60, env=None):
        """What a terminal of that width would show."""
        reader, writer = pty.openpty()
        fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([program(), *arguments], env={**self.environment, **(env or {})}, cwd=self.folder,
                                   stdout=writer, stderr=subprocess.DEVNULL)
        os.close(writer)
        text = b""
        while True:
            try:
                piece = os.read(reader, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
        os.close(reader)
        self.assertEqual(process.wait(timeout=60), 0)
        return text.decode().replace("\r\n", "\n")

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def need_nvrtc(self):
        if not hasattr(CliTest, "nvrtc_problem"):
            result = self.run_cli("compile", self.file("probe.cu", SAXPY), "--arch", "sm_80", code=unittest.mock.ANY,
                                  env={"GPUFORGE_CACHE_DIR": str(self.folder / "probe_cache")})
            CliTest.nvrtc_problem = "" if result.returncode == 0 else result.stderr.strip()
        if CliTest.nvrtc_problem:
            self.skipTest(CliTest.nvrtc_problem)

    def fake_gpu(self, **variables):
        if fake_driver_folder() is None:
            self.skipTest("the folder of the stand-in driver was not given")
        return {"GPUFORGE_LIBRARY_PATH": fake_driver_folder(), **{f"FAKE_CUDA_{k}": str(v) for k, v in variables.items()}}

    def stub_driver(self, body):
        """A libcuda.so.1 whose cuInit does `body`."""
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            self.skipTest("no C compiler to make a misbehaving driver with")
        folder = self.folder / "stub"
        folder.mkdir(exist_ok=True)
        source = self.file("stub.c", "#include <stdlib.h>\n#include <unistd.h>\n"
                           f"int cuInit(unsigned f) {{ {body} }}\n"
                           "int cuDriverGetVersion(int* v) { *v = 13000; return 0; }\n"
                           "int cuDeviceGetCount(int* n) { *n = 0; return 0; }\n")
        subprocess.run([compiler, "-shared", "-fPIC", source, "-o", folder / "libcuda.so.1"], check=True)
        return {"GPUFORGE_LIBRARY_PATH": str(folder)}
