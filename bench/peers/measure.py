"""Device time of several contenders on one case: each is recorded as a CUDA graph of calls over the same sets of
buffers, more than the L2 cache holds, and the graphs are played in turn, so that clocks and temperature are shared."""

from __future__ import annotations

import dataclasses
import math
import random
import statistics

import torch

from . import ceiling
from .cases import DTYPES, Case, wrong
from .contenders import CONTENDERS, Compute
from .result import Result

MOST_SETS = 48
LEAST_GRAPH_BYTES = 2 << 30  # about half a millisecond of an H200
MOST_CALLS = 256  # of a graph


@dataclasses.dataclass
class Buffers:
    inputs: list[list[torch.Tensor]]
    outputs: list[list[torch.Tensor]]


def make_buffers(case: Case) -> Buffers:
    generator = torch.Generator("cuda").manual_seed(1)
    moved = case.bytes_read() + case.bytes_written()
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    sets = min(MOST_SETS, max(2, math.ceil(4 * l2 / moved) + 1))
    inputs = [case.make_inputs(generator)]
    inputs += [[tensor.clone() for tensor in inputs[0]] for _ in range(sets - 1)]
    outputs = [
        [torch.empty(shape, dtype=DTYPES[case.dtype], device="cuda") for shape in case.output_shapes]
        for _ in range(sets)
    ]
    return Buffers(inputs, outputs)


class Recorded:
    """A graph of `calls` calls; what the calls allocated lives as long as it."""

    def __init__(self, compute: Compute, buffers: Buffers, calls: int):
        self.calls = calls
        self.kept: list[list[torch.Tensor]] = []
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for call in range(calls):
                at = call % len(buffers.inputs)
                self.kept.append(compute(buffers.outputs[at], buffers.inputs[at]))
        self.begin, self.end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def play(self) -> None:
        self.begin.record()
        self.graph.replay()
        self.end.record()

    def microseconds(self) -> float:
        return self.begin.elapsed_time(self.end) * 1000 / self.calls


def prepare(name: str, case: Case, buffers: Buffers, calls: int, result: Result) -> Recorded | None:
    """Verified, then recorded; otherwise why not is noted."""
    try:
        compute = CONTENDERS[name](case)
        if compute is None:
            result.notes[name] = "has no such op"
            return None
        for tensor in buffers.outputs[0]:
            tensor.fill_(float("nan"))
        written = compute(buffers.outputs[0], buffers.inputs[0])
        torch.cuda.synchronize()
        problem = wrong(case, written, buffers.inputs[0])
        del written
        if problem:
            result.notes[name] = "WRONG: " + problem
            return None
        return Recorded(compute, buffers, calls)
    except Exception as error:  # a peer's failure costs its column, whatever it raises
        result.notes[name] = (
            f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"[:200]
        )
        return None


def played_in_turn(recorded: dict[str, Recorded], rounds: int) -> dict[str, list[float]]:
    """Microseconds of a call, of every round."""
    for one in recorded.values():  # clocks up, caches cold
        one.play()
    times: dict[str, list[float]] = {name: [] for name in recorded}
    order = list(recorded)
    shuffled = random.Random(1)
    for _ in range(rounds):
        shuffled.shuffle(order)
        for name in order:
            recorded[name].play()
        torch.cuda.synchronize()
        for name in order:
            times[name].append(recorded[name].microseconds())
    return times


def measure(case: Case, contenders: list[str], rounds: int = 15, with_ceiling: bool = True) -> Result:
    result = Result(case)
    buffers = make_buffers(case)
    moved = case.bytes_read() + case.bytes_written()
    calls = min(MOST_CALLS, max(len(buffers.inputs), math.ceil(LEAST_GRAPH_BYTES / moved)))
    recorded = {}
    for name in contenders:
        one = prepare(name, case, buffers, calls, result)
        if one is not None:
            recorded[name] = one
    for form in ceiling.FORMS if with_ceiling else ():
        compute = ceiling.prepare(case, form, len(buffers.inputs))
        compute([], [])  # compiled before it is recorded
        recorded[f"ceiling {form}"] = Recorded(compute, buffers, calls)
    times = played_in_turn(recorded, rounds)
    for name, samples in times.items():
        if name.startswith("ceiling"):
            result.ceiling_microseconds = min(statistics.median(samples), result.ceiling_microseconds)
            continue
        result.microseconds[name] = statistics.median(samples)
        if "gpuforge" in times:
            result.ratios[name] = statistics.median(
                peer / ours for peer, ours in zip(samples, times["gpuforge"], strict=True)
            )
    return result


def empty_kernel(rounds: int = 15) -> float:
    """Microseconds of a call that does nothing, in a graph of many of them."""
    compute = ceiling.prepare_empty()
    compute([], [])  # compiled before it is recorded
    recorded = {"empty": Recorded(compute, Buffers([[]], [[]]), MOST_CALLS)}
    return statistics.median(played_in_turn(recorded, rounds)["empty"])
