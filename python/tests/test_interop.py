"""Arrays shared with other libraries: with NumPy everywhere, with torch, CuPy and JAX where they are installed."""

import gc
import importlib
import importlib.util
import os
import pathlib
import subprocess
import sys
import warnings
import weakref

import numpy as np
import pytest

import gpuforge as gf


def test_numpy_memory_is_used_where_it_is():
    there = np.arange(6.0).reshape(2, 3)
    here = gf.from_dlpack(there)
    assert here.device == "cpu" and here.shape == (2, 3) and here.dtype == "float64"
    here[1, 2] = -1
    gf.synchronize("cpu")
    assert there[1, 2] == -1
    transposed = gf.from_dlpack(there.T[::-1])
    assert transposed.to_numpy().tolist() == there.T[::-1].tolist()
    assert gf.asarray(there, device="cpu").device_ptr == there.ctypes.data


def test_our_memory_is_used_by_numpy():
    here = gf.zeros((3, 4), device="cpu")
    for there in [np.from_dlpack(here), np.asarray(here), np.frombuffer(here, "float32").reshape(3, 4)]:
        here[0, 0] = here[0, 0].item() + 1
        gf.synchronize("cpu")
        assert there[0, 0] == here[0, 0].item()
    assert np.from_dlpack(here.T).strides == (4, 16)
    assert memoryview(here).format == "f"
    view = np.asarray(here[:, 1])
    del here
    gc.collect()
    view[:] = 3
    assert view.tolist() == [3, 3, 3]


def test_memory_lives_as_long_as_it_is_looked_at():
    class Owner(np.ndarray):
        pass

    there = np.zeros(8).view(Owner)
    watch = weakref.ref(there)
    here = gf.from_dlpack(there)
    view = here[2:]
    del there, here
    gc.collect()
    assert watch() is not None
    view[:] = 1
    gf.synchronize("cpu")
    del view
    gc.collect()
    assert watch() is None


def test_dlpack_of_every_dtype(device):
    for dtype in ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]:
        x = gf.ones((2, 2), dtype)
        if not device.startswith("cuda"):
            assert np.from_dlpack(x).dtype == dtype
        assert gf.from_dlpack(x).dtype == dtype
    for dtype in ["bfloat16", "float8_e4m3fn", "float8_e5m2"]:
        x = gf.from_dlpack(gf.ones(3, dtype))
        assert x.dtype == dtype and x.astype("float32").tolist() == [1, 1, 1]


def test_dlpack_arguments(device):
    x = gf.arange(4)
    assert "dltensor_versioned" in repr(x.__dlpack__(max_version=(1, 1)))
    assert "dltensor_versioned" not in repr(x.__dlpack__())
    copied = gf.from_dlpack(x, copy=True)
    copied[0] = 9
    assert x[0].item() == 0
    host = gf.from_dlpack(x.__dlpack__(dl_device=(1, 0)))
    assert host.device == "cpu" and host.tolist() == [0, 1, 2, 3]
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(7, 0))
    with pytest.raises(TypeError, match="nobody has used"):
        capsule = x.__dlpack__()
        gf.from_dlpack(capsule)
        gf.from_dlpack(capsule)
    moved = gf.from_dlpack(np.arange(3), device="sim")
    assert moved.device == "sim" and moved.tolist() == [0, 1, 2]


def test_read_only_memory_is_copied():
    there = np.arange(3)
    there.flags.writeable = False
    here = gf.from_dlpack(there)
    here[0] = 5
    assert here.tolist() == [5, 1, 2] and there[0] == 0
    with pytest.raises(BufferError, match="read-only"):
        gf.from_dlpack(there, copy=False)
    with pytest.raises(BufferError, match="read-only"):
        gf.asarray(there, device="cpu", copy=False)


def neighbours():
    """(library, device of ours where its memory lies) for what is installed and works here."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else JAX takes most of a GPU's memory
    found = [("numpy", "cpu")]
    for name in ["torch", "jax", "cupy"]:
        if importlib.util.find_spec(name) is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            library = importlib.import_module(name)
            on_gpu = gf.is_cuda_available() and (
                library.cuda.is_available() if name != "jax" else library.default_backend() == "gpu"
            )
        found += ([] if name == "cupy" else [(name, "cpu")]) + ([(name, "cuda:0")] if on_gpu else [])
    return found


with_neighbours = pytest.mark.parametrize("name, device", neighbours())
theirs_to_say = pytest.mark.filterwarnings("default")  # warnings of other libraries are no failure of ours


def theirs(name, device, values):
    """The values as an array of that library, there."""
    library = importlib.import_module(name)
    if name == "torch":
        return library.from_numpy(values).to("cpu" if device == "cpu" else device)
    if name == "jax":
        return library.device_put(values, library.devices("cpu" if device == "cpu" else "gpu")[0])
    return library.array(values)


def over(name, array):
    """That library's array over the memory of ours."""
    library = importlib.import_module(name)
    return (library.dlpack if name == "jax" else library).from_dlpack(array)


def host(name, array):
    if name == "torch":
        return array.cpu().numpy()
    return array.get() if name == "cupy" else np.asarray(array)


def address(name, array):
    if name == "torch":
        return array.data_ptr()
    if name == "jax":
        return array.unsafe_buffer_pointer()
    return array.data.ptr if name == "cupy" else array.ctypes.data


@theirs_to_say
@with_neighbours
def test_neighbours_share_memory(name, device):
    values = np.arange(6, dtype="float32").reshape(2, 3)
    there = theirs(name, device, values)
    here = gf.from_dlpack(there, copy=False)
    assert here.device == device and here.device_ptr == address(name, there)
    assert here.dtype == "float32" and here.tolist() == values.tolist()
    assert (here + 1).tolist() == (values + 1).tolist()
    ours = gf.array(values, device=device) * 2
    seen = over(name, ours)
    assert address(name, seen) == ours.device_ptr
    assert host(name, seen).tolist() == (values * 2).tolist()
    assert host(name, over(name, ours.T)).tolist() == (values.T * 2).tolist()
    del ours
    gc.collect()
    gf.zeros((2, 3), device=device)
    assert host(name, seen).tolist() == (values * 2).tolist()


@theirs_to_say
@with_neighbours
def test_neighbours_keep_their_values(name, device):
    """JAX's arrays never change: what is written here is written to a copy. Those of others are shared."""
    there = theirs(name, device, np.ones(4, "float32"))
    for here in [gf.from_dlpack(there), gf.asarray(there, device=device)]:
        here[:] = 7
        gf.synchronize(device)
        assert here.tolist() == [7] * 4
        assert host(name, there).tolist() == [1 if name == "jax" else 7] * 4


@theirs_to_say
@with_neighbours
def test_neighbours_dtypes(name, device):
    types = ["float32", "float16", "int32", "int8", "uint8", "bool"]
    for dtype in types if name == "jax" else [*types, "float64", "int64", "int16"]:
        there = theirs(name, device, np.ones(3, dtype))
        assert gf.from_dlpack(there).dtype == dtype
        assert gf.from_dlpack(over(name, gf.ones(3, dtype, device=device))).tolist() == [1, 1, 1]
    if name in ("jax", "torch"):
        for dtype in ["bfloat16", "float8_e4m3fn", "float8_e5m2"]:
            x = gf.from_dlpack(over(name, gf.ones(3, dtype, device=device)))
            assert x.dtype == dtype and x.astype("float32").tolist() == [1, 1, 1]


CUDA_INTERFACE = """
import gpuforge as gf
x = gf.zeros(4, device="cuda:0")
class Theirs:
    def __init__(self, read_only):
        self.__cuda_array_interface__ = {**x.__cuda_array_interface__, "data": (x.device_ptr, read_only)}
assert gf.asarray(Theirs(False)).device_ptr == x.device_ptr
assert gf.asarray(Theirs(False), copy=False).device_ptr == x.device_ptr
assert gf.asarray(Theirs(True)).device_ptr != x.device_ptr
try:
    gf.asarray(Theirs(True), copy=False)
except BufferError as error:
    assert "read-only" in str(error)
    print("refused")
"""


def test_read_only_memory_of_a_gpu_is_copied():
    environment = dict(os.environ)
    if not gf.is_cuda_available():  # on the stand-in driver: it runs no kernels, and none is needed
        build = pathlib.Path(os.environ.get("GPUFORGE_BUILD", pathlib.Path(__file__).parents[2] / "build" / "release"))
        environment["GPUFORGE_LIBRARY_PATH"] = str(build / "tests" / "fake_driver" / "cuda")
    done = subprocess.run(
        [sys.executable, "-c", CUDA_INTERFACE], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and "refused" in done.stdout, done.stdout + done.stderr


def test_numpy_takes_any_array(device):
    x = gf.arange(6).reshape(2, 3)
    assert np.asarray(x).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert np.asarray(x, dtype="float32").dtype == "float32"
    assert np.asarray(gf.ones(2, "bfloat16")).dtype.name == "bfloat16"
    assert np.array(x).sum() == 15
    if device == "sim":
        with pytest.raises(ValueError):
            np.asarray(x, copy=False)
        with pytest.raises(BufferError):
            memoryview(x)


def test_asarray_copies_only_where_it_must(device):
    x = gf.ones(2)
    assert gf.asarray(x).shares_memory_with(x)
    assert not gf.asarray(x, copy=True).shares_memory_with(x)
    assert gf.asarray([1, 2]).tolist() == [1, 2]
    assert gf.asarray(np.float32(3)).shape == ()
    with pytest.raises(ValueError, match="copy=False"):
        gf.asarray([1, 2], copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        gf.asarray(x, "int8", copy=False)


def test_cuda_array_interface_is_of_cuda_alone(device):
    x = gf.ones((2, 2))
    assert hasattr(x, "__cuda_array_interface__") == device.startswith("cuda")
    assert x.__array_namespace__() is gf


def test_simulator_sees_what_others_wrote():
    x = gf.empty(4, device="sim")
    np.from_dlpack(x)[:] = 2
    y = x.astype("int32")
    assert y.tolist() == [2, 2, 2, 2]


def test_streams(device):
    stream = gf.Stream(device)
    start, end = gf.Event(device), gf.Event(device)
    x = gf.zeros(16)
    gf.synchronize(device)
    with stream as current:
        assert gf.current_stream(device) is current or gf.current_stream(device).device == device
        start.record()
        x[:] = 4
        end.record()
    gf.current_stream(device).wait(end)
    assert x.tolist() == [4] * 16
    end.synchronize()
    assert end.done and end.elapsed_ms_since(start) >= 0
    stream.synchronize()
    assert stream.done and stream.device == device
    assert x.to_numpy(stream=stream).sum() == 64


def test_graphs(device):
    x = gf.zeros(4)
    gf.synchronize(device)
    graph = gf.Graph(device)
    with pytest.raises(ValueError, match="nothing was captured"):
        graph.launch()
    with graph.capture():
        x[:] = 3
    assert x.tolist() == [0] * 4
    graph.launch()
    gf.synchronize(device)
    assert x.tolist() == [3] * 4 and graph.node_count == 1
    with pytest.raises(RuntimeError, match="on purpose"), graph.capture():
        raise RuntimeError("on purpose")
    graph.launch()  # as it was
    gf.synchronize(device)
