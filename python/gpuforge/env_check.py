"""What is here: `python -m gpuforge.env_check`. Exit code 0, or 3 when kernels cannot be compiled or run."""

from __future__ import annotations

import platform
import sys
from typing import Any

import numpy

import gpuforge as gf

TRANSPOSE = """
extern "C" __global__ void transpose(float* out, const float* x, int rows, int columns) {
  const int i = threadIdx.x;
  if (i < rows * columns) out[(i % columns) * rows + i / columns] = x[i];
}
"""


def check_transpose(device: str) -> str:
    """Runs a kernel on 4x4 elements; what went wrong, or nothing."""
    x = numpy.arange(16, dtype="float32").reshape(4, 4)
    out = gf.zeros((4, 4), device=device)
    try:
        gf.jit(TRANSPOSE, device=device)(out, gf.from_numpy(x, device=device), 4, 4, grid=1, block=16)
        return "" if (out.to_numpy() == x.T).all() else "a 4x4 transpose came out wrong"
    except gf.GpuforgeError as error:
        return str(error)


def torch_warning(info: dict[str, Any]) -> str:
    """A sentence when the installed torch lacks this GPU's architecture."""
    try:
        import torch
    except ImportError:
        return ""
    major, minor = info["compute_capability"]
    wanted = f"sm_{major}{minor}"
    has = torch.cuda.get_arch_list()
    if not has or any(arch.rstrip("af") == wanted for arch in has):
        return ""
    return f"warning: torch {torch.__version__} has no code for {wanted}, only {', '.join(has)}"


def main() -> int:
    print(f"python    {platform.python_version()} ({sys.executable})")
    print(f"gpuforge  {gf.__version__}")
    print(f"numpy     {numpy.__version__}")
    print(f"nvrtc     {'found' if gf.is_nvrtc_available() else 'NVRTC JIT compiler not available'}")
    failed = False
    for info in gf.devices():
        name, product = info["device"], info["name"]
        if not info["usable"]:
            print(f"{name:9} {product}: not usable: {info['reason']}")
            continue
        problem = check_transpose(name)
        failed = failed or bool(problem)
        print(f"{name:9} {product}: {problem or 'a kernel runs and is right'}")
        if info["kind"] == "cuda" and (text := torch_warning(info)):
            print(text)
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
