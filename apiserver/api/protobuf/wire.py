"""The protobuf encoding: varints, and values with a length or a fixed width."""

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
_WIDTHS = {FIXED64: 8, FIXED32: 4}
_MAX_BITS = 70
"""A varint with more bits than this is longer than any number."""


class MalformedError(ValueError):
    """The bytes are not such a message; the text says why."""


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Return the unsigned number at a position, and the position after it.

    Raises:
        MalformedError: the data ends within the number, or the number never ends.
    """
    try:
        value = data[position]
        if value < 0x80:
            return value, position + 1
        value &= 0x7F
        shift = 7
        while True:
            position += 1
            byte = data[position]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFF_FFFF_FFFF_FFFF, position + 1
            shift += 7
            if shift >= _MAX_BITS:
                raise MalformedError("proto: integer overflow")
    except IndexError:
        raise MalformedError("unexpected EOF") from None


def signed(value: int) -> int:
    """Return a varint as int32 and int64: negative numbers are sent in 64 bits of two's complement."""
    return value - (1 << 64) if value >> 63 else value


def read_chunk(data: bytes, position: int, wire: int) -> tuple[bytes, int]:
    """Return the bytes of a value that is not a varint, and the position after it.

    Raises:
        MalformedError: the data ends within the value, or there is no such wire type.
    """
    if wire == LENGTH:
        length, position = read_varint(data, position)
    else:
        length = _WIDTHS.get(wire, 0)
        if not length:
            raise MalformedError(f"proto: illegal wireType {wire}")
    end = position + length
    if end > len(data):
        raise MalformedError("unexpected EOF")
    return data[position:end], end


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
