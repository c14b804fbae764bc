import pytest

NO_NETWORK = "network address parse error during conversion from string: " * 2


@pytest.mark.parametrize(
    "text",
    [
        "isIP('192.168.0.1') && isIP('::1') && !isIP('192.168.0.256') && !isIP('::ffff:1.2.3.4')",
        "!isIP('fe80::1%eth0')",
        "ip('127.0.0.1').family() == 4 && ip('::1').family() == 6 && string(ip('2001:DB8::0:1')) == '2001:db8::1'",
        "ip('0.0.0.0').isUnspecified() && ip('127.0.0.1').isLoopback() && ip('::1').isLoopback()",
        "ip('224.0.0.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast()",
        "ip('169.254.169.254').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast()",
        "ip('192.168.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()",
        "!ip('::').isGlobalUnicast()",
        "ip.isCanonical('127.0.0.1') && ip.isCanonical('2001:db8::abcd') && !ip.isCanonical('2001:DB8::ABCD')",
        "isCIDR('192.168.0.0/16') && !isCIDR('192.168.0.0/33') && !isCIDR('192.168.0.0') && !isCIDR('10.0.0.0/08')",
        "cidr('192.168.0.0/24').containsIP('192.168.0.1') && !cidr('192.168.0.0/24').containsIP(ip('192.168.1.1'))",
        "cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24')",
        "!cidr('192.168.0.0/24').containsCIDR(cidr('192.168.0.0/16'))",
        "!cidr('192.168.0.0/16').containsIP('::1') && cidr('2001:db8::/32').containsCIDR('2001:db8:1::/48')",
        "cidr('192.168.0.1/24').ip() == ip('192.168.0.1') && cidr('192.168.0.1/24').masked() == cidr('192.168.0.0/24')",
        "cidr('10.0.0.0/8').prefixLength() == 8 && string(cidr('10.0.0.0/8')) == '10.0.0.0/8'",
        "type(ip('1.2.3.4')) == net.IP && type(cidr('1.2.3.4/8')) == net.CIDR && ip('1.2.3.4') != ip('1.2.3.5')",
    ],
)
def test_addresses_and_networks(value, text):
    assert value(text) is True


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("", "unable to parse IP"),
        ("a", "unable to parse IP"),
        ("%eth0", "missing IPv6 address"),
        ("1.2.3", "IPv4 address too short"),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("1.2.3.256", "IPv4 field has value >255"),
        ("1.02.3.4", "IPv4 field has octet with leading zero"),
        ("1..2.3", r"IPv4 field must have at least one digit (at \".2.3\")"),
        ("1.2.3.", r"IPv4 field must have at least one digit (at \".\")"),
        ("1.2.a.4", r"unexpected character (at \"a.4\")"),
        ("2001:db8:::68", r"each colon-separated field must have at least one digit (at \":68\")"),
        ("12345::", r"each group must have 4 or less digits (at \"12345::\")"),
        ("1::2::3", r"multiple :: in address (at \":3\")"),
        ("1:2", "address string too short"),
        ("1:2:", r"colon must be followed by more characters (at \":\")"),
        ("1:2:3:4:5:6:7:8:9", r"trailing garbage after address (at \"9\")"),
        ("1:2:3:4:5:6:7:8::", "the :: must expand to at least one field of zeros"),
        ("1:g", r"each colon-separated field must have at least one digit (at \"g\")"),
        ("1g::", r"unexpected character, want colon (at \"g::\")"),
        ("::1%", "zone must be a non-empty string"),
        (
            "1:2:1.2.3.4",
            r"embedded IPv4 address must replace the final 2 fields of the address (at \"1.2.3.4\")",
        ),
        (
            "::2:3:4:5:6:7:8:1.2.3.4",
            r"too many hex fields to fit an embedded IPv4 at the end of the address (at \"1.2.3.4\")",
        ),
        ("::1.2.3", "IPv4 address too short"),
        ("::1.2.3.256", "IPv4 field has value >255"),
    ],
)
def test_an_invalid_address_is_reported_in_the_words_of_go(value, address, why):
    head = f'IP Address "{address}" parse error during conversion from string: ParseAddr("{address}")'
    assert value(f"ip('{address}').family() == 4") == f"error: {head}: {why}".replace('\\"', '"')


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("ip('::ffff:1.2.3.4').family() == 6", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
        ("ip('fe80::1%eth0').family() == 6", 'IP address "fe80::1%eth0" with zone value is not allowed'),
        (
            "cidr('1.2.3.4').prefixLength() == 1",
            f"{NO_NETWORK}netip.ParsePrefix(\"1.2.3.4\"): no '/'",
        ),
        (
            "cidr('1.2.3.4/99').prefixLength() == 1",
            f'{NO_NETWORK}netip.ParsePrefix("1.2.3.4/99"): prefix length out of range',
        ),
    ],
)
def test_addresses_and_networks_that_are_refused(value, text, error):
    assert value(text) == f"error: {error}"


@pytest.mark.parametrize(
    "text",
    [
        "isURL('https://example.com:80/') && isURL('/path') && !isURL('../path') && !isURL('https://a:b:c/')",
        "url('https://example.com:80/path/?k=1').getScheme() == 'https' && url('/a').getScheme() == ''",
        "url('https://example.com:80/').getHost() == 'example.com:80'",
        "url('https://example.com:80/').getHostname() == 'example.com'",
        "url('https://[::1]:80/').getHostname() == '::1'",
        "url('https://example.com:80/').getPort() == '80' && url('https://example.com/').getPort() == ''",
        "url('https://example.com/with space/').getEscapedPath() == '/with%20space/'",
        "url('https://example.com/path?k1=a&k2=b&k2=c').getQuery() == {'k1': ['a'], 'k2': ['b', 'c']}",
        "url('https://example.com/').getQuery() == {} && url('https://a/?x=a%20b').getQuery()['x'] == ['a b']",
        "url('https://a/') == url('https://a/') && url('https://a/') != url('https://b/')",
    ],
)
def test_urls(value, text):
    assert value(text) is True


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "url('a b').getHost() == ''",
            'URL parse error during conversion from string: parse "a b": invalid URI for request',
        ),
        (
            "url('https://a/%zz').getHost() == ''",
            'URL parse error during conversion from string: parse "https://a/%zz": invalid URL escape "%zz"',
        ),
    ],
)
def test_what_is_no_url_is_told(value, text, error):
    assert value(text) == f"error: {error}"


@pytest.mark.parametrize(
    "text",
    [
        "isQuantity('1.5Gi') && isQuantity('-5m') && !isQuantity('200K') && !isQuantity('') && !isQuantity('1 Gi')",
        "quantity('1Ki') == quantity('1024') && quantity('200M').compareTo(quantity('0.2G')) == 0",
        "quantity('50M').isLessThan(quantity('50Mi')) && quantity('50Mi').isGreaterThan(quantity('50M'))",
        "quantity('50M').compareTo(quantity('50Mi')) == -1 && quantity('1').compareTo(quantity('0')) == 1",
        "quantity('50k').add(quantity('20')) == quantity('50020') && quantity('50k').add(20) == quantity('50020')",
        "quantity('50k').sub(quantity('100k')) == quantity('-50k') && quantity('50k').sub(20) == quantity('49980')",
        "quantity('50k').asInteger() == 50000 && quantity('50k').isInteger() && !quantity('500m').isInteger()",
        "quantity('50.703k').asApproximateFloat() == 50703.0 && quantity('500m').asApproximateFloat() == 0.5",
        "sign(quantity('-1')) == -1 && sign(quantity('0')) == 0 && sign(quantity('1m')) == 1",
    ],
)
def test_quantities(value, text):
    assert value(text) is True


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "quantity('10Mo') == quantity('1')",
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        ("quantity('10Mm') == quantity('1')", "unable to parse quantity's suffix"),
        ("quantity('9999999999999999999G').asInteger() == 1", "cannot convert value to integer"),
        ("quantity('500m').asInteger() == 1", "cannot convert value to integer"),
    ],
)
def test_what_is_no_quantity_is_told(value, text, error):
    assert value(text) == f"error: {error}"


@pytest.mark.parametrize(
    "text",
    [
        "isSemver('1.0.0') && isSemver('1.0.0-alpha.1+build') && !isSemver('v1.0.0') && !isSemver('1.0')",
        "!isSemver('01.0.0')",
        "isSemver('v1.0', true) && isSemver('01.01.01', true) && !isSemver('v', true) && isSemver('1.0.0', false)",
        "semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3').patch() == 3",
        "semver('1.2.3').isLessThan(semver('2.0.0')) && semver('1.2.4').isGreaterThan(semver('1.2.3'))",
        "semver('1.0.0').compareTo(semver('1.0.0')) == 0 && semver('1.0.0') == semver('1.0.0')",
        "semver('1.0.0-alpha').isLessThan(semver('1.0.0'))",
        "semver('1.0.0-alpha.2').isLessThan(semver('1.0.0-alpha.10'))",
        "semver('1.0.0-1').isLessThan(semver('1.0.0-a')) && semver('1.0.0-a').isLessThan(semver('1.0.0-a.1'))",
        "semver('v1.2', true) == semver('1.2.0')",
    ],
)
def test_semantic_versions(value, text):
    assert value(text) is True


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("semver('v1.0').major() == 1", "No Major.Minor.Patch elements found"),
        ("semver('1.0.x').major() == 1", 'Invalid character(s) found in patch number "x"'),
        ("semver('01.0.0').major() == 1", 'Major number must not contain leading zeroes "01"'),
        ("semver('1.0.0-01').major() == 1", 'Numeric PreRelease version must not contain leading zeroes "01"'),
    ],
)
def test_what_is_no_version_is_told(value, text, error):
    assert value(text) == f"error: {error}"


@pytest.mark.parametrize(
    "text",
    [
        "!format.dns1123Label().validate('a-b').hasValue() && format.dns1123Label().validate('A').hasValue()",
        "!format.dns1123Subdomain().validate('a.b').hasValue()",
        "format.dns1123Subdomain().validate('a..b').hasValue()",
        "!format.dns1035Label().validate('a1').hasValue() && format.dns1035Label().validate('1a').hasValue()",
        "!format.dns1123LabelPrefix().validate('a-').hasValue()",
        "!format.dns1035LabelPrefix().validate('a-').hasValue()",
        "!format.dns1123SubdomainPrefix().validate('a.b-').hasValue()",
        "!format.qualifiedName().validate('a.io/B').hasValue() && format.qualifiedName().validate('a/b/c').hasValue()",
        "!format.labelValue().validate('').hasValue() && format.labelValue().validate('-').hasValue()",
        "!format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()",
        "format.uuid().validate('x').value() == ['does not match the UUID format']",
        "!format.byte().validate('aGVsbG8=').hasValue()",
        "format.byte().validate('aGVsbG8').value() == ['invalid base64']",
        "!format.date().validate('2021-01-01').hasValue()",
        "format.date().validate('2021-13-01').value() == ['invalid date']",
        "!format.datetime().validate('2021-01-01T00:00:00Z').hasValue()",
        "format.datetime().validate('x').value() == ['invalid datetime']",
        "!format.uri().validate('http://example.com').hasValue() && format.uri().validate('x').hasValue()",
        "format.named('uuid').value() == format.uuid() && !format.named('unknown').hasValue()",
    ],
)
def test_formats_that_have_names(value, text):
    assert value(text) is True
