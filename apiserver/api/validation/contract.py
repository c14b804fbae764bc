"""The interface of a kind's validator, which the registry calls for verbs that write."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from apiserver.api.field import FieldError
from apiserver.api.meta import Obj

Errors = Iterable[FieldError]


def _nothing(_new: Obj, _old: Obj) -> Errors:
    return ()


@dataclass(frozen=True, slots=True)
class Validator:
    """The checks of the objects of one kind, except their metadata; errors are in upstream's order.

    Attributes:
        create: checks a new object, decoded and defaulted.
        update: checks (new, old); includes the checks of create if upstream validates the whole object again.
        status_update: checks (new, old) at the status subresource.
    """

    create: Callable[[Obj], Errors]
    update: Callable[[Obj, Obj], Errors]
    status_update: Callable[[Obj, Obj], Errors] = _nothing


def same_on_update(create: Callable[[Obj], Errors]) -> Validator:
    """Return the validator of a kind whose objects are checked alike on creation and on updates."""
    return Validator(create, lambda new, _old: create(new))
