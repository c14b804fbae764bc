import pytest
from patience import some_work

from apiserver.api.formats import format_of, known_format

GOOD = {
    "bsonobjectid": ["507f1f77bcf86cd799439011"],
    "byte": ["YWJj", "YWI=", "YQ=="],
    "cidr": ["192.0.2.1/24", "192.0.02.1/24", "2001:db8::1/32", "::/0"],
    "creditcard": ["4111-1111-1111-1111", "4012 8888 8888 1881"],
    "date": ["2014-12-15", "2024-02-29", "0000-02-29"],
    "date-time": [
        "2014-12-15T19:30:20Z",
        "2024-02-29T00:00:00Z",
        "2014-12-31T23:59:59Z",
        "2014-12-15t19:30:20.000z",
        "2011-08-18T19:03:37.000000000+01:00",
    ],
    "duration": ["1h30m", "0", "-1.5s", "22 ns", "1wk", "3 Weeks", "1milliseconds", "1 µs"],
    "email": [
        "blah@gmail.com",
        '" "@example.com',
        '"Abc\\@def"@example.com',
        "customer/department=shipping@example.com",
        "!#$%&'*+-/=?^_`{}|~@example.com",
        "postmaster@☁→❄.ws",
        "root@localhost",
        "Bob Baker <bob@example.com>",
        "bob@[127.0.0.1]",
        "bob@example.com (home)",
    ],
    "hexcolor": ["#FFFFFF", "abc"],
    "hostname": [
        "somewhere.com",
        "888.com",
        "1.2.3.com",
        "xn--bcher-kva.example.com",
        "☁→❄.ws",
        "www.example.ôlà",
        "ex$ample",
        "localhost",
        "x",
        "x-y",
        "<foo>",
        "www.example-hyphenated.org",
        "www.詹姆斯.london",
    ],
    "ipv4": ["127.0.0.1", "192.168.1.01", "::ffff:1.2.3.4"],
    "ipv6": ["::1", "2001:db8::"],
    "isbn": ["0321751043", "978-0321751041"],
    "isbn10": ["0321751043", "0-8044-2957-X"],
    "isbn13": ["978-0321751041"],
    "k8s-long-name": ["a.b-c", "a" * 253],
    "k8s-short-name": ["a", "0-1", "a" * 63],
    "mac": ["01:02:03:04:05:06", "01-02-03-04-05-06-07-08", "0102.0304.0506", ":".join(["aB"] * 20)],
    "password": ["", "anything"],
    "rgbcolor": ["rgb(255,255,255)", "rgb( 0 , 1,2 )"],
    "ssn": ["111-11-1111", "999 99 9999"],
    "uri": ["http://somewhere.com", "/a/b", "mailto:a@b", "*", "http://u:p@[::1]:80/x?y#z", "http://a%25b", "//a"],
    "uuid": ["6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6BA7B8109DAD11D180B400C04FD430C8"],
    "uuid3": ["6ba7b810-9dad-31d1-80b4-00c04fd430c8"],
    "uuid4": ["6ba7b810-9dad-41d1-80b4-00c04fd430c8"],
    "uuid5": ["6ba7b810-9dad-51d1-90b4-00c04fd430c8"],
}
BAD = {
    "bsonobjectid": ["507f1f77bcf86cd79943901", "z07f1f77bcf86cd799439011"],
    "byte": ["", "ZWxpemFiZXRocG9zZXk", "a b="],
    "cidr": ["198.168.254.2", "2001:db8::1", "1.2.3.4/33", "1.2.3.4/", "1.2.3.4/-1"],
    "creditcard": ["9999-9999-9999-999", "4111-1111-1111-1112"],
    "date": ["2014-13-15", "2023-02-29", "2014-1-5", "20141215", "2014-12-00"],
    "date-time": [
        "2023-02-29T00:00:00Z",
        "2014-11-31T00:00:00Z",
        "2014-13-01T00:00:00Z",
        "zorgTx",
        "1972-12-31T24:40:00.000Z",
        "1972-12-31T23:59:60Z",
        "2014-12-15",
        "2014-12-15T19:30:20",
    ],
    "duration": ["yada", "three week", "12 y", "45 weeekks", "", "99999999999999999999s"],
    "email": ["somebody@somewhere@com", "a", "a@", "@a", "a..b@c", "<a@b", '""@a', "bob@[x]", "a b@c"],
    "hexcolor": ["#fffffffz", ""],
    "hostname": [
        "somewhere.com!",
        "1.1.1.1",
        "a" * 64,
        f"x.y.{'a' * 64}",
        ".".join(["abc"] * 65),
        "www.example-.org",
        "-www",
        "www-",
        "www.ex ample.org",
        "_www.example.org",
        "www.詹姆斯.x",
        "x.",
        "",
    ],
    "ipv4": ["198.168.254.2.2", "::1", "1.2.3", "1.2..3", "256.1.1.1"],
    "ipv6": ["127.0.0.1", "fe80::1%eth0", ":"],
    "isbn": ["836217463"],
    "isbn10": ["0321751044", "978-0321751041"],
    "isbn13": ["978-0321751042", "0321751043"],
    "k8s-long-name": ["", "A", "a..b", "a.-", "a" * 254],
    "k8s-short-name": ["", "a.b", "a-", "a" * 64],
    "mac": ["01:02:03:04:05", "01:02-03:04:05:06", "0102.0304"],
    "rgbcolor": ["rgb(300,0,0)", "rgb(0,0)"],
    "ssn": ["999 99 999", "111111111"],
    "uri": ["somewhere.com", "", "http://a b/", "http://a/%zz", "/a\x01", "http://[::1", "http://a:b/", ":a"],
    "uuid": ["not-a-uuid"],
    "uuid3": ["6ba7b810-9dad-41d1-80b4-00c04fd430c8"],
    "uuid4": ["6ba7b810-9dad-41d1-70b4-00c04fd430c8"],
    "uuid5": ["6ba7b810-9dad-41d1-80b4-00c04fd430c8"],
}


def check_of(name, release):
    check = known_format(name, release)
    assert check is not None
    return check


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in GOOD.items() for text in texts])
def test_a_text_has_the_format(name, text):
    assert check_of(name, 37)(text)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in BAD.items() for text in texts])
def test_a_text_has_not_the_format(name, text):
    assert not check_of(name, 37)(text)


@pytest.mark.parametrize(
    ("schema", "minor", "has_format"),
    [
        ({"type": "string", "format": "date-time"}, 37, "date-time"),
        ({"type": "string", "format": "datetime"}, 37, "datetime"),
        ({"type": "string", "format": "int32"}, 37, ""),
        ({"type": "string", "format": "of-my-own"}, 37, ""),
        ({"type": "string"}, 37, ""),
        ({"format": "uuid"}, 37, "uuid"),
        ({"type": "integer", "format": "int32"}, 37, "int32"),
        ({"type": "integer", "format": "double"}, 37, ""),
        ({"type": "number", "format": "double"}, 37, "double"),
        ({"type": "object", "format": "date"}, 37, ""),
        ({"type": "integer", "format": "int32", "x-kubernetes-int-or-string": True}, 37, ""),
        ({"type": "string", "format": "k8s-short-name"}, 34, "k8s-short-name"),
        ({"type": "string", "format": "k8s-short-name"}, 33, ""),
    ],
)
def test_a_format_counts_where_it_is_known_for_the_type(schema, minor, has_format):
    assert format_of(schema, minor) == has_format


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("email", "a" * 1_000_000),
        ("email", " " * 1_000_000),
        ("email", "a b " * 300_000),
        ("duration", "1" * 1_000_000),
        ("duration", "1." * 500_000),
        ("duration", "1 " * 500_000),
    ],
)
def test_long_texts_are_looked_at_once(name, text):
    with some_work():
        check_of(name, 34)(text)
