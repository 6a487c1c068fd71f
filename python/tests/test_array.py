"""Arrays: making, looking, viewing, copying, on every device."""

import gc
import pickle

import numpy as np
import pytest

import gpuforge as gf

NUMPY_DTYPES = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]
NARROW_DTYPES = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]


@pytest.mark.parametrize("dtype", NUMPY_DTYPES + NARROW_DTYPES)
def test_every_dtype_goes_there_and_back(device, dtype):
    made = gf.array(np.arange(12).reshape(3, 4) % 3, dtype=dtype)
    assert made.dtype == dtype and made.device == device
    there = made.to_numpy()
    assert there.dtype.name == dtype
    again = gf.from_numpy(there)
    assert again.dtype == dtype
    np.testing.assert_array_equal(again.to_numpy().astype("float64"), there.astype("float64"))
    assert made.nbytes == there.nbytes and made.itemsize == there.itemsize


def test_attributes_are_numpys(device):
    x = np.zeros((2, 3, 4), "float32")
    y = gf.from_numpy(x)
    for name in ["shape", "strides", "ndim", "size", "nbytes", "itemsize"]:
        assert getattr(y, name) == getattr(x, name), name
    assert y.T.shape == x.T.shape and y.T.strides == x.T.strides
    assert y.mT.shape == (2, 4, 3)
    assert y.device == device
    assert len(y) == 2


def test_making(device):
    assert gf.zeros(3).tolist() == [0.0, 0.0, 0.0]
    assert gf.ones((1, 2), "int8").tolist() == [[1, 1]]
    assert gf.empty((4, 0)).shape == (4, 0)
    assert gf.full(2, 7).dtype == gf.int64
    assert gf.full(2, 0.5).dtype == gf.float32
    assert gf.full(2, True).tolist() == [True, True]
    assert gf.full(1, 2**62 + 1).item() == 2**62 + 1
    assert gf.arange(2, 8, 3).tolist() == [2, 5]
    assert gf.arange(0, 1, 0.25).dtype == gf.float32
    assert gf.array([1.5, 2.5]).dtype == gf.float32
    assert gf.array([1, 2]).dtype == gf.int64
    assert gf.array(np.float64(2)).dtype == gf.float64
    assert gf.array([[True, False]]).dtype == gf.bool
    assert gf.array(5).shape == ()
    assert gf.array(np.arange(4, dtype=">i4")[::-1]).tolist() == [3, 2, 1, 0]


def test_dtypes_are_equal_to_their_names():
    assert gf.float32 == "float32" == gf.float32.name
    assert gf.float32 == np.float32 and gf.float32 == np.dtype("f4") and gf.float32 == float
    assert gf.bfloat16 != "float16" and gf.bfloat16 != object()
    assert gf.dtype("half") == gf.float16
    assert {gf.int8: 1}[gf.dtype("int8")] == 1
    assert pickle.loads(pickle.dumps(gf.float8_e5m2)) == gf.float8_e5m2
    assert gf.float64.numpy == np.dtype("float64")
    with pytest.raises(TypeError, match="'complex64' is not a dtype of gpuforge; known are float64"):
        gf.dtype("complex64")
    with pytest.raises(TypeError, match="uint16"):
        gf.array(np.zeros(2, "uint16"))


def test_views_share_memory(device):
    x = gf.zeros((3, 4))
    row = x[1]
    row[:] = 5
    x[:, -1] = 9
    assert x.tolist() == [[0, 0, 0, 9], [5, 5, 5, 9], [0, 0, 0, 9]]
    assert row.shares_memory_with(x)
    assert not x.copy().shares_memory_with(x)
    column = x.T[3]
    column[...] = gf.arange(3)
    assert x[:, 3].tolist() == [0, 1, 2]
    x[0:2, 0:2] = [[1, 2], [3, 4]]
    assert x[:2, :2].tolist() == [[1, 2], [3, 4]]
    x[2, 2] = 2**53 + 1
    assert x[None, ..., 2].shape == (1, 3)


def test_reshape_and_transpose(device):
    x = gf.arange(6).reshape(2, 3)
    assert x.reshape((3, -1)).shape == (3, 2)
    assert x.T.reshape(6).tolist() == [0, 3, 1, 4, 2, 5]
    with pytest.raises(ValueError, match="cannot be seen as"):
        x.T.reshape(6, copy=False)
    assert not x.reshape(6, copy=True).shares_memory_with(x)
    y = gf.zeros((2, 3, 4))
    assert y.transpose(2, 0, 1).shape == y.transpose((2, 0, 1)).shape == (4, 2, 3)
    assert y.transpose().shape == (4, 3, 2)
    assert gf.ones(3).broadcast_to((2, 3)).strides == (0, 4)
    assert x.T.contiguous().is_contiguous and not x.T.is_contiguous


def test_numbers(device):
    assert float(gf.array(2.5)) == 2.5 and int(gf.array([7])) == 7 and bool(gf.array([0])) is False
    assert gf.array(3).item() == 3 and [10, 20, 30, 40][gf.array(3)] == 40
    assert [row.tolist() for row in gf.arange(4).reshape(2, 2)] == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="ambiguous"):
        bool(gf.zeros(2))
    with pytest.raises(TypeError, match="len"):
        len(gf.array(1))
    with pytest.raises(TypeError):
        iter(gf.array(1))
    with pytest.raises(ValueError, match="one element"):
        gf.zeros(2).item()


def test_wrong_indices(device):
    x = gf.zeros((2, 3))
    for index, text in [(2, "2 is not in axis 0"), ((0, 0, 0), "3 were indexed"), ((..., ...), "ellipsis")]:
        with pytest.raises(IndexError, match=text):
            x[index]
    for index in [[0, 1], np.array([0]), 1.5, "a", True, gf.array([0, 1])]:
        with pytest.raises(IndexError, match="integers, slices"):
            x[index]
    with pytest.raises(ValueError, match="step"):
        x[::0]
    assert issubclass(gf.InvalidIndexError, (IndexError, ValueError, gf.GpuforgeError))


def test_conversion(device):
    x = gf.array([-1.5, 0, 300, float("nan")])
    assert x.astype("uint8").tolist() == [0, 0, 255, 0]
    assert x.astype(gf.bool).tolist() == [True, False, True, True]
    assert x.astype("float32", copy=False).shares_memory_with(x)
    assert not x.astype("float32").shares_memory_with(x)


def test_devices_are_chosen_and_refused(device):
    assert gf.get_default_device() == device
    assert gf.zeros(1, device="cpu").device == "cpu"
    there = gf.arange(3).to_device("cpu")
    assert there.device == "cpu" and there.tolist() == [0, 1, 2]
    assert gf.array(there, device=device).device == device
    with pytest.raises(ValueError, match="known|cuda"):
        gf.zeros(1, device="gpu")
    with pytest.raises(ValueError, match="the array is on|of another device|the stream"):
        gf.zeros(1).copy(stream=gf.Stream("cpu" if device != "cpu" else "sim"))


def test_default_device_can_be_set():
    before = gf.get_default_device()
    try:
        gf.set_default_device("sim")
        assert gf.zeros(1).device == "sim"
        with gf.default_device("cpu"):
            assert gf.zeros(1).device == "cpu"
        assert gf.zeros(1).device == "sim"
    finally:
        gf.set_default_device(None)
    assert gf.get_default_device() == before


def test_errors_have_their_classes(device):
    with pytest.raises(gf.InvalidArgumentError) as caught:
        gf.zeros(-1)
    assert caught.value.code == "invalid_argument" and isinstance(caught.value, ValueError)
    with pytest.raises(MemoryError):
        gf.empty(1 << 60, "int8")
    with pytest.raises(TypeError, match="integer"):
        gf.zeros((1.5,))
    with pytest.raises(ValueError, match="multiple|broadcast|shape"):
        gf.zeros((2, 3))[:] = gf.zeros(4)


def test_printing(device):
    assert repr(gf.array([1.0, 2.5])) == f"array([1. , 2.5], dtype=f32, device={device})"


def test_memory_goes_when_arrays_do(device):
    x = gf.zeros(1 << 16)
    view = x[5:]
    del x
    gc.collect()
    assert view.size == (1 << 16) - 5
    assert float(view[-1]) == 0
