"""IntOrString: a number, or a share of one in percent (k8s.io/apimachinery/pkg/util/intstr)."""


def scaled(value: int | str | None, total: int, *, round_up: bool) -> int:
    """The number that a value means of a total (GetScaledValueFromIntOrPercent).

    Args:
        value: 3, "25%", or None for 0.
        total: what is 100 %.
        round_up: whether a part of one counts as one, or as nothing.

    Raises:
        ValueError: it is text that is no share in percent.
    """
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    if digits == value or not value.isascii() or not digits.removeprefix("-").isdecimal():
        raise ValueError(f"invalid value for IntOrString: invalid type: string is not a percentage: {value!r}")
    share = int(digits) * total
    return -(-share // 100) if round_up else share // 100
