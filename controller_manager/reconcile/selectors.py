"""Label selectors of stored objects, which may be invalid."""

from apiserver.api.meta import Obj
from apiserver.api.selectors import LabelSelector, SelectorError, label_selector_of


def lenient_selector(selector: Obj | None) -> LabelSelector:
    """Return the selector for a metav1.LabelSelector; None, or one that cannot be parsed, selects nothing."""
    try:
        return label_selector_of(selector)
    except SelectorError:
        return LabelSelector(nothing=True)
