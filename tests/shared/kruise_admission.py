"""Helpers that the tests of the admission of OpenKruise's workloads share."""

import copy
from collections.abc import Awaitable

import pytest

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource

GROUP = "apps.kruise.io"


def row(kind: str, version: str = "v1beta1") -> Resource:
    """A kind in one of its versions, as its definition makes it known."""
    singular = kind.lower()
    return Resource(
        group=GROUP,
        version=version,
        kind=kind,
        plural=f"{singular}s",
        singular=singular,
        namespaced=True,
        definition="",
        storage_group=GROUP,
        storage_version="v1beta1",
        storage_prefix=f"{GROUP}/{singular}s",
    )


async def refusal(admission: Awaitable[object], old: Obj | None = None) -> list[tuple[str, str]]:
    """Return the fields that are refused, with the reasons; the stored object stays as it is."""
    before = copy.deepcopy(old)
    with pytest.raises(ApiError) as raised:
        await admission
    assert old == before
    assert (raised.value.code, raised.value.reason) == (422, "Invalid")
    assert raised.value.details is not None
    return [(cause["field"], cause["message"]) for cause in raised.value.details["causes"]]
