import pytest

from apiserver.api.user import User
from apiserver.registry.admission import Attributes, forbidden
from apiserver.registry.options import Target


@pytest.mark.parametrize(
    ("target", "obj", "name"),
    [
        ("a", {"metadata": {"name": "b"}}, "a"),
        ("", {"metadata": {"name": "b", "generateName": "c-"}}, "b"),
        ("", {"metadata": {"generateName": "web-5d8-"}}, "web-5d8-"),
        ("", {"metadata": {}}, "Unknown"),
        ("", None, "Unknown"),
    ],
)
def test_a_plug_in_that_refuses_names_the_object_as_far_as_it_has_a_name(rows, target, obj, name):
    refused = forbidden(Attributes("CREATE", Target(rows["Pod"], "ns", target), User("u"), obj=obj), "no")
    assert refused.message == f'pods "{name}" is forbidden: no'
