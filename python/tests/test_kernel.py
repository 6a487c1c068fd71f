"""Custom kernels on every device: those of the cpu run in the simulator on the arrays' memory."""

import pathlib

import numpy as np
import pytest

import gpuforge as gf

SAXPY = """
extern "C" __global__ void saxpy(float* y, const float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
"""


@pytest.fixture
def saxpy(device):
    return gf.jit(SAXPY, func="saxpy")


def test_a_kernel_really_launches(device, saxpy):
    x = np.random.default_rng(0).random(1000, "float32")
    y = gf.ones(1000)
    saxpy(y, gf.from_numpy(x), 0.5, 1000)
    np.testing.assert_allclose(y.to_numpy(), 1 + 0.5 * x, rtol=1e-6)
    saxpy(y, y, 1, np.int32(1000), grid=(4,), block=(256, 1))
    np.testing.assert_allclose(y.to_numpy(), 2 + x, rtol=1e-6)
    saxpy(y, y, np.float32(-1), 1000, grid=1000, block=1, stream=gf.current_stream(device))
    assert not y.to_numpy().any()


def test_views_are_passed_by_their_first_element(device, saxpy):
    y = gf.zeros(10)
    saxpy(y[4:], gf.ones(3), 2.0, 3)
    assert y.tolist() == [0] * 4 + [2] * 3 + [0] * 3


def test_wrong_arguments_name_the_parameter(device, saxpy):
    y, x = gf.zeros(4), gf.zeros(4)
    for arguments, error, text in [
        ((y, x, 1.0), ValueError, "saxpy takes 4 arguments, got 3"),
        (
            (y, gf.zeros(4, "int32"), 1.0, 4),
            ValueError,
            r"parameter 1 'x' of saxpy .*float.*: got an array of int32",
        ),
        ((y, x, x, 4), TypeError, "parameter 2 'a' of saxpy .*a number was expected, got Array"),
        ((y, 3, 1.0, 4), ValueError, "parameter 1 'x'.*an array was expected"),
        (
            (y, np.zeros(4, "float32"), 1.0, 4),
            TypeError,
            "parameter 1 'x'.*an array of gpuforge was expected, got ndarray",
        ),
        ((y, x, 1.0, 4.5), ValueError, "parameter 3 'n'.*pass an integer"),
        ((y, x, 1.0, 2**31), ValueError, "parameter 3 'n'.*not in -2147483648..2147483647"),
        ((y, x, 1.0, 2**70), ValueError, "parameter 3 'n'.*more bits"),
        ((y, x, "1", 4), TypeError, "parameter 2 'a'.*got str"),
        ((y, x, 1.0, -1), ValueError, "number of elements"),
    ]:
        with pytest.raises(error, match=text):
            saxpy(*arguments)
    with pytest.raises(ValueError, match="is on"):
        saxpy(y, gf.zeros(4, device="sim" if device != "sim" else "cpu"), 1.0, 4)
    with pytest.raises(TypeError, match="'gird' is not a keyword"):
        saxpy(y, x, 1.0, 4, gird=1)
    with pytest.raises(ValueError, match="4096"):
        saxpy(y, x, 1.0, 4, block=4096)
    with pytest.raises(ValueError, match="grid"):
        saxpy(y, x, 1.0, 4, grid=0)


def test_no_size_no_grid(device):
    two = gf.jit('extern "C" __global__ void two(int* x, int a, int b) { x[threadIdx.x] = a + b; }')
    x = gf.zeros(3, "int32")
    with pytest.raises(ValueError, match="pass grid="):
        two(x, 1, 2)
    two(x, 1, 2, grid=1, block=3)
    assert x.tolist() == [3, 3, 3]


def test_mistakes_in_the_text(device):
    with pytest.raises(gf.CompileError) as caught:
        gf.jit('extern "C" __global__ void broken(float* x) { x[0] = y; }', "broken")
    assert "y" in caught.value.compilation_log
    with pytest.raises(ValueError, match="nosuch"):
        gf.jit(SAXPY, "nosuch")
    late = gf.Kernel("not C++ at all")
    assert not late.is_compiled
    with pytest.raises(gf.CompileError):
        late(gf.zeros(1))


def test_templates_files_and_facts(device, tmp_path):
    path = tmp_path / "fill.cu"
    path.write_text(
        "template <typename T> __global__ void fill(T* x, T value, int n) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) x[i] = value + EXTRA;\n}\n"
    )
    for source in [path, str(path)]:
        fill = gf.jit(source, "fill<double>", defines=["EXTRA=1"], block_size=64)
        x = gf.zeros(100, "float64")
        fill(x, 2, 100)
        assert x.tolist() == [3] * 100
    assert fill.block_size == (64, 1, 1) and fill.is_compiled and "fill" in fill.name
    assert ".entry" in fill.ptx() and fill.resources()["static_shared_bytes"] == 0
    assert [each["bytes"] for each in fill.parameters()] == [8, 8, 4]
    with pytest.raises(OSError):
        gf.jit(pathlib.Path("/nowhere/there.cu"))


def test_narrow_numbers(device):
    source = """
    #include <cuda_fp16.h>
    extern "C" __global__ void put(__half* x, __half h, unsigned char b, bool t, long long wide) {
      x[0] = h; x[1] = __int2half_rn(b); x[2] = __int2half_rn(t); x[3] = __ll2half_rn(wide);
    }"""
    x = gf.zeros(4, "float16")
    gf.jit(source)(x, 1.5, 200, True, -3, grid=1, block=1)
    assert x.tolist() == [1.5, 200, 1, -3]


@pytest.mark.parametrize("device", ["cpu", "sim"], indirect=True)  # a GPU is not harmed on purpose
def test_the_simulator_finds_what_goes_wrong(device, saxpy):
    y = gf.zeros(8)
    saxpy(y, gf.zeros(4), 1.0, 8)
    with pytest.raises(gf.InvalidArgumentError, match="saxpy"):
        gf.synchronize(device)


def test_memory_never_written_is_found_on_sim():
    with gf.default_device("sim"):
        kernel = gf.jit(SAXPY)
        kernel(gf.zeros(4), gf.empty(4), 1.0, 4)
        with pytest.raises(gf.InvalidArgumentError):
            gf.synchronize("sim")


def test_a_launch_in_a_graph(device, saxpy):
    y, x = gf.zeros(4), gf.ones(4)
    gf.synchronize(device)
    graph = gf.Graph(device)
    with graph.capture():
        saxpy(y, x, 1.0, 4)
    for _ in range(3):
        graph.launch()
    gf.synchronize(device)
    assert y.tolist() == [3] * 4


def test_numpy_memory_in_a_kernel():
    there = np.ones(16, "float32")
    here = gf.asarray(there, device="cpu")
    gf.jit(SAXPY, device="cpu")(here, here, 2.0, 16)
    gf.synchronize("cpu")
    assert (there == 3).all()
