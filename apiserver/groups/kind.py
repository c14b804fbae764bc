"""What a built-in kind is: the facts and functions by which the server treats it unlike other kinds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from apiserver.api.meta import Obj
from apiserver.api.resources import ALL_VERBS
from apiserver.api.validation.contract import Errors, Validator
from apiserver.groups.columns import Printer
from apiserver.groups.conversion import Conversion
from apiserver.groups.field_labels import Fields
from apiserver.groups.strategy import Strategy

CREATE = ("create",)
NO_COLLECTION_DELETE = tuple(verb for verb in ALL_VERBS if verb != "deletecollection")

ALL = ("all",)
API_EXTENSIONS = ("api-extensions",)

Default = Callable[[Obj], None]
"""Sets the defaults of a freshly decoded object, in place."""


@dataclass(frozen=True, slots=True)
class BuiltinKind:
    """A built-in kind: what the OpenAPI definitions do not say of it. What is left out is as most kinds have it.

    Attributes:
        group: its API group, "" for the core group.
        name: such as "Pod".
        short: short names.
        subresources: its subresources, keys of rows.SUBRESOURCES. "status" is not among them: a kind has it when its
            definition has that property, so that it comes and goes with the release.
        fields: what field selectors may name beside metadata.name and metadata.namespace.
        creates_on_update: PUT of an absent name creates it (AllowCreateOnUpdate of upstream's strategies).
        prefix: where it is stored, when that is not its plural.
        default: sets its defaults, in every version.
        version_defaults: version → sets its defaults, for a kind whose versions differ.
        default_beside_spec: what its defaults do outside the spec, for objects whose spec comes with its defaults.
        strategy: what creation and updates do to an object.
        subresource_strategies: subresource → the strategy whose prepare_update serves it; all but /status and /scale.
        validator: what is checked beside the metadata.
        release_validator: the same on servers of a minor release such as 34, for a kind whose rules the release moves.
        subresource_validators: subresource → what is wrong with an update (new, old) there, beside the metadata.
        warnings: what a writer is warned of: (new, old or None, minor release) → texts.
        field_labels: the fields of an object that selectors may name, beside its name and namespace.
        conversions: served version → its conversion to and from the stored version, where their objects differ.
        old_versions: the conversion between the versions that are alike (Conversion.alike) and all others.
        printer: its columns; None shows name and creation time.
    """

    group: str
    name: str
    short: tuple[str, ...] = ()
    namespaced: bool = True
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    creates_on_update: bool = False
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

    def version_conversions(self) -> dict[str, Conversion]:
        """Served version → its conversion to and from the stored one, for the versions that differ from others."""
        old = dict.fromkeys(self.old_versions.alike, self.old_versions) if self.old_versions is not None else {}
        return {**self.conversions, **old}
