"""Kubernetes' JSONPath (k8s.io/client-go/util/jsonpath), such as {.status.conditions[?(@.type=="Ready")].status}.

`parsing` turns a template into `nodes`, in upstream's words where it is none; `walking` turns nodes into functions,
once, which then find values. What is not there is no error but nothing (AllowMissingKeys). The loops that kubectl's
templates have, {range} to {end}, are parsed but not run: nobody prints templates here.
"""

from apiserver.api.jsonpath.evaluator import JSONPath, WalkError
from apiserver.api.jsonpath.parsing import JSONPathError

__all__ = ["JSONPath", "JSONPathError", "WalkError"]
