"""Host time of a call from PyTorch: ours beside torch's own op, on tensors so small that the GPU never keeps up."""

import statistics
import time

import torch

import gpuforge.torch as gft


def microseconds(call, calls=2000, rounds=15):
    """Of one call, the device left idle between rounds; the median of the rounds."""
    for _ in range(200):
        call()
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls * 1e6)
    return statistics.median(times)


def main():
    x, weight = torch.randn(4, 64, device="cuda"), torch.randn(64, device="cuda")
    out, sums = torch.empty_like(x), torch.empty(4, device="cuda")
    ops = torch.ops.gpuforge
    pairs = [
        ("softmax, into out", lambda: ops._softmax_fwd(x, out), lambda: torch.softmax(x, -1, out=out)),
        ("softmax, returned", lambda: gft.softmax_online(x), lambda: torch.softmax(x, -1)),
        ("reduce_sum, into out", lambda: ops._reduce_sum(x, sums), lambda: torch.sum(x, -1, out=sums)),
        ("reduce_sum, returned", lambda: gft.reduce_sum(x), lambda: torch.sum(x, -1)),
        (
            "rms_norm, returned",
            lambda: gft.rms_norm(x, weight),
            lambda: torch.nn.functional.rms_norm(x, (64,), weight, 1e-6),
        ),
        ("copy_transpose, returned", lambda: gft.copy_transpose(x), lambda: x.t().contiguous()),
    ]
    print(f"{'op':26} {'ours us':>8} {'torch us':>8} {'ratio':>6}")
    with torch.no_grad():
        for name, ours, native in pairs:
            a, b = microseconds(ours), microseconds(native)
            print(f"{name:26} {a:8.2f} {b:8.2f} {a / b:6.2f}")


if __name__ == "__main__":
    main()
