"""Subresources that are no plain part of their object, by name; `status` is one and so is not here."""

from collections.abc import Mapping

from apiserver.registry.subresources.call import Answer, Call, Part
from apiserver.registry.subresources.scale import scale

__all__ = ["SUBRESOURCES", "Answer", "Call", "Part"]

SUBRESOURCES: Mapping[str, Part] = {
    "scale": scale,
}
