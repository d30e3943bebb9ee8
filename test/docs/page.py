# SPDX-License-Identifier: Apache-2.0
"""A page of docs/ says what is so: its commands run, and print what the page shows.

    DLC_BUILD=build PYTHONPATH=test/support .venv/bin/python test/docs/page.py docs/start.md [BIN]

Commands run in the page's order in one empty folder that has models/ in it. With BIN they are those of an installation,
whose programs are there, in a folder that is empty.

    ```sh                      runs, by bash -euo pipefail
    ```text                    behind it: lines that it printed, in this order; `...` stands for anything
    <!-- not run: REASON -->   before ```sh: does not run, but the flags of its dlc commands are looked up
    <!-- file: NAME -->        before any other block: its text is written to NAME, for what comes after
    <!-- from: FILE -->        before any other block: these lines are in FILE of the sources; `...` skips some

    <!-- needs: PATH -->       a page that is skipped (77) where the build folder has no PATH

Everywhere: flags of dlc are in a --help, links lead to a file and a heading.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile

import dlc

FENCE = re.compile(r"(?:^<!-- (not run|file|from): ([^\n]*?) -->\n+)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")
LINK = re.compile(r"\]\(([^)\s]+)\)")
COMMAND = re.compile(r"(?:^|[\s(])dlc (\w+)([^\n]*)")
# Lines of other programs, and flags that dlc hands to nobody else's.
OTHERS = re.compile(r"\b(cmake|ctest|torchrun|srun|sbatch|mpirun|mpiexec|jsrun|docker|python3?|pip|apt|kubectl|bash|cpack|git|dlc-opt)\b")


class Wrong(Exception):
    pass


@functools.lru_cache(None)
def flags_of(*command):
    text = subprocess.run([dlc.DLC, *command, "--help=all"], capture_output=True, text=True, timeout=60).stdout
    return set(FLAG.findall(text))


@functools.lru_cache(None)
def commands_below(*command):
    """The names under the help's headings of groups and of subcommands."""
    text = subprocess.run([dlc.DLC, *command, "--help"], capture_output=True, text=True, timeout=60).stdout
    lists = re.findall(r"^(?:Make|Run|Look|Find faults|Subcommands):\n((?:  .*\n)+)", text, re.MULTILINE)
    return re.findall(r"^  (\w+)(?: |$)", "".join(lists), re.MULTILINE)


@functools.lru_cache(None)
def all_flags(*command):
    return flags_of(*command).union({"--version"}, *(all_flags(*command, name) for name in commands_below(*command)))


@functools.lru_cache(None)
def data_flags():
    """Those of dlc-data."""
    commands = ("rows", "columns", "inspect", "masks", "boxes", "map", "tokens", "pack", "text", "chat")
    return set(FLAG.findall("".join(dlc.dlc_data(command, "--help")[0] for command in commands)))


def matches(shown, printed):
    """Whether the lines of `shown` are among those of `printed`, in order; gives the first that is not."""
    lines = iter(printed.splitlines())
    for want in shown.splitlines():
        if want.strip() in ("", "..."):
            continue
        pattern = ".*".join(re.escape(part) for part in re.split(r"\.\.\.", want.strip()))
        if not any(re.fullmatch(pattern, line.strip()) for line in lines):
            return want
    return None


class Page:
    def __init__(self, path, folder, programs=None):
        self.path, self.folder, self.printed = path, folder, None
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        if not programs:
            os.symlink(dlc.MODELS, os.path.join(folder, "models"))
        venv = os.path.dirname(sys.executable)
        self.environment = {**os.environ, "PATH": f"{programs or os.path.abspath(os.path.dirname(dlc.DLC))}:{venv}:{os.environ['PATH']}", "NO_COLOR": "1",
                            "DLC_CACHE_DIR": os.path.join(folder, ".cache"),
                            "PYTHONPATH": "" if programs else os.path.join(os.path.abspath(dlc.BUILD), "python", "site")}

    def check(self):
        ran = 0
        for fence in FENCE.finditer(self.text):
            mark, word, language, body = fence.groups()
            if language == "sh" and mark == "not run":
                self.look_up(body)
            elif language == "sh":
                self.look_up(body)
                self.run(body)
                ran += 1
            elif language == "text":
                self.compare(body)
            elif mark == "file":
                self.write(word, body)
            elif mark == "from":
                self.find(word, body)
            elif language in ("", "c", "cpp", "cmake", "yaml", "json", "python"):
                raise Wrong(f"a block ({language or 'of no language'}) that nothing checks:\n{body}")
        self.check_flags()
        self.check_links()
        return ran

    def run(self, script):
        ran = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=self.folder, env=self.environment, text=True,
                             timeout=250, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.printed = ran.stdout
        if ran.returncode:
            raise Wrong(f"exit code {ran.returncode} of\n{script}\n{ran.stdout}")

    def compare(self, shown):
        if self.printed is None:
            raise Wrong(f"no command before\n{shown}")
        missing = matches(shown, self.printed)
        if missing is not None:
            raise Wrong(f"not printed (in this order): {missing}\nprinted was:\n{self.printed}")

    def write(self, name, body):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(body)

    def find(self, name, body):
        with open(os.path.join(dlc.ROOT, name), encoding="utf-8") as file:
            missing = matches(body, file.read())
        if missing is not None:
            raise Wrong(f"not in {name} (in this order): {missing}")

    def look_up(self, script):
        """The flags of its commands of dlc; one that is to fail, `|| echo ...`, may have others."""
        for line in re.sub(r"#.*", "", script).replace("\\\n", " ").splitlines():
            for command, words in COMMAND.findall(line):
                self.look_up_flags(command, re.split(r"[|;&>]", words)[0], fails="|| echo" in line)

    def look_up_flags(self, command, words, fails):
        if command not in [*commands_below(), "completion", "man"]:
            raise Wrong(f"no command: dlc {command}")
        command, rest = [command], words.split()
        while rest and rest[0] in commands_below(*command):
            command.append(rest.pop(0))
        for flag in FLAG.findall(words):
            if flag not in flags_of(*command) | {"--help"} and not fails:
                raise Wrong(f"dlc {' '.join(command)} has no {flag}")

    def check_flags(self):
        """Those in prose: `--flag`, or a row of a table about another tool, which names it in the row's first cell."""
        prose = FENCE.sub("", self.text)
        for line in prose.splitlines():
            words = line.split("|")[2:] if line.startswith("|") and "<!-- theirs -->" in prose else [line]
            for code in re.findall(r"`([^`]*)`", "|".join(words)):
                if OTHERS.match(code):
                    continue
                for flag in FLAG.findall(code):
                    if flag not in all_flags() | data_flags():
                        raise Wrong(f"no command has {flag}, in: {line}")

    def check_links(self):
        for target in LINK.findall(FENCE.sub("", self.text)):
            if re.match(r"https?://|mailto:", target):
                continue
            name, _, anchor = target.partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(self.path), name)) if name else self.path
            if not os.path.exists(path):
                raise Wrong(f"a link leads to nothing: {target}")
            if anchor and anchor not in anchors(path):
                raise Wrong(f"no such heading: {target}")


def anchors(path):
    with open(path, encoding="utf-8") as file:
        headings = re.findall(r"^#+ (.*)$", FENCE.sub("", file.read()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def main():
    path = os.path.abspath(sys.argv[1])
    with open(path, encoding="utf-8") as file:
        needed = re.search(r"^<!-- needs: (\S+) -->$", file.read(), re.MULTILINE)
    if needed and not os.path.exists(os.path.join(dlc.BUILD, needed.group(1))):
        print(f"skipped: {dlc.BUILD} has no {needed.group(1)}")
        sys.exit(77)
    folder = tempfile.mkdtemp(prefix="dlc-docs-")
    try:
        ran = Page(path, folder, *sys.argv[2:]).check()
        print(f"{os.path.basename(path)}: {ran} blocks of commands ran")
    except Wrong as wrong:
        sys.exit(f"{path}: {wrong}")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
