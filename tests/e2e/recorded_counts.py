"""Instruction counts against those recorded in a file with the compiler they are of: what tests of them have alike."""
import json
import subprocess
import sys

RECORD = "--record" in sys.argv and not sys.argv.remove("--record")
ALLOWED = 1.10  # a change that costs more says so by recording the counts again


def compiler():
    return subprocess.run(["c++", "-dumpfullversion"], capture_output=True, text=True).stdout.strip()


def compare(test, counts, path):
    """Records `counts` first where the command line has --record."""
    if RECORD:
        rounded = {name: now if isinstance(now, int) else float(f"{now:.4g}") for name, now in counts.items()}
        path.write_text(json.dumps({"compiler": compiler(), "counts": rounded}, indent=1) + "\n")
    recorded = json.loads(path.read_text())
    if compiler() != recorded["compiler"]:
        test.skipTest(f"recorded with g++ {recorded['compiler']}, this is {compiler()}")
    test.assertEqual(set(counts), set(recorded["counts"]))
    for name, now in counts.items():
        then = recorded["counts"][name]
        print(f"{name:26} {now:14.4g} recorded {then:14.4g}", flush=True)
        test.assertLessEqual(now, ALLOWED * then, f"{name}: if this is worth it, record the counts again")
