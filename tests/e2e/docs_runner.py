"""Runs what the documents show. A document is run top to bottom in one scratch folder that looks like the repository
(links to its files), so that later commands see what earlier ones wrote and nothing of the real tree is changed.

Blocks that run: ```sh (a script), ```console (its lines starting with "$ ", and what stands below each is what it prints,
a line "..." being any number of lines), ```cpp with a main (compiled, linked, run).
A comment on the lines above a block says what is special about it:
  <!-- exit: 3 -->      it ends with this code
  <!-- needs: gpu -->   it is run only where a GPU is; elsewhere its verbs and flags are looked up in --help
"""
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

TIMEOUT_S = 300

# Commands that are too heavy here or would run this test again, and what runs them instead.
RUN_ELSEWHERE = [
    (r"make demo", "CTest e2e.make_demo"),
    (r"make test", "whoever runs this test"),
    (r"make( build)?", "make test builds first"),
    (r"make (check|format)", ".ci/run, and tests/e2e/tools_test.py"),
    (r"make clean", "it would remove the build under test"),
    (r"\./bootstrap( checks)?", "make test, and tests/e2e/tools_test.py"),
    (r"\.ci/run", "CI"),
    (r"(sudo )?apt-get .*", "bootstrap does it"),
    (r"git clone .*|cd gpuforge", "CI starts from a clone"),
    (r"cmake --preset \w+|cmake --build --preset \w+.*|ctest --preset \w+.*", "make test and .ci/run, with their presets"),
    (r"cmake --install .*|cmake -S examples/outside .*|cmake --build .*outside.*", "CTest e2e.package"),
]


@dataclass
class Block:
    where: str  # "README.md:12"
    language: str
    text: str
    expected_exit: int = 0
    needs_gpu: bool = False


@dataclass
class Failure:
    block: Block
    message: str

    def __str__(self):
        return f"{self.block.where}: {self.message}"


def blocks_of(path, root):
    """The blocks of a Markdown file that this runner understands."""
    blocks, lines, i = [], path.read_text().splitlines(), 0
    notes = {}
    while i < len(lines):
        line = lines[i].strip()
        opening = re.fullmatch(r"(`{3,}|~{3,})\s*(\w*).*", line)
        if opening:
            start, body, i = i + 1, [], i + 1
            while i < len(lines) and not lines[i].strip().startswith(opening[1]):
                body.append(lines[i])
                i += 1
            if i == len(lines):
                raise ValueError(f"{path.name}:{start}: the block is not closed")
            if opening[2] in ("sh", "console", "cpp"):
                blocks.append(Block(f"{path.relative_to(root)}:{start}", opening[2], "\n".join(body) + "\n",
                                    int(notes.get("exit", 0)), notes.get("needs") == "gpu"))
            notes = {}
        elif re.fullmatch(r"(<!--.*?-->\s*)+", line):
            found = dict(re.findall(r"<!--\s*(\w+):\s*(\S+)\s*-->", line))
            if set(found) - {"exit", "needs"} or found.get("needs", "gpu") != "gpu":
                raise ValueError(f"{path.name}:{i + 1}: not understood: {line}")
            notes.update(found)
        elif line:
            notes = {}
        i += 1
    return blocks


def commands_of(block):
    """One string per command; a line that ends in a backslash goes on. Heredocs stay in one piece."""
    if block.language == "console":
        return [command for command, _ in console_parts(block)]
    commands, lines = [], iter(block.text.split("\n"))
    for line in lines:
        while line.endswith("\\"):
            line = line[:-1] + " " + next(lines, "").lstrip("> ")
        end = re.search(r"<<-?\s*['\"]?(\w+)['\"]?", line)
        if end:
            for more in lines:
                line += "\n" + more
                if more.strip() == end[1]:
                    break
        if line.strip() and not line.lstrip().startswith("#"):
            commands.append(line.strip())
    return commands


def console_parts(block):
    """The commands of a console block, each with what stands below it. A command goes on after a backslash, and in lines that
    start with "> "."""
    parts = re.findall(r"^\$ (.*(?:(?<=\\)\n.*|\n> .*)*)\n((?:(?!\$ ).*\n)*)", block.text, re.M)
    return [(re.sub(r"\\\n(> )?\s*", " ", command).replace("\n> ", "\n").strip(), shown) for command, shown in parts]


def is_shown(printed, shown):
    pattern = "".join(r"(?:.*\n)*" if line == "..." else re.escape(line) + "\n" for line in shown.splitlines())
    return re.fullmatch(pattern, printed) is not None


def links_of(path):
    """Targets of a Markdown file's links and images that are files."""
    text = re.sub(r"^(```|~~~).*?^\1|`[^`\n]*`", "", path.read_text(), flags=re.M | re.S)
    targets = re.findall(r"\]\(([^()\s]+)\)", text)
    return [target.split("#")[0] for target in targets if not re.match(r"\w+:|#", target)]


def run_elsewhere(command):
    plain = re.sub(r"\s+#.*$", "", command).strip()
    return next((why for pattern, why in RUN_ELSEWHERE if re.fullmatch(pattern, plain)), None)


class Runner:
    def __init__(self, root, build, scratch, has_gpu=None):
        self.root, self.build, self.scratch = Path(root), Path(build), Path(scratch)
        self.has_gpu = os.path.exists("/dev/nvidiactl") if has_gpu is None else has_gpu
        self.tree = self.scratch / "tree"
        self.log = []

    def make_tree(self):
        """A folder that looks like the repository with this build as build/release."""
        shutil.rmtree(self.tree, ignore_errors=True)
        (self.tree / "build").mkdir(parents=True)
        for entry in self.root.iterdir():
            if entry.name not in ("build", ".git"):
                (self.tree / entry.name).symlink_to(entry)
        (self.tree / "build/release").symlink_to(self.build)

    def environment(self):
        return {**os.environ, "HOME": str(self.scratch), "GPUFORGE_CACHE_DIR": str(self.scratch / "cache"),
                "PATH": f"{self.build / 'bin'}:{os.environ['PATH']}", "TERM": "dumb"}

    def call(self, command, stdin=""):
        return subprocess.run(command, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              cwd=self.tree, env=self.environment(), timeout=TIMEOUT_S, errors="replace")

    def run_documents(self, paths):
        failures = []
        for path in paths:
            self.make_tree()
            for block in blocks_of(Path(path), self.root):
                problem = self.run_cpp(block) if block.language == "cpp" else self.run_commands(block)
                if problem:
                    failures.append(Failure(block, problem))
        return failures

    def run_commands(self, block):
        here = []
        for command in commands_of(block):
            why = run_elsewhere(command)
            if why:
                self.log.append(f"{block.where}: not run here ({why}): {command}")
            elif block.needs_gpu and not self.has_gpu:
                problem = self.look_up(command)
                self.log.append(f"{block.where}: looked up, no GPU here: {command}")
                if problem:
                    return f"{command}: {problem}"
            else:
                here.append(command)
        if not here:
            return None
        # One shell per block, so that a variable set in it lives as long as a reader expects.
        mark = "end of a command of the document"
        shown = [shown for _, shown in console_parts(block)] if block.language == "console" else []
        compares = len(here) == len(shown)
        script = [f"{command}\nprintf '%s\\n' '{mark}'" for command in here] if compares else here
        result = self.call(["bash", "-e", "-o", "pipefail", "-c", "\n".join(script)])
        self.log.append(f"{block.where}: exit {result.returncode}: {'; '.join(here)}")
        if result.returncode != block.expected_exit:
            return f"exit {result.returncode}, expected {block.expected_exit}: {'; '.join(here)}\n{result.stdout}"
        if compares:
            for command, printed, expected in zip(here, result.stdout.split(mark + "\n"), shown):
                if not is_shown(printed, expected):
                    return f"{command}\nprints\n{printed}where the document has\n{expected}"
        return None

    def look_up(self, command):
        """Checks verb and flags of a gpuforge command against --help; other programs must exist."""
        words = shlex.split(command, comments=True)
        if not words:
            return None
        program = words[0] if "/" not in words[0] else str(self.tree / words[0])
        if not shutil.which(program, path=self.environment()["PATH"]):
            return "no such program"
        if Path(words[0]).name != "gpuforge":
            return None
        verb = next((w for w in words[1:] if not w.startswith("-")), None)
        if verb is None:
            return None
        answer = self.call([program, verb, "--help"])
        if answer.returncode != 0:
            return f"the verb '{verb}' does not exist"
        for flag in (w.split("=")[0] for w in words[1:] if re.match(r"--?[a-zA-Z]", w)):
            if not re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", answer.stdout):
                return f"the flag '{flag}' of '{verb}' does not exist"
        return None

    def run_cpp(self, block):
        if not re.search(r"\bint main\(", block.text):
            self.log.append(f"{block.where}: a fragment, not compiled")
            return None
        # Below the build folder, as a user's own target would lie: .deps/ is found from where a program is.
        program = self.build / "docs_test" / "block"
        program.parent.mkdir(exist_ok=True)
        source = self.scratch / "block.cpp"
        source.write_text(block.text)
        libraries = sorted(str(p) for p in (self.build / "gpuforge").rglob("libgpuforge_*.a"))
        compiled = self.call(["g++", "-std=c++20", "-Wall", "-Werror", f"-I{self.root}", str(source), "-o", str(program),
                              "-Wl,--start-group", *libraries, "-Wl,--end-group", "-lpthread", "-ldl"])
        if compiled.returncode != 0:
            return f"does not compile\n{compiled.stdout}"
        if block.needs_gpu and not self.has_gpu:
            self.log.append(f"{block.where}: compiled, not run: no GPU here")
            return None
        result = self.call([str(program)])
        self.log.append(f"{block.where}: compiled and run, exit {result.returncode}")
        if result.returncode != block.expected_exit:
            return f"exit {result.returncode}, expected {block.expected_exit}\n{result.stdout}"
        return None
