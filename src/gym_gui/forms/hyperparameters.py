"""Every hyperparameter of an algorithm, in groups, generated from its recipe."""

from __future__ import annotations

from nicegui import ui

from gym_gui.forms.draft import TrainDraft
from gym_gui.forms.field_grid import FieldSet, grid, heading
from mosaic.contracts.parameters import Parameter
from mosaic.contracts.schema import AlgorithmSchema
from mosaic.contracts.train_flags import hyperparameters

# Of every recipe, and seldom touched.
_LAST = "run"


def grouped(algorithm: AlgorithmSchema) -> dict[str, list[Parameter]]:
    """Return the hyperparameters by group, options of every run last."""
    groups: dict[str, list[Parameter]] = {}
    for parameter in hyperparameters(algorithm):
        groups.setdefault(parameter.group, []).append(parameter)
    return dict(sorted(groups.items(), key=lambda group: group[0] == _LAST))


class HyperparameterPanel:
    """The panel, made anew whenever the draft has another algorithm or other tuned values."""

    def __init__(self, draft: TrainDraft) -> None:
        self._draft = draft
        self.fields = FieldSet(self._give)
        with ui.column().classes("w-full mosaic-panel gap-3"):
            with ui.row().classes("w-full items-center"):
                heading("Hyperparameters")
                ui.space()
                self._changed = ui.label().classes("mosaic-muted")
                self._filter = ui.switch("Changed only", on_change=self._apply).props("dense")
            self._box = ui.column().classes("w-full gap-3")
        self.show()

    def show(self) -> None:
        draft = self._draft
        self.fields.fields.clear()
        self._groups: list[tuple[ui.column, list[str]]] = []
        self._box.clear()
        with self._box:
            for title, parameters in grouped(draft.algorithm).items():
                with ui.column().classes("w-full gap-2") as column:
                    heading(title.capitalize(), 3)
                    with grid():
                        for each in parameters:
                            name = each.name
                            shown, base = draft.shown(name), draft.base(name)
                            self.fields.add(each, shown, base, label=name)
                self._groups.append((column, [each.name for each in parameters]))
        self._apply()

    def _give(self, name: str, value: object) -> None:
        self._draft.give(name, value)
        self._count()

    def _count(self) -> None:
        changed = sum(self._draft.is_changed(name) for name in self.fields.fields)
        self._changed.set_text(f"{changed} of {len(self.fields.fields)} changed")

    def _apply(self) -> None:
        is_on = bool(self._filter.value)
        for column, names in self._groups:
            self.fields.show_changed_only(is_on, names)
            column.set_visibility(
                not is_on or any(self.fields.fields[name].is_changed for name in names)
            )
        self._count()
