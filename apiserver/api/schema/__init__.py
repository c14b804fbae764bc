"""The API's types: what a body of a built-in kind means, as a server with typed objects would read it.

`definitions` finds the OpenAPI definitions, `go_types` adds what they do not say, `shapes` compiles both to decoders,
`strict` tells what is wrong with a body that does not decode.
No defaults, no validation, no conversion: those are the registry's.
"""

from apiserver.api.golang.strings import quoted
from apiserver.api.schema.definitions import available_versions, load_definitions
from apiserver.api.schema.schema import Decoded, Schema, may_repeat_fields, strict_message
from apiserver.api.schema.strict import DecodeError, repeated_fields

__all__ = [
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
