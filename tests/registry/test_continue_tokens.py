import base64

import pytest

from apiserver.api.errors import ApiError
from apiserver.registry.continue_tokens import decode_token, encode_token


def token(text):
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(("revision", "start"), [(1, "a\0"), (204, "default/a\0"), (-1, "ns/ä")])
def test_a_token_means_what_it_was_made_of(revision, start):
    assert decode_token(encode_token(revision, start)) == (revision, start)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("a b", "illegal base64 data at input byte 1"),
        ("abcde", "illegal base64 data at input byte 4"),
        (token("x"), "invalid character 'x' looking for beginning of value"),
        (token("[]"), "json: cannot unmarshal array into Go value of type storage.continueToken"),
        (token('{"rv":"1"}'), "json: cannot unmarshal string into Go struct field continueToken.rv of type int64"),
        (token("{}"), "server does not recognize this encoded version "),
        (token('{"v":"v2"}'), "server does not recognize this encoded version v2"),
        (
            token('{"v":"meta.k8s.io/v1","start":"a"}'),
            "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        ),
        (token('{"v":"meta.k8s.io/v1","rv":1}'), "encoded start key empty (version meta.k8s.io/v1)"),
        (token('{"v":"meta.k8s.io/v1","rv":1,"start":"../a"}'), "../a"),
        (token('{"v":"meta.k8s.io/v1","rv":1,"start":"a//b"}'), "a//b"),
    ],
)
def test_an_invalid_token_is_refused_in_words_of_go(given, why):
    with pytest.raises(ApiError) as refused:
        decode_token(given)
    assert refused.value.code == 400
    assert refused.value.message == f"invalid continue token: continue key is not valid: {why}"
