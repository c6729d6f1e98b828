"""The choice of an algorithm: searchable, and what cannot run here says what it needs."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui
from nicegui.events import ValueChangeEventArguments

from mosaic.contracts.errors import DependencyMissing
from mosaic.contracts.installed import missing_modules
from mosaic.contracts.schema import AlgorithmSchema
from mosaic.workers.discovery import Catalogue

_NEEDS = "needs mosaic-rl["


def missing_extras(algorithm: AlgorithmSchema) -> list[str]:
    return [extra for extra in algorithm.extras if missing_modules(extra)]


def check_installed(algorithm: AlgorithmSchema) -> None:
    """Refuse an algorithm whose packages are not there, and name what to install."""
    missing = missing_extras(algorithm)
    if missing:
        raise DependencyMissing(
            f"{algorithm.name} needs packages that are not installed.",
            hint=f"Run: pip install 'mosaic-rl[{','.join(missing)}]'.",
        )


def algorithm_options(catalogue: Catalogue) -> dict[str, str]:
    """Return the algorithms with their summaries; those that cannot run come last."""
    labels = {}
    for name in sorted(catalogue.entries):
        algorithm = catalogue.entries[name].algorithm
        missing = missing_extras(algorithm)
        needs = f" ({_NEEDS}{','.join(missing)}])" if missing else ""
        labels[name] = f"{name}: {algorithm.summary}{needs}"
    return dict(sorted(labels.items(), key=lambda each: _NEEDS in each[1]))


def algorithm_field(
    catalogue: Catalogue, value: str, on_choice: Callable[[str], None]
) -> ui.select:
    def choose(event: ValueChangeEventArguments[str | None]) -> None:
        if event.value:
            on_choice(event.value)

    options = algorithm_options(catalogue)
    element = ui.select(
        options,
        value=value,
        label="Algorithm",
        with_input=True,
        on_change=choose,
    )
    element.props("outlined dense options-dense hide-bottom-space fill-input hide-selected")
    element.props[":option-disable"] = f"option => option.label.includes('{_NEEDS}')"
    element.props["hint"] = "Type to search. One that is greyed needs packages to be installed."
    return element.classes("w-full")
