"""Kernel files: `gpuforge new`, and `check` on what it writes, on what is wrong with it, on .ptx with a head beside it.
See cli_case.py for arguments."""
import re
import shutil
import subprocess
import sys
import time

from cli_case import CliTest, main

# y = 2 x with a reference in Python.
DOUBLE = """/* gpuforge:
operands:
  out: out T [N]
  x: in T [N]
kernel: twice
parameters: [out, x, N]
grid: ceil_div(N, 128)
block: 128
dtypes: [f32, f16]
check_shapes: [1, 127, 1000]
reference: {python: ref.py:twice}
*/
__global__ void twice(T* out, const T* x, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) out[i] = T(2 * float(x[i]));
}
"""
LISTS = "def twice(x, N):\n    assert len(x) == N\n    return [2 * value for value in x]\n"
# Enough of NumPy for the script that calls the function.
NUMPY = """import array, struct
class float64: pass
class Numbers:
    def __init__(self, values): self.values, self.shape = list(values), (len(values),)
    def __mul__(self, factor): return Numbers([factor * value for value in self.values])
    def tobytes(self): return array.array("d", self.values).tobytes()
def load(path):
    content = open(path, "rb").read()
    return Numbers(array.array("d", content[10 + struct.unpack("<H", content[8:10])[0]:]))
def asarray(value, dtype): return value
def ascontiguousarray(value): return value
"""


class KernelFiles(CliTest):
    def setUp(self):
        super().setUp()
        self.need_nvrtc()

    def check(self, file, *arguments, code=0, env=None):
        return self.run_cli("check", file, "--device", "sim", *arguments, code=code, env=env)

    def ops(self):
        return [op["name"] for op in self.document("ops")["ops"]]

    def changed(self, text, *pairs, name="k.cu"):
        for old, new in pairs:
            self.assertIn(old, text)
            text = text.replace(old, new, 1)
        return self.file(name, text)

    def made(self, like=None):
        self.run_cli("new", "mine", *(["--like", like] if like else []))
        return self.folder / "mine.cu"


class New(KernelFiles):
    def test_without_an_op_to_be_like(self):
        result = self.run_cli("new", "blend")
        self.assertEqual(result.stdout, "blend.cu\n")
        self.assertIn("next: gpuforge check blend.cu", result.stderr)
        self.assertIn("__global__ void blend(", (self.folder / "blend.cu").read_text())
        self.assertNotIn("NAME", (self.folder / "blend.cu").read_text())
        self.assertRegex(self.check("blend.cu").stdout, r"(\d+) of \1 cases passed on sim")
        self.assertIn("is not overwritten", self.error("new", "blend", code=2))

    def like(self, op):
        if op not in self.ops():
            self.skipTest(f"there is no op {op} in this program")
        path = self.made(op)
        self.assertIn(f"op: {op}", path.read_text())
        document = self.document("check", path, "--device", "sim")
        self.assertTrue(document["good"])
        self.assertEqual({case["dtype"] for case in document["cases"]}, {"f32", "f16", "bf16"})
        self.assertGreater(len(document["cases"]), 20)

    def test_like_copy_transpose(self):
        self.like("copy_transpose")

    def test_like_layer_norm(self):
        self.like("layer_norm")

    def test_like_reduce_sum(self):
        self.like("reduce_sum")

    def test_like_rms_norm(self):
        self.like("rms_norm")

    def test_like_softmax_online(self):
        self.like("softmax_online")

    def test_what_it_refuses(self):
        self.assertIn("did you mean 'softmax_online'?", self.error("new", "mine", "--like", "softmax", code=2))
        self.assertIn("letters, digits and _", self.error("new", "my-kernel", code=2))
        self.assertIn("ends in .cu", self.error("new", "mine", "-o", "mine.txt", code=2))
        (self.folder / "gone.cu").symlink_to(self.folder / "nowhere")
        self.assertIn("is there already", self.error("new", "gone", code=2))
        self.assertEqual(self.document("new", "mine", "-o", "other.cu")["file"], "other.cu")


class Mistakes(KernelFiles):
    def test_a_compile_error_has_the_line_of_the_file(self):
        path = self.made()
        lines = path.read_text().splitlines()
        (number,) = [i for i, line in enumerate(lines, 1) if "const long long first" in line]
        self.changed(path.read_text(), ("const long long first", "const long long first = nonsense, second"))
        self.assertIn(f"k.cu:{number}: error", self.error("check", "k.cu", "--device", "sim", code=1))

    def test_a_wrong_result(self):
        self.changed(self.made().read_text(), ("+ float(y[i])", "- float(y[i])"))
        result = self.check("k.cu", "--dtype", "f32", code=1)
        self.assertRegex(result.stdout, r"out\[\d+\]|out .*worst|expected")
        self.assertIn("gpuforge check k.cu --variant kernel", result.stdout.replace("\\\n", " "))

    def test_out_of_bounds(self):
        self.changed(self.made().read_text(), ("if (i < n)", "if (i <= n)"))
        self.assertRegex(self.check("k.cu", "--quick", code=1).stdout, r"out of bounds at k\.cu:\d+")

    def test_unwritten_elements(self):
        self.changed(self.made().read_text(), ("if (i < n)", "if (i + 1 < n)"))
        self.assertIn("never written", self.check("k.cu", "--quick", code=1).stdout)

    def test_a_kernel_that_does_not_end_is_ended(self):
        self.changed(self.made().read_text(),
                     ("  const long long first", "  volatile T* flag = out;\n  do flag[0] = T(1); while (float(flag[0]) == 1);\n  const long long first"))
        began = time.monotonic()
        result = self.check("k.cu", "--dtype", "f32", "--time-limit", "2", code=1)
        self.assertLess(time.monotonic() - began, 60)
        self.assertIn("gave no answer in 2 s", result.stdout)
        self.assertIn("it was not run", result.stdout)

    def test_in_this_process(self):
        path = self.made()
        self.check(path, "--no-isolate", "--quick")

    def test_a_broken_head(self):
        text = self.made().read_text()
        for old, new, expected in (("kernel: mine\n", "kernl: mine\n", r"k\.cu:7: .*kernel"),
                                   ("grid: ceil_div(N,", "grid: ceil_div(M,", r"k\.cu:9: .*there is no 'M'"),
                                   ("  x: in T [N]", "  x: in T [N", r"k\.cu:5: expected ROLE DTYPE"),
                                   ("block: BLOCK", "block: [", r"k\.cu:1\d: "),
                                   ("/* gpuforge:", "/* gpuforg:", r"k\.cu: there is no head")):
            self.changed(text, (old, new))
            self.assertRegex(self.error("check", "k.cu", "--device", "sim", code=2), expected)

    def test_shapes_the_kernel_does_not_take(self):
        self.changed(self.made().read_text(), ("cost:", "requires: [N % 4 == 0]\ncost:"))
        self.assertRegex(self.check("k.cu", "--quick").stdout, "cases passed")
        message = self.error("check", "k.cu", "--device", "sim", "--shape", "7", code=2)
        self.assertIn("the kernel requires N % 4 == 0; here N = 7", message)

    def test_what_does_not_run_kernels(self):
        self.assertIn("--device sim", self.error("check", self.made(), "--device", "cpu", code=2))

    def test_a_name_that_is_a_file(self):
        self.made()
        self.assertIn("did you mean the file mine.cu?", self.error("check", "mine", code=2))
        self.assertIn("no.cu", self.error("check", "no.cu", code=2))


class PythonReference(KernelFiles):
    def setUp(self):
        super().setUp()
        # A python3 of ours on PATH, which sees no packages of this machine.
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        python = self.bin / "python3"
        python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
        python.chmod(0o755)
        self.environment["PATH"] = f"{self.bin}:/usr/bin:/bin"

    def test_with_lists(self):
        self.changed(DOUBLE, ("ref.py:twice", "ref.py:twice, arrays: lists"))
        self.file("ref.py", LISTS)
        self.assertRegex(self.check("k.cu").stdout, r"(\d+) of \1 cases passed")
        self.file("ref.py", LISTS.replace("2 *", "3 *"))
        self.assertIn("FAILED", self.check("k.cu", code=1).stdout)
        self.assertFalse((self.folder / "__pycache__").exists(), "what is compiled may be older than it seems")

    def test_without_numpy(self):
        self.changed(DOUBLE)
        self.file("ref.py", LISTS)
        message = self.error("check", "k.cu", "--device", "sim", code=3)
        self.assertRegex(message, r"k\.cu:11: .*has no NumPy")

    def test_with_numpy(self):
        self.changed(DOUBLE)
        self.file("ref.py", "import numpy\n\ndef twice(x):\n    return x * 2\n")
        self.file("numpy.py", NUMPY)
        self.check("k.cu", env={"PYTHONPATH": str(self.folder)})

    def test_its_traceback_is_shown(self):
        self.changed(DOUBLE, ("ref.py:twice", "ref.py:twice, arrays: lists"))
        self.file("ref.py", "def twice(x):\n    return x.nonsense\n")
        message = self.error("check", "k.cu", "--device", "sim", code=2)
        self.assertIn('ref.py", line 2', message)
        self.assertIn("AttributeError", message)

    def test_without_python(self):
        self.changed(DOUBLE)
        self.file("ref.py", LISTS)
        message = self.error("check", "k.cu", "--device", "sim", code=3, env={"PATH": str(self.folder / "empty")})
        self.assertIn("needs python3", message)


class RealNumpy(KernelFiles):
    def setUp(self):
        super().setUp()
        for path in (self.environment["PATH"], "/usr/bin:/bin"):  # Debian's python3 need not be the first
            python = shutil.which("python3", path=path)
            found = python and subprocess.run([python, "-c", "import numpy"], capture_output=True, text=True)
            if found and found.returncode == 0:
                self.environment["PATH"] = path
                return
        self.skipTest(f"no python3 here has NumPy: {found.stderr.strip().splitlines()[-1]}" if found else "there is no python3")

    def test_arrays_go_there_and_back(self):
        self.changed(DOUBLE, ("out: out T [N]", "out: out T [M, N]\n  sums: out f32 [M]"), ("x: in T [N]", "x: in T [M, N]"),
                     ("[out, x, N]", "[out, sums, x, M, N]"), ("ceil_div(N, 128)", "M"),
                     ("[1, 127, 1000]", "[1x1, 3x127, 2x1000]"), ("ref.py:twice", "ref.py:twice_and_sums"),
                     ("(T* out, const T* x, int n)", "(T* out, float* sums, const T* x, int, int n)"),
                     ("  const int i = blockIdx.x * 128 + threadIdx.x;\n  if (i < n) out[i] = T(2 * float(x[i]));",
                      "  const int row = blockIdx.x * n;\n  if (threadIdx.x != 0) return;\n  double sum = 0;\n"
                      "  for (int i = 0; i < n; ++i) {\n    out[row + i] = T(2 * float(x[row + i]));\n    sum += float(x[row + i]);\n  }\n"
                      "  sums[blockIdx.x] = sum;"))
        # A view with other strides, a row vector that is broadcast, and numbers that are not double.
        self.file("ref.py", "import numpy as np\n\ndef twice_and_sums(x, M, N):\n    assert x.shape == (M, N) and x.dtype == np.float64\n"
                  "    return (x.T * np.full((1, M), 2)).T, x.sum(axis=1).astype(np.float32)\n")
        self.assertRegex(self.check("k.cu").stdout, r"(\d+) of \1 cases passed")
        self.file("ref.py", "import numpy as np\n\ndef twice_and_sums(x):\n    return 2 * x, x.sum(axis=0)\n")
        message = self.error("check", "k.cu", "--device", "sim", "--shape", "3x127", code=2)
        self.assertIn("the result for sums should have shape [3], and it has [127]", message)


class Isolation(KernelFiles):
    """What goes wrong in the process of a kernel file costs one row."""

    def setUp(self):
        super().setUp()
        self.changed(DOUBLE, ("ref.py:twice", "ref.py:twice, arrays: lists"))
        self.file("ref.py", "import os, signal\n\ndef twice(x, N):\n    if N == 127: os.kill(os.getppid(), signal.SIGKILL)\n"
                  "    return [2 * value for value in x]\n")

    def test_a_killed_process_is_one_row_of_bench(self):
        result = self.run_cli("bench", "k.cu", "--sizes", "1,127,1000", "--dtypes", "f32", "--device", "sim", code=1)
        rows = re.findall(r"^k +kernel +f32 +(\d+) .* (yes|FAILED)$", result.stdout, re.M)
        self.assertEqual(rows, [("1", "yes"), ("127", "FAILED"), ("1000", "yes")])
        self.assertIn("k kernel f32 127 failed: its process ended by signal 9 (Killed)", result.stderr)

    def test_a_killed_process_is_one_case_of_check(self):
        document = self.document("check", "k.cu", "--device", "sim", "--dtype", "f32", "--contents", "normal", code=1)
        failed = {str(case["shape"]): case["complaints"] for case in document["cases"] if not case["good"]}
        self.assertEqual(list(failed), ["[127]"])
        self.assertEqual(failed["[127]"], ["its process ended by signal 9 (Killed)"])
        self.assertEqual(document["passed"], 2)

    def test_a_lost_device_is_lost_to_one_case(self):
        gpu = self.fake_gpu(SM=190, FAIL="cuLaunchKernel:700")
        self.file("ref.py", LISTS)
        result = self.run_cli("bench", "k.cu", "--sizes", "8,9", "--dtypes", "f32", "--device", "cuda:0", code=1, env=gpu)
        self.assertEqual(len(re.findall(r"k kernel f32 \d failed: the launch failed: ", result.stderr)), 2, result.stderr)
        result = self.run_cli("check", "k.cu", "--dtype", "f32", "--device", "cuda:0", "--failures", "100", code=1, env=gpu)
        self.assertIn("the launch failed", result.stdout)
        self.assertNotIn("was not run", result.stdout)


class Later(KernelFiles):
    def test_a_kernel_that_is_wrong_from_its_third_call_on_fails_in_bench(self):
        self.changed(DOUBLE, ("ref.py:twice", "ref.py:twice, arrays: lists"), ("__global__", "__device__ int calls;\n__global__"),
                     ("  if (i < n)", "  const int before = calls;\n  __syncthreads();\n  if (threadIdx.x == 0) calls = before + 1;\n  if (i < n)"),
                     ("T(2 *", "T((before < 2 ? 2 : 3) *"))
        self.file("ref.py", LISTS)
        self.check("k.cu", "--dtype", "f32", "--shape", "100", "--contents", "normal")
        result = self.run_cli("bench", "k.cu", "--sizes", "100", "--dtypes", "f32", "--device", "sim", code=1)
        self.assertIn("it was right when it was verified, and wrong in later calls: ", result.stderr)


class Ptx(KernelFiles):
    def test_what_compile_writes(self):
        self.file("ref.py", LISTS)
        self.file("k.cu", DOUBLE.replace("T(", "float(").replace("T*", "float*"))
        self.run_cli("compile", "k.cu", "--arch", "compute_80", "-o", "twice.ptx")
        (entry,) = re.findall(r"\.entry (\w+)", (self.folder / "twice.ptx").read_text())
        self.file("twice.yaml", f"""operands:
  out: out f32 [N]
  x: in f32 [N]
kernel: {entry}
parameters: [out, x, N]
grid: ceil_div(N, 128)
block: 128
reference: {{python: ref.py:twice, arrays: lists}}
""")
        for name in ("twice.ptx", "twice.yaml"):
            self.assertRegex(self.check(name).stdout, r"(\d+) of \1 cases passed")
        (self.folder / "twice.yaml").rename(self.folder / "else.yaml")
        self.assertIn("expected twice.yaml beside it", self.error("check", "twice.ptx", code=2))


if __name__ == "__main__":
    main()
