import select
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest
from patience import SECONDS


@contextmanager
def watching(kubectl: Any, line: str) -> Iterator[Any]:
    """A command that goes on, as a function that reads its next line."""
    process = kubectl.start(line)
    try:
        yield lambda: " ".join(process.stdout.readline().split())
    finally:
        process.terminate()
        process.communicate()


def test_a_watch_shows_what_is_there_and_what_changes(kubectl: Any) -> None:
    kubectl.output("create cm first --from-literal=a=b")
    with watching(kubectl, "get cm -w --output-watch-events") as line:
        assert line() == "EVENT NAME DATA AGE"
        assert line().startswith("ADDED first 1")
        kubectl.output("create cm second")
        assert line().startswith("ADDED second 0")
        kubectl.output("label cm first a=b")
        assert line().startswith("MODIFIED first 1")
        kubectl.output("delete cm first")
        assert line().startswith("DELETED first 1")


def test_a_watch_of_changes_only(kubectl: Any) -> None:
    kubectl.output("create cm before")
    process = kubectl.start("get cm --watch-only --output-watch-events --no-headers")
    try:
        for number in count():  # until the watch has begun and seen one
            kubectl.output(f"label cm before n={number} --overwrite")
            if select.select([process.stdout], [], [], 0)[0]:
                break
        assert process.stdout.readline().startswith("MODIFIED ")
    finally:
        process.terminate()
        process.communicate()


def test_a_watch_with_a_selector_sees_who_comes_and_goes(kubectl: Any) -> None:
    kubectl.output("create cm one")
    kubectl.output("label cm one show=yes")
    with watching(kubectl, "get cm -l show=yes -w --output-watch-events --no-headers") as line:
        assert line().startswith("ADDED one")
        kubectl.output("label cm one show=no --overwrite")
        assert line().startswith("DELETED one")


WAITED: list[tuple[str, str]] = [
    ("wait --for=jsonpath={.status.phase}=Pending pod/p --timeout=300s", "pod/p condition met"),
    ("wait --for=jsonpath={.spec.restartPolicy} pod/p --timeout=300s", "pod/p condition met"),
    ("wait --for=create pod/p --timeout=300s", "pod/p condition met"),
    ("wait --for=delete pod/nobody --timeout=300s", ""),
]


@pytest.mark.parametrize(("line", "says"), WAITED)
def test_what_holds_already_is_not_waited_for(kubectl: Any, line: str, says: str) -> None:
    kubectl.output("run p --image=nginx")
    kubectl.says(line, says)


REFUSED: list[tuple[str, str]] = [
    (
        "wait --for=condition=Ready pod/p --timeout=1s",
        r"(W\d+ .*very short watch.*\n)?error: timed out waiting for the condition on pods/p",
    ),
    (
        "wait --for=delete pod/p --timeout=1s",
        r"(W\d+ .*very short watch.*\n)?error: timed out waiting for the condition on pods/p",
    ),
    ("wait --for=condition=Ready pod/nobody --timeout=1s", r'Error from server \(NotFound\): pods "nobody" not found'),
    ("wait --for=condition=Ready pod -l a=b --timeout=1s", "error: no matching resources found"),
]


@pytest.mark.parametrize(("line", "says"), REFUSED)
def test_what_does_not_come_is_waited_for_in_vain(kubectl: Any, line: str, says: str) -> None:
    kubectl.output("run p --image=nginx")
    kubectl.refuses(line, says)


def test_what_comes_is_waited_for(kubectl: Any) -> None:
    kubectl.output("run p --image=nginx")
    waiting = kubectl.start("wait --for=condition=Ready pod/p --timeout=300s")
    ready = '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'

    kubectl.output(f"patch pod p --subresource=status --type=merge -p '{ready}'")

    assert waiting.communicate(timeout=SECONDS)[0] == "pod/p condition met\n"
