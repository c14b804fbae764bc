"""The access reviews of authorization.k8s.io, which need no rules of their own."""

from apiserver.groups.kind import CREATE, BuiltinKind

LOCAL_SUBJECT_ACCESS_REVIEW = BuiltinKind("authorization.k8s.io", "LocalSubjectAccessReview", verbs=CREATE)

SELF_SUBJECT_ACCESS_REVIEW = BuiltinKind(
    "authorization.k8s.io", "SelfSubjectAccessReview", namespaced=False, verbs=CREATE
)

SELF_SUBJECT_RULES_REVIEW = BuiltinKind(
    "authorization.k8s.io", "SelfSubjectRulesReview", namespaced=False, verbs=CREATE
)

SUBJECT_ACCESS_REVIEW = BuiltinKind("authorization.k8s.io", "SubjectAccessReview", namespaced=False, verbs=CREATE)
