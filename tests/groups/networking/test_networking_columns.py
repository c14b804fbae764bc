"""The columns in which kubectl shows the address ranges of a cluster."""

from typing import Any

import pytest

ZONES = {"key": "zone", "operator": "In", "values": ["a", "b"]}
GPU = {"key": "gpu", "operator": "Exists"}
NAMED = {"key": "metadata.name", "operator": "In", "values": ["n"]}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"perNodeHostBits": 8, "ipv4": "10.0.0.0/16"}, ["8", "10.0.0.0/16", "<none>", "60m", "<none>"]),
        ({"ipv6": "fd00::/64", "nodeSelector": {}}, ["0", "<none>", "fd00::/64", "60m", ""]),
        (
            {
                "nodeSelector": {
                    "nodeSelectorTerms": [{"matchExpressions": [ZONES, GPU]}, {"matchFields": [NAMED]}, {}],
                }
            },
            [
                *("0", "<none>", "<none>", "60m"),
                "MatchExpressions: [{zone In [a b]} {gpu Exists []}],MatchFields: [{metadata.name In [n]}]",
            ],
        ),
    ],
)
def test_a_cluster_cidr_shows_its_ranges_and_its_nodes(printed: Any, spec: Any, expected: list[str]) -> None:
    assert [*printed("networking.k8s.io", "ClusterCIDR", {"spec": spec}).values()] == ["x", *expected]
