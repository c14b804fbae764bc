"""What containers do: as annotations on the pod say, as the image's name says, as the command says, or nothing special.

docs/simulation.md is the table of all this for people.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods.commands import RUNS_ON, Ending, ending_of
from controller_manager.kubelet.pods.durations import duration
from controller_manager.reconcile.images import Image, image_of

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
        exit_times: how many of its runs end so.
        later: how the others end.
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
    later: Ending = RUNS_ON
    unhealthy_after: float = inf
    stop_after: float = 0.0

    def ending(self, restarts: int) -> Ending:
        """How the run after so many restarts ends by itself."""
        if restarts < self.exit_times:
            return Ending(self.exit_after, self.exit_code, self.exit_reason)
        return self.later


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


def _of_the_log(_: float) -> Mapping[str, Any]:
    """What containers.printing heeds, and what is nothing to stages."""
    return {}


Reader = Callable[[str], Mapping[str, Any]]
ANNOTATIONS: Mapping[str, Reader] = {
    "exit-after": lambda text: {"exit_after": duration(text)},
    "exit-code": lambda text: {"exit_code": _exit_code(text)},
    "exit-times": lambda text: {"exit_times": _count(text)},
    "log-every": lambda text: _of_the_log(duration(text)),
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
class AnnotationOverride:
    """What one annotation asks for: its key, the container that it names ("" for all), and its name and value."""

    key: str
    container: str
    name: str
    value: str


def wishes(pod: Obj) -> list[AnnotationOverride]:
    """The annotations of a pod that are for its kubelet."""
    annotations = pod["metadata"].get("annotations")
    return [wish for key, value in annotations.items() if (wish := _wish(key, value))] if annotations else []


def _wish(key: str, value: str) -> AnnotationOverride | None:
    place, slash, name = key.partition("/")
    if not slash or not place.endswith(DOMAIN) or (name not in ANNOTATIONS and name != EVICT_AFTER):
        return None
    container = place[: -len(DOMAIN)]
    return AnnotationOverride(key, container[:-1], name, value) if container == "" or container.endswith(".") else None


def problems(asked: list[AnnotationOverride]) -> Iterator[str]:
    """What cannot be understood of them, and is therefore left out."""
    for wish in asked:
        try:
            duration(wish.value) if wish.name == EVICT_AFTER else ANNOTATIONS[wish.name](wish.value)
        except ValueError as error:
            yield f"Annotation {wish.key} is ignored: {error}"


def evicted_after(asked: list[AnnotationOverride]) -> float:
    """Seconds after which the node evicts the pod, infinitely many where it does not."""
    for wish in asked:
        if wish.name == EVICT_AFTER:
            try:
                return duration(wish.value)
            except ValueError:
                break
    return inf


def behaviour_of(container: Obj, *, pod: Obj, asked: list[AnnotationOverride], is_init: bool = False) -> Behaviour:
    """What a container does.

    Args:
        container: as the pod's spec has it.
        pod: that it is of.
        asked: the pod's annotations.
        is_init: whether it is an init container that has to end: unless it is named, annotations are not for it.
    """
    image = image_of(container["image"])
    natural = ending_of(container, image)
    if natural is None:  # it is not understood: only what is there to end ends
        natural = Ending() if is_init or _is_of_job(pod) else RUNS_ON
    found = _by_image(image)
    if found.exit_after == inf > natural.after:
        found = replace(found, exit_after=natural.after, exit_code=natural.code)
    if not asked:
        return found
    wished = _wished(asked, (container["name"],) if is_init else ("", container["name"]))
    return _with(found, wished, image, natural) if wished else found


def _by_image(image: Image) -> Behaviour:
    if image.missing or image.kind == "fail":
        return Behaviour(pull_error=image.pull_error)
    return IMAGES.get(image.kind, PLAIN)


def _is_of_job(pod: Obj) -> bool:
    return any(owner["kind"] == "Job" for owner in pod["metadata"].get("ownerReferences") or ())


def _wished(asked: list[AnnotationOverride], names: tuple[str, ...]) -> dict[str, Any]:
    """The fields of Behaviour that annotations fill, of those that are for one of the names."""
    fields: dict[str, Any] = {}
    for wish in sorted(asked, key=lambda wish: bool(wish.container)):  # what names the container wins
        if wish.name in ANNOTATIONS and wish.container in names:
            try:
                fields.update(ANNOTATIONS[wish.name](wish.value))
            except ValueError:
                continue  # the pod has been told
    return fields


def _with(found: Behaviour, wished: dict[str, Any], image: Image, natural: Ending) -> Behaviour:
    """The same with what was wished for, and with what follows from it."""
    if "exit_code" in wished and "exit_after" not in wished and found.exit_after == inf:
        wished["exit_after"] = 0.0
    if "exit_times" in wished:
        wished["later"] = natural
    if "pull_failures" in wished:
        wished.setdefault("pull_error", found.pull_error or "true")
    if wished.get("pull_error") in ("true", "false"):
        wished["pull_error"] = image.pull_error if wished["pull_error"] == "true" else ""
    return replace(found, **wished)
