"""The check of names and docstrings finds what it is there to find."""

import importlib.util
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location("words", Path(__file__).parent / "words.py")
assert SPEC is not None
assert SPEC.loader is not None
words = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(words)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('def f():\n    """What it gives."""\n', 'docstring "What …"'),
        ('"""Whether pods run."""\n', 'docstring "Whether …"'),
        ('class Pods:\n    """The pods of which some run."""\n', '"of which"'),
        ('LIMIT = 5\n"""How many pods run."""\n', 'docstring "How …"'),
        ("def f(found):\n    return found\n", "found: say what it holds"),
        ("told = 1\n", "told: say what it holds"),
        ("for place in ():\n    pass\n", "place: say what it holds"),
        ("class Asked:\n    pass\n", "class Asked"),
        ("def told():\n    pass\n", "told: say what it returns"),
        ("async def test_a_list_begins_anew():\n    pass\n", '"anew"'),
        ("def test_a_version_that_is_none_is_refused():\n    pass\n", '"that is none"'),
    ],
)
def test_a_word_that_the_project_does_not_use_is_reported_with_its_line(tmp_path, monkeypatch, source, said):
    monkeypatch.setattr(words, "ROOT", tmp_path)
    (tmp_path / "a.py").write_text(source)
    (line,) = words.problems(tmp_path / "a.py")
    assert line.startswith("a.py:")
    assert said in line


def test_the_rules_hold_for_tests_and_the_bench_as_for_the_packages():
    names = {str(path.relative_to(words.ROOT)) for path in words.files()}
    assert {"apiserver/app.py", "tests/conftest.py", "tests/names/words.py", "bench/run.py"} <= names


@pytest.mark.parametrize(
    "source",
    [
        'def pods() -> None:\n    """Return the pods that run, None if there are none."""\n',
        '"""Is the name free?"""\n',
        "owner = 1\n",
        "pods.found = 1\n",
    ],
)
def test_plain_names_and_sentences_pass(tmp_path, monkeypatch, source):
    monkeypatch.setattr(words, "ROOT", tmp_path)
    (tmp_path / "a.py").write_text(source)
    assert list(words.problems(tmp_path / "a.py")) == []
