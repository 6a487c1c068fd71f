"""The command `gpuforge`: the native program that lies inside the package."""

from __future__ import annotations

import os
import pathlib
import sys
from typing import NoReturn

PROGRAM = pathlib.Path(__file__).with_name("_bin") / "gpuforge"


def run(*arguments: str) -> NoReturn:
    """Becomes the command: signals, pipes and exit codes are its own, and nothing of Python stays between."""
    # What the command looks for in Python's packages (NVRTC, references of kernels) is this interpreter's.
    folder = str(pathlib.Path(sys.executable).parent) if sys.executable else None
    path = os.pathsep.join(entry for entry in (folder, os.environ.get("PATH")) if entry)
    try:
        os.execve(PROGRAM, ["gpuforge", *arguments], {**os.environ, "PATH": path})
    except OSError as error:
        print(f"gpuforge: cannot run {PROGRAM}, which belongs to this package: {error.strerror}", file=sys.stderr)
        sys.exit(3)


def main() -> NoReturn:
    run(*sys.argv[1:])
