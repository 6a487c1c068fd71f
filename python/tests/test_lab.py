"""The lab from Python, and env_check."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import gpuforge as gf

SOURCE = pathlib.Path(os.environ.get("GPUFORGE_SOURCE", pathlib.Path(__file__).parents[2]))


def test_ops_are_checked(device):
    report = gf.lab.check("reduce_sum", shapes=[(3, 33)], dtypes=["float32"], device=device)
    assert report["good"] and report["device"] == device and report["cases"]
    assert all(case["dtype"] == "float32" and not case["complaints"] for case in report["cases"])
    with pytest.raises(ValueError, match="nosuch"):
        gf.lab.check("nosuch")


def test_files_are_checked(tmp_path):
    template = (SOURCE / "cli" / "templates" / "copy_transpose.cu.in").read_text()
    path = tmp_path / "mine.cu"
    path.write_text(template.replace("NAME", "mine"))
    report = gf.lab.check(path, device="sim", quick=True)
    assert report["good"] and report["op"]


def double(wrong):
    return gf.lab.candidate(
        lambda out, x: gf.mul(x, 2.5 if wrong else 2, out=out),
        lambda x: 2 * x,
        inputs=[("x", "float32", (8, 5))],
        outputs=[("out", "float32", (8, 5))],
        name="double",
    )


def test_python_functions_are_candidates(device):
    assert gf.lab.check(double(wrong=False), device=device)["good"]
    report = gf.lab.check(double(wrong=True), device=device)
    assert not report["good"] and report["cases"][0]["complaints"]
    result = gf.lab.bench(double(wrong=False), device=device, seconds=0.05, repetitions=2)
    assert result["good"], result["failure"]
    assert (result["median_ms"] is None) == (device == "sim")


def test_candidates_may_return_and_raise():
    numpy_sum = gf.lab.candidate(
        lambda x: np.asarray(x).sum(axis=1, dtype="float32"),
        lambda x: x.sum(axis=1),
        inputs=[("x", "float32", (4, 9))],
        outputs=[("out", "float32", (4,))],
        returns=True,
        rtol=1e-5,
    )
    assert gf.lab.check(numpy_sum, device="cpu")["good"]

    def broken(out, x):
        raise RuntimeError("on purpose")

    report = gf.lab.check(
        gf.lab.candidate(broken, lambda x: x, inputs=[("x", "float32", (2,))], outputs=[("out", "float32", (2,))]),
        device="cpu",
    )
    assert not report["good"] and "on purpose" in str(report["cases"][0]["complaints"])


def test_bench_and_tune():
    result = gf.lab.bench("copy_transpose", shape=(64, 64), dtype="float32", device="cpu", seconds=0.05, repetitions=2)
    assert result["good"] and result["median_ms"] > 0 and result["gb_per_s"] > 0
    tuned = gf.lab.tune("copy_transpose", shape=(32, 32), dtype="float32", device="sim", seconds=20, keep=False)
    assert tuned["kept_in"] is None
    assert tuned["space"] > 0 and tuned["unit"] == "proxy" and tuned["best"]
    assert "smoke" in gf.lab.suites() and gf.lab.suite_cases("smoke")


def run(*arguments):
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, timeout=240)


TUNE = """
import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout)
import gpuforge as gf
tuned = gf.lab.tune("copy_transpose", shape=(32, 32), dtype="float32", device="sim", seconds=20)
print("kept", len(open(tuned["kept_in"]).readlines()) >= len(tuned["records"]) > 0)
"""
USE = """
import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout)
import gpuforge as gf
gf.zeros((2, 2), device="sim")
"""


def test_later_programs_choose_by_what_was_tuned(tmp_path):
    environment = {**os.environ, "GPUFORGE_CACHE_DIR": str(tmp_path), "GPUFORGE_LOG": "info"}

    def output(program):
        return subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=240, check=True
        ).stdout

    assert "tuned on sim" not in output(USE)
    assert "kept True" in output(TUNE)
    assert "1 choice was tuned on sim" in output(USE)
    for name in ("GPUFORGE_CACHE_DIR", "HOME", "XDG_CACHE_HOME"):
        environment.pop(name, None)
    nowhere = output(TUNE.replace('open(tuned["kept_in"])', "open('/dev/null')"))
    assert "results are not kept" in nowhere and "kept False" in nowhere


def test_env_check():
    done = run("gpuforge.env_check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "sim       simulated" in done.stdout and "a kernel runs and is right" in done.stdout
