import base64

import pytest

from apiserver.auth.bootstrap_tokens import BootstrapTokens

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z
TOKEN = "abcdef.0123456789abcdef"
DATA = {
    "token-id": "abcdef",
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-authentication": "true",
}


def secret(type_="bootstrap.kubernetes.io/token", meta=(), **data):
    texts = DATA | {key.replace("_", "-"): value for key, value in data.items()}
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in texts.items()}
    return {"metadata": dict(meta), "type": type_, "data": encoded}


def user_of(stored, token=TOKEN, audiences=("us",)):
    secrets = {("secrets", "kube-system", "bootstrap-token-abcdef"): stored}
    tokens = BootstrapTokens(lookup=lambda *key: secrets.get(key), audiences=["us"], now=lambda: NOW)
    response = tokens.authenticate(token, audiences)
    return response.user if response else None


def test_a_token_is_a_user_of_the_group_of_bootstrappers():
    user = user_of(secret())
    assert (user.name, user.uid) == ("system:bootstrap:abcdef", "")
    assert user.groups == ("system:bootstrappers", "system:authenticated")


@pytest.mark.parametrize(
    ("named", "groups"),
    [
        ("", ("system:bootstrappers",)),
        (
            "system:bootstrappers:b,system:bootstrappers:a",
            ("system:bootstrappers", *(f"system:bootstrappers:{name}" for name in "ab")),
        ),
        ("system:masters", None),
        ("system:bootstrappers:A", None),
        ("system:bootstrappers:a,", None),
    ],
)
def test_a_token_may_name_more_groups_of_bootstrappers(named, groups):
    user = user_of(secret(auth_extra_groups=named))
    assert (user and user.groups[:-1]) == groups


@pytest.mark.parametrize(
    ("time", "is_good"),
    [("2027-01-15T08:00:01Z", True), ("2027-01-15T08:00:00Z", False), ("2027-01-15", False), ("soon", False)],
)
def test_a_token_ends_at_its_time(time, is_good):
    assert bool(user_of(secret(expiration=time))) is is_good


@pytest.mark.parametrize(
    "stored",
    [
        None,
        secret(type_="Opaque"),
        secret(token_secret="fedcba9876543210"),
        secret(token_id="fedcba"),
        secret(usage_bootstrap_authentication="false"),
        secret(meta={"deletionTimestamp": "2027-01-15T07:00:00Z"}),
        {"metadata": {}, "type": "bootstrap.kubernetes.io/token"},
    ],
    ids=["none", "of another type", "of another secret", "of another id", "for other uses", "deleted", "empty"],
)
def test_a_secret_that_does_not_fit_makes_no_user(stored):
    assert user_of(stored) is None


@pytest.mark.parametrize("token", ["abcdef", "ABCDEF.0123456789abcdef", TOKEN[:-1], f"{TOKEN}0"])
def test_other_tokens_are_none(token):
    assert user_of(secret(), token) is None


def test_a_token_is_for_this_server_alone():
    assert user_of(secret(), audiences=("them",)) is None
