"""Label selectors of objects that are there, whatever their server let through."""

from apiserver.api.meta import Obj
from apiserver.api.selectors import LabelSelector, SelectorError, label_selector_of


def lenient_selector(selector: Obj | None) -> LabelSelector:
    """The selector of a metav1.LabelSelector object; None selects nothing, and so does what cannot be understood."""
    try:
        return label_selector_of(selector)
    except SelectorError:
        return LabelSelector(nothing=True)
