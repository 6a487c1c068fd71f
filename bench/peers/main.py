"""The command: `python -m gpuforge.bench --peers torch,torch.compile,triton,cupy`."""

from __future__ import annotations

import argparse
import math
import pathlib
import subprocess
import sys
import time

from .result import Result


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(
        prog="python -m gpuforge.bench --peers",
        description="Ours beside other libraries: same buffers, one process, turn by turn, verified first.",
        epilog="example: python -m gpuforge.bench --peers torch,triton --op softmax --dtypes f16 --markdown",
    )
    out.add_argument("--peers", required=True, metavar="A,B", help="torch, torch.compile, triton, cupy")
    out.add_argument("--quick", action="store_true", help="one case of each op instead of the whole table")
    out.add_argument("--suite", metavar="NAME", help="the cases of `gpuforge bench --suite NAME` instead")
    out.add_argument("--op", action="append", help="only this op; may be given more than once")
    out.add_argument("--dtypes", help="only these, with commas: f16, bf16, f32")
    out.add_argument("--sizes", help="only these shapes, with commas: 8192x8192,64x4096")
    out.add_argument("--rounds", type=int, default=15, help="times each graph is played")
    out.add_argument("--markdown", action="store_true", help="a markdown table at the end")
    out.add_argument("--out", "--save", type=pathlib.Path, metavar="F.json", help="all of it as JSON")
    return out


class NoSuchCase(Exception):
    """What was asked for is not in the table."""


def chosen(options: argparse.Namespace, cases: list) -> list:
    from .cases import DTYPES

    ops = set(options.op or [])
    dtypes = set(options.dtypes.split(",")) if options.dtypes else set(DTYPES)
    if unknown := dtypes - set(DTYPES):
        raise NoSuchCase(f"no dtype {', '.join(sorted(unknown))}; there are {', '.join(DTYPES)}")
    known = sorted({case.op for case in cases})
    if unknown := ops - set(known):
        raise NoSuchCase(f"no op {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    sizes = set(options.sizes.split(",")) if options.sizes else None
    left = [
        case
        for case in cases
        if (not ops or case.op in ops)
        and case.dtype in dtypes
        and (sizes is None or f"{case.rows}x{case.columns}" in sizes)
    ]
    if not left:
        raise NoSuchCase("no case of the table is left by --op, --dtypes and --sizes")
    return left


def driver_version() -> str:
    """NVIDIA's number of the driver, which no library tells; nvidia-smi comes with the driver."""
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        said = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True).stdout.split()
    except (OSError, subprocess.SubprocessError):
        said = []
    return said[0] if said else "not known (no answer of nvidia-smi)"


def environment() -> dict[str, str]:
    import torch

    import gpuforge

    found = {
        "gpu": torch.cuda.get_device_name(0),
        "driver": driver_version(),
        "torch": torch.__version__,
        "gpuforge": gpuforge.__version__,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }
    for name in ("triton", "cupy"):
        try:
            found[name] = __import__(name).__version__
        except ImportError:
            found[name] = "not installed"
    return found


def saved(path: pathlib.Path, text: str) -> bool:
    """No, and a sentence, when it cannot be written."""
    try:
        path.write_text(text)
    except OSError as error:
        print(f"gpuforge.bench: cannot write --out {path}: {error.strerror}", file=sys.stderr)
        return False
    return True


def run(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    try:
        import torch
    except ImportError:
        print("gpuforge.bench: --peers needs PyTorch, which is not installed: pip install torch", file=sys.stderr)
        return 3
    if not torch.cuda.is_available():
        print("gpuforge.bench: --peers measures on a GPU, and PyTorch finds none here", file=sys.stderr)
        return 3
    from . import measure, table
    from .cases import full_table, quick_table, suite_table
    from .contenders import CONTENDERS

    peers = [name for name in options.peers.split(",") if name]
    if unknown := [name for name in peers if name not in CONTENDERS]:
        print(
            f"gpuforge.bench: no peer {', '.join(unknown)}; there are {', '.join(list(CONTENDERS)[1:])}",
            file=sys.stderr,
        )
        return 2
    contenders = ["gpuforge", *[name for name in peers if name != "gpuforge"]]
    try:
        if options.suite is not None:
            cases = chosen(options, suite_table(options.suite))
        else:
            cases = chosen(options, quick_table() if options.quick else full_table())
    except (NoSuchCase, ValueError) as error:
        print(f"gpuforge.bench: {error}", file=sys.stderr)
        return 2
    here = environment()
    results: list[Result] = []
    if options.out and not saved(options.out, table.as_json(results, here, math.nan)):  # known before an hour is spent
        return 2
    empty = measure.empty_kernel(options.rounds)
    is_saved = True
    for number, case in enumerate(cases, 1):
        result = measure.measure(case, contenders, options.rounds)
        torch.cuda.empty_cache()
        results.append(result)
        cells = table.row(result, contenders)
        print(
            f"[{number}/{len(cases)}] "
            + "  ".join(cells)
            + "".join(f"\n    {name}: {note}" for name, note in result.notes.items() if note != "has no such op"),
            flush=True,
        )
        if options.out:  # what is known so far, should it be interrupted
            is_saved = saved(options.out, table.as_json(results, here, empty))
    if options.markdown:
        print()
        print(table.markdown(results, contenders, here, empty))
    wrong = any(result.notes.get("gpuforge", "").startswith("WRONG") for result in results)
    return 1 if wrong else 0 if is_saved else 3
