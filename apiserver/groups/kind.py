"""A built-in kind: the facts and functions by which the server treats it unlike other kinds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from apiserver.api.meta import Obj
from apiserver.api.resources import ALL_VERBS
from apiserver.api.validation import names
from apiserver.api.validation.contract import Errors, Validator
from apiserver.groups.columns import Printer
from apiserver.groups.conversion import Conversion
from apiserver.groups.field_labels import Fields
from apiserver.groups.notices import Notice
from apiserver.groups.strategy import Strategy

CREATE = ("create",)
NO_COLLECTION_DELETE = tuple(verb for verb in ALL_VERBS if verb != "deletecollection")

ALL = ("all",)
API_EXTENSIONS = ("api-extensions",)

Default = Callable[[Obj], None]
"""A function that sets the defaults of a freshly decoded object, in place."""


@dataclass(frozen=True, slots=True)
class BuiltinKind:
    """A built-in kind, beyond its OpenAPI definition. The defaults of the attributes suit most kinds.

    Attributes:
        group: its API group, "" for the core group.
        name: such as "Pod".
        plural: its name in paths, if that is not what `rows.plural_of` makes of its name.
        short: short names.
        namespaced: whether its objects are in namespaces.
        categories: names for several kinds at once, as in `kubectl get all`.
        verbs: what can be done with it.
        subresources: its subresources, keys of rows.SUBRESOURCES. "status" is not among them: a kind has it when its
            definition has that property, so that it comes and goes with the release.
        newer_subresources: subresource → the minor release that has it first, of those that came after 1.25.
        gated_subresources: subresources that its definition suggests and clusters have only with a feature gate.
        fields: the fields that selectors may name besides metadata.name and metadata.namespace.
        selects_namespace: whether selectors may name metadata.namespace, which no kind without `fields` refuses.
        field_aliases: another name of a field in selectors → the field.
        unknown_field: the message for a selector that names another field: a template of label, quoted and version.
        returns_deleted: DELETE answers with the object instead of a Status (ReturnDeletedObject of upstream's stores).
        creates_on_update: PUT of an absent name creates it (AllowCreateOnUpdate of upstream's strategies).
        prefix: the key prefix that it is stored under, if that is not its plural.
        default: sets its defaults, in every version.
        version_defaults: version → sets its defaults, for a kind whose versions differ.
        default_beside_spec: sets the defaults outside the spec, for objects whose spec already has its defaults.
        strategy: how creation and updates change an object before it is validated.
        subresource_strategies: subresource → the strategy whose prepare_update serves it; all but /status and /scale.
        validator: the checks of everything but the metadata.
        release_validator: minor release such as 34 → the validator, for a kind whose rules depend on the release.
        subresource_validators: subresource → the check of an update (new, old) there, of everything but the metadata.
        warnings: (new, old or None, minor release) → the warnings that a writer gets.
        field_labels: object → the values of `fields`.
        conversions: served version → its conversion to and from the storage version, for versions that differ from it.
        old_versions: the conversion between the versions in its Conversion.alike and all others.
        printer: its columns; None for the columns Name and Created At.
        name_rule: the rule of its names.
        notices: the warnings that writers get because mockube does not act on its objects.
    """

    group: str
    name: str
    short: tuple[str, ...] = ()
    namespaced: bool = True
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[str, ...] = ()
    newer_subresources: Mapping[str, int] = field(default_factory=dict)
    gated_subresources: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    selects_namespace: bool = True
    field_aliases: Mapping[str, str] = field(default_factory=dict)
    unknown_field: str = "field label not supported: {label}"
    returns_deleted: bool = False
    creates_on_update: bool = False
    plural: str = ""
    prefix: str = ""
    default: Default | None = None
    version_defaults: Mapping[str, Default] = field(default_factory=dict)
    default_beside_spec: Default | None = None
    strategy: Strategy | None = None
    subresource_strategies: Mapping[str, Strategy] = field(default_factory=dict)
    validator: Validator | None = None
    release_validator: Callable[[int], Validator] | None = None
    subresource_validators: Mapping[str, Callable[[Obj, Obj], Errors]] = field(default_factory=dict)
    warnings: Callable[[Obj, Obj | None, int], tuple[str, ...]] | None = None
    field_labels: Callable[[Obj], Fields] | None = None
    conversions: Mapping[str, Conversion] = field(default_factory=dict)
    old_versions: Conversion | None = None
    printer: Printer | None = None
    name_rule: names.Check = names.dns1123_subdomain
    notices: tuple[Notice, ...] = ()

    def version_conversions(self) -> dict[str, Conversion]:
        """Return the conversions to and from the storage version, by served version, for the versions that have one."""
        old = dict.fromkeys(self.old_versions.alike, self.old_versions) if self.old_versions is not None else {}
        return {**self.conversions, **old}
