"""The shape of a kind's validator: what a registry row offers to the verbs that write."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from apiserver.api.field import FieldError
from apiserver.api.meta import Obj

Errors = Iterable[FieldError]


def _nothing(_new: Obj, _old: Obj) -> Errors:
    return ()


@dataclass(frozen=True, slots=True)
class Validator:
    """What is wrong with the objects of one kind, beside their metadata, in the order upstream finds it.

    Attributes:
        create: of a new object, decoded and defaulted.
        update: of (new, old); tells everything that create tells where upstream validates the whole object again.
        status_update: of (new, old) at the status subresource.
    """

    create: Callable[[Obj], Errors]
    update: Callable[[Obj, Obj], Errors]
    status_update: Callable[[Obj, Obj], Errors] = _nothing


def same_on_update(create: Callable[[Obj], Errors]) -> Validator:
    """A validator of a kind whose objects are checked alike when they are made and when they change."""
    return Validator(create, lambda new, _old: create(new))
