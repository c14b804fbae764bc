"""IntOrString: a number, or a percentage (k8s.io/apimachinery/pkg/util/intstr)."""


def scaled(value: int | str | None, total: int, *, round_up: bool) -> int:
    """Return the number for a value, which may be a percentage of a total (GetScaledValueFromIntOrPercent).

    Args:
        value: 3, "25%", or None for 0.
        total: 100 %.
        round_up: True to round fractions up, False to round them down.

    Raises:
        ValueError: it is a string that is not a percentage.
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
