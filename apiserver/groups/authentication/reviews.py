"""SelfSubjectReviews and TokenReviews (authentication.k8s.io), which need no rules of their own."""

from apiserver.groups.kind import CREATE, BuiltinKind

SELF_SUBJECT_REVIEW = BuiltinKind("authentication.k8s.io", "SelfSubjectReview", namespaced=False, verbs=CREATE)

TOKEN_REVIEW = BuiltinKind("authentication.k8s.io", "TokenReview", namespaced=False, verbs=CREATE)
