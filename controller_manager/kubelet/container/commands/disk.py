"""Commands on files: ls, mkdir, rm, touch, cp, mv, ln, chmod, stat, find."""

from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from typing import Any

from controller_manager.kubelet.container.commands.call import UsageError, for_each, options
from controller_manager.kubelet.container.container import Call
from controller_manager.kubelet.container.files import Directory, File, FileError, Link, Node
from controller_manager.kubelet.container.patterns import Glob
from controller_manager.kubelet.container.syscalls import Now, Process, SystemCall, Yield, write_error, write_line

_MAX_ENTRIES = 100_000
"""The maximum number of files that are visited."""


def ls(call: Call) -> Process:
    """List directories; -l with details, -a with names that begin with a dot."""
    parsed = options(call, "1laAhdFRtrSi")
    code = 0
    listed: list[tuple[str, Directory]] = []
    for path in parsed.operands or (".",):
        try:
            node = call.files.get(call.path(path), follow="l" not in parsed.letters)
        except FileError as error:
            yield write_error(f"ls: {path}: {error.why}")
            code = 1
            continue
        if isinstance(node, Directory) and "d" not in parsed.letters:
            listed.append((path, node))
        else:
            yield write_line(_row(path, node, long="l" in parsed.letters))
    for number, (path, directory) in enumerate(listed):
        if len(parsed.operands) > 1:
            yield write_line(f"{chr(10) if number else ''}{path}:")
        yield from _list_directory(directory, parsed.letters)
    return code


def _list_directory(directory: Directory, letters: frozenset[str]) -> Process:
    entries: dict[str, Node] = dict(sorted(directory.entries.items()))
    if "a" in letters:
        entries = {".": directory, "..": directory} | entries
    shown = {name: node for name, node in entries.items() if letters & {"a", "A"} or not name.startswith(".")}
    if "l" in letters:
        yield write_line(f"total {len(shown) * 4}")
    for name, node in shown.items():
        yield write_line(_row(name, node, long="l" in letters))
    return 0


def _row(name: str, node: Node, *, long: bool) -> str:
    if not long:
        return name
    size = len(node.data) if isinstance(node, File) else 4096
    moment = datetime.fromtimestamp(node.modified, UTC).strftime("%b %e %H:%M")
    target = f" -> {node.target}" if isinstance(node, Link) else ""
    return f"{mode_text(node)}    1 root     root     {size:9} {moment} {name}{target}"


def mode_text(node: Node) -> str:
    """Return a mode as letters: "drwxr-xr-x"."""
    mode = 0o777 if isinstance(node, Link) else node.mode
    kind = "l" if isinstance(node, Link) else "d" if isinstance(node, Directory) else "c" if node.device else "-"
    return kind + "".join(letter if mode >> (8 - bit) & 1 else "-" for bit, letter in enumerate("rwxrwxrwx"))


def mkdir(call: Call) -> Process:
    """Create directories; -p with those above, and without an error if they exist."""
    parsed = options(call, "pv", "m")
    now = yield Now()

    def make(path: str) -> None:
        call.files.make_directory(call.path(path), now, parents="p" in parsed.letters)

    return (yield from for_each(parsed.operands, make, "mkdir: can't create directory '{path}': {why}"))


def rmdir(call: Call) -> Process:
    """Remove empty directories."""

    def remove(path: str) -> None:
        if not isinstance(call.files.get(call.path(path), follow=False), Directory):
            raise FileError("Not a directory")
        call.files.remove(call.path(path))

    return (yield from for_each(options(call, "pv").operands, remove, "rmdir: '{path}': {why}"))


def rm(call: Call) -> Process:
    """Remove files; -r also directories with their content, -f without an error if there is nothing."""
    parsed = options(call, "rRfvi")
    tree = bool(parsed.letters & {"r", "R"})

    def remove(path: str) -> None:
        node = call.files.find(call.path(path), follow=False)
        if node is None and "f" in parsed.letters:
            return
        if isinstance(node, Directory) and not tree:
            raise FileError("is a directory")
        call.files.remove(call.path(path), tree=tree)

    return (yield from for_each(parsed.operands, remove, "rm: can't remove '{path}': {why}"))


def touch(call: Call) -> Process:
    """Create files, or set their modification time to now."""
    parsed = options(call, "acmf", "dtr")
    now = yield Now()

    def renew(path: str) -> None:
        node = call.files.find(call.path(path))
        if node is None and "c" not in parsed.letters:
            call.files.open(call.path(path), now)
        elif node is not None:
            node.modified = now

    return (yield from for_each(parsed.operands, renew, "touch: {path}: {why}"))


def cp(call: Call) -> Process:
    """Copy files, with -r also directories."""
    parsed = options(call, "rRafpvdLP")
    *sources, target = parsed.operands if len(parsed.operands) > 1 else ("", "")
    if not sources or not sources[0]:
        raise UsageError("missing operand")
    code = 0
    for source in sources:
        try:
            node = call.files.get(call.path(source))
            if isinstance(node, Directory) and not parsed.letters & {"r", "R", "a"}:
                raise FileError(f"omitting directory '{source}'")  # noqa: TRY301 - reported like the others
            yield from _copy(call, node, _target_in(call, source, target))
        except FileError as error:
            yield write_error(f"cp: can't stat '{source}': {error.why}" if not error.args else f"cp: {error}")
            code = 1
    return code


def _copy(call: Call, node: Node, target: str) -> Process:
    now = yield Now()
    for path, below in list(walk(node, target)):
        yield Yield()
        if isinstance(below, Directory):
            call.files.make_directory(path, now, parents=True)
        elif isinstance(below, Link):
            call.files.link(path, below.target, now)
        else:
            call.files.write(path, bytes(below.data), now).mode = below.mode
    return 0


def _target_in(call: Call, source: str, target: str) -> str:
    """Return the target of a copy or move: the path, or a path in it if it is a directory."""
    path = call.path(target)
    name = source.rstrip("/").rpartition("/")[2]
    return f"{path.rstrip('/')}/{name}" if isinstance(call.files.find(path), Directory) else path


def walk(node: Node, path: str) -> Iterator[tuple[str, Node]]:
    """Yield a node and everything in it with their paths, directories before their content."""
    left = [(path, node)]
    for _ in range(_MAX_ENTRIES):
        if not left:
            return
        path, node = left.pop()
        yield path, node
        if isinstance(node, Directory):
            left += [(f"{path.rstrip('/')}/{name}", node.entries[name]) for name in sorted(node.entries, reverse=True)]


def mv(call: Call) -> Process:
    """Move files."""
    parsed = options(call, "fniv")
    *sources, target = parsed.operands if len(parsed.operands) > 1 else ("", "")
    if not sources or not sources[0]:
        raise UsageError("missing operand")

    def move(source: str) -> None:
        call.files.move(call.path(source), _target_in(call, source, target))

    return (yield from for_each(sources, move, "mv: can't rename '{path}': {why}"))


def ln(call: Call) -> Process:
    """Create a symbolic link."""
    parsed = options(call, "sfnv")
    if len(parsed.operands) != 2 or "s" not in parsed.letters:
        raise UsageError("only ln -s TARGET NAME is simulated")
    now = yield Now()
    target, name = parsed.operands
    path = _target_in(call, target, name)
    if "f" in parsed.letters and call.files.find(path, follow=False) is not None:
        call.files.remove(path)
    call.files.link(path, target, now)
    return 0


def chmod(call: Call) -> Process:
    """Change modes, given as numbers or in the form +x."""
    words = [text for text in call.arguments if text != "-R"]
    if len(words) < 2:
        raise UsageError("missing operand")
    for path in words[1:]:
        node = call.files.get(call.path(path))
        if isinstance(node, (File, Directory)):
            node.mode = _mode(words[0], node.mode)
    return 0
    yield


def _mode(text: str, mode: int) -> int:
    if text.isdecimal() and len(text) <= 4 and not set(text) & {"8", "9"}:
        return int(text, 8) & 0o7777
    who, sign, letters = text.partition("+") if "+" in text else text.partition("-")
    if not sign or set(who) - set("ugoa") or set(letters) - set("rwxX"):
        raise UsageError(f"invalid mode '{text}'")
    bits = sum({"r": 4, "w": 2, "x": 1, "X": 1}[letter] for letter in set(letters))
    change = sum(
        bits << shift for name, shift in (("u", 6), ("g", 3), ("o", 0)) if not who or name in who or "a" in who
    )
    return mode | change if sign == "+" else mode & ~change


def stat(call: Call) -> Process:
    """Print the properties of files; -c with %s, %n, %a, %F, %Y."""
    parsed = options(call, "tL", "c")
    for path in parsed.operands:
        node = call.files.get(call.path(path), follow="L" in parsed.letters)
        size = len(node.data) if isinstance(node, File) else 4096
        kind = (
            "symbolic link"
            if isinstance(node, Link)
            else "directory"
            if isinstance(node, Directory)
            else "regular file"
        )
        mode = 0o777 if isinstance(node, Link) else node.mode
        form = parsed.values.get("c")
        if form is not None:
            facts = {"%s": str(size), "%n": path, "%a": f"{mode:o}", "%F": kind, "%Y": str(int(node.modified))}
            for sign, fact in facts.items():
                form = form.replace(sign, fact)
            yield write_line(form)
        else:
            yield write_line(f"  File: {path}\n  Size: {size:<10}\t{kind}\nAccess: ({mode:04o}/{mode_text(node)})")
    return 0


def find(call: Call) -> Process:
    """Print files below paths, filtered by -name and -type."""
    paths, tests = _find_words(call)
    code = 0
    for path in paths:
        node = call.files.find(call.path(path), follow=False)
        if node is None:
            yield write_error(f"find: {path}: No such file or directory")
            code = 1
            continue
        yield from _print_matches(node, path, tests)
    return code


def _print_matches(node: Node, path: str, tests: dict[str, str]) -> Generator[SystemCall, Any, None]:
    glob = Glob(tests["-name"]) if "-name" in tests else None
    kinds = {"f": File, "d": Directory, "l": Link}
    for entry_path, below in walk(node, path):
        yield Yield()
        fits = glob is None or glob.matches(entry_path.rpartition("/")[2] or entry_path)
        if fits and isinstance(below, kinds.get(tests.get("-type", ""), (File, Directory, Link))):
            yield write_line(entry_path)


def _find_words(call: Call) -> tuple[list[str], dict[str, str]]:
    """Parse the arguments of find: the paths, and the tests by name."""
    paths: list[str] = []
    tests: dict[str, str] = {}
    words = iter(call.arguments)
    for word in words:
        if word in ("-name", "-type"):
            tests[word] = next(words, "")
        elif word == "-print":
            continue
        elif word.startswith("-"):
            raise UsageError(f"unrecognized: {word}")
        else:
            paths.append(word)
    return paths or ["."], tests
