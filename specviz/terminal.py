"""The coloured stream and the summary in a terminal; plain marks where the output is not one."""

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

from specviz.analysis.figures import trace_figures
from specviz.analysis.summary import end_sentence
from specviz.analysis.tree import depths
from specviz.analysis.ways import way_figures
from specviz.decoding.race import Race
from specviz.terminal_tables import safe
from specviz.trace.errors import SpecvizError
from specviz.trace.files import save_trace
from specviz.trace.methods import METHODS, RULES
from specviz.trace.schema import Round, Trace

# role: (ANSI style, mark before, mark after when there is no colour)
_ROLES = {
    "accepted": ("36", "", ""),
    "rejected": ("31;9", "[-", "-]"),
    "resampled": ("33;4", "[+", "+]"),
    "bonus": ("34;1", "[*", "*]"),
    "plain": ("0", "", ""),
    "prompt": ("2", "", ""),
}
_LEGEND = [
    ("accepted", "accepted draft"),
    ("rejected", "rejected draft"),
    ("resampled", "resampled"),
    ("bonus", "bonus"),
]
_FIGURES = {  # name: (title, definition)
    "speedup": ("speedup", "plain / speculative decode time per token"),
    "tokens_per_pass": ("tokens per target pass", "emitted / target passes"),
    "acceptance": ("acceptance", "how often a draft was kept"),
    "alpha": ("mean overlap alpha", "expected acceptance"),
    "time_split": ("time", "where a round's time goes"),
    "exit_lens": ("early-exit lens", "how the first layers alone agree with all of them"),
    "copied": ("prompt lookup", "how often it found something to copy"),
    "kept": ("shared tokens", "mass of the draft's own distribution on tokens of both vocabularies"),
}


def show_race(race: Race, notices: Iterable[str], save_to: Path | None) -> None:
    """Print the speculative lane as it decodes, then the summary; write the trace, also after Ctrl-C."""
    for notice in notices:
        print(f"note: {safe(notice)}", file=sys.stderr)
    painter, progress = _Painter(), _Progress()
    painter.prompt(race.trace)
    try:
        for lane, record in race:
            if lane == "speculative":
                progress.clear()
                painter.round(race.trace, record)
            progress.show(race.trace)
    finally:
        race.close()
        if save_to:
            save_trace(race.trace, save_to)
        progress.clear()
        _summary(race.trace)
        if save_to:
            print(f"trace: {save_to}")


def show_trace(trace: Trace) -> None:
    """Print a recorded trace as `run` printed it."""
    painter = _Painter()
    if trace.title:
        print(safe(trace.title))
    painter.prompt(trace)
    for record in trace.rounds:
        painter.round(trace, record)
    _summary(trace)


def writable(path: Path) -> None:
    """Raise SpecvizError now, not after a long run, if the trace cannot be written there."""
    folder = path.resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK) or path.is_dir():
        raise SpecvizError(f"Cannot write the trace to {path}: choose a file in a folder that exists.", field="trace")


class _Painter:
    """Writes tokens to stdout, each in the style of its role."""

    def __init__(self) -> None:
        self._colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"

    def prompt(self, trace: Trace) -> None:
        print("  ".join(self._styled(title, role) for role, title in _LEGEND) + "\n")
        for token in trace.prompt.ids:
            self._token(trace, token, "prompt")

    def round(self, trace: Trace, record: Round) -> None:
        places = depths(record)
        for place, token in enumerate(record.emitted):
            for draft, depth in zip(record.drafted, places, strict=True):
                if draft.verdict == "rejected" and depth == place + 1:
                    self._token(trace, draft.id, "rejected")
            self._token(trace, token.id, token.origin)
        sys.stdout.flush()

    def _token(self, trace: Trace, token: int, role: str) -> None:
        piece = trace.pieces[token]
        text = f"<{piece.text}>" if piece.kind == "bytes" else piece.text
        sys.stdout.write(self._styled(safe(text), role))

    def _styled(self, text: str, role: str) -> str:
        style, before, after = _ROLES[role]
        return f"\x1b[{style}m{text}\x1b[0m" if self._colour else f"{before}{text}{after}"


class _Progress:
    """One status line on stderr while a lane runs on; nothing if stderr is not a terminal."""

    def __init__(self) -> None:
        self._shown = False
        self._live = sys.stderr.isatty() and not sys.stdout.isatty()

    def show(self, trace: Trace) -> None:
        if self._live:
            lanes = [f"speculative {len(trace.output_ids)}"]
            lanes += [f"plain {len(trace.baseline.output_ids)}"] if trace.baseline else []
            sys.stderr.write(f"\r{', '.join(lanes)} of {trace.settings.max_new_tokens} tokens ")
            self._shown = True

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            self._shown = False


def _summary(trace: Trace) -> None:
    width = max(40, min(110, shutil.get_terminal_size().columns))
    print("\n\n" + _way(trace))
    print("\n" + textwrap.fill(safe(end_sentence(trace)), width) + "\n")
    for name, figure in (trace_figures(trace) | way_figures(trace)).items():
        title, definition = _FIGURES[name]
        value = figure["value"] or "-"
        body = f"{value}  ({figure['kind']}; {definition}: {figure['detail']})"
        print(textwrap.fill(body, width, initial_indent=f"{title:<23}", subsequent_indent=" " * 23))


def _way(trace: Trace) -> str:
    """Who drafted, by which rule; and the warning that some rules need."""
    method, rule = trace.provenance.method, trace.provenance.rule
    if method not in METHODS or rule not in RULES:
        return "plain decoding"
    warning = "" if RULES[rule].exact else " - this rule changes the output"
    return f"{METHODS[method].title}, {RULES[rule].title.lower()} ({RULES[rule].used_by}){warning}"
