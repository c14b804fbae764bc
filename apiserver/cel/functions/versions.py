"""Versions: Kubernetes' library for semantic versions (k8s.io/apiserver/pkg/cel/library/semverlib.go).

The syntax of versions, and the errors for invalid ones, are those of github.com/blang/semver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from apiserver.api.golang.numbers import parse_uint
from apiserver.api.schema import quoted
from apiserver.cel.values import EvaluationError

_DIGITS = frozenset("0123456789")
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")


@dataclass(frozen=True, slots=True, eq=False)
class SemverValue:
    """A semantic version; build metadata after the plus is ignored in comparisons.

    Attributes:
        numbers: major, minor, patch.
        pre: the parts of the pre-release.
    """

    numbers: tuple[int, int, int]
    pre: tuple[int | str, ...]

    type_name: ClassVar[str] = "kubernetes.Semver"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SemverValue) and (self.numbers, self.pre) == (other.numbers, other.pre)

    def __hash__(self) -> int:
        return hash((self.numbers, self.pre))

    def order(self, other: SemverValue) -> int:
        """Return the order of two versions: -1, 0 or 1; a pre-release precedes its release, numbers precede words."""
        own, others = _key(self), _key(other)
        return -1 if own < others else int(own > others)


def _key(version: SemverValue) -> tuple[Any, ...]:
    pre = tuple((0, part, "") if isinstance(part, int) else (1, 0, part) for part in version.pre)
    return version.numbers, not pre, pre


def _parsed(text: str) -> SemverValue:
    if not text:
        raise EvaluationError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise EvaluationError("No Major.Minor.Patch elements found")
    rest, plus, build = parts[2].partition("+")
    patch, dash, pre = rest.partition("-")
    major, minor = _number("Major", parts[0]), _number("Minor", parts[1])
    version = SemverValue(
        (major, minor, _number("Patch", patch)), tuple(map(_pre_part, pre.split("."))) if dash else ()
    )
    for part in build.split(".") if plus else ():
        if not part:
            raise EvaluationError("Build meta data is empty")
        if not _WORD.issuperset(part):
            raise EvaluationError(f"Invalid character(s) found in build meta data {quoted(part)}")
    return version


def _number(name: str, digits: str) -> int:
    if not _DIGITS.issuperset(digits):
        raise EvaluationError(f"Invalid character(s) found in {name.lower()} number {quoted(digits)}")
    if len(digits) > 1 and digits[0] == "0":
        raise EvaluationError(f"{name} number must not contain leading zeroes {quoted(digits)}")
    try:
        return parse_uint(digits)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def _pre_part(part: str) -> int | str:
    if not part:
        raise EvaluationError("Prerelease is empty")
    if _DIGITS.issuperset(part):
        if len(part) > 1 and part[0] == "0":
            raise EvaluationError(f"Numeric PreRelease version must not contain leading zeroes {quoted(part)}")
        return _number("PreRelease", part)
    if not _WORD.issuperset(part):
        raise EvaluationError(f"Invalid character(s) found in prerelease {quoted(part)}")
    return part


def _version(text: str, *normalize: bool) -> SemverValue:
    if not any(normalize):
        return _parsed(text)
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and set("+-").intersection(parts[-1]):
        raise EvaluationError("short version cannot contain PreRelease/Build meta data")
    return _parsed(".".join(parts + ["0"] * (3 - len(parts))))


def _without_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    rest = part.lstrip("0")
    return rest if rest[:1] in _DIGITS and rest else f"0{rest}"


def _is_version(text: str, *normalize: bool) -> bool:
    try:
        _version(text, *normalize)
    except EvaluationError:
        return False
    return True


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "string_to_semver": _version,
    "string_bool_to_semver": _version,
    "is_semver_string": _is_version,
    "is_semver_string_bool": _is_version,
    "semver_is_greater_than": lambda left, right: left.order(right) > 0,
    "semver_is_less_than": lambda left, right: left.order(right) < 0,
    "semver_compare_to": SemverValue.order,
    "semver_major": lambda version: version.numbers[0],
    "semver_minor": lambda version: version.numbers[1],
    "semver_patch": lambda version: version.numbers[2],
}
