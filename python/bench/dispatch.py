"""What a launch from Python costs: `python python/bench/dispatch.py`, on a machine with a GPU.

An empty kernel with three arguments is launched many times without waiting. Bare is cuLaunchKernel through ctypes with
everything prepared, less what ctypes costs for a call that does nothing.
"""

from __future__ import annotations

import ctypes
import json
import statistics
import sys
import time

import gpuforge as gf

KERNEL = 'extern "C" __global__ void nothing(float* x, float a, int n) {}'
CALLS, ROUNDS = 2000, 15


def time_us(call, finish) -> float:
    """Microseconds of one call, the median of rounds; the queue is emptied before it can fill."""
    finish()
    results = []
    for _ in range(ROUNDS):
        taken = 0.0
        for _ in range(CALLS // 200):
            start = time.perf_counter()
            for _ in range(200):
                call()
            taken += time.perf_counter() - start
            finish()
        results.append(taken / CALLS * 1e6)
    return statistics.median(results)


def bare(device: str) -> float:
    """cuLaunchKernel on our own stream."""
    cuda = ctypes.CDLL("libcuda.so.1")
    kernel = gf.jit(KERNEL, device=device)
    gf.zeros(1, device=device)
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    image = kernel.ptx(device).encode()
    assert cuda.cuModuleLoadData(ctypes.byref(module), image) == 0
    assert cuda.cuModuleGetFunction(ctypes.byref(function), module, b"nothing") == 0
    stream = ctypes.c_void_p(gf.current_stream(device).handle)
    values = (ctypes.c_void_p(0), ctypes.c_float(0.5), ctypes.c_int(1))
    pointers = (ctypes.c_void_p * 3)(*[ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values])
    launch = cuda.cuLaunchKernel
    launch.argtypes = [ctypes.c_void_p, *[ctypes.c_uint] * 7, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    version = ctypes.c_int()
    nothing = cuda.cuDriverGetVersion  # as cheap a call as there is
    overhead = time_us(lambda: nothing(ctypes.byref(version)), lambda: None)
    whole = time_us(
        lambda: launch(function, 1, 1, 1, 1, 1, 1, 0, stream, pointers, None), lambda: gf.synchronize(device)
    )
    return whole - overhead


def ours(device: str) -> dict[str, float]:
    kernel = gf.jit(KERNEL, device=device)
    x = gf.zeros(1, device=device)
    finish = lambda: gf.synchronize(device)  # noqa: E731
    return {
        "gpuforge, grid and block given": time_us(lambda: kernel(x, 0.5, 1, grid=1, block=1), finish),
        "gpuforge, grid inferred": time_us(lambda: kernel(x, 0.5, 1), finish),
    }


def peers() -> dict[str, float]:
    results = {}
    try:
        import cupy

        kernel = cupy.RawKernel(KERNEL, "nothing")
        x = cupy.zeros(1, "float32")
        arguments = (x, cupy.float32(0.5), cupy.int32(1))
        results["CuPy RawKernel"] = time_us(lambda: kernel((1,), (1,), arguments), cupy.cuda.Device().synchronize)
    except ImportError:
        pass
    try:
        import torch

        x = torch.zeros(1, device="cuda")
        results["torch add_"] = time_us(lambda: x.add_(1), torch.cuda.synchronize)
    except ImportError:
        pass
    return results


def main() -> int:
    device = sys.argv[1] if len(sys.argv) > 1 else "cuda:0"
    results = (
        {"bare cuLaunchKernel": bare(device), **ours(device), **peers()} if device.startswith("cuda") else ours(device)
    )
    for name, us in results.items():
        print(f"{name:34} {us:7.2f} us")
    print(json.dumps({"device": gf.get_device_info(device)["name"], "us": results}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
