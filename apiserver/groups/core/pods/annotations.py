"""Validation of the annotations that have a meaning for pods (ValidatePodSpecificAnnotations)."""

from collections.abc import Iterator, Mapping

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks
from apiserver.api.validation.paths import descending
from apiserver.groups.core.pods.containers import CONTAINERS

MIRROR = "kubernetes.io/config.mirror"
"""The annotation of a mirror pod, which stands for a static pod that a kubelet runs from a file."""

_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"

_SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"

APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
"""The prefix of the deprecated annotations with the AppArmor profile of the container named after it."""

_PREFIXES = ("kubernetes.io/", "controller.", "seccomp.", "container.")


def pod_annotations(annotations: Mapping[str, str], spec: Obj) -> list[FieldError]:
    """Return the errors in the annotations of a pod or template with this spec; paths start at the annotations."""
    if not any(name.startswith(_PREFIXES) for name in annotations):
        return []
    return [*_mirror_and_cost(annotations, spec), *_seccomp(annotations), *_app_armor(annotations, spec)]


def _mirror_and_cost(annotations: Mapping[str, str], spec: Obj) -> Iterator[FieldError]:
    if MIRROR in annotations and not spec.get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        yield field.invalid(f"[{MIRROR}]", annotations[MIRROR], detail)
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not _is_cost(cost):
        yield field.invalid(f"[{_DELETION_COST}]", cost, "must be a 32bit integer")


def _is_cost(text: str) -> bool:
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and (digits == text == "0" or digits[0] != "0")
    return plain and len(digits) <= 10 and -(2**31) <= int(text) < 2**31


def _seccomp(annotations: Mapping[str, str]) -> Iterator[FieldError]:
    for name, profile in annotations.items():
        if name == _SECCOMP_POD or name.startswith(_SECCOMP):
            if profile.startswith("localhost/"):
                yield from checks.prefix_errors(name, descending(profile.removeprefix("localhost/")))
            elif profile not in {"runtime/default", "docker/default", "unconfined"}:
                yield field.invalid(name, profile, "must be a valid seccomp profile")


def _app_armor(annotations: Mapping[str, str], spec: Obj) -> Iterator[FieldError]:
    for name, profile in annotations.items():
        if not name.startswith(APP_ARMOR):
            continue
        container = name.removeprefix(APP_ARMOR)
        if all(c.get("name") != container for kind in CONTAINERS for c in spec.get(kind) or ()):
            yield field.invalid(f"[{name}]", container, "container not found")
        if profile not in {"", "runtime/default", "unconfined"} and not profile.startswith("localhost/"):
            yield field.invalid(f"[{name}]", profile, f'invalid AppArmor profile name: "{profile}"')


def annotation_changes(new: Mapping[str, str], old: Mapping[str, str]) -> Iterator[FieldError]:
    """Yield the errors of changes of annotations that must stay (ValidatePodSpecificAnnotationUpdates)."""
    for name in (*old, *(name for name in new if name not in old)):
        verb = "remove or update" if name in old else "add"
        if new.get(name) != old.get(name) and name.startswith(APP_ARMOR):
            yield field.forbidden(f"[{name}]", f"may not {verb} AppArmor annotations")
        elif new.get(name) != old.get(name) and name == MIRROR:
            yield field.forbidden(f"[{name}]", f"may not {verb} mirror pod annotation")
