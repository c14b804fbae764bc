"""The OpenAPI definitions of each Kubernetes release, read from the package kubernetes-validate."""

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import orjson

from apiserver.api.meta import Obj

_FOLDER = "kubernetes-json-schema"
_SUFFIX = ".0-local"


@cache  # an installed package does not move
def _folder() -> Path:
    # Found, not imported: the package's import takes longer than reading the definitions.
    spec = find_spec("kubernetes_validate")
    if spec is None or not spec.submodule_search_locations:
        raise ValueError("the package kubernetes-validate, which carries the API's definitions, is not installed")
    return Path(spec.submodule_search_locations[0]) / _FOLDER


def available_versions() -> list[str]:
    """Return the releases that have definitions, oldest first: ["1.25", ..., "1.37"].

    Raises:
        ValueError: the package is not installed.
    """
    names = (path.name for path in _folder().glob(f"v1.*{_SUFFIX}"))
    return sorted((name[1 : -len(_SUFFIX)] for name in names), key=lambda version: int(version.partition(".")[2]))


def load_definitions(version: str) -> Mapping[str, Obj]:
    """Return the JSON schemas of a release such as "1.34" by definition name; read-only.

    Raises:
        ValueError: there are no definitions of that release; the message lists the available ones.
    """
    available = available_versions()
    if version not in available:
        raise ValueError(f'no definitions of Kubernetes "{version}": there are {", ".join(available)}')
    document = orjson.loads((_folder() / f"v{version}{_SUFFIX}" / "_definitions.json").read_bytes())
    definitions: dict[str, Obj] = document["$defs"]
    return definitions
