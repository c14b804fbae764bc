"""The behaviour of containers: from annotations of the pod, the image's name, the command, or the default.

docs/simulation.md has the table of all this for users.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods.commands import NEVER_ENDING, CommandEnding, ending_of
from controller_manager.kubelet.pods.durations import duration
from controller_manager.reconcile.images import Image, image_of

ANNOTATION_DOMAIN = "mockube.io"
"""The suffix of annotations for the kubelet: mockube.io/NAME is for all containers of a pod but its init containers,
CONTAINER.mockube.io/NAME for one.
"""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The behaviour of a container.

    Attributes:
        pull_error: why its image cannot be pulled, "" if it can.
        pull_failures: how many pulls fail with that.
        start_after: seconds that its creation takes.
        ready_after: seconds from its start until it is ready, instead of what its probes say.
        exit_after: seconds from its start until it ends by itself.
        exit_code: its exit code then.
        exit_reason: the reason in its status, if the code does not imply it: "OOMKilled".
        exit_times: how many of its runs end like that.
        overrides_by_restart: how the other runs end.
        unhealthy_after: seconds from its start until its liveness probe begins to fail.
        stop_after: seconds for which it goes on after it was asked to stop.
    """

    pull_error: str = ""
    pull_failures: float = inf
    start_after: float = 0.0
    ready_after: float | None = None
    exit_after: float = inf
    exit_code: int = 0
    exit_reason: str = ""
    exit_times: float = inf
    overrides_by_restart: CommandEnding = NEVER_ENDING
    unhealthy_after: float = inf
    stop_after: float = 0.0

    def ending(self, restarts: int) -> CommandEnding:
        """Return how a run ends by itself, given the number of restarts before it."""
        if restarts < self.exit_times:
            return CommandEnding(self.exit_after, self.exit_code, self.exit_reason)
        return self.overrides_by_restart


DEFAULT_BEHAVIOUR = Behaviour()
IMAGE_BEHAVIOURS: Mapping[str, Behaviour] = {
    "complete": Behaviour(exit_after=0.0),
    "crash": Behaviour(exit_after=0.0, exit_code=1),
    "oom": Behaviour(exit_after=0.0, exit_code=137, exit_reason="OOMKilled"),
    "slow": Behaviour(ready_after=10.0),
    "stubborn": Behaviour(stop_after=inf),
    "unready": Behaviour(ready_after=inf),
}
"""The host of an image, before .mockube.io → the behaviour; "fail" cannot be pulled."""


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
    """Return no fields: the annotation is for containers.log_output, and has no effect on the lifecycle."""
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
"""The name of an annotation → a function from its value to fields of Behaviour."""
EVICT_AFTER = "evict-after"
"""An annotation of the whole pod: seconds from its start until its node evicts it."""


@dataclass(frozen=True, slots=True)
class AnnotationOverride:
    """An annotation for the kubelet: its key, the container that it names ("" for all), its name and its value."""

    key: str
    container: str
    name: str
    value: str


def overrides_of(pod: Obj) -> list[AnnotationOverride]:
    """Return the annotations of a pod that are for its kubelet."""
    annotations = pod["metadata"].get("annotations")
    return (
        [override for key, value in annotations.items() if (override := _override(key, value))] if annotations else []
    )


def _override(key: str, value: str) -> AnnotationOverride | None:
    prefix, slash, name = key.partition("/")
    if not slash or not prefix.endswith(ANNOTATION_DOMAIN) or (name not in ANNOTATIONS and name != EVICT_AFTER):
        return None
    container = prefix[: -len(ANNOTATION_DOMAIN)]
    return AnnotationOverride(key, container[:-1], name, value) if container == "" or container.endswith(".") else None


def invalid_override_messages(overrides: list[AnnotationOverride]) -> Iterator[str]:
    """Yield a message for each invalid annotation, which is ignored."""
    for override in overrides:
        try:
            duration(override.value) if override.name == EVICT_AFTER else ANNOTATIONS[override.name](override.value)
        except ValueError as error:
            yield f"Annotation {override.key} is ignored: {error}"


def evicted_after(overrides: list[AnnotationOverride]) -> float:
    """Return the seconds after which the node evicts the pod, infinity if it does not."""
    for override in overrides:
        if override.name == EVICT_AFTER:
            try:
                return duration(override.value)
            except ValueError:
                break
    return inf


def behaviour_of(container: Obj, *, pod: Obj, overrides: list[AnnotationOverride], is_init: bool = False) -> Behaviour:
    """Return the behaviour of a container.

    Args:
        container: the container in the pod's spec.
        pod: its pod.
        overrides: the pod's annotations for the kubelet.
        is_init: True for an init container that has to end; only annotations that name it apply to it.
    """
    image = image_of(container["image"])
    natural = ending_of(container, image)
    if natural is None:  # not understood: only init containers and Jobs end
        natural = CommandEnding() if is_init or _is_of_job(pod) else NEVER_ENDING
    behaviour = _by_image(image)
    if behaviour.exit_after == inf > natural.after:
        behaviour = replace(behaviour, exit_after=natural.after, exit_code=natural.code)
    if not overrides:
        return behaviour
    fields = _override_fields(overrides, (container["name"],) if is_init else ("", container["name"]))
    return _with(behaviour, fields, image, natural) if fields else behaviour


def _by_image(image: Image) -> Behaviour:
    if image.missing or image.kind == "fail":
        return Behaviour(pull_error=image.pull_error)
    return IMAGE_BEHAVIOURS.get(image.kind, DEFAULT_BEHAVIOUR)


def _is_of_job(pod: Obj) -> bool:
    return any(owner["kind"] == "Job" for owner in pod["metadata"].get("ownerReferences") or ())


def _override_fields(overrides: list[AnnotationOverride], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of Behaviour from those annotations that are for one of the names."""
    fields: dict[str, Any] = {}
    # annotations that name the container come last, and win
    for override in sorted(overrides, key=lambda override: bool(override.container)):
        if override.name in ANNOTATIONS and override.container in names:
            try:
                fields.update(ANNOTATIONS[override.name](override.value))
            except ValueError:
                continue  # `invalid_override_messages` reports it
    return fields


def _with(behaviour: Behaviour, fields: dict[str, Any], image: Image, natural: CommandEnding) -> Behaviour:
    """Return the behaviour with the fields from annotations, and with what follows from them."""
    if "exit_code" in fields and "exit_after" not in fields and behaviour.exit_after == inf:
        fields["exit_after"] = 0.0
    if "exit_times" in fields:
        fields["overrides_by_restart"] = natural
    if "pull_failures" in fields:
        fields.setdefault("pull_error", behaviour.pull_error or "true")
    if fields.get("pull_error") in ("true", "false"):
        fields["pull_error"] = image.pull_error if fields["pull_error"] == "true" else ""
    return replace(behaviour, **fields)
