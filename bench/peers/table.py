"""Results as text for people, as markdown and as JSON."""

from __future__ import annotations

import json
import math

from .result import Result


def best_peer(result: Result) -> float:
    """The fastest peer's time over ours; more than 1: ours is faster than all of them."""
    ratios = [ratio for name, ratio in result.ratios.items() if name != "gpuforge"]
    return min(ratios) if ratios else math.nan


def row(result: Result, contenders: list[str]) -> list[str]:
    case = result.case
    moved = case.bytes_read() + case.bytes_written()
    ours = result.microseconds.get("gpuforge", math.nan)
    cells = [
        case.name,
        "-" if math.isnan(ours) else f"{ours:.2f}",
        "-" if math.isnan(ours) else f"{moved / ours / 1e3:.0f}",
    ]
    cells.append("-" if math.isnan(result.share()) else f"{100 * result.share():.1f} %")
    for name in contenders:
        if name == "gpuforge":
            continue
        time = result.microseconds.get(name)
        cells.append(f"{time:.2f} ({result.ratios.get(name, math.nan):.2f}x)" if time is not None else "")
    return [*cells, "-" if math.isnan(best_peer(result)) else f"{best_peer(result):.2f}x"]


def header(contenders: list[str]) -> list[str]:
    return [
        "case",
        "ours us",
        "GB/s",
        "of ceiling",
        *[f"{name} us" for name in contenders if name != "gpuforge"],
        "best peer / ours",
    ]


def origin(environment: dict[str, str]) -> str:
    """Where and when, in a line: NVIDIA H200, driver 580.159.04, torch 2.11.0, ..., 2026-11-18."""
    libraries = [f"{name} {found}" for name, found in environment.items() if name not in ("gpu", "date")]
    return ", ".join([environment["gpu"], *libraries, environment["date"]])


def markdown(results: list[Result], contenders: list[str], environment: dict[str, str], empty: float) -> str:
    """`empty`: what a kernel that does nothing takes, in microseconds."""
    lines = [origin(environment), "", f"A kernel that does nothing takes {empty:.2f} us.", ""]
    lines += ["| " + " | ".join(header(contenders)) + " |", "|---" + "|---:" * (len(header(contenders)) - 1) + "|"]
    lines += ["| " + " | ".join(row(result, contenders)) + " |" for result in results]
    notes = [
        f"- {result.case.name}, {name}: {note}"
        for result in results
        for name, note in result.notes.items()
        if note != "has no such op"
    ]
    return "\n".join(lines) + "\n" + ("\nLeft blank:\n\n" + "\n".join(notes) + "\n" if notes else "")


def as_json(results: list[Result], environment: dict[str, str], empty: float) -> str:
    rows = [
        {
            "op": one.case.op,
            "dtype": one.case.dtype,
            "shape": [one.case.rows, one.case.columns],
            "dim": one.case.dim,
            "residual": one.case.residual,
            "microseconds": one.microseconds,
            "ratios": one.ratios,
            "ceiling_microseconds": one.ceiling_microseconds if math.isfinite(one.ceiling_microseconds) else None,
            "notes": one.notes,
        }
        for one in results
    ]
    whole = {
        "schema": "gpuforge.peers/1",
        "environment": environment,
        "empty_kernel_microseconds": empty if math.isfinite(empty) else None,
        "cases": rows,
    }
    return json.dumps(whole, indent=1) + "\n"
