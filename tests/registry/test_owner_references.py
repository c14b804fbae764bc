import pytest

from apiserver.registry.owner_references import deduplicate_owners

A = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1"}
B = A | {"uid": "2"}
SAME_UID = A | {"name": "b"}


@pytest.mark.parametrize("owners", [[], [A], [A, B], [A, SAME_UID]])
def test_owners_that_differ_stay(owners):
    meta = {"ownerReferences": list(owners)}
    assert deduplicate_owners(meta) == ()
    assert meta["ownerReferences"] == owners


def test_of_equal_owners_the_first_stays_and_the_client_is_warned():
    meta = {"ownerReferences": [A, B, dict(A), dict(B)]}
    (warning,) = deduplicate_owners(meta)
    assert meta["ownerReferences"] == [A, B]
    assert warning.startswith(".metadata.ownerReferences contains duplicate entries; API server dedups")
    assert warning.endswith("duplicate UID(s) observed: 1, 2")


def test_the_warning_of_a_patch_speaks_of_admission():
    (warning,) = deduplicate_owners({"ownerReferences": [A, A]}, patched=True)
    assert "duplicate entries after mutating admission happens; API server" in warning
