from typing import Any

import pytest

ODD = """
apiVersion: v1
kind: Pod
metadata: {name: odd, foo: 1}
spec: {containers: [{name: c, image: nginx, imgae: z}], nope: {}}
"""
REFUSED = (
    r'Error from server \(BadRequest\): error when creating "STDIN": Pod in version "v1" cannot be handled as a Pod: '
    r'strict decoding error: unknown field "metadata.foo", unknown field "spec.containers\[0\].imgae", '
    r'unknown field "spec.nope"'
)
WARNED = (
    r"pod/odd created \(server dry run\)\n"
    r'Warning: unknown field "metadata.foo"\n'
    r'Warning: unknown field "spec.containers\[0\].imgae"\n'
    r'Warning: unknown field "spec.nope"'
)


@pytest.mark.parametrize("level", ["", "--validate", "--validate=strict", "--validate=true"])
def test_unknown_fields_are_refused(kubectl: Any, level: str) -> None:
    kubectl.refuses(f"create -f - --dry-run=server {level}", REFUSED, ODD)


def test_unknown_fields_are_warned_of(kubectl: Any) -> None:
    kubectl.says("create -f - --dry-run=server --validate=warn", WARNED, ODD)


@pytest.mark.parametrize("level", ["ignore", "false"])
def test_unknown_fields_are_passed_over(kubectl: Any, level: str) -> None:
    kubectl.says(f"create -f - --dry-run=server --validate={level}", r"pod/odd created \(server dry run\)", ODD)


def test_what_was_passed_over_once_is_still_refused_when_somebody_looks(kubectl: Any) -> None:
    for level in ("ignore", "ignore", "false"):
        kubectl.output(f"create -f - --dry-run=server --validate={level}", ODD)

    kubectl.refuses("create -f - --dry-run=server --validate=strict", REFUSED, ODD)
    kubectl.says("create -f - --dry-run=server --validate=warn", WARNED, ODD)


def test_unknown_fields_of_a_change_are_refused(kubectl: Any) -> None:
    known = ODD.replace(", foo: 1", "").replace(", imgae: z", "").replace(", nope: {}", "")
    kubectl.output("apply -f -", known)

    kubectl.refuses(
        "apply -f -",
        r"(Error from server \(BadRequest\): .*|The request is invalid: patch: Invalid value: .*): "
        r'strict decoding error: unknown field "metadata.foo", .*',
        ODD,
    )


def test_a_value_of_a_wrong_type_is_refused_at_any_level(kubectl: Any) -> None:
    for level in ("strict", "warn", "ignore"):
        kubectl.refuses(
            f"create -f - --validate={level}",
            r".*json: cannot unmarshal number into Go struct field Container.spec.containers.image of type string",
            "---\n{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: [{name: c, image: 1}]}}",
        )
