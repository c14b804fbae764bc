"""Workloads (scheduling.k8s.io), which need no rules of their own."""

from apiserver.groups.columns import NAME_AND_AGE
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import NO_GROUPS, stored
from apiserver.groups.strategy import PLAIN

WORKLOAD = BuiltinKind(
    "scheduling.k8s.io",
    "Workload",
    strategy=PLAIN,
    printer=NAME_AND_AGE,
    notices=stored("Workload", NO_GROUPS, "its Pods are scheduled one by one"),
)
