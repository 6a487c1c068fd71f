"""The tables of docs/performance.md: tools/peer_bars says what they say, finds every row that misses a bar, and README shows their rows."""
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/performance.md"
HEAD = "| case | ours us | GB/s | of ceiling | torch us | triton us | best peer / ours |\n|---|---:|---:|---:|---:|---:|---:|\n"


def row(name, microseconds=100.0, share="99.5 %", torch="200.00 (2.00x)", triton="130.00 (1.30x)", best="1.30x"):
    return f"| {name} | {microseconds:.2f} | 4000 | {share} | {torch} | {triton} | {best} |\n"


# One row for each bar, and one of those rows beside which an odd one can stand.
GOOD = [row("copy_transpose f32 8192x8192"), row("copy_transpose f16 8192x8192"), row("copy_transpose f32 8191x8193", 110),
        row("reduce_sum f16 16384x8192"), row("reduce_sum f16 65536x1024 dim 0"), row("softmax f16 524288x256"), row("softmax f16 131072x1024"),
        row("softmax f16 16384x8192"), row("softmax f16 16382x8193", 101), row("softmax_backward f16 16384x8192"),
        row("rms_norm f16 16384x8192 +residual"), row("layer_norm f16 16384x8192"), row("softmax f16 64x256", 1, "80.0 %")]


class PeerBars(unittest.TestCase):
    def judge(self, text, *options):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.md"
            page.write_text(text)
            run = subprocess.run([sys.executable, ROOT / "tools/peer_bars", page, *options], capture_output=True, text=True)
            self.assertNotIn("Traceback", run.stderr)
            return run.returncode, run.stdout, run.stderr, page.read_text()

    def judge_rows(self, rows):
        code, out, error, _ = self.judge(HEAD + "".join(rows))
        return code, out, error

    def assert_missed(self, rows, sentence):
        code, out, _ = self.judge_rows(rows)
        self.assertEqual(code, 1, out)
        self.assertEqual(out[out.index("Missed:"):], f"Missed:\n\n- {sentence}\n")

    def test_the_page_says_what_its_tables_say(self):
        code, out, error, page = self.judge(PAGE.read_text(), "--write")
        self.assertIn(code, (0, 1), error)
        self.assertEqual(page, PAGE.read_text(), "run tools/peer_bars docs/performance.md --write")
        self.assertIn(out, page)

    def test_every_bar_of_a_good_table_holds(self):
        code, out, _ = self.judge_rows(GOOD)
        self.assertEqual(code, 0, out)
        self.assertTrue(out.endswith("\nEvery bar holds.\n"))
        self.assertIn("| `copy_transpose` 8191x8193 | 78 % | 1 | 99.5 % | 99.5 % | 90 % | 1 |", out)
        self.assertIn("| of 1 MiB and less | 1 | 1.30x | 1.30x | 1 |", out)

    def test_each_share_has_its_bar(self):
        for name, bar in [("copy_transpose f32 8192x8192", 92), ("copy_transpose bf16 4096x4096", 90), ("copy_transpose f16 8191x8193", 78),
                          ("reduce_sum f32 524288x128", 95), ("reduce_sum bf16 8192x8192 dim 0", 92), ("softmax f16 524288x256", 70),
                          ("softmax f16 131072x1024", 88), ("softmax f32 256x262144", 94), ("softmax_backward f32 65536x1024", 94),
                          ("rms_norm f32 16384x4096", 95), ("layer_norm bf16 8192x16384 +residual", 95)]:
            with self.subTest(name):
                others = [one for one in GOOD if not one.startswith(f"| {name} ")]
                self.assertEqual(self.judge_rows([*others, row(name, share=f"{bar}.0 %")])[0], 0)
                below = row(name, share=f"{bar - 0.1:.1f} %")
                self.assert_missed([*others, below], f"{name}: {bar - 0.1:.1f} % of the ceiling, below {bar} %")

    def test_a_small_row_is_judged_by_the_peers_alone(self):
        self.assertEqual(self.judge_rows([*GOOD, row("softmax f16 64x4096", 2, "60.0 %")])[0], 0)
        self.assert_missed([*GOOD, row("softmax f16 64x4096", 2, "60.0 %", triton="1.98 (0.99x)", best="0.99x")],
                           "softmax f16 64x4096: triton is faster, 0.99x")

    def test_a_small_row_has_a_kernel_that_does_nothing_as_its_goal(self):
        said = "a microsecond more than a kernel that does nothing: reached by "
        self.assertIn(said + "0 of 0 rows, for what that takes was not measured.\n", self.judge_rows(GOOD)[1])
        more = row("rms_norm f32 64x256", 2.2)
        empty = "A kernel that does nothing takes 1.10 us.\n\n"
        self.assertIn(said + "1 of 2 rows.\n", self.judge(empty + HEAD + "".join(GOOD) + more)[1])
        other_run = "\n## f32\n\n" + HEAD + more
        self.assertIn(said + "1 of 1 rows.\n", self.judge(empty + HEAD + "".join(GOOD) + other_run)[1])

    def test_a_peer_that_was_not_measured_is_not_the_fastest(self):
        self.assertEqual(self.judge_rows([*GOOD, row("rms_norm f32 64x256", 1, triton="", best="2.00x")])[0], 0)
        self.assertEqual(self.judge_rows([*GOOD, row("reduce_amax f16 64x256", 1, torch="", triton="", best="-")])[0], 0)

    def test_an_odd_row_costs_15_per_cent_at_the_most(self):
        at_most = row("softmax_backward f16 16382x8193", 114.9)
        self.assertEqual(self.judge_rows([*GOOD, at_most])[0], 0)
        self.assert_missed([*GOOD, row("softmax_backward f16 16382x8193", 116)],
                           "softmax_backward f16 16382x8193: 1.16x the time of softmax_backward f16 16384x8192, an element")

    def test_what_was_not_measured_is_missed(self):
        self.assert_missed(GOOD[:4] + GOOD[5:], "`reduce_sum` over dim 0: not measured")

    def test_tables_without_a_ceiling_are_not_read(self):
        other = "\n| case | ours us | cupy us | cupy / ours |\n|---|---:|---:|---:|\n| softmax f16 8192x16384 | 3 | 1 | 0.3x |\n"
        self.assertEqual(self.judge(HEAD + "".join(GOOD) + other)[0], 0)

    def test_what_cannot_be_read_is_a_sentence(self):
        self.assertEqual(self.judge("# nothing\n")[0], 2)
        code, _, error = self.judge_rows([*GOOD, row("softmax f32 16384x4096", share="-")])
        self.assertEqual(code, 2)
        self.assertRegex(error, r"^peer_bars: .*page.md: line 16: softmax f32 16384x4096 was not measured whole: .*\n$")
        code, _, error = self.judge_rows([*GOOD, "| softmax f32 16384x4096 | 1.0 |\n"])
        self.assertIn("line 16: 2 cells where the table has 7 columns", error)
        code, _, error, _ = self.judge(HEAD + "".join(GOOD), "--write")
        self.assertEqual(code, 2)
        self.assertIn("has no <!-- bars -->", error)
        run = subprocess.run([sys.executable, ROOT / "tools/peer_bars", "nowhere.md"], capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stderr), (2, "peer_bars: nowhere.md: No such file or directory\n"))


class Readme(unittest.TestCase):
    def test_its_table_has_rows_of_the_page(self):
        """README: `| softmax 512x512 | 1.9 us | | 4.4 us | 2.5 us | 2.4 us |`, in f16."""
        ops = {"sum of rows,": "reduce_sum", "sum over dim 0,": "reduce_sum", "transpose": "copy_transpose"}
        shown = re.findall(r"^\| ([a-z_ 0]+,?) (\d+x\d+) \| ([\d.]+) us \| (?:(\d+) %)? ?\| ([\d.]+) us \| ([\d.]+) us \| ([\d.]+) us \|$",
                           (ROOT / "README.md").read_text(), re.M)
        self.assertGreaterEqual(len(shown), 10)
        for op, shape, ours, share, *peers in shown:
            name = f"{ops.get(op, op)} f16 {shape}" + (" dim 0" if "dim 0" in op else "")
            with self.subTest(name):
                line = re.search(rf"^\| {name} \| (.*) \|$", PAGE.read_text(), re.M)
                self.assertIsNotNone(line, "no such row in docs/performance.md")
                cells = line[1].split(" | ")
                for value, cell in zip([ours, *peers], [cells[0], *cells[3:6]], strict=True):
                    self.assertAlmostEqual(float(value), float(cell.split()[0]), delta=0.0501)  # rounded
                if share:
                    self.assertAlmostEqual(int(share), float(cells[2].removesuffix(" %")), delta=0.501)


if __name__ == "__main__":
    unittest.main()
