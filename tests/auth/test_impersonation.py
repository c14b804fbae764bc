import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from apiserver.api.errors import ApiError
from apiserver.api.user import User
from apiserver.auth.impersonation import Impersonation
from apiserver.registry.authorizer import AuthorizationRequest, Decision

JANE = User("jane")
BOB = (("Impersonate-User", "bob"),)
NODE = (("Impersonate-User", "system:node:n1"),)
ACCOUNT = (("Impersonate-User", "system:serviceaccount:ns:sa"),)


class Allowed:
    """An authorizer that allows some requests, and notes all."""

    def __init__(self, *allowed):
        self.allowed, self.asked = allowed, []

    async def authorize(self, request):
        resource = f"{request.resource}/{request.subresource}" if request.subresource else request.resource
        what = resource if request.is_resource else request.path
        group = f".{request.group}" if request.group else ""
        words = f"{request.verb} {what}{group} {request.namespace}/{request.name}"
        self.asked.append(words)
        return Decision(allowed="everything" in self.allowed or words in self.allowed)

    def rules_for(self, user, namespace):
        raise NotImplementedError


class Broken(Allowed):
    """An authorizer that fails."""

    async def authorize(self, request):
        await super().authorize(request)
        return Decision(error="it is broken", explain=lambda: "no rule")


async def act(authorizer, headers, *, sender=JANE, has_modes=True, verb="list"):
    request = AuthorizationRequest(sender, verb, "", "", "pods", "", "ns")
    proxy = CIMultiDictProxy(CIMultiDict(headers))
    return await Impersonation(authorizer, has_modes=has_modes).user_of(request, proxy)


async def message(*arguments, **more):
    with pytest.raises(ApiError) as caught:
        await act(*arguments, **more)
    assert caught.value.code == 403
    return caught.value.message


@pytest.mark.parametrize(
    ("headers", "has_modes", "asked"),
    [
        (BOB, False, ["impersonate users /bob"]),
        (
            (*BOB, ("Impersonate-Group", "g"), ("Impersonate-Uid", "u"), ("Impersonate-Extra-a.b%2Fc", "d")),
            False,
            [
                "impersonate users /bob",
                "impersonate groups /g",
                "impersonate userextras/a.b/c.authentication.k8s.io /d",
                "impersonate uids.authentication.k8s.io /u",
            ],
        ),
        (ACCOUNT, False, ["impersonate serviceaccounts ns/sa"]),
        (
            (*BOB, ("Impersonate-Group", "g"), ("Impersonate-Uid", "u"), ("Impersonate-Extra-a.b%2Fc", "d")),
            True,
            [
                "impersonate-on:user-info:list pods ns/",
                "impersonate:user-info users.authentication.k8s.io /bob",
                "impersonate:user-info uids.authentication.k8s.io /u",
                "impersonate:user-info groups.authentication.k8s.io /g",
                "impersonate:user-info userextras/a.b/c.authentication.k8s.io /d",
            ],
        ),
        (
            NODE,
            True,
            [
                "impersonate-on:arbitrary-node:list pods ns/",
                "impersonate:arbitrary-node nodes.authentication.k8s.io /n1",
            ],
        ),
        (
            ACCOUNT,
            True,
            [
                "impersonate-on:serviceaccount:list pods ns/",
                "impersonate:serviceaccount serviceaccounts.authentication.k8s.io ns/sa",
            ],
        ),
        (
            [*BOB, *(("Impersonate-Group", name) for name in "abcd")],
            True,
            [
                "impersonate-on:user-info:list pods ns/",
                "impersonate:user-info users.authentication.k8s.io /bob",
                "impersonate:user-info groups.authentication.k8s.io /*",
            ],
        ),
        ((*NODE, ("Impersonate-Group", "g")), True, ["impersonate users /system:node:n1", "impersonate groups /g"]),
    ],
)
async def test_each_part_of_the_requested_user_is_authorized(headers, has_modes, asked):
    authorizer = Allowed("everything")
    await act(authorizer, headers, has_modes=has_modes)
    assert authorizer.asked == asked


async def test_a_pod_may_act_as_its_own_node_whichever_that_is():
    extra: dict[str, tuple[str, ...]] = {
        "authentication.kubernetes.io/node-name": ("n1",),
        "authentication.kubernetes.io/pod-name": ("p",),
    }
    sender = User("system:serviceaccount:ns:agent", extra=extra)
    authorizer = Allowed(
        "impersonate-on:associated-node:list pods ns/", "impersonate:associated-node nodes.authentication.k8s.io /*"
    )
    user = await act(authorizer, NODE, sender=sender)
    assert (user.name, user.groups) == ("system:node:n1", ("system:nodes", "system:authenticated"))
    other = (("Impersonate-User", "system:node:n2"),)
    assert "impersonate-on:arbitrary-node:list" in await message(authorizer, other, sender=sender)


async def test_the_legacy_permission_is_good_for_every_verb():
    user = await act(Allowed("impersonate users /bob"), BOB)
    assert (user.name, user.groups) == ("bob", ("system:authenticated",))


@pytest.mark.parametrize(
    ("headers", "groups"),
    [
        ((*BOB, ("Impersonate-Group", "g")), ("g", "system:authenticated")),
        ((*BOB, ("Impersonate-Group", "system:authenticated")), ("system:authenticated",)),
        ((*BOB, ("Impersonate-Group", "system:unauthenticated")), ("system:unauthenticated",)),
        ((("Impersonate-User", "system:anonymous"),), ("system:unauthenticated",)),
        (ACCOUNT, ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated")),
        ((*ACCOUNT, ("Impersonate-Group", "g")), ("g", "system:authenticated")),
        ((("Impersonate-User", "system:serviceaccount:ns:a:b"),), ("system:authenticated",)),
    ],
)
@pytest.mark.parametrize("has_modes", [False, True])
async def test_a_user_has_the_groups_that_all_of_its_kind_have(headers, groups, has_modes):
    assert (await act(Allowed("everything"), headers, has_modes=has_modes)).groups == groups


async def test_a_refusal_names_what_the_first_mode_asked_for():
    assert await message(Allowed(), BOB, has_modes=False) == (
        'users "bob" is forbidden: User "jane" cannot impersonate resource "users" in API group "" at the cluster scope'
    )
    assert await message(Allowed(), BOB) == (
        'pods is forbidden: User "jane" cannot impersonate-on:user-info:list resource "pods" in API group "" '
        'in the namespace "ns"'
    )
    assert await message(Allowed("impersonate-on:arbitrary-node:list pods ns/"), NODE) == (
        'nodes.authentication.k8s.io "n1" is forbidden: User "jane" cannot impersonate:arbitrary-node resource "nodes" '
        'in API group "authentication.k8s.io" at the cluster scope'
    )


@pytest.mark.parametrize(
    ("header", "why"),
    [
        (("Impersonate-Group", "system:masters"), "impersonating the system:masters group is not allowed"),
        (("Impersonate-Group", ""), "impersonating the empty string group is not allowed"),
        (
            ("Impersonate-Extra-scopes", "a"),
            (
                'impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "scopes": '
                'must be a domain-prefixed path (such as "acme.io/foo")'
            ),
        ),
        (("Impersonate-Extra-a.b%2Fc", ""), "impersonating the empty string value in extra is not allowed"),
    ],
)
async def test_some_groups_and_extra_fields_are_for_the_legacy_mode_alone(header, why):
    allowed = ("impersonate-on:user-info:list pods ns/", "impersonate:user-info users.authentication.k8s.io /bob")
    assert (await message(Allowed(*allowed), (*BOB, header))).endswith(f": {why}")


@pytest.mark.parametrize(
    ("header", "references"),
    [
        (("Impersonate-Group", "g"), "{Group  g    }"),
        (("Impersonate-Uid", "u"), "{UID  u  authentication.k8s.io/v1  }"),
        (("Impersonate-Extra-Scopes", "a"), "{UserExtra  a  authentication.k8s.io/v1  scopes}"),
    ],
)
async def test_older_releases_print_references(header, references):
    with pytest.raises(ApiError) as caught:
        await act(Allowed(), [header], has_modes=False)
    assert (caught.value.code, caught.value.message) == (400, f"requested [{references}] without impersonating a user")


async def test_an_authorizer_that_fails_refuses():
    assert (await message(Broken(), BOB, has_modes=False)).endswith(": it is broken: no rule")


async def test_a_name_that_is_no_utf_8_can_be_told():
    assert (await act(Allowed("everything"), (("Impersonate-User", "a\udcff"),))).name == "a\ufffd"


async def test_without_such_headers_everybody_is_themselves():
    headers = (("Impersonate-User", ""), ("Impersonate-Uid", ""), ("Impersonate-Nobody", "x"))
    assert await act(Allowed(), headers) is JANE
