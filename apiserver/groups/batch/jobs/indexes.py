"""Lists of a job's indexes, such as "0-3,7" (validateIndexesFormat of pkg/apis/batch/validation)."""


class _IndexesError(ValueError):
    """An error in a list of indexes, in upstream's words."""


def indexes_error(text: str, completions: int) -> str:
    """Return the first error of a list of indexes below the number of completions, or "" if it is valid."""
    try:
        count_indexes(text, completions)
    except _IndexesError as error:
        return str(error)
    return ""


def count_indexes(text: str, completions: int) -> int:
    """Return the number of indexes in a list; its ranges must be in ascending order.

    Raises:
        ValueError: in upstream's words.
    """
    total, last = 0, -1
    for part in text.split(",") if text else ():
        first, end = _interval(part, completions)
        if first <= last:
            raise _IndexesError(f"non-increasing order, previous: {last}, current: {first}")
        total, last = total + end - first + 1, end
    return total


def _interval(part: str, completions: int) -> tuple[int, int]:
    first, *rest = part.split("-")
    if len(rest) > 1:
        requirement = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise _IndexesError(f'the fragment "{part}" {requirement}')
    start = _index(first, completions)
    end = _index(rest[0], completions) if rest else start
    if rest and start >= end:
        raise _IndexesError(f"non-increasing order, previous: {start}, current: {end}")
    return start, end


def _index(text: str, completions: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise _IndexesError(f'cannot convert string to integer for index: "{text}"')
    if int(text) >= completions:
        raise _IndexesError(f'too large index: "{text}"')
    return int(text)
