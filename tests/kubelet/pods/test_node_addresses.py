"""Addresses of nodes and pods: no two have the same, and what is given back is given again, late."""

import pytest

from controller_manager.kubelet.addresses import NodeBlocks, PodAddresses, host_address, prefix_for
from controller_manager.reconcile.nodes import address_of

CLUSTER = "10.244.0.0/22"


def node(name, block=""):
    return {"metadata": {"name": name}, "spec": {"podCIDR": block} if block else {}}


def pod(uid, address="", phase="Running"):
    return {"metadata": {"uid": uid}, "spec": {}, "status": {"phase": phase, "podIP": address}}


def test_nodes_get_blocks_in_order_until_there_are_none():
    blocks = NodeBlocks()
    taken = [blocks.allocate(name, CLUSTER, 24) for name in ("a", "b", "a", "c", "d", "e")]
    assert taken == ["10.244.0.0/24", "10.244.1.0/24", "10.244.0.0/24", "10.244.2.0/24", "10.244.3.0/24", ""]


def test_blocks_that_nodes_have_are_taken_until_they_go():
    blocks = NodeBlocks()
    blocks.apply_change(None, None, node("old", "10.244.0.0/24"))
    assert blocks.allocate("new", CLUSTER, 24) == "10.244.1.0/24"
    blocks.apply_change(None, node("old", "10.244.0.0/24"), None)
    assert blocks.allocate("newer", CLUSTER, 24) == "10.244.0.0/24"


@pytest.mark.parametrize(("pods", "prefix"), [(10, 24), (110, 24), (250, 23), (1000, 21)])
def test_a_block_holds_twice_as_many_pods_as_a_node(pods, prefix):
    assert prefix_for(pods) == prefix


def test_nodes_have_addresses_of_their_own():
    assert host_address("10.244.0.0/24", CLUSTER) == "172.18.0.2"
    assert host_address("10.244.3.0/24", CLUSTER) == "172.18.0.5"


def test_a_pods_address_is_free_again_when_it_has_ended_or_gone():
    addresses = PodAddresses()
    assert [addresses.allocate(uid, "10.0.0.0/29") for uid in "abcab"] == [
        "10.0.0.2",
        "10.0.0.3",
        "10.0.0.4",
        "10.0.0.2",
        "10.0.0.3",
    ]
    addresses.apply_change(None, pod("a"), pod("a", "10.0.0.2", "Succeeded"))
    addresses.apply_change(None, pod("b", "10.0.0.3"), None)
    assert [addresses.allocate(uid, "10.0.0.0/29") for uid in "defgh"] == [
        "10.0.0.5",
        "10.0.0.6",
        "10.0.0.2",
        "10.0.0.3",
        "",
    ]


def test_addresses_that_pods_have_are_not_given_to_others():
    addresses = PodAddresses()
    addresses.apply_change(None, None, pod("old", "10.0.0.2"))
    assert addresses.allocate("new", "10.0.0.0/29") == "10.0.0.3"
    assert addresses.allocate("old", "10.0.0.0/29") == "10.0.0.2"


def test_pods_of_the_hosts_network_take_no_address_from_others():
    addresses = PodAddresses()
    addresses.apply_change(None, None, pod("one", "172.18.0.2"))
    addresses.apply_change(None, None, pod("two", "172.18.0.2"))
    addresses.apply_change(None, pod("two", "172.18.0.2"), None)
    assert addresses.allocate("pod", "10.0.0.0/29") == "10.0.0.2"


def test_without_a_block_there_is_no_address():
    assert PodAddresses().allocate("a", "") == ""


@pytest.mark.parametrize("block", ["", "fd00::/64", "010.0.0.0/24", "x", "10.0.0.0/99"])
def test_an_invalid_block_has_no_addresses_and_disturbs_nobody(block):
    assert PodAddresses().allocate("a", block) == ""
    assert host_address(block, CLUSTER) == ""
    blocks = NodeBlocks()
    blocks.apply_change(None, None, node("odd", block))
    assert blocks.allocate("new", CLUSTER, 24) == "10.244.0.0/24"


def test_a_block_may_name_any_of_its_addresses():
    blocks = NodeBlocks()
    blocks.apply_change(None, None, node("odd", "10.244.0.77/24"))
    assert blocks.allocate("new", CLUSTER, 24) == "10.244.1.0/24"


@pytest.mark.parametrize("address", ["fd00::1", "010.0.0.2", "x"])
def test_an_address_that_is_not_ours_is_nobodys(address):
    addresses = PodAddresses()
    addresses.apply_change(None, None, pod("odd", address))
    assert addresses.allocate("a", "10.0.0.0/29") == "10.0.0.2"


@pytest.mark.parametrize(
    ("node_addresses", "address"),
    [
        ([], ""),
        ([""], ""),
        (["ü"], ""),
        (["ü", "10.0.0.1"], "10.0.0.1"),
        (["fd00::1", "10.0.0.1"], "fd00::1"),
    ],
)
def test_a_nodes_address_is_the_first_that_is_one(node_addresses, address):
    addresses = [
        {"type": "Hostname", "address": "10.9.9.9"},
        *({"type": "InternalIP", "address": a} for a in node_addresses),
    ]
    assert address_of({"status": {"addresses": addresses}}) == address
