"""A wheel is built, installed in a clean environment, and works there. The rooms are those that are built already: the
whole build is what `pip install .` does."""

import os
import pathlib
import subprocess
import sys
import venv

SOURCE = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(os.environ.get("GPUFORGE_BUILD", SOURCE / "build" / "release"))
PROGRAM = """
import gpuforge as gf, numpy as np
x = gf.arange(5, device="cpu") * 2
assert x.tolist() == [0, 2, 4, 6, 8], x
assert np.from_dlpack(x).sum() == 20
print(gf.__version__, gf.__file__)
"""


def run(*command, **keywords):
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True, **keywords)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_a_wheel_works_in_a_clean_environment(tmp_path):
    libraries = BUILD / "python_libraries"
    run(SOURCE / "tools" / "python_libraries", libraries, BUILD)
    wheels = tmp_path / "wheels"
    run(
        *[
            sys.executable,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "wheel",
            SOURCE,
            "--no-deps",
            "--no-build-isolation",
        ],
        *[
            "--wheel-dir",
            wheels,
            "-C",
            f"cmake.define.GPUFORGE_LIBRARIES={libraries}",
            "-C",
            f"build-dir={BUILD}/wheel",
        ],
    )
    (wheel,) = wheels.glob("gpuforge-*.whl")
    names = run(sys.executable, "-m", "zipfile", "-l", wheel)
    assert "_core" in names and "py.typed" in names and "_core/layout.pyi" in names and "tests" not in names
    assert wheel.stat().st_size < 20_000_000
    clean = tmp_path / "clean"
    venv.create(clean, with_pip=True)
    python = clean / "bin" / "python"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    run(python, "-m", "pip", "--disable-pip-version-check", "install", wheel, env=environment)
    said = run(python, "-c", PROGRAM, env=environment, cwd=tmp_path)
    assert str(clean) in said
    # The command: on PATH, with the packages of its own environment, and nothing of the build tree.
    command = clean / "bin" / "gpuforge"
    assert "gpuforge" in run(command, "version", env={"PATH": "/usr/bin:/bin"}, cwd=tmp_path)
    case = ["--op", "copy_transpose", "--sizes", "64", "--device", "cpu", "--quick", "--csv"]
    for start in ([command, "bench"], [python, "-m", "gpuforge.bench"]):
        assert "copy_transpose" in run(*start, *case, env=environment, cwd=tmp_path)
