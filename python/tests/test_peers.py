"""What `python -m gpuforge.bench --peers` makes of its measurements; it takes them on a GPU, beside PyTorch, alone."""

import json
import math
import subprocess
import types

import pytest

from gpuforge.peers import main, table
from gpuforge.peers.result import Result

HERE = {"gpu": "NVIDIA H200", "driver": "580.159.04", "torch": "2.11.0", "cupy": "not installed", "date": "2026-11-18"}
CONTENDERS = ["gpuforge", "torch", "triton"]


def case(name="softmax f16 4x8"):
    return types.SimpleNamespace(
        op="softmax",
        dtype="f16",
        rows=4,
        columns=8,
        dim=-1,
        residual=False,
        name=name,
        bytes_read=lambda: 3000,
        bytes_written=lambda: 1000,
    )


def measured(**more):
    keywords = {
        "microseconds": {"gpuforge": 2.0, "torch": 5.0, "triton": 1.5},
        "ratios": {"gpuforge": 1.0, "torch": 2.5, "triton": 0.75},
        "ceiling_microseconds": 1.0,
    }
    return Result(case(), **(keywords | more))


def test_a_row_has_rates_shares_and_the_fastest_peer():
    assert table.row(measured(), CONTENDERS) == [
        "softmax f16 4x8",
        "2.00",
        "2",  # 4000 bytes in 2 us
        "50.0 %",
        "5.00 (2.50x)",
        "1.50 (0.75x)",
        "0.75x",
    ]


def test_who_was_not_measured_is_left_blank():
    alone = measured(microseconds={"gpuforge": 2.0}, ratios={"gpuforge": 1.0}, notes={"torch": "WRONG: 3 elements"})
    assert table.row(alone, CONTENDERS)[3:] == ["50.0 %", "", "", "-"]
    failed = measured(microseconds={"torch": 5.0}, ratios={}, ceiling_microseconds=math.inf)
    assert table.row(failed, CONTENDERS)[1:4] == ["-", "-", "-"]
    text = table.markdown([alone], CONTENDERS, HERE, 1.0)
    assert "Left blank:\n\n- softmax f16 4x8, torch: WRONG: 3 elements" in text


def test_a_table_says_where_and_when():
    lines = table.markdown([measured()], CONTENDERS, HERE, 1.234).splitlines()
    assert lines[0] == "NVIDIA H200, driver 580.159.04, torch 2.11.0, cupy not installed, 2026-11-18"
    assert lines[2] == "A kernel that does nothing takes 1.23 us."
    assert lines[4].startswith("| case | ours us | ") and len({line.count("|") for line in lines[4:]}) == 1


def test_json_is_json_whatever_was_measured():
    text = table.as_json([measured(), measured(ceiling_microseconds=math.inf)], HERE, math.nan)
    document = json.loads(text, parse_constant=pytest.fail)
    assert document["environment"] == HERE and document["empty_kernel_microseconds"] is None
    assert [row["ceiling_microseconds"] for row in document["cases"]] == [1.0, None]
    assert document["cases"][0]["microseconds"]["triton"] == 1.5


def test_results_that_cannot_be_written_are_a_sentence(tmp_path, capsys):
    assert main.saved(tmp_path / "out.json", "{}") and (tmp_path / "out.json").read_text() == "{}"
    assert not main.saved(tmp_path / "nowhere" / "out.json", "{}")
    said = capsys.readouterr().err
    assert said == f"gpuforge.bench: cannot write --out {tmp_path}/nowhere/out.json: No such file or directory\n"


@pytest.mark.parametrize(
    ("said", "expected"),
    [("580.159.04\n580.159.04\n", "580.159.04"), ("\n", "not known"), (FileNotFoundError(), "not known")],
)
def test_the_driver_is_asked_for(monkeypatch, said, expected):
    def answer(*_, **__):
        if isinstance(said, Exception):
            raise said
        return subprocess.CompletedProcess([], 0, stdout=said)

    monkeypatch.setattr(subprocess, "run", answer)
    assert main.driver_version().startswith(expected)
