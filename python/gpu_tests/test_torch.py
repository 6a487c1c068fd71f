"""gpuforge.torch on a GPU: forward, backward, compiled, captured, on other streams, of odd and strided tensors."""

import pytest
import torch

import gpuforge.torch as gft

pytestmark = pytest.mark.filterwarnings("default")  # torch's own are no failure of ours
ops = torch.ops.gpuforge
DTYPES = [torch.float16, torch.bfloat16, torch.float32]
SHAPES = [(1, 1), (3, 7), (17, 1025), (64, 4096), (5, 70001), (257, 33)]
TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 2e-5}


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(1)


def normal(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype)


def close(found, expected, dtype, scale=1.0):
    """Judged against the reference in double, by the size of its largest element."""
    assert found.dtype == dtype and found.shape == expected.shape
    size = max(float(expected.abs().max()), 1e-6) if expected.numel() else 1.0
    worst = float((found.double() - expected.double()).abs().max()) if expected.numel() else 0.0
    assert worst <= scale * TOLERANCE[dtype] * size, f"off by {worst} where {size} is the size"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_forward(shape, dtype):
    x, weight, bias = (
        normal(*shape, dtype=dtype),
        normal(shape[1], dtype=dtype),
        normal(shape[1], dtype=dtype),
    )
    assert torch.equal(gft.copy_transpose(x), x.t().contiguous())
    assert torch.equal(gft.copy_transpose(x, tile_size=16), x.t().contiguous())
    close(gft.softmax_online(x), torch.softmax(x.double(), -1), dtype)
    close(gft.softmax_online(x, 0), torch.softmax(x.double(), 0), dtype)
    rms = torch.nn.functional.rms_norm
    close(gft.rms_norm(x, weight), rms(x.double(), shape[1:], weight.double(), 1e-6), dtype)
    close(gft.rms_norm(x), rms(x.double(), shape[1:], None, 1e-6), dtype)
    layer = torch.nn.functional.layer_norm
    if shape[1] > 1:
        close(
            gft.layer_norm(x, weight, bias),
            layer(x.double(), shape[1:], weight.double(), bias.double(), 1e-5),
            dtype,
            4,
        )
    for dim in (0, -1):
        close(gft.reduce_sum(x.abs(), dim), x.double().abs().sum(dim), dtype)
        close(gft.reduce(x.abs(), dim, "mean"), x.double().abs().mean(dim), dtype)
        assert torch.equal(gft.reduce(x, dim, "amax"), x.amax(dim))
        assert torch.equal(gft.reduce(x, dim, "min", keepdim=True), x.amin(dim, keepdim=True))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 7), (17, 1025), (9, 70001)])
def test_backward(shape, dtype):
    x = normal(*shape, dtype=dtype).requires_grad_()
    dy = normal(*shape, dtype=dtype)
    exact = x.detach().double().requires_grad_()
    gft.softmax_online(x).backward(dy)
    torch.softmax(exact, -1).backward(dy.double())
    close(x.grad, exact.grad, dtype, 4)

    weight = normal(shape[1], dtype=dtype).requires_grad_()
    x.grad = exact.grad = None
    exact_weight = weight.detach().double().requires_grad_()
    gft.rms_norm(x, weight).backward(dy)
    torch.nn.functional.rms_norm(exact, shape[1:], exact_weight, 1e-6).backward(dy.double())
    close(x.grad, exact.grad, dtype, 4)
    close(weight.grad, exact_weight.grad, dtype, 4)

    for ours, theirs in (
        (lambda x: gft.copy_transpose(x) * dy.t(), lambda x: x.t() * dy.t().double()),
        (lambda x: gft.reduce_sum(x) * dy[:, 0], lambda x: x.sum(-1) * dy[:, 0].double()),
        (
            lambda x: gft.reduce(x, 0, "mean", keepdim=True) * dy[:1],
            lambda x: x.mean(0, keepdim=True) * dy[:1].double(),
        ),
    ):
        x.grad = exact.grad = None
        ours(x).sum().backward()
        theirs(exact).sum().backward()
        close(x.grad, exact.grad, dtype, 4)
    for refused in (lambda: gft.layer_norm(x), lambda: gft.reduce(x, 0, "amax")):
        with pytest.raises(NotImplementedError, match="no gradient"):
            refused()


def test_strided_and_more_axes():
    whole = normal(4, 6, 40, 50)
    for x in (
        whole.transpose(1, 3),
        whole[:, ::2, 3:, ::3],
        whole[1:3, :, :, 7:],
        whole.expand(4, 6, 40, 50)[..., :1],
    ):
        close(gft.softmax_online(x, 2), torch.softmax(x.double(), 2), torch.float32)
        close(gft.reduce_sum(x.abs(), 1), x.double().abs().sum(1), torch.float32)
        assert torch.equal(gft.copy_transpose(x), x.transpose(-1, -2).contiguous())
    out = torch.full((6, 4), 7.0, device="cuda").t()
    x = normal(4, 6)
    ops._softmax_fwd(x, out)
    close(out, torch.softmax(x.double(), -1), torch.float32)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_empty(shape):
    x = normal(*shape)
    assert gft.softmax_online(x).shape == x.shape
    assert gft.copy_transpose(x).shape == shape[::-1]
    if shape[1] == 0:
        assert torch.equal(gft.reduce_sum(x), torch.zeros(shape[0], device="cuda"))


def model(x, weight):
    return gft.reduce_sum(gft.softmax_online(gft.rms_norm(x * 2, weight)) + 1).sum()


@pytest.mark.parametrize("dtype", DTYPES)
def test_compiled_whole(dtype):
    x, weight = normal(33, 1000, dtype=dtype).requires_grad_(), normal(1000, dtype=dtype).requires_grad_()
    eager = model(x, weight)
    eager.backward()
    wanted = x.grad.clone(), weight.grad.clone()
    x.grad = weight.grad = None
    compiled = torch.compile(model, fullgraph=True)(x, weight)
    compiled.backward()
    close(compiled.detach(), eager.detach(), dtype)
    close(x.grad, wanted[0], dtype, 4)
    close(weight.grad, wanted[1], dtype, 4)


def test_schemas_are_what_the_ops_do():
    x = normal(8, 16)
    for op, arguments in (
        (ops._softmax_fwd.default, (x, torch.empty_like(x))),
        (ops._reduce_sum.default, (x, x.new_empty(8))),
        (ops._copy_transpose.default, (x, x.new_empty(16, 8))),
        (ops._rms_norm.default, (x, torch.empty_like(x), normal(16))),
        (ops._softmax_backward.default, (x, torch.softmax(x, -1), torch.empty_like(x))),
    ):
        torch.library.opcheck(op, arguments, test_utils=("test_schema", "test_faketensor"))


def test_captured_in_a_graph():
    # 64 long rows: sums that are split over blocks need memory of their own, which must be the graph's.
    x, weight = normal(64, 131072, dtype=torch.float16), normal(131072, dtype=torch.float16)
    for _ in range(2):
        gft.reduce_sum(x), gft.softmax_online(x), gft.rms_norm(x, weight)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        sums, soft, rms = gft.reduce_sum(x), gft.softmax_online(x), gft.rms_norm(x, weight)
    for seed in (3, 4):
        torch.manual_seed(seed)
        x.copy_(normal(64, 131072, dtype=torch.float16).abs() / 4)  # sums that float16 has
        graph.replay()
        close(sums, x.double().sum(-1), torch.float16)
        close(soft, torch.softmax(x.double(), -1), torch.float16)
        close(rms, torch.nn.functional.rms_norm(x.double(), (131072,), weight.double(), 1e-6), torch.float16)


def test_on_the_current_stream():
    """On a side stream a long kernel, then x is written, then ours reads it: the stream's order makes it right."""
    side = torch.cuda.Stream()
    x = torch.zeros(1024, 1024, device="cuda")
    gft.reduce_sum(x), gft.softmax_online(x)  # compiled
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(100_000_000)
        x.fill_(1)
        sums = gft.reduce_sum(x)
        soft = gft.softmax_online(x)
    assert not side.query(), "the call waited for the device"
    side.synchronize()
    assert torch.equal(sums, torch.full((1024,), 1024.0, device="cuda"))
    close(soft, torch.full((1024, 1024), 1 / 1024, device="cuda"), torch.float32)


def test_memory_may_go_at_once():
    """What ours reads and torch frees straight away is not given to others on this stream too early."""
    for _ in range(20):
        x = torch.full((512, 4096), 2.0, device="cuda")
        sums = gft.reduce_sum(x)
        del x
        torch.full((512, 4096), 9.0, device="cuda")
        assert torch.equal(sums, torch.full((512,), 8192.0, device="cuda"))


def test_on_the_host():
    x = torch.randn(17, 33)
    assert torch.allclose(gft.softmax_online(x), torch.softmax(x, -1), atol=1e-6)
    assert torch.equal(gft.copy_transpose(x), x.t().contiguous())


def test_mistakes_are_named():
    x = normal(4, 6)
    with pytest.raises(ValueError, match="out"):
        ops._softmax_fwd(x, x.new_empty(6, 4))
    with pytest.raises((TypeError, ValueError), match="dtype"):
        gft.softmax_online(x.double())
    with pytest.raises(IndexError):
        gft.reduce_sum(x, 2)
    with pytest.raises(ValueError, match="op"):
        gft.reduce(x, -1, "median")


def test_backends_of_softmax():
    assert gft.list_softmax_online_backends() == ["kernel", "ref"]
    assert gft.get_softmax_online_backend() == "kernel"
    with pytest.raises(ValueError, match="^Unknown softmax_online backend"):
        gft.set_softmax_online_backend("none")
    with pytest.raises(ValueError):
        gft.register_softmax_online_backend("", lambda x, dim: x)
    with pytest.raises(TypeError):
        gft.register_softmax_online_backend("mine", 3)
    with pytest.raises(ValueError):
        gft.register_softmax_online_backend("ref", lambda x, dim: x)
    gft.register_softmax_online_backend("mine", lambda x, dim: torch.softmax(x, dim))
    with pytest.raises(ValueError):
        gft.register_softmax_online_backend("mine", lambda x, dim: x)
    gft.register_softmax_online_backend("mine", lambda x, dim: torch.softmax(x, dim), overwrite=True)
    x = normal(5, 9).requires_grad_()
    try:
        for name in ("mine", "ref"):
            gft.set_softmax_online_backend(name)
            x.grad = None
            (gft.softmax_online(x) * torch.arange(9, device="cuda")).sum().backward()
            assert x.grad is not None and float(x.grad.abs().max()) > 0
        gft.register_softmax_online_backend("wrong", lambda x, dim: x.double())
        gft.set_softmax_online_backend("wrong")
        with pytest.raises(ValueError, match="'wrong' gave"):
            gft.softmax_online(x)
    finally:
        gft.set_softmax_online_backend("kernel")
