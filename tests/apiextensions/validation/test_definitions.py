"""Validation of a definition's names, versions and their parts; paths are those of upstream's internal type."""

import base64
import copy
import json
from typing import Any

import pytest

from apiserver.api.meta import Obj
from apiserver.apiextensions.validation.definition import validator
from apiserver.registry.kind_tables import set_defaults
from apiserver.registry.strategy import STRATEGIES

KIND = ("apiextensions.k8s.io", "CustomResourceDefinition")
OBJECT = {"openAPIV3Schema": {"type": "object"}}
V1 = {"name": "v1", "served": True, "storage": True, "schema": OBJECT}
SPEC = {
    "group": "example.com",
    "scope": "Namespaced",
    "names": {"plural": "widgets", "kind": "Widget"},
    "versions": [V1],
}
LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def definition(name: str = "widgets.example.com", meta: Any = (), **spec: Any) -> Obj:
    """A definition as it is when it is validated: defaulted and prepared."""
    made = {"metadata": {"name": name} | dict(meta), "spec": copy.deepcopy(SPEC | spec)}
    set_defaults(KIND[0], "v1", KIND[1], made)
    STRATEGIES[KIND].prepare_create(made)
    return made


def created(*args: Any, **spec: Any) -> list[str]:
    return [str(error) for error in validator(0).create(definition(*args, **spec))]


def of_version(**parts: Any) -> list[str]:
    return created(versions=[V1 | parts])


def test_a_good_definition_is_accepted():
    assert created() == []


def test_a_definition_is_called_by_its_plural_and_its_group():
    words = 'must be spec.names.plural+"."+spec.group'
    assert created("other.example.com") == [f'metadata.name: Invalid value: "other.example.com": {words}']
    assert created(meta={"generateName": "w-"}) == [f'metadata.generateName: Invalid value: "w-": {words}']


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ("example", 'Invalid value: "example": should be a domain with at least one dot'),
        ("", "Required value"),
    ],
)
def test_a_group_is_a_domain(group, message):
    assert created(f"widgets.{group}", group=group) == [f"spec.group: {message}"]


def test_all_that_is_wrong_with_a_group_is_one_error():
    (error,) = created("widgets.Ex_.com", group="Ex_.com")
    assert error.startswith('spec.group: Invalid value: "Ex_.com": a lowercase RFC 1123 subdomain must consist of')


def test_a_scope_is_one_of_two():
    assert created(scope="") == ["spec.scope: Required value"]
    words = 'Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced"'
    assert created(scope="Galaxy") == [f"spec.scope: {words}"]


def test_names_are_labels_and_kinds_in_any_case():
    names = {"plural": "widgets", "kind": "Wid_get", "singular": "W", "shortNames": ["w", "1"], "categories": ["All"]}
    mixed = f"may have mixed case, but should otherwise match: {LABEL}"
    assert created(names=names) == [
        f'spec.names.singular: Invalid value: "W": {LABEL}',
        f'spec.names.kind: Invalid value: "Wid_get": {mixed}',
        f'spec.names.listKind: Invalid value: "Wid_getList": {mixed}',
        f'spec.names.shortNames[1]: Invalid value: "1": {LABEL}',
        f'spec.names.categories[0]: Invalid value: "All": {LABEL}',
    ]


def test_lists_are_of_another_kind_than_their_items():
    names = {"plural": "widgets", "kind": "Widget", "listKind": "Widget"}
    words = "kind and listKind may not be the same"
    assert created(names=names) == [f'spec.names.listKind: Invalid value: "Widget": {words}']


def test_the_first_version_is_the_version_of_upstreams_internal_type_too():
    assert of_version(name="V1") == [
        f'spec.versions[0].name: Invalid value: "V1": {LABEL}',
        f'spec.version: Invalid value: "V1": {LABEL}',
    ]


def test_a_version_without_a_name_is_told_once():
    assert created(versions=[V1 | {"name": ""}]) == [f'spec.versions[0].name: Invalid value: "": {LABEL}']


@pytest.mark.parametrize(("versions", "printed"), [([], "[]"), (None, "null")])
def test_no_versions_are_printed_as_they_were_given(versions, printed):
    assert created(versions=versions)[0] == (
        f"spec.versions: Invalid value: {printed}: must have exactly one version marked as storage version"
    )


def test_one_version_is_stored_and_no_two_have_one_name():
    later = V1 | {"name": "v2", "storage": False}
    assert created(versions=[V1, later]) == []
    printed = json.loads(created(versions=[V1, V1])[0].partition("Invalid value: ")[2].rpartition(": ")[0])
    assert printed[0]["Name"] == "v1"
    assert [error.rpartition(": ")[2] for error in created(versions=[V1, V1])] == [
        "must contain unique version names",
        "must have exactly one version marked as storage version",
    ]
    assert created(versions=[later]) == [
        (
            'spec.versions: Invalid value: [{"Name":"v2","Served":true,"Storage":false,"Deprecated":false,'
            '"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,'
            '"SelectableFields":null}]: must have exactly one version marked as storage version'
        ),
        "status.storedVersions: Invalid value: null: must have at least one stored version",
    ]


def test_a_schema_of_a_version_is_printed_as_go_has_it():
    other = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    error = created(versions=[V1, V1 | {"name": "v2", "schema": other, "selectableFields": [{"jsonPath": ".a"}]}])[1]
    printed = json.loads(error.partition("Invalid value: ")[2].rpartition(": ")[0])
    schema = printed[1]["Schema"]["OpenAPIV3Schema"]
    assert (schema["Type"], schema["XPreserveUnknownFields"], schema["Nullable"]) == ("object", True, False)
    assert (schema["Properties"], schema["Ref"], schema["Description"]) == (None, None, "")
    assert printed[1]["SelectableFields"] == [{"JSONPath": ".a"}]


def test_every_version_has_a_schema():
    bare = {"name": "v2", "served": True, "storage": False}
    assert created(versions=[V1, bare]) == ["spec.versions[1].schema.openAPIV3Schema: Required value"]
    assert created(versions=[V1, bare | {"schema": {}}]) == ["spec.versions[1].schema.openAPIV3Schema: Required value"]


def test_errors_in_what_versions_share_are_at_the_spec_and_others_at_each_version():
    column = {"name": "C", "type": "strange", "jsonPath": ".c"}
    words = 'Invalid value: "strange": must be one of boolean,date,integer,number,string'
    one, two = V1 | {"additionalPrinterColumns": [column]}, V1 | {"name": "v2", "storage": False}
    assert created(versions=[one]) == [f"spec.additionalPrinterColumns[0].type: {words}"]
    assert created(versions=[one, two]) == [f"spec.versions[0].additionalPrinterColumns[0].type: {words}"]


@pytest.mark.parametrize(
    ("deprecated", "warning", "problems"),
    [
        (True, "moved", []),
        (True, "é" * 128, []),
        (False, "", ["can only be set for deprecated versions"]),
        (True, "", ["must not be an empty string"]),
        (True, "a" * 257, ["must be <= 256 characters long"]),
        (
            True,
            "é\nb",
            ["must only contain printable UTF-8 characters; non-printable character found at index 2"],
        ),
    ],
)
def test_a_warning_of_deprecation_is_one_line_of_some_length(deprecated, warning, problems):
    errors = of_version(deprecated=deprecated, deprecationWarning=warning)
    assert [error.rpartition(": ")[2] for error in errors] == problems
    assert all(error.startswith("spec.versions[0].deprecationWarning: Invalid value: ") for error in errors)


def test_columns_have_a_name_a_type_a_format_and_a_path():
    columns = [
        {"name": "", "type": "", "format": "strange", "jsonPath": ""},
        {"name": "Age", "type": "date", "format": "date-time", "jsonPath": "metadata.creationTimestamp"},
        {"name": "All", "type": "string", "jsonPath": "."},
    ]
    path = "spec.additionalPrinterColumns"
    types, formats = "boolean,date,integer,number,string", "byte,date,date-time,double,float,int32,int64,password"
    assert of_version(additionalPrinterColumns=columns) == [
        f"{path}[0].name: Required value",
        f"{path}[0].type: Required value: must be one of {types}",
        f'{path}[0].format: Invalid value: "strange": must be one of {formats}',
        f"{path}[0].JSONPath: Required value",
        (
            f'{path}[1].JSONPath: Invalid value: "metadata.creationTimestamp": '
            "must be a simple json path starting with ."
        ),
    ]


@pytest.mark.parametrize(
    ("scale", "errors"),
    [
        ({"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".spec.s"}, []),
        (
            {"specReplicasPath": "", "statusReplicasPath": "", "labelSelectorPath": ""},
            ["specReplicasPath: Required value", "statusReplicasPath: Required value"],
        ),
        (
            {"specReplicasPath": ".status.n", "statusReplicasPath": ".spec.n", "labelSelectorPath": ".s"},
            [
                'specReplicasPath: Invalid value: ".status.n": should be a json path under .spec',
                'statusReplicasPath: Invalid value: ".spec.n": should be a json path under .status',
                'labelSelectorPath: Invalid value: ".s": should be a json path under either .spec or .status',
            ],
        ),
        (
            {"specReplicasPath": "spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": "s"},
            [
                'specReplicasPath: Invalid value: "spec.n": must be a simple json path starting with .',
                'labelSelectorPath: Invalid value: "s": must be a simple json path starting with .',
            ],
        ),
    ],
)
def test_a_scale_reads_and_writes_counts_of_spec_and_status(scale, errors):
    assert of_version(subresources={"scale": scale}) == [f"spec.subresources.scale.{error}" for error in errors]


def webhook(**parts: Any) -> Obj:
    service = {"namespace": "ns", "name": "hook", "path": "/convert"}
    given = {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]}
    return {"strategy": "Webhook", "webhook": given | parts}


URL_FORM = "desired format: https://host[/path]"


@pytest.mark.parametrize(
    ("conversion", "errors"),
    [
        ({"strategy": "None"}, []),
        (webhook(), []),
        (webhook(clientConfig={"caBundle": base64.b64encode(b"no PEM").decode(), "url": "https://x/y"}), []),
        ({"strategy": ""}, ["strategy: Required value"]),
        ({"strategy": "Magic"}, ['strategy: Unsupported value: "Magic": supported values: "None", "Webhook"']),
        (
            {"strategy": "Webhook"},
            [
                "webhookClientConfig: Required value: required when strategy is set to Webhook",
                "conversionReviewVersions: Required value",
            ],
        ),
        (
            webhook() | {"strategy": "None"},
            [
                "webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
                "conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook",
            ],
        ),
        (
            webhook(clientConfig={}),
            ["webhookClientConfig: Required value: exactly one of url or service is required"],
        ),
        (
            webhook(clientConfig={"url": ""}),
            [
                (f"webhookClientConfig.url: Invalid value: \"\": 'https' is the only allowed URL scheme; {URL_FORM}"),
                f'webhookClientConfig.url: Invalid value: "": host must be specified; {URL_FORM}',
            ],
        ),
        (
            webhook(clientConfig={"url": "://"}),
            [
                (
                    'webhookClientConfig.url: Required value: url must be a valid URL: parse "://": '
                    f"missing protocol scheme; {URL_FORM}"
                )
            ],
        ),
        (
            webhook(clientConfig={"service": {"namespace": "", "name": "hook", "port": 0}}),
            [
                "webhookClientConfig.service.name: Required value",  # upstream takes the one for the other
                (
                    "webhookClientConfig.service.port: Invalid value: 0: port is not valid: "
                    "must be between 1 and 65535, inclusive"
                ),
            ],
        ),
        (
            webhook(conversionReviewVersions=["v1", "v1", "0v"]),
            [
                'conversionReviewVersions[1]: Invalid value: "v1": duplicate version',
                f'conversionReviewVersions[2]: Invalid value: "0v": {LABEL}',
            ],
        ),
        (
            webhook(conversionReviewVersions=["v3"]),
            ['conversionReviewVersions: Invalid value: ["v3"]: must include at least one of v1, v1beta1'],
        ),
    ],
)
def test_versions_are_converted_by_nobody_or_by_a_webhook(conversion, errors):
    assert created(conversion=conversion) == [f"spec.conversion.{error}" for error in errors]


def test_unknown_fields_are_kept_by_schemas_alone():
    words = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
    assert created(preserveUnknownFields=True) == [f"spec.preserveUnknownFields: Invalid value: true: {words}"]
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}}
    assert created(preserveUnknownFields=True, versions=[V1 | {"schema": schema}], conversion=webhook()) == [
        "spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema",
        'spec.conversion.strategy: Invalid value: "Webhook": must be None if spec.preserveUnknownFields is true',
        f"spec.preserveUnknownFields: Invalid value: true: {words}",
    ]


@pytest.mark.parametrize(
    ("annotation", "errors"),
    [
        ("https://github.com/kubernetes/kubernetes/pull/78458", []),
        ("unapproved, an experiment", []),
        (
            "perhaps",
            [
                (
                    'Invalid value: "perhaps": protected groups must have approval annotation '
                    '"api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", '
                    "see https://github.com/kubernetes/enhancements/pull/1111"
                )
            ],
        ),
        (
            "",
            [
                (
                    'Required value: protected groups must have approval annotation "api-approved.kubernetes.io", '
                    "see https://github.com/kubernetes/enhancements/pull/1111"
                )
            ],
        ),
    ],
)
def test_groups_of_kubernetes_are_protected(annotation, errors):
    annotations = {"api-approved.kubernetes.io": annotation}
    obj = created("widgets.k8s.io", {"annotations": annotations}, group="k8s.io")
    path = "metadata.annotations[api-approved.kubernetes.io]"
    assert [error for error in obj if "spec.group" not in error] == [f"{path}: {error}" for error in errors]
