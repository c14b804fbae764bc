"""What containers do: as annotations on the pod say, as the image's name says, as the command says, or nothing special.

docs/simulation.md is the table of all this for people.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from apiserver.api.meta import Obj
from controller_manager.planning.stages.commands import Ending, ending_of
from controller_manager.planning.stages.durations import duration
from controller_manager.planning.stages.images import Image, image_of

DOMAIN = "mockube.io"
"""Annotations DOMAIN/NAME are for all containers of a pod but its init containers, CONTAINER.DOMAIN/NAME for one."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What a container does.

    Attributes:
        pull_error: why its image cannot be pulled, "" where it can.
        pull_failures: how many pulls fail so.
        start_after: seconds that its creation takes.
        ready_after: seconds from its start until it is ready, in place of what its probes say.
        exit_after: seconds from its start until it ends by itself.
        exit_code: with which it ends.
        exit_reason: why, where the code does not say it all: "OOMKilled".
        exit_times: how many of its runs end so; the next runs on.
        unhealthy_after: seconds from its start until its liveness probe begins to fail.
        stop_after: seconds that it goes on when it is asked to stop.
    """

    pull_error: str = ""
    pull_failures: float = inf
    start_after: float = 0.0
    ready_after: float | None = None
    exit_after: float = inf
    exit_code: int = 0
    exit_reason: str = ""
    exit_times: float = inf
    unhealthy_after: float = inf
    stop_after: float = 0.0


PLAIN = Behaviour()
IMAGES: Mapping[str, Behaviour] = {
    "complete": Behaviour(exit_after=0.0),
    "crash": Behaviour(exit_after=0.0, exit_code=1),
    "oom": Behaviour(exit_after=0.0, exit_code=137, exit_reason="OOMKilled"),
    "slow": Behaviour(ready_after=10.0),
    "stubborn": Behaviour(stop_after=inf),
    "unready": Behaviour(ready_after=inf),
}
"""The host of an image, before .mockube.io → what it does; "fail" cannot be pulled."""


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f'"{text}" is no number')
    return int(text)


def _exit_code(text: str) -> int:
    code = _count(text)
    if code > 255:
        raise ValueError(f'"{text}" is no exit code: write 0 to 255')
    return code


Reader = Callable[[str], Mapping[str, Any]]
ANNOTATIONS: Mapping[str, Reader] = {
    "exit-after": lambda text: {"exit_after": duration(text)},
    "exit-code": lambda text: {"exit_code": _exit_code(text)},
    "exit-times": lambda text: {"exit_times": _count(text)},
    "oom-after": lambda text: {"exit_after": duration(text), "exit_code": 137, "exit_reason": "OOMKilled"},
    "pull-error": lambda text: {"pull_error": text},
    "pull-failures": lambda text: {"pull_failures": _count(text)},
    "ready-after": lambda text: {"ready_after": duration(text)},
    "start-after": lambda text: {"start_after": duration(text)},
    "stop-after": lambda text: {"stop_after": duration(text)},
    "unhealthy-after": lambda text: {"unhealthy_after": duration(text)},
}
"""What an annotation's name says → the fields of Behaviour that its value fills."""
EVICT_AFTER = "evict-after"
"""Of the pod as a whole: seconds from its start until its node evicts it."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What one annotation asks for: its key, the container that it names ("" for all), and its name and value."""

    key: str
    container: str
    name: str
    value: str


def wishes(pod: Obj) -> list[Wish]:
    """The annotations of a pod that are for its kubelet."""
    annotations = pod["metadata"].get("annotations")
    return [wish for key, value in annotations.items() if (wish := _wish(key, value))] if annotations else []


def _wish(key: str, value: str) -> Wish | None:
    place, slash, name = key.partition("/")
    if not slash or not place.endswith(DOMAIN) or (name not in ANNOTATIONS and name != EVICT_AFTER):
        return None
    container = place[: -len(DOMAIN)]
    return Wish(key, container[:-1], name, value) if container == "" or container.endswith(".") else None


def problems(asked: list[Wish]) -> Iterator[str]:
    """What cannot be understood of them, and is therefore left out."""
    for wish in asked:
        try:
            duration(wish.value) if wish.name == EVICT_AFTER else ANNOTATIONS[wish.name](wish.value)
        except ValueError as error:
            yield f"Annotation {wish.key} is ignored: {error}"


def evicted_after(asked: list[Wish]) -> float:
    """Seconds after which the node evicts the pod, infinitely many where it does not."""
    for wish in asked:
        if wish.name == EVICT_AFTER:
            try:
                return duration(wish.value)
            except ValueError:
                break
    return inf


def behaviour_of(container: Obj, *, pod: Obj, asked: list[Wish], is_init: bool = False) -> Behaviour:
    """What a container does.

    Args:
        container: as the pod's spec has it.
        pod: that it is of.
        asked: the pod's annotations.
        is_init: whether it is an init container that has to end: unless it is named, annotations are not for it.
    """
    image = image_of(container["image"])
    found = _by_image(image)
    if found.exit_after == inf and not (found.pull_error or image.kind):
        found = _by_command(found, ending_of(container, image), ends=is_init or _is_of_job(pod))
    return _by_wishes(found, container, image, asked, is_init=is_init) if asked else found


def _by_image(image: Image) -> Behaviour:
    if image.missing or image.kind == "fail":
        return Behaviour(pull_error=image.pull_error)
    return IMAGES.get(image.kind, PLAIN)


def _by_command(found: Behaviour, ending: Ending | None, *, ends: bool) -> Behaviour:
    """The same, ending as the command does; where that is not understood, only what is there to end ends."""
    if ending is None:
        return replace(found, exit_after=0.0) if ends else found
    return found if ending.after == inf else replace(found, exit_after=ending.after, exit_code=ending.code)


def _is_of_job(pod: Obj) -> bool:
    return any(owner["kind"] == "Job" for owner in pod["metadata"].get("ownerReferences") or ())


def _by_wishes(found: Behaviour, container: Obj, image: Image, asked: list[Wish], *, is_init: bool) -> Behaviour:
    fields: dict[str, Any] = {}
    for wish in sorted(asked, key=lambda wish: bool(wish.container)):  # what names the container wins
        if wish.name in ANNOTATIONS and wish.container in (
            (container["name"],) if is_init else ("", container["name"])
        ):
            try:
                fields.update(ANNOTATIONS[wish.name](wish.value))
            except ValueError:
                continue  # the pod has been told
    if "exit_code" in fields and "exit_after" not in fields and found.exit_after == inf:
        fields["exit_after"] = 0.0
    if fields.get("pull_error", "" if "pull_failures" not in fields else "true") == "true":
        fields["pull_error"] = image.pull_error
    elif fields.get("pull_error") == "false":
        fields["pull_error"] = ""
    return replace(found, **fields) if fields else found
