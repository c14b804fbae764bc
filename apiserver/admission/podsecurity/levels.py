"""Levels, versions and the policy in the labels of a namespace (pod-security-admission api/helpers.go)."""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from apiserver.api import field
from apiserver.api.field import FieldError

Level = Literal["privileged", "baseline", "restricted"]
LEVELS: Mapping[str, Level] = {"privileged": "privileged", "baseline": "baseline", "restricted": "restricted"}
"""The levels from the least strict to the strictest."""
STRICTNESS: Mapping[Level, int] = {level: rank for rank, level in enumerate(LEVELS.values())}
PREFIX = "pod-security.kubernetes.io/"
LATEST = 10**9
"""The minor number that stands for the version "latest"."""

_VERSION = re.compile(r"v1\.(0|[1-9][0-9]*)")


class LevelVersion(NamedTuple):
    """A level as one release defines it.

    Attributes:
        minor: the release's minor number, or LATEST.
    """

    level: Level = "privileged"
    minor: int = LATEST

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.minor == LATEST else f'v1.{self.minor}'}"


class Policy(NamedTuple):
    """The policy of a namespace.

    Attributes:
        enforce: what pods are refused for.
        audit: what the audit log would note; mockube has none.
        warn: what writers are warned of.
    """

    enforce: LevelVersion = LevelVersion()
    audit: LevelVersion = LevelVersion()
    warn: LevelVersion = LevelVersion()


def policy_of(labels: Mapping[str, str]) -> tuple[Policy, list[FieldError]]:
    """Return the policy in a namespace's labels, and the labels that are invalid (PolicyToEvaluate).

    An invalid level is "restricted" for enforce, "privileged" otherwise; an invalid version is the latest.
    """
    invalid: list[FieldError] = []
    modes = {
        mode: _level_version(labels, mode, "restricted" if mode == "enforce" else "privileged", invalid)
        for mode in Policy._fields
    }
    enforce, warn = modes["enforce"], modes["warn"]
    enforced = labels.get(f"{PREFIX}enforce") in LEVELS
    if enforced and f"{PREFIX}warn" not in labels and STRICTNESS[enforce.level] > STRICTNESS[warn.level]:
        has_version = f"{PREFIX}warn-version" in labels
        modes["warn"] = LevelVersion(enforce.level, warn.minor if has_version else enforce.minor)
    return Policy(**modes), invalid


def _level_version(labels: Mapping[str, str], mode: str, fallback: Level, invalid: list[FieldError]) -> LevelVersion:
    label = f"{PREFIX}{mode}"
    level, minor = LEVELS["privileged"], LATEST
    if (given := labels.get(label)) is not None:
        level = LEVELS.get(given, fallback)
        if given not in LEVELS:
            invalid.append(field.invalid(f"metadata.labels[{label}]", given, f"must be one of {', '.join(LEVELS)}"))
    if (version := labels.get(f"{label}-version")) is not None and version != "latest":
        if match := _VERSION.fullmatch(version):
            minor = min(int(match[1][:9]), LATEST - 1)
        else:
            why = 'must be "latest" or "v1.x"'
            invalid.append(field.invalid(f"metadata.labels[{label}-version]", version, why))
    return LevelVersion(level, minor)
