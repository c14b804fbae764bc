import pytest

from apiserver.api.validation.embedded import validate_embedded


def errors_of(resource, path="spec.template"):
    return [str(error) for error in validate_embedded(path, resource)]


@pytest.mark.parametrize(
    "resource",
    [
        {"apiVersion": "v1", "kind": "Pod"},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "Any:Name", "namespace": "a", "labels": {"a": "b"}}},
    ],
)
def test_a_good_embedded_resource_is_good(resource):
    assert errors_of(resource) == []


@pytest.mark.parametrize(
    ("resource", "errors"),
    [
        (
            {"metadata": {}},
            ["spec.template.apiVersion: Required value", "spec.template.kind: Required value"],
        ),
        (
            {"apiVersion": "", "kind": ""},
            [
                'spec.template.apiVersion: Invalid value: "": must not be empty',
                'spec.template.kind: Invalid value: "": must not be empty',
            ],
        ),
        (
            {"apiVersion": 1, "kind": {}},
            [
                "spec.template.apiVersion: Invalid value: 1: must be a string",
                "spec.template.kind: Invalid value: {}: must be a string",
            ],
        ),
        (
            {"apiVersion": "a/b/c", "kind": "Pod"},
            ['spec.template.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
        ),
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a/b"}},
            ["spec.template.metadata.name: Invalid value: \"a/b\": may not contain '/'"],
        ),
    ],
)
def test_what_is_wrong_with_an_embedded_resource_is_told(resource, errors):
    assert errors_of(resource) == errors


def test_a_kind_is_a_name_in_any_case():
    (error,) = errors_of({"apiVersion": "v1", "kind": "no_kind"})
    assert error.startswith(
        'spec.template.kind: Invalid value: "no_kind": may have mixed case, but should otherwise match: a DNS-1035'
    )


def test_labels_of_an_embedded_resource_are_held_to_the_rules_of_all():
    (error,) = errors_of({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a b": "c"}}}, "")
    assert error.startswith('metadata.labels: Invalid value: "a b": name part must consist of')
