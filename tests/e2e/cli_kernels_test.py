"""Compiling, caching and running kernels with the command, also wrongly. See cli_case.py for arguments."""
import json
import os
import pathlib
import resource
import signal
import struct
import subprocess
import time

from cli_case import SAXPY, CliTest, main, npy, program, read_npy


class Compile(CliTest):
    def setUp(self):
        super().setUp()
        self.need_nvrtc()
        self.source = self.file("saxpy.cu", SAXPY)

    def test_reports_resources(self):
        text = self.run_cli("compile", self.source, "--arch", "sm_90a").stdout
        self.assertRegex(text, r"saxpy +sm_90a +\d+ +0 B +0 B +0 B +100% \(threads\) +[\d.]+ m?s")
        self.assertIn("saxpy(int n, float a, const float* x, float* y)", text)
        result = self.document("compile", self.source, "--arch", "sm_90a")["results"][0]
        self.assertTrue(result["cached"])
        self.assertGreater(result["compile_ms"], 0)
        entry = result["entries"][0]
        self.assertGreater(entry["registers"], 0)
        self.assertEqual((entry["spill_store_bytes"], entry["static_shared_bytes"]), (0, 0))
        self.assertEqual(entry["occupancy"]["limited_by"], "threads")
        self.assertEqual([(p["declared_type"], p["name"], p["bytes"]) for p in entry["parameters"]],
                         [("int", "n", 4), ("float", "a", 4), ("const float*", "x", 8), ("float*", "y", 8)])

    def test_one_error_is_shown_once_and_several_all(self):
        one = self.file("one.cu", 'extern "C" __global__ void k(float* y) { y[0] = z; }\n')
        self.assertEqual(self.run_cli("compile", one, "--arch", "sm_80", code=1).stderr.count("is undefined"), 1)
        two = self.file("two.cu", 'extern "C" __global__ void k(float* y) {\n  y[0] = z;\n  y[1] = w;\n}\n')
        shown = self.run_cli("compile", two, "--arch", "sm_80", code=1).stderr
        self.assertIn('identifier "w" is undefined', shown)
        self.assertLess(shown.index('two.cu:2: error: identifier "z"'), shown.index('"w"'))

    def test_every_listed_arch(self):
        results = self.document("compile", self.source, "--arch", "all")["results"]
        self.assertEqual([r["arch"] for r in results], ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"])

    def test_templates_defines_includes_options(self):
        (self.folder / "headers").mkdir()
        (self.folder / "headers/scale.cuh").write_text("#define SCALE 3\n")
        source = self.file("t.cu", "#include \"scale.cuh\"\ntemplate <typename T> __global__ void f(T* p) "
                           "{ p[threadIdx.x] *= SCALE * EXTRA; }\n")
        document = self.document("compile", source, "--arch", "sm_80", "--instantiate", "f<float>", "--instantiate",
                                 "f<double>", "-DEXTRA=2", "-I", "headers", "--option=--maxrregcount=32")
        self.assertEqual(sorted(e["expression"] for e in document["results"][0]["entries"]), ["f<double>", "f<float>"])

    def test_shared_memory_limits_occupancy(self):
        source = self.file("s.cu", 'extern "C" __global__ void s(float* p) { __shared__ float t[10000]; '
                           "t[threadIdx.x] = p[threadIdx.x]; __syncthreads(); p[threadIdx.x] = t[threadIdx.x ^ 1]; }\n")
        entry = self.document("compile", source, "--arch", "sm_80", "--block", "64")["results"][0]["entries"][0]
        self.assertEqual(entry["static_shared_bytes"], 40000)
        self.assertEqual(entry["occupancy"]["limited_by"], "shared memory")

    def test_spills_are_warned_about(self):
        names = [f"v{i}" for i in range(96)]
        body = " ".join(f"float {n} = p[threadIdx.x + {i} * 1024];" for i, n in enumerate(names))
        body += " __syncthreads(); float s = 0; " + " ".join(f"s = s * {n} + q[(int){n}];" for n in names)
        body += " ".join(f"p[threadIdx.x + {i} * 1024] = {n} + s;" for i, n in enumerate(names))
        source = self.file("spill.cu", f'extern "C" __global__ void spill(float* p, float* q) {{ {body} }}\n')
        result = self.run_cli("compile", source, "--arch", "sm_80", "--option=--maxrregcount=32")
        self.assertRegex(result.stderr, "gpuforge: warning: .*spill")
        self.run_cli("compile", source, "--arch", "sm_80", "--option=--maxrregcount=32", "--strict", "-q", code=3)

    def test_writes_what_was_asked_for(self):
        self.run_cli("compile", self.source, "--arch", "sm_80", "-o", "a.cubin")
        self.assertEqual((self.folder / "a.cubin").read_bytes()[:4], b"\x7fELF")
        self.run_cli("compile", self.source, "--arch", "sm_80", "-o", "a.ptx")
        self.assertIn(".visible .entry saxpy", (self.folder / "a.ptx").read_text())
        self.run_cli("compile", self.source, "--arch", "compute_80", "--ptx", "-o", "b.txt")
        self.assertIn(".target sm_80", (self.folder / "b.txt").read_text())
        document = self.document("compile", self.source, "--arch", "sm_80", "--arch", "sm_90a", "-o", "out")
        self.assertEqual(sorted(p.name for p in (self.folder / "out").iterdir()),
                         ["saxpy.sm_80.cubin", "saxpy.sm_80.ptx", "saxpy.sm_90a.cubin", "saxpy.sm_90a.ptx"])
        self.assertEqual(len(document["results"][0]["written"]), 2)

    def test_output_mistakes(self):
        both = ("compile", self.source, "--arch", "sm_80", "--arch", "sm_86")
        self.assertIn("name a folder", self.error(*both, "-o", "x.ptx", code=2))
        self.assertIn("add -o PATH", self.error("compile", self.source, "--arch", "sm_80", "--ptx", code=2))
        self.assertIn("no machine code", self.error("compile", self.source, "--arch", "compute_80", "-o", "x.cubin", code=2))
        self.assertIn("does not go with", self.error("compile", self.source, "--arch", "sm_80", "--cubin", "-o", "x.ptx", code=2))
        self.file("taken", "")
        self.assertIn("taken", self.error(*both, "-o", "taken", code=2))
        self.assertIn("nowhere", self.error("compile", self.source, "--arch", "sm_80", "-o", "nowhere/x.ptx", code=2))

    def test_a_full_disk_loses_nothing(self):
        (self.folder / "old.cubin").write_text("the old one")
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))
        result = self.run_cli("compile", self.source, "--arch", "sm_80", "-o", "old.cubin", code=3, preexec_fn=limit,
                              restore_signals=False)
        self.assertIn("old.cubin", result.stderr)
        self.assertEqual((self.folder / "old.cubin").read_text(), "the old one")
        self.assertEqual([p.name for p in self.folder.rglob("*") if "tmp" in p.name], [])
        if os.path.exists("/dev/full"):
            self.assertIn("No space left", self.error("compile", self.source, "--arch", "sm_80", "--ptx", "-o", "/dev/full", code=3))

    def test_ptx_files_are_listed(self):
        self.run_cli("compile", self.source, "--arch", "compute_80", "-o", "k.ptx")
        document = self.document("compile", "k.ptx")["results"][0]
        self.assertEqual(document["entries"][0]["name"], "saxpy")
        self.assertEqual([p["bytes"] for p in document["entries"][0]["parameters"]], [4, 4, 8, 8])
        self.assertIn("is PTX already", self.error("compile", "k.ptx", "--arch", "sm_80", code=2))
        self.error("compile", self.file("bad.ptx", "this is no PTX"), code=2)

    def test_compile_errors_show_the_place(self):
        source = self.file("bad.cu", 'extern "C" __global__ void k(float* p) {\n  p[0] = undefined_thing;\n}\n')
        result = self.run_cli("compile", source, "--arch", "sm_80", code=1)
        self.assertIn("bad.cu:2", result.stderr.replace("(2)", ":2"))
        self.assertIn("undefined_thing", result.stderr)
        self.assertIn("^", result.stderr)
        document = self.document("compile", source, "--arch", "sm_80", code=1)
        self.assertEqual(document["error"]["code"], "compile")
        self.assertIn("undefined_thing", document["error"]["detail"])

    def test_bad_input(self):
        self.assertIn("No such file", self.error("compile", "none.cu", "--arch", "sm_80", code=2))
        self.assertIn("sm_80", self.error("compile", self.source, "--arch", "sm_8", code=2))
        self.assertIn("sm_80", self.error("compile", self.source, "--arch", "sm_75", code=2))
        self.error("compile", self.source, "--arch", "sm_999", code=2)
        self.assertIn("saxpy", self.error("compile", self.source, "--arch", "sm_80", "--kernel", "nope", code=2))
        self.error("compile", self.folder, "--arch", "sm_80", code=2)
        self.assertIn("1 to 1024", self.error("compile", self.source, "--block", "0", code=2))
        self.assertIn("NVRTC JIT compiler not available",
                      self.error("compile", self.source, "--arch", "sm_80", code=3, env={"GPUFORGE_LIBRARY_PATH": "none"}))

    def test_a_cache_folder_that_is_a_file_costs_one_warning(self):
        self.file("cache", "a file")
        result = self.run_cli("compile", self.source, "--arch", "sm_80", "--arch", "sm_86")
        self.assertEqual(result.stderr.count("warning"), 1, result.stderr)
        self.assertIn("cache", result.stderr)
        self.run_cli("compile", self.source, "--arch", "sm_80", "--strict", code=3)
        self.assertEqual((self.folder / "cache").read_text(), "a file")

    def test_two_processes_at_once(self):
        command = [program(), "compile", str(self.source), "--arch", "all", "--json"]
        processes = [subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                     for _ in range(2)]
        results = [(p.communicate(timeout=120), p.returncode) for p in processes]
        for (out, err), code in results:
            self.assertEqual((code, err), (0, b""))
            self.assertEqual(len(json.loads(out)["results"]), 6)
        self.assertEqual(self.document("cache", "verify")["bad"], 0)
        self.assertEqual(self.document("cache", "list")["count"], 6)


class Cache(CliTest):
    def test_list_size_verify_clear_path(self):
        self.assertEqual(self.run_cli("cache", "path").stdout, f"{self.cache}\n")
        self.assertEqual(self.document("cache")["entries"], [])
        self.need_nvrtc()
        source = self.file("saxpy.cu", SAXPY)
        self.run_cli("compile", source, "--arch", "sm_80", "--arch", "sm_90a")
        listed = self.document("cache", "list")
        self.assertEqual(sorted(e["arch"] for e in listed["entries"]), ["sm_80", "sm_90a"])
        self.assertEqual({e["name"] for e in listed["entries"]}, {"saxpy"})
        self.assertEqual(self.document("cache", "size")["bytes"], sum(e["bytes"] for e in listed["entries"]))
        self.assertIn("all of 2 entries good", self.run_cli("cache", "verify").stdout)
        victim = pathlib.Path(listed["entries"][0]["folder"]) / "kernel.ptx"
        victim.write_text("damaged")
        result = self.run_cli("cache", "verify", code=1)
        self.assertIn("bad: saxpy", result.stdout)
        self.assertIn("will be rebuilt", result.stdout)
        self.assertEqual(self.document("cache", "verify", code=1)["bad"], 1)
        self.run_cli("compile", source, "--arch", "sm_80", "--arch", "sm_90a")
        self.assertEqual(self.document("cache", "verify")["bad"], 0)
        self.assertRegex(self.run_cli("cache", "clear").stdout, r"^removed 2 entries \([\d.]+ KiB\) from ")
        self.assertEqual(self.document("cache")["count"], 0)
        self.assertEqual(self.document("cache", "clear")["removed"], 0)

    def test_a_file_in_its_place(self):
        self.file("cache", "a file")
        for action in ("list", "size", "verify", "clear"):
            self.assertIn("found a file", self.error("cache", action, code=2))
        self.assertEqual((self.folder / "cache").read_text(), "a file")

    def test_the_limit_is_kept(self):
        self.need_nvrtc()
        self.run_cli("compile", self.file("saxpy.cu", SAXPY), "--arch", "all", "--cache-limit", "20KiB")
        self.assertLessEqual(self.document("cache", "size")["bytes"], 20 * 1024)

    def test_without_a_home(self):
        environment = {"PATH": self.environment["PATH"]}
        result = subprocess.run([program(), "cache"], env=environment, capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("--cache-dir", result.stderr)


class RunMistakes(CliTest):
    """What is wrong with a launch is said before anything is launched, with or without a GPU."""

    def setUp(self):
        super().setUp()
        self.source = self.file("saxpy.cu", SAXPY)

    def run_error(self, *arguments, code=2, env=None, source=None):
        return self.error("run", source or self.source, "--grid", "4", "--block", "256", *arguments, code=code, env=env)

    def test_without_a_compiler(self):
        self.assertIn("--grid is missing", self.error("run", self.source, "--block", "1", code=2))
        self.assertIn("whole numbers from 1", self.error("run", self.source, "--grid", "0", "--block", "1", code=2))
        self.assertIn("No such file", self.run_error(source="none.cu"))
        self.assertIn("at position 10", self.run_error("--arg", "in:f32[4,x]=zeros"))
        self.assertIn("none.npy", self.run_error("--arg", "in:@none.npy"))
        self.file("bad.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': 'nope'")
        self.assertIn("bad.npy", self.run_error("--arg", "in:@bad.npy"))
        self.file("short.npy", npy("<f4", (4,), b"1234"))
        self.assertIn("short.npy", self.run_error("--arg", "in:@short.npy"))
        self.assertIn("there is no such device", self.run_error("--device", "tpu"))
        self.assertIn("cpu runs no kernels", self.run_error("--device", "cpu"))

    def test_against_the_kernel(self):
        self.need_nvrtc()
        none = {"GPUFORGE_DEVICE": "cuda:63"}  # no device: still everything else is checked first
        self.assertIn("there is: saxpy", self.run_error("--kernel", "nope", env=none))
        self.assertIn("saxpy takes 4 arguments (int n, float a, const float* x, float* y), got 1",
                      self.run_error("--arg", "i32:4", env=none))
        good = ["--arg", "i32:4", "--arg", "f32:2", "--arg", "in:f32[4]=ones", "--arg", "inout:f32[4]=ones"]
        wrong = ["--arg", "i32:4", "--arg", "i32:2", *good[4:]]
        self.assertIn("parameter 1 'a' is float", self.run_error(*wrong, env=none))
        wrong = ["--arg", "i64:4", *good[2:]]
        self.assertIn("parameter 0 'n' is int (4 bytes), got i64 (8 bytes)", self.run_error(*wrong, env=none))
        two = self.file("two.cu", SAXPY + 'extern "C" __global__ void other() {}\n')
        self.assertIn("--kernel is needed", self.run_error(env=none, source=two))
        bad = self.file("bad.cu", 'extern "C" __global__ void k() { oops }\n')
        self.run_error(code=1, env=none, source=bad)
        self.run_error(*good, code=3, env=none)

    def test_no_device_at_all(self):
        nothing = {"GPUFORGE_LIBRARY_PATH": "none", "PATH": "/nonexistent"}
        self.assertIn("CUDA driver not detected", self.run_error("--device", "cuda", code=3, env=nothing))
        # The simulator is there, but nothing to compile with.
        self.assertIn("NVRTC JIT compiler not available", self.run_error("--device", "sim", code=3, env=nothing))


class RunOnTheStandIn(CliTest):
    """Everything around a launch, on a driver that runs no kernels."""

    def setUp(self):
        super().setUp()
        self.need_nvrtc()
        self.source = self.file("saxpy.cu", SAXPY)
        # A chip no NVRTC knows gets PTX, whose parameters the stand-in can read.
        self.gpu = self.fake_gpu(SM=190)
        self.good = ["--arg", "i32:4", "--arg", "f32:2", "--arg", "in:f32[4]=arange", "--arg", "y=inout:f32[4]=[1,2,3,nan]"]

    def launch(self, *arguments, code=0, env=None):
        return self.run_cli("run", self.source, "--grid", "1", "--block", "32", *arguments, code=code, env=env or self.gpu)

    def test_prints_like_numpy_and_says_what_ran(self):
        result = self.launch(*self.good)
        self.assertRegex(result.stdout, r"^y = array\(\[ *1\., *2\., *3\., *nan\], dtype=f32, device=cuda:0\)\n$")
        self.assertIn("saxpy(int n, float a, const float* x, float* y) on cuda:0", result.stderr)

    def test_json_has_values_and_bytes(self):
        document = self.document("run", self.source, "--grid", "1", "--block", "32", *self.good, env=self.gpu)
        self.assertEqual(document["kernel"], "saxpy")
        self.assertEqual(document["config"]["block"], [32, 1, 1])
        output = document["outputs"][0]
        self.assertEqual((output["name"], output["dtype"], output["shape"]), ("y", "f32", [4]))
        self.assertEqual(output["values"], [1.0, 2.0, 3.0, "NaN"])
        self.assertEqual(bytes.fromhex(output["hex"])[:12], struct.pack("<3f", 1, 2, 3))
        self.assertGreaterEqual(document["time"]["min_ms"], 0)

    def test_every_dtype_goes_in_and_out(self):
        text = 'extern "C" __global__ void touch(void* a, void* b) {}\n'
        self.source = self.file("touch.cu", text)
        for dtype in "f64 f32 f16 bf16 f8e4m3 f8e5m2 i64 i32 i16 i8 u8 bool".split():
            document = self.document("run", self.source, "--grid", "1", "--block", "1", "--arg",
                                     f"a=inout:{dtype}=[[0,1],[1,0]]", "--arg", f"b=out:{dtype}[3]", env=self.gpu)
            self.assertEqual(document["outputs"][0]["values"],
                             [[False, True], [True, False]] if dtype == "bool" else [[0, 1], [1, 0]], dtype)
            self.assertIn("b was never written by the kernel", document["warnings"], dtype)

    def test_saves_npy_and_raw(self):
        result = self.launch(*self.good, "--save", "y=y.npy")
        self.assertEqual(result.stdout, "y saved to y.npy\n")
        header, data = read_npy(self.folder / "y.npy")
        self.assertEqual((header["descr"], header["shape"]), ("<f4", (4,)))
        self.assertEqual(struct.unpack("<3f", data[:12]), (1, 2, 3))
        self.launch(*self.good, "--save", "y=deep/y.bin")
        self.assertEqual((self.folder / "deep/y.bin").read_bytes(), data)
        self.launch(*self.good, "--out-dir", "all")
        self.assertEqual(read_npy(self.folder / "all/y.npy"), (header, data))
        self.launch(*self.good[:6], "--arg", "y=inout:@y.npy", "--save", "y=again.npy")
        self.assertEqual(read_npy(self.folder / "again.npy")[1], data)
        if os.path.exists("/dev/full"):
            self.assertIn("No space left", self.launch(*self.good, "--save", "y=/dev/full", code=3).stderr)

    def test_unwritten_and_zero_outputs_are_warned_about(self):
        result = self.launch(*self.good[:6], "--arg", "out:f32[4]")
        self.assertIn("warning: arg3 was never written by the kernel", result.stderr)
        result = self.launch(*self.good[:6], "--arg", "y=inout:f32[4]=zeros")
        self.assertIn("warning: y is all zero", result.stderr)
        self.launch(*self.good[:6], "--arg", "y=inout:f32[4]=zeros", "--strict", code=3)

    def test_a_wrong_element_type_is_warned_about(self):
        result = self.launch(*self.good[:4], "--arg", "in:i32[4]=arange", *self.good[6:])
        self.assertIn("warning: parameter 'x' is declared const float*, but its array holds i32", result.stderr)

    def test_the_seed_decides_random_numbers_and_is_told(self):
        random = [*self.good[:6], "--arg", "y=inout:f32[64]=random"]
        first = self.launch(*random)
        self.assertIn("seed 42", first.stderr)
        self.assertEqual(first.stdout, self.launch(*random).stdout)
        self.assertNotEqual(first.stdout, self.launch(*random, "--seed", "7").stdout)

    def test_repeat_gives_times(self):
        self.assertIn("of 5 launches", self.launch(*self.good, "--repeat", "5").stderr)

    def test_limits_of_the_device(self):
        self.assertIn("shared", self.launch(*self.good, "--shared", "1GiB", code=2).stderr)
        big = ["--arg", "i32:4", "--arg", "f32:2", "--arg", "in:f32[2^40]=zeros", "--arg", "out:f32[4]"]
        message = self.launch(*big, code=3).stderr
        self.assertRegex(message, r"the arrays need 4\.0 TiB, but cuda:0 has .* free")
        result = self.run_cli("run", self.source, "--grid", "1", "--block", "2048", *self.good, code=2, env=self.gpu)
        self.assertIn("cuda:0", result.stderr)

    def test_a_fault_of_the_kernel_is_exit_code_1(self):
        message = self.launch(*self.good, code=1, env=self.fake_gpu(SM=190, FAIL="cuLaunchKernel:700")).stderr
        self.assertIn("saxpy", message)

    def test_out_of_memory_is_exit_code_3(self):
        message = self.launch(*self.good, code=3, env=self.fake_gpu(SM=190, FAIL="cuMemCreate:2")).stderr
        self.assertIn("cuda:0", message)

    def test_ptx_files_run(self):
        self.run_cli("compile", self.source, "--arch", "compute_80", "-o", "k.ptx")
        self.source = self.folder / "k.ptx"
        self.assertIn("y = array", self.launch(*self.good).stdout)
        self.assertIn("takes 4 arguments", self.launch("--arg", "i32:1", code=2).stderr)


class RunOnAGpu(CliTest):
    def setUp(self):
        super().setUp()
        devices = self.document("devices")["devices"]
        usable = [d for d in devices if d["kind"] == "cuda" and d["usable"]]
        if not usable:
            self.skipTest("needs a GPU: " + next(d["reason"] for d in devices if d["kind"] == "cuda"))
        self.need_nvrtc()
        self.source = self.file("saxpy.cu", SAXPY)

    def values(self, *arguments):
        return {o["name"]: o for o in self.document("run", *arguments)["outputs"]}

    def test_saxpy(self):
        n = 1000
        got = self.values(self.source, "--grid", 4, "--block", 256, "--arg", f"i32:{n}", "--arg", "f32:2.5", "--arg",
                          f"in:f32[{n}]=arange", "--arg", f"y=inout:f32[{n}]=ones", "--repeat", 3)
        self.assertEqual(got["y"]["values"], [2.5 * i + 1 for i in range(n)])

    def test_npy_in_and_out_on_every_integer_type(self):
        text = "template <typename T> __global__ void twice(T* out, const T* in, int n) " \
               "{ int i = threadIdx.x; if (i < n) out[i] = (T)(in[i] * 2); }\n"
        source = self.file("twice.cu", text)
        for dtype, descr, code, kind in (("i64", "<i8", "q", "long long"), ("i32", "<i4", "i", "int"),
                                         ("i16", "<i2", "h", "short"), ("i8", "|i1", "b", "signed char"),
                                         ("u8", "|u1", "B", "unsigned char"), ("f64", "<f8", "d", "double")):
            numbers = [1, 2, 3, 50]
            self.file("in.npy", npy(descr, (4,), struct.pack(f"<4{code}", *numbers)))
            self.run_cli("run", source, "--instantiate", f"twice<{kind}>", "--grid", 1, "--block", 32, "--arg",
                         f"y=out:{dtype}[4]", "--arg", "in:@in.npy", "--arg", "i32:4", "--save", "y=out.npy")
            header, data = read_npy(self.folder / "out.npy")
            self.assertEqual((header["descr"], list(struct.unpack(f"<4{code}", data))), (descr, [2, 4, 6, 100]))

    def test_partial_writes_are_counted(self):
        result = self.run_cli("run", self.source, "--grid", 1, "--block", 32, "--arg", "i32:10", "--arg", "f32:1",
                              "--arg", "in:f32[64]=ones", "--arg", "y=out:f32[64]")
        self.assertIn("54 of 64 elements of y were never written by the kernel, the first at index 10", result.stderr)

    def test_a_gpu_fault_is_exit_code_1(self):
        source = self.file("fault.cu", 'extern "C" __global__ void fault(float* p) { p[1ll << 40] = 1; }\n')
        self.assertIn("ILLEGAL_ADDRESS", self.error("run", source, "--grid", 1, "--block", 1, "--arg", "out:f32[4]", code=1))

    def test_limits(self):
        arguments = ["--arg", "i32:4", "--arg", "f32:2", "--arg", "in:f32[4]=ones", "--arg", "inout:f32[4]=ones"]
        self.error("run", self.source, "--grid", 1, "--block", 2048, *arguments, code=2)
        self.error("run", self.source, "--grid", 1, "--block", 32, "--shared", "1MiB", *arguments, code=2)
        self.error("run", self.source, "--grid", 1, "--block", 32, *arguments[:4], "--arg", "in:f32[2^40]=zeros", "--arg",
                   "out:f32[4]", code=3)
        self.error("run", self.source, "--grid", "3", "--cluster", "2", "--block", 32, *arguments, code=2)

    def test_shared_memory_above_48_kib_clusters_and_cooperation(self):
        source = self.file("big.cu", 'extern "C" __global__ void big(int* y) { extern __shared__ int s[]; '
                           "s[25000 + threadIdx.x] = threadIdx.x; __syncthreads(); y[threadIdx.x] = s[25031 - threadIdx.x]; }\n")
        got = self.values(source, "--grid", 2, "--cluster", 2, "--block", 32, "--shared", "100KiB", "--arg", "y=out:i32[32]")
        self.assertEqual(got["y"]["values"], list(range(31, -1, -1)))
        got = self.values(source, "--grid", 2, "--cooperative", "--block", 32, "--shared", "120KiB", "--arg", "y=out:i32[32]")
        self.assertEqual(got["y"]["values"], list(range(31, -1, -1)))

    def test_ptx(self):
        self.run_cli("compile", self.source, "--arch", "compute_80", "-o", "k.ptx")
        got = self.values("k.ptx", "--grid", 1, "--block", 4, "--arg", "i32:4", "--arg", "f32:2", "--arg",
                          "in:f32=[1,2,3,4]", "--arg", "y=inout:f32[4]=ones")
        self.assertEqual(got["y"]["values"], [3, 5, 7, 9])

    def test_an_endless_kernel_can_be_interrupted(self):
        source = self.file("spin.cu", 'extern "C" __global__ void spin(volatile int* p) { while (p[0] == 0) {} }\n')
        process = subprocess.Popen([program(), "run", str(source), "--grid", "1", "--block", "1", "--arg",
                                    "inout:i32[1]=zeros"], env=self.environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        time.sleep(4)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)


if __name__ == "__main__":
    main()
