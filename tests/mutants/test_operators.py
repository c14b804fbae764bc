"""The mutants that each operator makes of a line, and the code that is left alone."""

import ast
from pathlib import Path

import pytest
from mutation.mutants import mutants_of
from mutation.selection import sampled


def changed(source: str, tmp_path: Path) -> set[tuple[str, str]]:
    """Return the operator and the changed text of every mutant."""
    file = tmp_path / "code.py"
    file.write_text(source)
    texts = set()
    for mutant in mutants_of("code.py", source):
        added = [line[1:].strip() for line in mutant.diff(tmp_path).splitlines()[3:] if line.startswith("+")]
        mutant.code(tmp_path)
        texts.add((mutant.id.split(":")[2], " ".join(added)))
    return texts


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x = a < b", {("boundary", "x = a <= b")}),
        ("x = a >= b", {("boundary", "x = a > b")}),
        ("x = a == b", {("negate", "x = a != b")}),
        ("x = a not in b", {("negate", "x = a in b")}),
        ("x = a is None", {("negate", "x = a is not None")}),
        ("x = a < b == c", {("boundary", "x = a <= b == c"), ("negate", "x = a < b != c")}),
        ("x = a and b", {("and-or", "x = a or b")}),
        ("x = not a", {("drop-not", "x = a")}),
        ("x = -a", {("drop-minus", "x = a")}),
        ("x = a + b", {("arithmetic", "x = a - b")}),
        ("x = a // b", {("arithmetic", "x = a * b")}),
        ("x = a + 'text'", {("text", "x = a + 'text~'")}),
        ("x = 3", {("number", "x = 4")}),
        ("x = True", {("bool", "x = False")}),
        ("x = 'spec'", {("text", "x = 'spec~'")}),
        ("x = 'a message'", set()),
        ("x = f'{a}-b'", set()),
        ("x = a if b else c", {("if-true", "x = a if True else c"), ("if-false", "x = a if False else c")}),
        ("x = max(a, b)", {("min-max", "x = min(a, b)")}),
        ("x = any(a)", {("min-max", "x = all(a)")}),
        ("x = f(a, key=b)", {("drop-keyword", "x = f(a, )")}),
        ("x = a[b:c]", {("slice", "x = a[:c]"), ("slice", "x = a[b:]")}),
        ("x = [a for a in b if a]", {("drop-filter", "x = [a for a in b if True]")}),
        ("x += a", {("arithmetic", "x -= a"), ("drop-augassign", "pass")}),
        ("x.y = a", {("drop-assign", "pass")}),
        ("x[y] = a", {("drop-assign", "pass")}),
        ("x = a", set()),
        ("del x[y]", {("drop-delete", "pass")}),
        ("f(a)", {("drop-expr", "pass")}),
        ("await f(a)", {("drop-expr", "pass")}),
        ("yield a", {("drop-expr", "pass")}),
        ("raise Error('some-word')", {("drop-raise", "pass")}),
        ("return a", {("return-none", "return None")}),
        ("return None", set()),
        ("'''A docstring.'''", set()),
        ("assert a == 1, 'text'", set()),
        ("log = logging.getLogger('word')", set()),
        ("log.warning('word', a == b)", set()),
        ("self._log.info('word')", set()),
        ("x: Literal['spec'] = a", set()),
        ("x = cast('Spec', a)", set()),
    ],
)
def test_a_line_is_changed_so(line: str, expected: set[tuple[str, str]], tmp_path: Path) -> None:
    assert changed(f"async def f(self):\n    {line}\n", tmp_path) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if a == b:\n f()", {("if-true", "if True:"), ("if-false", "if False:"), ("drop-expr", "pass")}),
        ("while a > b:\n break", {("if-false", "while False:"), ("boundary", "while a >= b:"), ("jump", "continue")}),
        ("while True:\n continue", {("jump", "break"), ("bool", "while False:")}),
        ("try:\n a\nexcept E:\n return", {("reraise", "raise")}),
        ("try:\n a\nexcept E:\n raise", {("drop-raise", "pass")}),
        ("if TYPE_CHECKING:\n x = 1", set()),
        ("if __name__ == '__main__':\n x = 1", set()),
    ],
)
def test_a_block_is_changed_so(body: str, expected: set[tuple[str, str]], tmp_path: Path) -> None:
    lines = "\n".join(f"  {line}" for line in body.splitlines())
    assert changed(f"def f():\n{lines}\n", tmp_path) == expected


@pytest.mark.parametrize(
    "source",
    [
        "__all__ = ['f']",
        "__slots__ = ('a',)",
        "@dataclass(frozen=True)\nclass A:\n  a: int",
        "class A(Protocol):\n  a: int = 1",
        "T = TypeVar('T')",
        "Alias = A | B",
        "import a",
    ],
)
def test_what_says_nothing_to_a_test_is_left_alone(source: str) -> None:
    assert mutants_of("code.py", source) == []


def test_ids_stay_when_lines_move_and_others_come() -> None:
    before = "def f():\n  return a + 1\n"
    after = f"X = 1\n\n\ndef g():\n  return 5\n\n\n{before}"
    assert {each.id for each in mutants_of("a.py", before)} < {each.id for each in mutants_of("a.py", after)}
    assert [each.id for each in mutants_of("a.py", before)] == [
        "a.py:f:return-none:1",
        "a.py:f:arithmetic:1",
        "a.py:f:number:1",
    ]


def test_constants_are_told_apart_by_their_names() -> None:
    source = "A = 1\nclass C:\n  B: int = 2\n"
    assert [each.id for each in mutants_of("a.py", source)] == ["a.py:A:number:1", "a.py:C.B:number:1"]


def test_a_mutant_differs_in_one_function_alone(tmp_path: Path) -> None:
    source = "def f(a):\n  return a < 1\n\n\ndef g(a):\n  return a\n"
    (tmp_path / "a.py").write_text(source)
    mutant = next(each for each in mutants_of("a.py", source) if ":boundary:" in each.id)
    original: dict[str, object] = {}
    changed_: dict[str, object] = {}
    exec(compile(ast.parse(source), str(tmp_path / "a.py"), "exec"), original)
    exec(mutant.code(tmp_path), changed_)
    assert original["g"].__code__ == changed_["g"].__code__  # type: ignore[attr-defined]
    assert (original["f"](1), changed_["f"](1)) == (False, True)  # type: ignore[operator]


def test_the_same_seed_chooses_the_same_and_others_do_not_matter() -> None:
    mutants = mutants_of("a.py", "".join(f"def f{each}():\n  return a + {each}\n" for each in range(40)))
    chosen = sampled(mutants, 10, 1)
    assert sampled(reversed(mutants), 10, 1) == chosen
    assert sampled([each for each in mutants if each != chosen[-1]], 9, 1) == chosen[:9]
    assert sampled(mutants, 10, 2) != chosen
