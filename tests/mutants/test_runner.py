"""The command on planted code: mutants are killed or reported as survivors, and a broken runner is an error."""

from collections.abc import Callable
from typing import Any

import pytest

Mutate = Callable[..., Any]

AGE = "def adult(age):\n    return age >= 18\n"
"""Its mutants: 19 in the place of 18, > in the place of >=, and no answer."""

BOTH_SIDES = "from planted.code import adult\n\ndef test_ages():\n    assert adult(18)\n    assert not adult(17)\n"
ONE_SIDE = "from planted.code import adult\n\ndef test_ages():\n    assert adult(30)\n    assert not adult(3)\n"


def test_a_change_that_a_test_notices_is_killed(mutate: Mutate) -> None:
    ran = mutate(AGE, BOTH_SIDES)
    assert set(ran.verdicts.values()) == {"killed"}
    assert len(ran.verdicts) == 3
    assert "100 %" in ran.out
    assert ran.code == 0


def test_a_change_that_no_test_notices_is_shown_and_fails(mutate: Mutate) -> None:
    ran = mutate(AGE, ONE_SIDE)
    assert ran.verdicts == {
        "adult:return-none:1": "killed",
        "adult:boundary:1": "survived",
        "adult:number:1": "survived",
    }
    assert "planted/code.py:2: planted/code.py:adult:boundary:1: 1 tests pass" in ran.out
    assert "-    return age >= 18\n+    return age > 18\n" in ran.out
    assert "33 %" in ran.out
    assert ran.code == 1


def test_a_survivor_that_has_a_name_does_not_fail(mutate: Mutate) -> None:
    survivors = (
        '[equivalent]\n"planted/code.py:adult:boundary:1" = "a reason"\n'
        '[known]\n"planted/code.py:adult:number:1" = "a reason"\n'
    )
    ran = mutate(AGE, ONE_SIDE, survivors=survivors)
    assert "return age > 18" not in ran.out
    assert "50 %" in ran.out  # an equivalent one is not counted, a known one is
    assert ran.code == 0


def test_a_line_that_no_test_runs_counts_as_one_that_survives(mutate: Mutate) -> None:
    ran = mutate(AGE + "\ndef unused():\n    return 5\n", BOTH_SIDES)
    assert ran.verdicts["unused:return-none:1"] == "not covered"
    assert "no test runs this line" in ran.out
    assert ran.code == 1


def test_a_hang_is_a_kill(mutate: Mutate) -> None:
    source = "def count(n):\n    while n > 0:\n        n -= 1\n    return n\n"
    tests = "from planted.code import count\n\ndef test_it_ends():\n    assert count(3) == 0\n"
    ran = mutate(source, tests, "--id", "planted/code.py:count:drop-augassign:1", "--limit", "1")
    assert ran.verdicts == {"count:drop-augassign:1": "timeout"}
    assert "100 %" in ran.out
    assert ran.code == 0


def test_a_runner_that_dies_is_an_error_and_no_kill(mutate: Mutate) -> None:
    source = "import os\n\ndef end(now):\n    if now:\n        os._exit(0)\n    return 1\n"
    tests = "from planted.code import end\n\ndef test_it_stays():\n    assert end(False) == 1\n"
    ran = mutate(source, tests, "--id", "planted/code.py:end:if-true:1")
    assert ran.verdicts == {"end:if-true:1": "error"}
    assert "the runner died in tests/test_code.py::test_it_stays" in ran.out
    assert ran.code == 2


def test_what_is_carried_out_at_import_is_changed_before_it_is_imported(mutate: Mutate) -> None:
    source = (
        "def double(n):\n    return n * 2\n\nTABLE = [double(n) for n in (1, 2)]\n"
        "LIMIT = 5\n\ndef small(n, bound=LIMIT):\n    return n in TABLE and n < bound\n"
    )
    tests = (
        "from planted.code import small\n\n"
        "def test_small():\n    assert small(4) and small(2)\n    assert not small(1)\n    assert not small(4, 4)\n"
    )
    ran = mutate(source, tests)
    assert ran.verdicts["double:arithmetic:1"] == "killed"
    assert ran.verdicts["TABLE:number:1"] == "killed"
    assert ran.verdicts["LIMIT:number:1"] == "survived"
    assert "error" not in ran.verdicts.values()


def test_a_table_is_tried_by_tests_that_look_at_it_and_run_nothing(mutate: Mutate) -> None:
    source = "TABLE = {'a': 1, 'b': 2}\n\ndef known(name):\n    return name in TABLE\n"
    tests = (
        "from planted.code import TABLE, known\n\n"
        "def test_known():\n    assert known('a')\n\ndef test_keys():\n    assert set(TABLE) == {'a', 'b'}\n"
    )
    verdicts = mutate(source, tests).verdicts
    assert (verdicts["TABLE:text:1"], verdicts["TABLE:text:2"]) == ("killed", "killed")


def test_what_is_made_at_import_by_other_files_is_tried_by_tests_that_import_it_from_a_package(mutate: Mutate) -> None:
    source = "from planted.making import within\n\nSMALL = within(5)\n\ndef other():\n    return 1\n"
    more = {
        "planted/making.py": "def within(most):\n    return lambda n: n <= most\n",
        "planted/__init__.py": "from planted.code import SMALL, other\n",
        "tests/test_other.py": "import planted\n\ndef test_other():\n    assert planted.other() == 1\n",
    }
    tests = "import planted\n\ndef test_small():\n    assert planted.SMALL(5) and not planted.SMALL(6)\n"
    assert mutate(source, tests, "planted/code.py", more=more).verdicts["SMALL:number:1"] == "killed"


def test_a_module_that_cannot_be_imported_any_more_is_a_kill(mutate: Mutate) -> None:
    source = "TABLE = {'a': 1}\nFIRST = TABLE['a']\n"
    tests = "from planted import code\n\ndef test_first():\n    assert code.FIRST == 1\n"
    ran = mutate(source, tests)
    assert ran.verdicts["FIRST:text:1"] == "killed"
    assert "error" not in ran.verdicts.values()


def test_sub_processes_run_the_changed_code(mutate: Mutate) -> None:
    tests = (
        "import subprocess, sys\nfrom planted.code import adult\n\n"
        "def test_elsewhere():\n    adult(1)\n"
        "    code = 'import sys; from planted.code import adult; sys.exit(not adult(18))'\n"
        "    assert subprocess.run([sys.executable, '-c', code]).returncode == 0\n"
    )
    assert mutate(AGE, tests).verdicts["adult:boundary:1"] == "killed"


def test_a_test_that_does_not_pass_without_a_change_kills_nothing(mutate: Mutate) -> None:
    ran = mutate(AGE, ONE_SIDE + "\ndef test_broken():\n    assert adult(18) is None\n")
    assert ran.verdicts["adult:boundary:1"] == "survived"
    assert "left out, since it does not pass: tests/test_code.py::test_broken" in ran.err


def test_coroutines_closures_and_methods_are_changed_as_well(mutate: Mutate) -> None:
    source = (
        "class Counter:\n    def __init__(self):\n        self.n = 0\n"
        "    async def add(self, by):\n        self.n += by\n"
        "def adder(by):\n    def add(n):\n        return n + by\n    return add\n"
        "PLUS_TWO = adder(2)\n"
    )
    tests = (
        "import asyncio\nfrom planted.code import PLUS_TWO, Counter\n\n"
        "def test_all():\n    counter = Counter()\n    asyncio.run(counter.add(2))\n"
        "    assert counter.n == 2\n    assert PLUS_TWO(3) == 5\n"
    )
    assert set(mutate(source, tests).verdicts.values()) == {"killed"}


def test_a_test_that_fails_for_another_reason_kills_nothing(mutate: Mutate) -> None:
    tests = (
        ONE_SIDE + "\nimport os\nfrom pathlib import Path\n\n"
        "def test_it_runs_once():\n    adult(1)\n    marker = Path('ran')\n"
        "    assert not marker.exists()\n    marker.touch()\n"
    )
    ran = mutate(AGE, tests)
    assert ran.verdicts["adult:boundary:1"] == "survived"
    assert "left out, since it fails in a fork without a mutant: tests/test_code.py::test_it_runs_once" in ran.err


def test_a_run_that_is_out_of_time_starts_no_mutants_and_says_how_many_ran(mutate: Mutate) -> None:
    ran = mutate(AGE, BOTH_SIDES, "--seconds", "0.001")
    assert ran.verdicts == {}
    assert "0 of 3 mutants ran in 0.001 seconds" in ran.out


def test_the_sample_tries_its_sources_with_its_tests_alone(mutate: Mutate) -> None:
    ran = mutate(AGE, BOTH_SIDES, "--sample", groups='[sample]\n"planted/code.py" = ["test_code.py"]\n')
    assert set(ran.verdicts.values()) == {"killed"}
    assert len(ran.verdicts) == 3


@pytest.mark.parametrize("given", ["test_code.py", "tests/test_cod.py", "tests", "/test_code.py"])
def test_a_test_file_that_is_not_there_is_an_error_that_says_what_to_give(mutate: Mutate, given: str) -> None:
    ran = mutate(AGE, BOTH_SIDES, "--tests", "tests/test_code.py", given)
    assert ran.err == (
        f"--tests: there is no test file {given}: name files as they are called from the root, such as "
        "tests/etcd/test_compaction.py\n"
    )
    assert (ran.out, ran.code) == ("", 2)


def test_test_files_are_used_instead_of_those_of_the_group(mutate: Mutate) -> None:
    assert set(mutate(AGE, BOTH_SIDES, "--tests", "./tests/test_code.py").verdicts.values()) == {"killed"}


def test_a_table_of_tests_that_is_made_of_what_is_changed_is_run_as_it_is_then(mutate: Mutate) -> None:
    source = "LONGEST = 3\n\ndef fits(text):\n    return len(text) <= LONGEST\n"
    tests = (
        "import pytest\nfrom planted.code import LONGEST, fits\n\n"
        "@pytest.mark.parametrize('text', ['a', 'a' * LONGEST])\ndef test_it_fits(text):\n    assert fits(text)\n"
    )
    at_the_bound = "\ndef test_the_bound():\n    assert not fits('aaaa')\n"
    name = "LONGEST:number:1"
    assert mutate(source, tests + at_the_bound).verdicts[name] == "killed"
    assert mutate(source, tests).verdicts[name] == "survived"
    changed = tests.replace("fits(text)\n", "fits(text) and text != 'aaaa'\n")
    assert mutate(source, changed).verdicts[name] == "killed"
