"""Kubernetes' JSONPath (k8s.io/client-go/util/jsonpath), such as {.status.conditions[?(@.type=="Ready")].status}.

`parsing` parses a template into the nodes of `ast`, with upstream's error messages; `evaluator` compiles them, once, to
functions that find values. A missing key is no error and finds nothing (AllowMissingKeys). The loops of kubectl's
templates, {range} to {end}, are parsed but not run: the server prints no templates.
"""

from apiserver.api.jsonpath.evaluator import JSONPath, WalkError
from apiserver.api.jsonpath.parsing import JSONPathError

__all__ = ["JSONPath", "JSONPathError", "WalkError"]
