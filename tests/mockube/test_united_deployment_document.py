"""docs/uniteddeployment.md: its commands are run and their output compared, on the cluster that it has one start."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CHANGING = (
    (r"\b(\d+m)?\d+s\b", "1s"),
    (r"\b((?:web|shop)-zone-[abc])-[a-z0-9]{5}\b", r"\1-xxxxx"),
    (r"(-zone-[abc]-xxxxx)-[a-z0-9]{8,10}-[a-z0-9]{5}\b", r"\1-xxxxxxxxxx-xxxxx"),
    (r"(-zone-[abc]-xxxxx)-[b-df-hj-np-tv-z2-9]{5}\b", r"\1-xxxxx"),
    (r"\bweb-[b-df-hj-np-tv-z2-9]{6,10}\b", "web-xxxxxxxxxx"),
    (r" +$", ""),
    (r" {2,}", "  "),
)


@pytest.mark.slow
@pytest.mark.kubectl
def test_what_the_walkthrough_shows_is_what_a_person_sees(
    up: Callable[..., Any], shell: dict[str, str], document: Callable[..., Any], tmp_path: Path
) -> None:
    walkthrough = document("docs/uniteddeployment.md", CHANGING)
    manifests = walkthrough.blocks("yaml")
    assert len(manifests) == 3
    for manifest in manifests:
        name = manifest.partition("\n")[0].removeprefix("# ")
        (tmp_path / name).write_text(manifest)
    up("--data-dir", tmp_path / ".mockube", controllers=True)
    walkthrough.play(tmp_path, shell)
