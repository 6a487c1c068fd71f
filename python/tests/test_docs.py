"""The Python in README.md and docs/guide/python.md, on each device; docstrings."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import gpuforge as gf

SOURCE = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize("document", ["README.md", "docs/guide/python.md"])
def test_documents_run(device, document, tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", (SOURCE / document).read_text(), flags=re.M | re.S)
    assert blocks
    program = tmp_path / "document.py"
    program.write_text("\n".join(blocks))
    environment = {**os.environ, "GPUFORGE_DEVICE": device}
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, env=environment, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr


def test_doctests(run_doctests):
    owners = [gf, gf._core, gf._kernels, gf._scopes, gf.lab, gf.profiling, gf.layout]
    results = [run_doctests(owner, owner.__name__) for owner in owners]
    assert all(failures == 0 for failures, _ in results)
    assert sum(tries for _, tries in results) > 20
