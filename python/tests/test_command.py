"""The command inside the package: `gpuforge VERB`, and `python -m gpuforge.bench`, which is `gpuforge bench`."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import gpuforge as gf
from gpuforge import _command

SOURCE = pathlib.Path(os.environ.get("GPUFORGE_SOURCE", pathlib.Path(__file__).parents[2]))
CASE = ["--op", "copy_transpose", "--sizes", "64", "--dtypes", "f16,f32", "--device", "sim"]


def run(*arguments, **keywords):
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=240, **keywords
    )


def bench(*arguments, code=0, **keywords):
    done = run("-m", "gpuforge.bench", *arguments, **keywords)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def command(*arguments, **keywords):
    """As the script on PATH does it."""
    return run("-c", "from gpuforge._command import main; main()", *arguments, **keywords)


def test_the_tables_are_those_of_the_command():
    for form in [[], ["--csv"], ["--markdown"], ["--variant", "all", "--quick"]]:
        native = subprocess.run(
            [_command.PROGRAM, "bench", *CASE, *form], capture_output=True, text=True, timeout=240, check=True
        )
        assert bench(*CASE, *form).stdout == native.stdout != ""
    assert bench("--help").stdout == command("bench", "--help").stdout
    assert "--peers" in bench("--help").stdout


def test_results_are_saved_and_compared(tmp_path):
    here = ["--op", "copy_transpose", "--sizes", "64", "--dtypes", "f32", "--device", "cpu", "--quick"]
    bench(*here, "--save", "base.json", "--html", "page.html", cwd=tmp_path)
    (case,) = json.loads((tmp_path / "base.json").read_text())["cases"]
    assert case["op"] == "copy_transpose" and "</html>" in (tmp_path / "page.html").read_text()
    document = json.loads(bench(*here, "--compare", "base.json", "--json", cwd=tmp_path).stdout)
    assert document["gpuforge"] and document["cases"]
    assert "no such file" in bench(*here, "--compare", "other.json", code=2, cwd=tmp_path).stderr.lower()


def test_kernel_files_run_in_a_process_of_their_own(tmp_path):
    template = (SOURCE / "cli" / "templates" / "copy_transpose.cu.in").read_text()
    (tmp_path / "mine.cu").write_text(template.replace("NAME", "mine"))
    said = bench("mine.cu", "--sizes", "33x65", "--device", "sim", "--isolate", cwd=tmp_path).stdout
    assert "mine" in said and "33x65" in said


def test_wrong_words_are_exit_code_2():
    for words, expected in [
        (["--szies", "64"], "--sizes"),
        (["--suite", "nosuch"], "nosuch"),
        (["--device"], "--device"),
    ]:
        done = bench(*words, code=2)
        assert expected in done.stderr and done.stdout == "" and "Traceback" not in done.stderr


def test_a_closed_pipe_ends_it_quietly():
    for arguments in [["bench", *CASE], ["--help"]]:
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(
            [sys.executable, "-c", "from gpuforge._command import main; main()", *arguments],
            stdout=writer,
            stderr=subprocess.PIPE,
            timeout=240,
        )
        os.close(writer)
        assert (done.returncode, done.stderr) == (141, b"")


INTERRUPTIBLE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever runs these tests may have it ignored
from gpuforge import bench
bench.main(sys.argv[1:])
"""


def blocks_interrupts(process):
    """The command has begun to take its own care of signals, which are read by a thread from then on."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    (mask,) = [line.split()[1] for line in status.splitlines() if line.startswith("SigBlk:")]
    return int(mask, 16) >> (signal.SIGINT - 1) & 1 == 1


def test_an_interrupt_ends_it():
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, "--op", "matmul", "--sizes", "2048", "--device", "sim"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not blocks_interrupts(process) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 128 + signal.SIGINT and "Traceback" not in said
    finally:
        process.kill()
        process.communicate()


def test_every_verb_is_there():
    done = command("version")
    assert done.returncode == 0 and gf.__version__ in done.stdout
    assert command("layout", "(4,8):(8,1)").returncode == 0
    assert command("nosuch").returncode == 2


def test_packages_are_those_of_this_interpreter(tmp_path):
    stand_in = tmp_path / "gpuforge"
    stand_in.write_text('#!/bin/sh\necho "$PATH"\necho "$@"\nexit 7\n')
    stand_in.chmod(0o755)
    program = f"from gpuforge import _command; _command.PROGRAM = {str(stand_in)!r}; _command.main()"
    done = run("-c", program, "one", "two words", env={**os.environ, "PATH": "/usr/bin:/bin"})
    folder = pathlib.Path(sys.executable).parent
    assert (done.returncode, done.stdout) == (7, f"{folder}:/usr/bin:/bin\none two words\n")


def test_a_package_without_its_program_says_so(monkeypatch, capsys):
    monkeypatch.setattr(_command, "PROGRAM", pathlib.Path("/nowhere/gpuforge"))
    with pytest.raises(SystemExit) as caught:
        _command.run("version")
    assert caught.value.code == 3 and "/nowhere/gpuforge" in capsys.readouterr().err


def test_peers_has_flags_of_its_own():
    done = bench("--peers", "torch", "--rounds", "many", code=2)
    assert "--rounds" in done.stderr
    assert "--rounds" in bench("--peers=torch", "--help").stdout
    assert bench("--", "--peers", code=2).stderr.startswith("gpuforge:")
