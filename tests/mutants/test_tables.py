"""The tables beside the tool: what they name is there."""

from itertools import chain
from pathlib import Path

import pytest
from mutation.config import groups, sample, survivors
from mutation.mutants import mutants_of

ROOT = Path(__file__).parents[2]
GROUPS = groups(ROOT)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.sources[0])
def test_a_group_has_sources_and_tests(group):
    assert group.files(ROOT)
    assert all((ROOT / "tests" / each).exists() for each in group.tests)
    assert 0 < group.goal <= 100


def test_the_sample_names_sources_of_every_group_and_tests_that_are_there():
    table = sample(ROOT)
    assert all(any(group.has(source) for source in table) for group in GROUPS)
    assert [path for path in (*table, *chain.from_iterable(table.values())) if not (ROOT / path).is_file()] == []


def test_survivors_that_have_names_are_mutants_that_there_are():
    named = survivors(ROOT)
    ids = {*named.equivalent, *named.known}
    files = {each.partition(":")[0] for each in ids}
    there = {mutant.id for file in files for mutant in mutants_of(file, (ROOT / file).read_text())}
    assert ids - there == set()
    assert all({**named.equivalent, **named.known}.values())
    assert not named.equivalent.keys() & named.known.keys()
