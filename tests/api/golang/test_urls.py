"""URLs are taken apart, and refused, as Go's net/url does it."""

import pytest

from apiserver.api.golang.urls import GoUrl, UrlError, check_request_uri, parse_url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://a.b:1/c?d#e", GoUrl("https", None, "a.b:1", "/c", "d", "e")),
        ("HTTPS://u:p@[fe80::1]:80/", GoUrl("https", "u:p", "[fe80::1]:80", "/")),
        ("https://[fe80::1%25e%20n]/", GoUrl("https", None, "[fe80::1%e n]", "/")),
        ("https://%C3%BC.de/", GoUrl("https", None, "ü.de", "/")),
        ("//a/b", GoUrl("", None, "a", "/b")),
        ("a/b:c", GoUrl("", None, "", "a/b:c")),
        ("mailto:me", GoUrl("mailto")),
        ("", GoUrl()),
        ("*", GoUrl(path="*")),
    ],
)
def test_the_parts_of_a_url(text, url):
    assert parse_url(text) == url


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("://", 'parse "://": missing protocol scheme'),
        ("a:b:c@d/\x00", 'parse "a:b:c@d/\\x00": net/url: invalid control character in URL'),
        ("1a:b", 'parse "1a:b": first path segment in URL cannot contain colon'),
        ("https://a:b/", 'parse "https://a:b/": invalid port ":b" after host'),
        ("https://a:1:2/", 'parse "https://a:1:2/": invalid port ":1:2" after host'),
        ("https://[::1/", "parse \"https://[::1/\": missing ']' in host"),
        ("https://[::1]x/", 'parse "https://[::1]x/": invalid port "x" after host'),
        ("https://a[::1]/", 'parse "https://a[::1]/": invalid IP-literal'),
        ("https://[1.2.3.4]/", 'parse "https://[1.2.3.4]/": invalid IP-literal'),
        ("https://[a]/", 'parse "https://[a]/": invalid host: ParseAddr("a"): unable to parse IP'),
        ("https://a b/", 'parse "https://a b/": invalid character " " in host name'),
        ("https://a%41/", 'parse "https://a%41/": invalid URL escape "%41"'),
        ("https://a/%zz", 'parse "https://a/%zz": invalid URL escape "%zz"'),
        ("https://a b@c/", 'parse "https://a b@c/": net/url: invalid userinfo'),
        ("https://a/#%", 'parse "https://a/#%": invalid URL escape "%"'),
    ],
)
def test_what_is_wrong_with_a_text_that_is_no_url(text, error):
    with pytest.raises(UrlError) as raised:
        parse_url(text)
    assert str(raised.value) == error


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", 'parse "": empty url'),
        ("a/b", 'parse "a/b": invalid URI for request'),
        ("1a:b", 'parse "1a:b": invalid URI for request'),
        ("://", 'parse "://": missing protocol scheme'),
    ],
)
def test_what_a_request_asks_for_is_absolute(text, error):
    with pytest.raises(UrlError) as raised:
        check_request_uri(text)
    assert str(raised.value) == error


@pytest.mark.parametrize("text", ["/a", "//a b/", "https://a/#b", "a:", "*"])
def test_what_a_request_may_ask_for(text):
    check_request_uri(text)
