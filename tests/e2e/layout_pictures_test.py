"""The pictures of `gpuforge layout`: those in docs/images are what the command draws. See cli_case.py for arguments.

GPUFORGE_WRITE_DOCS=1 writes them anew.
"""
import os
import pathlib
import shutil
import struct
import xml.etree.ElementTree

from cli_case import CliTest, main

ROOT = pathlib.Path(os.environ.get("GPUFORGE_SOURCE", pathlib.Path(__file__).parents[2]))
IMAGES = ROOT / "docs/images"

PICTURES = {
    "row_major": ["(8,8):(8,1)"],
    "tiles": ["logical_divide((8,16):(16,1), (4,8))"],
    "thread_value": ["make_layout_tv((4,8):(8,1), (2,4):(4,1))"],
    "warp_row": ["make_layout_tv((32):(1), (4):(1))"],
    "swizzle": ["Sw<3,2,3> o 0 o (8,32):(32,1)"],
    "bank_conflict": ["(8,32):(32,1)", "--access", "f32x4"],
    "no_bank_conflict": ["Sw<3,2,3> o 0 o (8,32):(32,1)", "--access", "f32x4"],
    "sectors": ["make_layout_tv((4,8):(8,1), (1,4):(4,1))", "--access", "f32x4", "--space", "global",
                "--memory", "(4,32):(32,1)"],
}


class Documents(CliTest):
    def test_images_are_what_the_command_draws(self):
        for name, arguments in PICTURES.items():
            with self.subTest(name):
                self.run_cli("layout", *arguments, "--svg", f"{name}.svg")
                drawn = (self.folder / f"{name}.svg").read_text()
                xml.etree.ElementTree.fromstring(drawn)
                kept = IMAGES / f"{name}.svg"
                if os.environ.get("GPUFORGE_WRITE_DOCS"):
                    IMAGES.mkdir(exist_ok=True)
                    kept.write_text(drawn)
                self.assertEqual(kept.read_text(), drawn, f"{kept} is outdated: run with GPUFORGE_WRITE_DOCS=1")

    def test_no_other_images_are_kept(self):
        self.assertEqual(sorted(path.stem for path in IMAGES.glob("*.svg")), sorted(PICTURES))


class Access(CliTest):
    def test_text_and_document_say_what_it_costs(self):
        arguments = ["layout", "(8,64):(64,1)", "--access", "f16x8"]
        self.assertIn("8-way bank conflict: 32 wavefronts instead of 4. Threads 0 to 7 want different words of bank 0",
                      self.run_cli(*arguments).stdout)
        access = self.document(*arguments)["access"]
        self.assertEqual((access["wavefronts"], access["ideal_wavefronts"]), (32, 4))
        self.assertEqual(access["conflict"], {"bank": 0, "threads": list(range(8))})
        access = self.document(*arguments, "--space", "global")["access"]
        self.assertEqual((access["sectors"], access["bytes"], access["moved_bytes"]), (16, 512, 512))

    def test_large_layouts_need_no_picture(self):
        access = self.document("layout", "(4096,4096):(4096,1)", "--access", "f32", "--space", "global")["access"]
        self.assertEqual(access["sectors"], 32)

    def test_what_makes_no_sense_is_refused(self):
        for arguments, sentence in [
                (["8:1", "--space", "global"], "--space is about an access"),
                (["8:1", "--element", "f16"], "--element is about a picture: give --svg"),
                (["(32,4):(4,1)", "--tile", "128"], "--tile is about a picture or an access"),
                (["(M,8):(8,1)", "--access", "f32"], "access: a size is unknown; bind its names to numbers"),
                (["8:1", "--access", "f16x7"], "7 elements of 2 bytes"),
                (["8:1", "--access", "f16", "--space", "local"], "local"),
                (["(M,8):(8,1)", "--svg", "x.svg"], "unknown sizes"),
                (["7", "--svg", "x.svg"], "can be drawn, not 7"),
                (["(1024,1024):(1,1024)", "--svg", "x.svg"], "more than 65536"),
                (["-", "--svg", "x.svg"], "--svg is for one expression"),
                (["8:1", "--svg", "x.svg", "--png", "x.svg"], "--svg and --png name the same file, 'x.svg'"),
                (["8:1", "--svg", "-"], "for stdout name /dev/stdout"),
                (["8:1", "--svg", "no/such/folder/x.svg"], "no/such/folder")]:
            with self.subTest(arguments):
                self.assertIn(sentence, self.run_cli("layout", *arguments, code=2).stderr)
        self.assertFalse((self.folder / "x.svg").exists())


class Png(CliTest):
    def test_without_a_converter_the_package_is_named(self):
        result = self.run_cli("layout", "8:1", "--png", "x.png", "--svg", "x.svg", code=3, env={"PATH": "/nowhere"})
        self.assertIn("package librsvg2-bin", result.stderr)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["home"])

    def test_names_are_never_read_by_a_shell(self):
        if shutil.which("rsvg-convert") is None:
            self.skipTest("rsvg-convert is not installed")
        name = "a b'; touch x $(touch y) \".png"
        self.run_cli("layout", "(8,8):(8,1)", "--png", name)
        content = (self.folder / name).read_bytes()
        self.assertEqual(content[:8], b"\x89PNG\r\n\x1a\n")
        self.assertGreater(min(struct.unpack(">II", content[16:24])), 400)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), [name, "home"])


if __name__ == "__main__":
    main()
