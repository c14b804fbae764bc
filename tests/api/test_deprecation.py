import pytest

from apiserver.api.deprecation import deprecation_warning


@pytest.mark.parametrize(
    ("api_version", "kind", "minor", "said"),
    [
        ("v1", "ComponentStatus", 25, "v1 ComponentStatus is deprecated in v1.19+"),
        ("v1", "Endpoints", 32, ""),
        ("v1", "Endpoints", 33, "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
        ("v1", "Pod", 37, ""),
        (
            "resource.k8s.io/v1beta1",
            "ResourceClaim",
            36,
            "resource.k8s.io/v1beta1 ResourceClaim is deprecated in v1.35+, unavailable in v1.38+",
        ),
        (
            "flowcontrol.apiserver.k8s.io/v1beta3",
            "FlowSchema",
            29,
            (
                "flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema is deprecated in v1.29+, unavailable in v1.32+; "
                "use flowcontrol.apiserver.k8s.io/v1 FlowSchema"
            ),
        ),
    ],
)
def test_users_of_a_kind_are_warned_from_its_release_on(api_version: str, kind: str, minor: int, said: str) -> None:
    assert deprecation_warning(api_version, kind, minor) == said
