"""Every address shows its view again, and a bad one says what is wrong or shows the usual."""

from __future__ import annotations

import pytest

from gym_gui.listing import RunFilters, read_filters
from gym_gui.pages.compare import Asked, read_asked
from gym_gui.tabs.charts import read_look, write_look
from gym_gui.widgets.chart_drawing import Look


def query_of(address: str) -> dict[str, str]:
    from urllib.parse import parse_qsl, urlsplit

    return dict(parse_qsl(urlsplit(address).query, keep_blank_values=True))


@pytest.mark.parametrize(
    "filters",
    [
        RunFilters(),
        RunFilters(q="a b&c=ü", state="failed", algo="ppo", sort="step", up=True, size=200),
        RunFilters(bin=True, after="token"),
        RunFilters(group=True, env="ALE/Breakout-v5"),
    ],
)
def test_a_view_of_runs_comes_back(filters: RunFilters) -> None:
    assert read_filters(query_of(filters.address())) == (filters, [])


@pytest.mark.parametrize(
    ("query", "what"),
    [
        ({"state": "nice"}, "state='nice' is not allowed"),
        ({"size": "7"}, "size='7' is not allowed"),
        ({"sort": "; DROP TABLE"}, "is not allowed"),
        ({"colour": "red"}, "'colour' is not a parameter"),
        ({"q": "x" * 501}, "too long"),
        ({"bin": "yes"}, "bin='yes' is not allowed"),
    ],
)
def test_a_bad_parameter_is_named_and_left_out(query: dict[str, str], what: str) -> None:
    filters, [problem] = read_filters(query)
    assert filters == RunFilters()
    assert what in problem


@pytest.mark.parametrize(
    "asked",
    [Asked(), Asked(runs=("a", "b"), tag="losses/x", seeds="apart", band="range", smooth=0.5)],
)
def test_a_comparison_comes_back(asked: Asked) -> None:
    assert read_asked(query_of(asked.address())) == asked


def test_a_bad_comparison_is_the_usual_one() -> None:
    assert read_asked({"seeds": "?", "band": "x", "smooth": "nan", "runs": ",,"}) == Asked()


@pytest.mark.parametrize("look", [Look(), Look(0.0, "time", True, 5, 900)])
def test_a_look_at_charts_comes_back(look: Look) -> None:
    assert read_look({name: value for name, value in write_look(look).items() if value}) == look


@pytest.mark.parametrize("text", ["", "nan", "-1", "1e999", "<b>", "9" * 400])
def test_a_bad_look_is_the_usual_one(text: str) -> None:
    assert read_look({"smoothing": text, "axis": text, "from": text, "to": text}) == Look()
