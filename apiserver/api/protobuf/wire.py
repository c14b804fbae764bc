"""The protobuf encoding: varints, lengths and what is to be passed over."""

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
_WIDTHS = {FIXED64: 8, FIXED32: 4}
_LONGEST = 70
"""The bits from which on a varint is longer than any number."""


class MalformedError(ValueError):
    """Bytes that are no such message; the text says why."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The unsigned number at a place, and the place behind it.

    Raises:
        MalformedError: the data ends within it, or it never ends.
    """
    try:
        value = data[at]
        if value < 0x80:
            return value, at + 1
        value &= 0x7F
        shift = 7
        while True:
            at += 1
            byte = data[at]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFF_FFFF_FFFF_FFFF, at + 1
            shift += 7
            if shift >= _LONGEST:
                raise MalformedError("proto: integer overflow")
    except IndexError:
        raise MalformedError("unexpected EOF") from None


def signed(value: int) -> int:
    """A varint as int32 and int64 mean it: negative numbers are sent in 64 bits of two's complement."""
    return value - (1 << 64) if value >> 63 else value


def chunk(data: bytes, at: int, wire: int) -> tuple[bytes, int]:
    """The bytes of a value that is no varint, and the place behind it.

    Raises:
        MalformedError: the data ends within it, or there is no such wire type.
    """
    if wire == LENGTH:
        length, at = varint(data, at)
    else:
        length = _WIDTHS.get(wire, 0)
        if not length:
            raise MalformedError(f"proto: illegal wireType {wire}")
    end = at + length
    if end > len(data):
        raise MalformedError("unexpected EOF")
    return data[at:end], end


def encode_varint(number: int) -> bytes:
    """Return the bytes of a number that is not negative."""
    if number < 0x80:
        return bytes((number,))
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def encode_field(number: int, content: bytes) -> bytes:
    """Return a field whose content is preceded by its length."""
    return encode_varint(number << 3 | LENGTH) + encode_varint(len(content)) + content
