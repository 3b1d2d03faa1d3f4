"""The controls of one lane of a comparison: decode here with some pair and method, or show a recorded run."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr

from specviz.models.catalog import DTYPES
from specviz.trace.errors import SpecvizError
from specviz.trace.files import load_trace
from specviz.trace.methods import METHODS
from specviz.trace.schema import Settings, Trace
from specviz.ui.checks import read_settings
from specviz.ui.controls import CHOICE, Controls, Updates, problem_place
from specviz.ui.engine import Engine
from specviz.ui.lane_names import Choice
from specviz.ui.pair_check import PairCheck

_HERE, _RECORDED, _FILE = "here", "recorded", "file"
_SOURCES = [("Decode here", _HERE), ("A recorded run", _RECORDED), ("A trace file", _FILE)]
_AUTO = "auto"
_DTYPES = [("as suits the device", _AUTO), *((name, name) for name in DTYPES)]


class LaneControls(Controls):
    """number: from 1. first: what the lane begins with. runs: file name -> title of the recorded runs in `traces`."""

    def __init__(self, number: int, first: Settings, engine: Engine, traces: Path, runs: Mapping[str, str]) -> None:
        super().__init__(engine.entries(), first, prefix=f"sv-lane{number}")
        self._engine, self._lane, self._traces, self._runs = engine, number, traces, runs

    def lay_out(self, shown: bool) -> None:
        """The lane as a part of the page that folds."""
        with gr.Accordion(self._title(self._first), open=self._lane == 1, visible=shown,
                          elem_classes="sv-lane") as self.box:  # fmt: skip
            self._problem = problem_place()
            self._add("source", gr.Radio, choices=_SOURCES, value=_HERE, label="Where it comes from")
            with gr.Column(min_width=120) as self._here:
                self.pair()
                self._add("dtype", gr.Radio, choices=_DTYPES, value=_AUTO, label="Precision")
                self._check = PairCheck(self._engine, f"{self._prefix}-check")
                self.ways()
                self.box.label = self._title(replace(self._first, method=self.inputs["method"].value))
            with gr.Column(min_width=120, visible=False) as self._of_recorded:
                runs = [(title, name) for name, title in self._runs.items()]
                first = runs[0][1] if runs else None
                self._add("recorded", gr.Radio, choices=runs, value=first, label="Recorded run")
            with gr.Column(min_width=120, visible=False) as self._of_file:
                self._add("file", gr.File, label="Trace file", file_types=[".json", ".gz"], height=96)

    def wire(self) -> None:
        """Controls come and go with the choices, and the lane's title says what it is."""
        super().wire()
        self._check.wire(self.inputs["pair"], self.inputs["dtype"])
        places = [self._here, self._of_recorded, self._of_file]
        self.inputs["source"].input(self._choose_source, self.inputs["source"], places, **CHOICE)
        told = [self.box, self._problem]
        shaping = [control.change for control in self.inputs.values()]
        gr.on(shaping, self._tell, {*self.inputs.values()}, told, **CHOICE)

    def choice(self, values: Mapping[Any, Any], shared: Mapping[str, Any]) -> tuple[Choice | None, str | None]:
        """What the lane is, or why it cannot run. values: by control. shared: settings that all lanes have."""
        named = self.named(values)
        try:
            if named["source"] == _RECORDED:
                return Choice(trace=self._recorded_trace(named["recorded"])), None
            if named["source"] == _FILE:
                return Choice(trace=_file_trace(named["file"])), None
            return self._live(named, shared)
        except SpecvizError as error:
            return None, str(error)

    def problem_update(self, sentence: str | None) -> Updates:
        """An update that shows this sentence in the lane and unfolds it, or takes the last one away."""
        shown = {self._problem: gr.update(value=html.escape(sentence or ""), visible=sentence is not None)}
        return shown | ({self.box: gr.update(open=True)} if sentence else {})

    @property
    def outputs(self) -> list[Any]:
        """What `problem_update` changes."""
        return [self._problem, self.box]

    def _place_for_problem(self, name: str) -> None:
        """A lane has one place for what is wrong with it."""

    def _live(self, named: Mapping[str, Any], shared: Mapping[str, Any]) -> tuple[Choice | None, str | None]:
        entry = self._entry(named["pair"])
        if entry is None:
            return None, "No pair is chosen, or it cannot be loaded here; the list under the pairs says why."
        dtype = named["dtype"] if named["dtype"] in dict(_DTYPES).values() else _AUTO
        settings, problems = read_settings({**named, **shared, "prompt": ""})
        if why := self._ways.closed_methods(entry.key).get(METHODS[settings.method].title):
            problems["method"] = why
        if problems:
            return None, " ".join(problems.values())
        return Choice(pair=entry.key, settings=settings, dtype=None if dtype == _AUTO else dtype), None

    def _recorded_trace(self, name: Any) -> Trace:
        if not isinstance(name, str) or name not in self._runs:
            raise SpecvizError("Choose a recorded run.")
        return _with_plain_lane(load_trace(self._traces / name))

    def _choose_source(self, source: Any) -> list[Any]:
        return [gr.update(visible=source == name) for name in (_HERE, _RECORDED, _FILE)]

    def _tell(self, values: dict[Any, Any]) -> Updates:
        """The lane's title, and at once what keeps it from running; settings that all lanes have are checked later."""
        choice, problem = self.choice(values, {})
        if values.get(self.inputs["source"]) == _FILE and values.get(self.inputs["file"]) is None:
            problem = None  # not chosen yet
        label = f"Lane {self._lane}" if choice is None else self._title(choice.settings, choice)
        return {**self.problem_update(problem), self.box: gr.update(label=label)}

    def _title(self, settings: Settings, choice: Choice | None = None) -> str:
        return f"Lane {self._lane}: {(choice or Choice(settings=settings)).name}"


def _file_trace(path: Any) -> Trace:
    if not isinstance(path, str):
        raise SpecvizError("Choose a trace file: a run that specviz exported.")
    return _with_plain_lane(load_trace(path))


def _with_plain_lane(trace: Trace) -> Trace:
    if trace.baseline is None:
        raise SpecvizError("This run has no plain lane, so its speedup is unknown; choose one that has.")
    return trace


def lane_set(firsts: Sequence[Settings], engine: Engine, traces: Path, runs: Mapping[str, str]) -> list[LaneControls]:
    """The controls of several lanes, numbered from 1."""
    return [LaneControls(k, first, engine, traces, runs) for k, first in enumerate(firsts, start=1)]
