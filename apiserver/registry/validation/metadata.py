"""What metadata must be, for all kinds (k8s.io/apimachinery/pkg/api/validation/objectmeta.go)."""

from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource


def validate_metadata(_resource: Resource, _obj: Obj) -> list[FieldError]:
    """What is wrong with a new object's metadata."""
    return []


def validate_metadata_update(_resource: Resource, _new: Obj, _old: Obj) -> list[FieldError]:
    """What is wrong with new metadata in place of the old."""
    return []
