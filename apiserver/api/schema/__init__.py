"""The API's types: bodies of built-in kinds, decoded as a server with typed objects decodes them.

`definitions` finds the OpenAPI definitions, `go_types` adds facts that they lack, `type_decoders` compiles both to
decoders, `strict` finds the errors of a body that does not decode, and
`conversion` is what the outcome of a strategic merge patch goes through instead.
No defaults, no validation, no conversion: those are the registry's.
"""

from apiserver.api.golang.strings import quoted
from apiserver.api.schema.conversion import ConversionError
from apiserver.api.schema.definitions import available_versions, load_definitions
from apiserver.api.schema.schema import Decoded, Schema, may_repeat_fields, strict_message
from apiserver.api.schema.strict import DecodeError, repeated_fields

__all__ = [
    "ConversionError",
    "DecodeError",
    "Decoded",
    "Schema",
    "available_versions",
    "load_definitions",
    "may_repeat_fields",
    "quoted",
    "repeated_fields",
    "strict_message",
]
