"""Draws architecture.svg out of the layers that import-linter holds: `python docs/architecture_svg.py`."""

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
DRAWING = Path(__file__).with_suffix(".svg").with_name("architecture.svg")
PACKAGES = {
    "controller_manager": "controllers, scheduler, simulated nodes",
    "apiserver": "Kubernetes' REST and watch protocol",
    "etcd": "versioned keys",
}
WIDTH, GAP, ROW, TOP = 430, 70, 40, 120


def layers_of(package: str) -> Sequence[Sequence[str]]:
    """Return the layers of a package, the highest first, each as the names of its modules and folders."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = (each for each in contracts if each.get("containers") == [package])
    return [layer.split(" | ") for layer in contract["layers"]]


def drawing() -> str:
    """Return the drawing as SVG: a column for each package, a row for each layer; imports go down only."""
    columns = [(package, layers_of(package)) for package in PACKAGES]
    height = TOP + ROW * max(len(layers) for _, layers in columns) + 40
    width = len(columns) * (WIDTH + GAP) + 30
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
            ' font-family="sans-serif" font-size="13">',
            "<title>The packages of mockube and their layers</title>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *_bar(width - 60),
            *(line for number, (package, layers) in enumerate(columns) for line in _column(package, layers, number)),
            *_arrow("HTTP", ("controller_manager", "runtime"), ("apiserver", "endpoints")),
            *_arrow("types", ("controller_manager", "reconcile"), ("apiserver", "api")),
            *_arrow("bytes", ("apiserver", "registry"), ("etcd", "store")),
            "</svg>\n",
        ]
    )


def _bar(width: int) -> Iterator[str]:
    yield f'<rect x="30" y="14" width="{width}" height="34" rx="6" fill="#e8eefc" stroke="#5b7bd5"/>'
    words = "mockube: command line, certificates, Cluster, pytest fixtures, backups; may import everything below"
    yield f'<text x="44" y="36"><tspan font-weight="bold">mockube</tspan>{escape(words.removeprefix("mockube"))}</text>'


def _column(package: str, layers: Sequence[Sequence[str]], number: int) -> Iterator[str]:
    x = 30 + number * (WIDTH + GAP)
    yield f'<text x="{x}" y="{TOP - 38}" font-weight="bold" font-size="15">{package}</text>'
    yield f'<text x="{x}" y="{TOP - 20}" fill="#555555">{escape(PACKAGES[package])}</text>'
    for row, names in enumerate(layers):
        y = TOP + row * ROW
        yield f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{ROW - 8}" rx="5" fill="#f6f6f2" stroke="#999999"/>'
        yield f'<text x="{x + 10}" y="{y + 23}">{escape(" · ".join(sorted(names)))}</text>'


def _arrow(words: str, user: tuple[str, str], used: tuple[str, str]) -> Iterator[str]:
    """Yield an arrow from the right of a layer to the left of a layer in the next column, with words at its middle."""
    x, y = 30 + list(PACKAGES).index(user[0]) * (WIDTH + GAP) + WIDTH + 6, _middle(*user)
    end, to = x + GAP - 14, _middle(*used)
    yield f'<path d="M{x} {y} L{end} {to}" stroke="#5b7bd5" stroke-width="2"/>'
    yield f'<circle cx="{end}" cy="{to}" r="4" fill="#5b7bd5"/>'
    text = f'x="{(x + end) // 2}" y="{(y + to) // 2 - 8}" text-anchor="middle" fill="#5b7bd5"'
    yield f'<text {text} stroke="#ffffff" stroke-width="4" paint-order="stroke">{words}</text>'


def _middle(package: str, name: str) -> int:
    """Return the height at which the layer with this name is drawn."""
    (row,) = (number for number, names in enumerate(layers_of(package)) if name in names)
    return TOP + row * ROW + (ROW - 8) // 2


if __name__ == "__main__":
    DRAWING.write_text(drawing())
