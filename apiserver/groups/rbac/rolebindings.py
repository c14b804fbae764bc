"""ClusterRoleBindings and RoleBindings (rbac.authorization.k8s.io): defaults, validation and columns."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, mapping, mappings, text_of
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import PLAIN

GROUP = "rbac.authorization.k8s.io"


def default_role_binding(binding: Obj) -> None:
    """Set the default API group of a binding's role and of its users and groups; accounts are in the core group."""
    role = binding.setdefault("roleRef", {})
    role["apiGroup"] = role.get("apiGroup") or GROUP
    for subject in binding.get("subjects") or ():
        if subject.get("kind") in {"User", "Group"}:
            subject.setdefault("apiGroup", GROUP)


_SUBJECTS = {"ServiceAccount": "", "User": GROUP, "Group": GROUP}  # kind → the group that its subjects are in


def _role_binding(binding: Obj) -> Iterator[FieldError]:
    yield from checks.prefix_errors("roleRef", _role_ref(binding.get("roleRef") or {}, ("Role", "ClusterRole")))
    yield from checks.each("subjects", binding.get("subjects"), _subject)


def _cluster_role_binding(binding: Obj) -> Iterator[FieldError]:
    yield from checks.prefix_errors("roleRef", _role_ref(binding.get("roleRef") or {}, ("ClusterRole",)))
    yield from checks.each("subjects", binding.get("subjects"), _cluster_subject)


def _role_ref(ref: Obj, kinds: tuple[str, ...]) -> Iterator[FieldError]:
    yield from checks.one_of("apiGroup", ref.get("apiGroup", ""), (GROUP,))
    yield from checks.one_of("kind", ref.get("kind", ""), kinds)
    yield from checks.required_name("name", ref.get("name"), names.path_segment)


def _subject(subject: Obj) -> Iterator[FieldError]:
    name, kind = subject.get("name"), subject.get("kind", "")
    yield from checks.required("name", name)
    group = _SUBJECTS.get(kind)
    if group is None:
        yield field.not_supported("kind", kind, tuple(_SUBJECTS))
        return
    if kind == "ServiceAccount":
        yield from checks.optional_name("name", name, names.dns1123_subdomain)
    yield from checks.one_of("apiGroup", subject.get("apiGroup", ""), (group,))


def _cluster_subject(subject: Obj) -> Iterator[FieldError]:
    yield from _subject(subject)
    if subject.get("kind") == "ServiceAccount":
        yield from checks.required("namespace", subject.get("namespace"))


def _ref_stays(new: Obj, old: Obj) -> Errors:
    ref = new.get("roleRef") or {}
    if ref == (old.get("roleRef") or {}):
        return ()
    shown = {"APIGroup": ref.get("apiGroup", ""), "Kind": ref.get("kind", ""), "Name": ref.get("name", "")}
    return (field.invalid("roleRef", shown, "cannot change roleRef"),)


_RBAC = "io.k8s.api.rbac.v1."


def _subjects(obj: Obj, kind: str) -> str:
    subjects = [subject for subject in mappings(obj, "subjects") if subject.get("kind") == kind]
    prefixed = kind == "ServiceAccount"
    return ", ".join(
        [f"{text_of(s, 'namespace')}/{text_of(s, 'name')}" if prefixed else text_of(s, "name") for s in subjects]
    )


def _binding(obj: Obj) -> Cells:
    role = mapping(obj, "roleRef")
    subjects = [_subjects(obj, kind) for kind in ("User", "Group", "ServiceAccount")]
    return [name_of(obj), f"{text_of(role, 'kind')}/{text_of(role, 'name')}", age(obj), *subjects]


def _binding_printer(kind: str) -> Printer:
    return Printer(
        columns=(
            NAME,
            Column("Role", f"{_RBAC}{kind}#roleRef"),
            AGE,
            Column("Users", "The users that get the role.", priority=1),
            Column("Groups", "The groups that get the role.", priority=1),
            Column("ServiceAccounts", "The service accounts that get the role.", priority=1),
        ),
        cells=_binding,
    )


CLUSTER_ROLE_BINDING = BuiltinKind(
    "rbac.authorization.k8s.io",
    "ClusterRoleBinding",
    namespaced=False,
    creates_on_update=True,
    default=default_role_binding,
    strategy=PLAIN,
    validator=Validator(_cluster_role_binding, lambda new, old: (*_cluster_role_binding(new), *_ref_stays(new, old))),
    printer=_binding_printer("ClusterRoleBinding"),
    name_rule=names.path_segment,
)

ROLE_BINDING = BuiltinKind(
    "rbac.authorization.k8s.io",
    "RoleBinding",
    creates_on_update=True,
    default=default_role_binding,
    strategy=PLAIN,
    validator=Validator(_role_binding, lambda new, old: (*_role_binding(new), *_ref_stays(new, old))),
    printer=_binding_printer("RoleBinding"),
    name_rule=names.path_segment,
)
