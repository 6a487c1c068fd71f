"""The stubs are those of the module, and the package passes a type checker with them."""

import os
import pathlib
import subprocess
import sys

PACKAGE = pathlib.Path(__file__).parents[1] / "gpuforge"
USER = """
import numpy as np
import gpuforge as gf

x: gf.Array = gf.zeros((2, 3), "bfloat16", device="cpu")
y = (x + 1 > 0) * 2
shape: tuple[int, ...] = y.shape
total: bool | int | float = gf.sum(y, axis=0)[0].item()
kernel = gf.jit("...", "k")
kernel(x, 0.5, 3, grid=1, block=(32, 1))
array: np.ndarray = y.to_numpy()
"""


def test_stubs_are_current(tmp_path):
    """To renew them: python -m nanobind.stubgen -q -P -m gpuforge._core -r -O python/gpuforge"""
    subprocess.run(
        [sys.executable, "-m", "nanobind.stubgen", "-q", "-P", "-m", "gpuforge._core", "-r", "-O", str(tmp_path)],
        check=True,
    )
    made = {path.name: path.read_text() for path in (tmp_path / "_core").glob("*.pyi")}
    kept = {path.name: path.read_text() for path in (PACKAGE / "_core").glob("*.pyi")}
    assert made == kept


def test_the_package_passes_mypy(tmp_path):
    program = tmp_path / "user.py"
    program.write_text(USER)
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    command = [sys.executable, "-m", "mypy", "--config-file", str(PACKAGE.parents[1] / "pyproject.toml"), "--cache-dir"]
    for what in [["-p", "gpuforge"], [str(program)]]:
        done = subprocess.run(
            [*command, str(tmp_path / "cache"), *what], capture_output=True, text=True, env=environment
        )
        assert done.returncode == 0, done.stdout + done.stderr
