"""Names and URLs: where keys lie in a cluster, which members a URL names, and which file."""

from base64 import b64decode, b64encode
from pathlib import Path

import pytest

from etcd.access import ALL_KEYS, Credentials, KeyPrefix
from etcd.backends import database_of, endpoints_of
from etcd.store import StoreError


@pytest.mark.parametrize(
    ("inside", "outside", "key", "encoded"),
    [
        ("", "", "/a/b", b"/a/b"),
        ("", "/x:", "/a/b", b"/x:/a/b"),
        ("/registry", "/other", "/registry/pods/a", b"/other/pods/a"),
        ("/registry", "", "/registry/é", "/é".encode()),
    ],
)
def test_a_key_has_its_name_inside_and_outside(inside, outside, key, encoded):
    key_prefix = KeyPrefix(inside, outside)
    assert b64decode(key_prefix.encode(key)) == encoded
    assert key_prefix.decode(b64encode(encoded).decode()) == key


@pytest.mark.parametrize("key", [b"/elsewhere/a", b"/othe", b"/other/\xff", b""])
def test_a_key_that_lies_elsewhere_or_is_no_text_has_no_name_inside(key):
    assert KeyPrefix("/registry", "/other").decode(b64encode(key).decode()) is None


@pytest.mark.parametrize(
    ("key_prefix", "prefix", "end"),
    [
        (KeyPrefix("", "/x:"), "", b"/x;"),
        (KeyPrefix("/registry", "/other"), "/registry/pods/", b"/other/pods0"),
        (KeyPrefix("/registry", "/other"), "/registry", b"/othes"),
        (KeyPrefix(), "/a", b"/b"),
        (KeyPrefix(), "", b"\0"),
        (KeyPrefix("/registry", ""), "/registry", b"\0"),
    ],
)
def test_a_range_ends_before_the_first_key_that_has_not_its_prefix(key_prefix, prefix, end):
    assert b64decode(key_prefix.range_end(prefix)) == end


def test_all_keys_are_those_from_and_to_a_zero_byte():
    assert b64decode(ALL_KEYS) == b"\0"
    assert KeyPrefix().range_end() == ALL_KEYS


def test_a_password_is_not_shown_where_credentials_are():
    assert "secret" not in repr(Credentials(user="root", password="secret"))


@pytest.mark.parametrize(
    ("certificate", "key", "words"),
    [
        (True, "", "there is no key in it, and none is named"),
        (True, "missing", r"missing\) cannot be used: (?!there is no key)"),
        (False, "", r"authority\.crt\) cannot be used: "),
    ],
)
def test_files_that_cannot_be_used_are_named_with_the_reason(tmp_path: Path, certificate, key, words):
    authority = tmp_path / "authority.crt"
    if certificate:
        (tmp_path / "client.crt").write_text("no certificate")
    else:
        authority.write_text("no certificate")
    credentials = Credentials(
        ca_file="" if certificate else str(authority),
        cert_file=str(tmp_path / "client.crt") if certificate else "",
        key_file=str(tmp_path / key) if key else "",
    )
    with pytest.raises(StoreError, match=words):
        credentials.ssl_context()


@pytest.mark.parametrize(
    ("urls", "members"),
    [
        ("http://a:1", ["http://a:1"]),
        ("http://a:1/", ["http://a:1"]),
        (" https://a:1 , https://b:2/ ", ["https://a:1", "https://b:2"]),
        ("http://[::1]:2379", ["http://[::1]:2379"]),
    ],
)
def test_members_are_named_with_commas(urls, members):
    assert endpoints_of(urls) == members


@pytest.mark.parametrize(
    "url",
    [
        "",
        "a:1",
        "ftp://a:1",
        "http://",
        "http://a",
        "http://:1",
        "http://a:1/b",
        "http://a:1/~",
        "http://a:x",
        "http://a:1,",
        "//a:1",
    ],
)
def test_what_is_no_member_is_refused_by_name(url):
    with pytest.raises(StoreError, match="is no member of an etcd cluster: give https://HOST:PORT"):
        endpoints_of(url)


def test_a_user_in_a_url_is_refused_without_showing_the_password():
    with pytest.raises(StoreError, match="has no user in its URL") as caught:
        endpoints_of("http://root:secret@a:1")
    assert "secret" not in str(caught.value)


def test_a_location_names_a_file_or_the_folder_that_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "odd").touch()
    (tmp_path / "folder.db").mkdir()
    expected = {
        f"{tmp_path}/new": tmp_path / "new" / "store.db",
        f"{tmp_path}/new.db": tmp_path / "new.db",
        f"{tmp_path}/new.sqlite": tmp_path / "new.sqlite",
        f"{tmp_path}/new.sqlite3": tmp_path / "new.sqlite3",
        f"{tmp_path}/new.txt": tmp_path / "new.txt" / "store.db",
        f"{tmp_path}/odd": tmp_path / "odd",
        f"{tmp_path}/folder.db": tmp_path / "folder.db" / "store.db",
        "~/a": tmp_path / "a" / "store.db",
    }
    assert {location: database_of(location) for location in expected} == expected
