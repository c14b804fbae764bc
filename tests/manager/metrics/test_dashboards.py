"""The Grafana dashboard asks for metrics that exist, and Prometheus is configured to get them."""

import json
import re
import ssl
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

DOCS = Path(__file__).parents[3] / "docs"
DASHBOARD = json.loads((DOCS / "grafana" / "controllers.json").read_text())
PROMETHEUS = yaml.safe_load((DOCS / "prometheus.yml").read_text())
JOBS = {job["job_name"]: job for job in PROMETHEUS["scrape_configs"]}
FUNCTIONS = {"sum", "rate", "by", "histogram_quantile"}
OF_PROMETHEUS = {"job", "instance"}
"""Labels that a scrape adds."""


def panels() -> list[Any]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def expressions() -> list[Any]:
    pairs = ((panel["title"], target["expr"]) for panel in panels() for target in panel["targets"])
    return [pytest.param(expression, id=title) for title, expression in pairs]


def metrics_of(expression: str) -> list[tuple[str, str]]:
    """The names of metrics in an expression, each with the matchers that follow it."""
    rest = re.sub(r"\bby \([^)]*\)|\[\$__rate_interval\]", "", expression)
    is_match = re.findall(r"\b([a-z][a-z_]+)\b(?:\{([^}]*)\})?", rest)
    return [(name, matchers) for name, matchers in is_match if name not in FUNCTIONS]


def matches(labels: dict[str, str], matchers: str) -> bool:
    """Return whether a sample's labels match; labels that Prometheus adds are left out."""
    for label, operator, expected in re.findall(r'(\w+)(=~|!=|=)"([^"]*)"', matchers):
        if label not in OF_PROMETHEUS:
            is_equal = re.fullmatch(expected, labels.get(label, "")) is not None
            if is_equal == (operator == "!="):
                return False
    return True


@pytest.fixture(scope="module")
def samples(live) -> dict[str, list[dict[str, str]]]:
    """Name of a sample, of the manager or of the server → the labels of its samples."""
    labels: dict[str, list[dict[str, str]]] = {}
    for family in (*live.families().values(), *live.server_families().values()):
        for sample in family.samples:
            labels.setdefault(sample.name, []).append(sample.labels)
    return labels


@pytest.mark.parametrize("expression", expressions())
def test_the_metrics_and_labels_of_a_panel_are_there(samples, expression) -> None:
    names = metrics_of(expression)
    assert names
    for name, matchers in names:
        assert name in samples
        known = {label for labels in samples[name] for label in labels} | OF_PROMETHEUS
        asked = {label for label, _ in re.findall(r'(\w+)(=~|!=|=)"', matchers)}
        grouped = {label for group in re.findall(r"\bby \(([^)]*)\)", expression) for label in group.split(", ")}
        assert asked | grouped <= known
        if "4..|5.." not in matchers:  # nothing need have been refused
            assert any(matches(labels, matchers) for labels in samples[name])


@pytest.mark.parametrize("panel", [pytest.param(panel, id=panel["title"]) for panel in panels()])
def test_legends_name_labels_that_the_expression_keeps(samples, panel) -> None:
    for target in panel["targets"]:
        legend = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        grouped = re.search(r"\bby \(([^)]*)\)", target["expr"])
        ((name, _), *_) = metrics_of(target["expr"])
        kept = set(grouped[1].split(", ")) if grouped else {label for labels in samples[name] for label in labels}
        assert legend <= kept | OF_PROMETHEUS


def test_panels_have_an_order_and_do_not_overlap() -> None:
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        position = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(position["x"], position["x"] + position["w"])
            for y in range(position["y"], position["y"] + position["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not cells & taken
        taken |= cells


def test_the_dashboard_lets_a_person_choose_the_prometheus() -> None:
    (variable,) = DASHBOARD["templating"]["list"]
    assert (variable["type"], variable["query"]) == ("datasource", "prometheus")
    assert {panel["datasource"]["uid"] for panel in panels()} == {f"${{{variable['name']}}}"}


def test_jobs_in_expressions_are_those_that_prometheus_scrapes() -> None:
    asked = re.findall(r'job=~"([^"]*)"', json.dumps([panel["targets"] for panel in panels()]).replace('\\"', '"'))
    assert {job for jobs in asked for job in jobs.split("|")} == set(JOBS)


def test_the_files_that_prometheus_is_given_let_it_in(live) -> None:
    settings = JOBS["kube-apiserver"]["tls_config"]
    assert set(settings) == {"ca_file", "cert_file", "key_file"}
    files = {name: live.directory / Path(path).relative_to("../.mockube") for name, path in settings.items()}
    trust = ssl.create_default_context(cafile=files["ca_file"])
    trust.load_cert_chain(files["cert_file"], files["key_file"])
    with urllib.request.urlopen(f"{live.url}/metrics", context=trust) as answer:
        assert answer.status == 200
        assert b"apiserver_request_total" in answer.read()


@pytest.mark.parametrize(("job", "port"), [("kube-apiserver", 6443), ("kube-controller-manager", 10252)])
def test_prometheus_asks_where_make_up_listens(job: str, port: int) -> None:
    assert JOBS[job]["static_configs"] == [{"targets": [f"127.0.0.1:{port}"]}]
