"""What is compared: an op, a dtype, a shape; its inputs, its result in double, the bytes it must move."""

from __future__ import annotations

import dataclasses
import math

import torch

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
EPS = 1e-6
SHORT_NAMES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32"}
COMPARED = (
    "copy_transpose",
    "reduce_sum",
    "reduce_mean",
    "reduce_amax",
    "softmax",
    "softmax_backward",
    "rms_norm",
    "layer_norm",
)


@dataclasses.dataclass(frozen=True)
class Case:
    op: str  # one of COMPARED
    dtype: str
    rows: int
    columns: int
    dim: int = -1
    residual: bool = False

    @property
    def name(self) -> str:
        more = (f" dim {self.dim}" if self.dim != -1 else "") + (" +residual" if self.residual else "")
        return f"{self.op} {self.dtype} {self.rows}x{self.columns}{more}"

    @property
    def element_bytes(self) -> int:
        return 4 if self.dtype == "f32" else 2

    @property
    def output_shapes(self) -> list[tuple[int, ...]]:
        if self.op == "copy_transpose":
            return [(self.columns, self.rows)]
        if self.op.startswith("reduce"):
            return [(self.columns,) if self.dim == 0 else (self.rows,)]
        return [(self.rows, self.columns)] * (2 if self.residual else 1)

    @property
    def input_count(self) -> int:
        """Inputs of the whole size; weights are small."""
        return 2 if self.op == "softmax_backward" or self.residual else 1

    def bytes_read(self) -> int:
        weights = {"rms_norm": 1, "layer_norm": 2}.get(self.op, 0)
        return (self.input_count * self.rows + weights) * self.columns * self.element_bytes

    def bytes_written(self) -> int:
        return sum(math.prod(shape) for shape in self.output_shapes) * self.element_bytes

    def make_inputs(self, generator: torch.Generator) -> list[torch.Tensor]:
        dtype = DTYPES[self.dtype]

        def normal(*shape: int) -> torch.Tensor:
            return torch.randn(*shape, generator=generator, device="cuda", dtype=torch.float32).to(dtype)

        x = normal(self.rows, self.columns)
        if self.op == "softmax_backward":
            return [x, torch.softmax(normal(self.rows, self.columns), -1)]
        if self.op in ("rms_norm", "layer_norm"):
            weights = [normal(self.columns) for _ in range(1 if self.op == "rms_norm" else 2)]
            return [x, *weights, *([normal(self.rows, self.columns)] if self.residual else [])]
        return [x]

    def reference(self, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        """In double, by the definition. The sum with the residual is rounded first, as ours and vLLM's is."""
        x = inputs[0]
        if self.op == "copy_transpose":
            return [x.t()]
        if self.op == "reduce_sum":
            return [x.double().sum(self.dim)]
        if self.op == "reduce_mean":
            return [x.double().mean(self.dim)]
        if self.op == "reduce_amax":
            return [x.double().amax(self.dim)]
        if self.op == "softmax":
            return [torch.softmax(x.double(), -1)]
        if self.op == "softmax_backward":
            dy, y = x.double(), inputs[1].double()
            return [y * (dy - (dy * y).sum(-1, keepdim=True))]
        summed = (x.float() + inputs[-1].float()).to(x.dtype) if self.residual else x
        row = summed.double()
        weight = inputs[1].double()
        if self.op == "rms_norm":
            out = row * torch.rsqrt((row * row).mean(-1, keepdim=True) + EPS) * weight
        else:
            centred = row - row.mean(-1, keepdim=True)
            out = centred * torch.rsqrt((centred * centred).mean(-1, keepdim=True) + EPS) * weight + inputs[2].double()
        return [out, summed] if self.residual else [out]

    def tolerance(self) -> float:
        """Of the largest difference, in units of the result's own size: a few roundings to the dtype, and in sums
        a rounding of f32 for each doubling of the length."""
        unit = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24}[self.dtype]
        return 0.0 if self.op in ("copy_transpose", "reduce_amax") else 4 * unit + 32 * 2.0**-24


def wrong(case: Case, outputs: list[torch.Tensor], inputs: list[torch.Tensor]) -> str:
    """What is wrong with a result, in words; nothing when it is right. Each row is judged by its own norm."""
    for i, (found, expected) in enumerate(zip(outputs, case.reference(inputs), strict=True)):
        if tuple(found.shape) != tuple(expected.shape):
            return f"output {i} has shape {tuple(found.shape)}, not {tuple(expected.shape)}"
        found, expected = found.double(), expected.double()
        # A sum is as large as what it adds, however much of it cancels, and as itself, which is rounded.
        if case.op in ("reduce_sum", "reduce_mean"):
            added = inputs[0].double().norm(dim=case.dim)
            added /= 1 if case.op == "reduce_sum" else inputs[0].shape[case.dim]
            size = torch.maximum(added, expected.abs())
        else:
            size = expected.abs().amax(-1, keepdim=True)
        error = (found - expected).abs() / size.clamp_min(1e-30)
        worst = float(error.max()) if error.numel() else 0.0
        if not worst <= case.tolerance():
            return f"output {i} is off by {worst:.3g} of its size; {case.tolerance():.3g} is allowed"
    return ""


def full_table() -> list[Case]:
    """The shapes by which the kernels are judged: 128 MiB and more, odd ones beside even ones, and small ones."""
    cases = []
    for dtype in ("f16", "bf16", "f32"):

        def rows_of(columns: int, inputs: int = 1, size: int = 256 << 20, dtype: str = dtype) -> int:
            return max(1, size // (columns * (4 if dtype == "f32" else 2) * inputs))

        for rows, columns in ((4096, 4096), (8192, 8192), (16384, 16384), (131072, 256), (256, 131072), (8191, 8193)):
            cases.append(Case("copy_transpose", dtype, rows, columns))
        for columns in (128, 256, 1024, 4096, 8192, 8193, 16384, 65536, 65537, 262144, 262143):
            cases.append(Case("reduce_sum", dtype, rows_of(columns), columns))
        for rows, columns in ((8192, 8192), (65536, 1024), (1024, 65536)):
            cases.append(Case("reduce_sum", dtype, rows, columns, dim=0))
        for columns in (256, 1024, 4096, 8192, 8193, 16384, 16385, 32768, 65536, 65537, 131072, 262144, 262143):
            cases.append(Case("softmax", dtype, rows_of(columns), columns))
        for columns in (1024, 4096, 8192, 8193, 16384, 16385, 65536, 65537, 262144, 262143):
            cases.append(Case("softmax_backward", dtype, rows_of(columns), columns))
        for op in ("rms_norm", "layer_norm"):
            for columns in (1024, 4096, 8192, 8193, 16384, 16385):
                for residual in (False, True):
                    cases.append(Case(op, dtype, rows_of(columns), columns, residual=residual))
        for op in ("copy_transpose", "reduce_sum", "softmax", "softmax_backward", "rms_norm", "layer_norm"):
            for rows, columns in ((64, 256), (64, 4096), (512, 512)):
                cases.append(Case(op, dtype, rows, columns))
    return cases


def suite_table(name: str) -> list[Case]:
    """What `gpuforge bench --suite NAME` measures: each case once, whatever variants and options of ours the suite
    goes through. ValueError when there is no such suite, or one of its cases is not compared."""
    from gpuforge import lab

    names = {"softmax_online": "softmax", "softmax_online_backward": "softmax_backward"}
    cases = {}
    for each in lab.suite_cases(name):
        options = each["options"]
        op = f"reduce_{options.get('op', 'sum')}" if each["op"] == "reduce" else names.get(each["op"], each["op"])
        if op not in COMPARED or len(each["shape"]) != 2 or each["dtype"] not in SHORT_NAMES:
            found = f"{op} of {each['dtype']} {each['shape']}"
            raise ValueError(f"the suite {name} has {found}; compared are matrices of {', '.join(COMPARED)}")
        dim = 0 if int(options.get("dim", -1)) in (0, -2) else -1
        residual = options.get("residual", "false") == "true"
        cases[Case(op, SHORT_NAMES[each["dtype"]], *each["shape"], dim=dim, residual=residual)] = True
    return list(cases)


def quick_table() -> list[Case]:
    """One case of each op, in f16: a look in a minute or two."""
    return [
        Case("copy_transpose", "f16", 8192, 8192),
        Case("reduce_sum", "f16", 16384, 8192),
        Case("reduce_sum", "f16", 8192, 8192, dim=0),
        Case("softmax", "f16", 16384, 8192),
        Case("softmax_backward", "f16", 16384, 8192),
        Case("rms_norm", "f16", 16384, 8192),
        Case("layer_norm", "f16", 16384, 8192),
        Case("rms_norm", "f16", 16384, 8192, residual=True),
    ]
