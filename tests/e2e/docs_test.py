"""Every command and program in README.md, CONTRIBUTING.md and docs/ works; and the runner that says so can say no.
Environment: GPUFORGE_BUILD, a finished build folder of this tree."""
import os
import shutil
import stat
import tempfile
import unittest
from pathlib import Path

from docs_runner import Runner, blocks_of, commands_of, links_of

ROOT = Path(__file__).resolve().parents[2]


class Documents(unittest.TestCase):
    def test_every_document(self):
        scratch = tempfile.mkdtemp(prefix="gpuforge_docs_")
        self.addCleanup(shutil.rmtree, scratch)
        paths = [p for p in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))) if p.exists()]
        self.assertTrue(paths, "there is no document to run")
        runner = Runner(ROOT, os.environ["GPUFORGE_BUILD"], scratch)
        failures = runner.run_documents(paths)
        print("\n".join(runner.log))
        self.assertFalse(failures, "\n" + "\n".join(str(f) for f in failures))

    def test_links_lead_to_files(self):
        links = [(p, link) for p in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")) for link in links_of(p)]
        self.assertGreater(len(links), 10)
        broken = [f"{p.relative_to(ROOT)}: {link}" for p, link in links if not (p.parent / link).exists()]
        self.assertFalse(broken)


class RunnerCanSayNo(unittest.TestCase):
    """On a made-up tree whose gpuforge is a five-line script."""

    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix="gpuforge_docs_fixture_"))
        self.addCleanup(shutil.rmtree, self.root)
        self.build = self.root / "out"
        program = self.build / "bin/gpuforge"
        program.parent.mkdir(parents=True)
        program.write_text('#!/bin/sh\ncase "$*" in\n"run --help") echo "--grid N  --block N";;\ndoctor) exit 0;;\n'
                           '*) exit 2;;\nesac\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        (self.root / "data.txt").write_text("unchanged\n")

    def failures(self, text, has_gpu=False):
        (self.root / "README.md").write_text(text)
        self.runner = Runner(self.root, self.build, self.root / "scratch", has_gpu)
        return [str(f) for f in self.runner.run_documents([self.root / "README.md"])]

    def sh(self, *lines, notes="", language="sh", **options):
        return self.failures(f"text\n\n{notes}\n```{language}\n" + "\n".join(lines) + "\n```\n", **options)

    def test_good_commands_pass(self):
        self.assertEqual(self.sh("gpuforge doctor", "build/release/bin/gpuforge doctor  # a remark"), [])

    def test_a_bad_command_fails_and_is_named(self):
        (failure,) = self.sh("gpuforge doctor", "gpuforge docter")
        self.assertIn("README.md:4", failure)
        self.assertIn("gpuforge docter", failure)

    def test_a_failure_in_the_middle_is_seen(self):
        self.assertEqual(len(self.sh("false", "true")), 1)
        self.assertEqual(len(self.sh("false | true")), 1)

    def test_a_declared_exit_code_must_be_the_real_one(self):
        self.assertEqual(self.sh("gpuforge nonsense", notes="<!-- exit: 2 -->"), [])
        self.assertEqual(len(self.sh("gpuforge nonsense", notes="<!-- exit: 3 -->")), 1)
        self.assertEqual(len(self.sh("gpuforge doctor", notes="<!-- exit: 2 -->")), 1)

    def test_an_unknown_note_or_an_open_block_is_an_error(self):
        with self.assertRaises(ValueError):
            self.sh("true", notes="<!-- exti: 2 -->")
        with self.assertRaises(ValueError):
            self.failures("```sh\ntrue\n")

    def test_console_blocks_run_their_dollar_lines(self):
        self.assertEqual(self.sh("$ echo exit 7", "exit 7", "$ gpuforge doctor", language="console"), [])
        self.assertEqual(len(self.sh("$ gpuforge \\", "    docter", language="console")), 1)

    def test_console_blocks_show_what_is_printed(self):
        lines = ["$ printf '1\\n2\\n'; echo 3 >&2", "1", "2", "3", "$ echo \\", "  4", "4"]
        self.assertEqual(self.sh(*lines, language="console"), [])
        (failure,) = self.sh(*lines[:-1], "5", language="console")
        self.assertIn("prints\n4\nwhere the document has\n5\n", failure)
        for wrong in (lines[:2] + lines[3:], lines[:4] + ["more"] + lines[4:], lines[:-1]):
            self.assertEqual(len(self.sh(*wrong, language="console")), 1, wrong)
        self.assertEqual(self.sh("$ for i in a b; do", ">   echo $i \\", ">     x", "> done", "a x", "b x", language="console"), [])
        self.assertEqual(self.sh("$ seq 9", "1", "...", "9", language="console"), [])
        self.assertEqual(len(self.sh("$ seq 9", "1", "...", "8", language="console")), 1)
        self.assertEqual(len(self.sh("$ echo 6; exit 2", "7", language="console", notes="<!-- exit: 2 -->")), 1)

    def test_links_in_text_are_found(self):
        (self.root / "README.md").write_text("[a](x.md#part) ![b](i/y.svg) `[c](z)` [d](https://e) [f](#g)\n```sh\n[h](k)\n```\n")
        self.assertEqual(links_of(self.root / "README.md"), ["x.md", "i/y.svg"])

    def test_gpu_blocks_are_looked_up_without_one_and_run_with_one(self):
        gpu = "<!-- needs: gpu -->"
        self.assertEqual(self.sh("gpuforge run --grid 1 --block=2 x.cu", notes=gpu), [])
        self.assertIn("'--gird'", self.sh("gpuforge run --gird 1", notes=gpu)[0])
        self.assertIn("'rnu'", self.sh("gpuforge rnu --grid 1", notes=gpu)[0])
        self.assertEqual(len(self.sh("gpuforge run --grid 1", notes=gpu, has_gpu=True)), 1)

    def test_heavy_commands_are_named_not_run(self):
        self.assertEqual(self.sh("make demo", "make test  # minutes"), [])
        self.assertIn("not run here", self.runner.log[0])
        self.assertEqual(len(self.sh("make tset")), 1)

    def test_documents_share_a_folder_from_block_to_block_and_leave_the_tree_alone(self):
        text = "```sh\necho new > made.txt\n```\n```sh\ncat made.txt data.txt\n```\n"
        self.assertEqual(self.failures(text), [])
        self.assertFalse((self.root / "made.txt").exists())

    def test_programs_are_compiled_and_run(self):
        self.assertEqual(self.sh("int main() { return 0; }", language="cpp"), [])
        self.assertIn("does not compile", self.sh("int main() { return x; }", language="cpp")[0])
        self.assertIn("exit 4", self.sh("int main() { return 4; }", language="cpp")[0])
        self.assertEqual(self.sh("auto fragment = not_compiled();", language="cpp"), [])

    def test_commands_over_several_lines(self):
        (self.root / "README.md").write_text("```sh\na \\\n  b\ncat <<E\nx # y\nE\n# remark\nc\n```\n")
        (block,) = blocks_of(self.root / "README.md", self.root)
        self.assertEqual(commands_of(block), ["a  b", "cat <<E\nx # y\nE", "c"])


if __name__ == "__main__":
    unittest.main()
