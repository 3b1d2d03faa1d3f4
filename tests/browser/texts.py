"""Texts that pages get wrong: markup, invisible characters, split characters, right-to-left writing."""

import traces

from specviz.trace import schema

HOSTILE = "<img src=x onerror=window.ran=1>"
ATTACKS = [
    HOSTILE,
    "<script>window.ran=2</script>",
    '" onmouseover="window.ran=3" x="',
    "</span></div>",
    "<style>*{display:none}</style>",
    "${window.ran=4}",
    "{{window.ran=5}}",
    "javascript:window.ran=6",
]
MARKS = [" ", "\n", "\n\n\t", " x", "\u00a0", "\u200b", "", "\ta", "a\u200db", "\u0301", "\r\n    end"]
MARKS_SHOWN = ["·", "⏎", "⏎⏎→", "·x", "⍽", "ZWSP", "∅", "→a", "aZWJb", "◌\u0301", "␍⏎····end"]
RTL = ["abc", " שלום", ",", " (", "123", ")", " مرحبا", "!"]
SPLIT = ["a", "F0 9F", "98 80", "z"]  # a smiley over two tokens, as hex pairs
SPLIT_TEXT = "a😀z"


def hostile() -> schema.Trace:
    """Attacks as tokens, model name, title, note and settings."""
    trace = traces.of_texts(ATTACKS)
    trace.rounds[0].note = HOSTILE
    return traces.renamed(trace, HOSTILE, HOSTILE)


def marks() -> schema.Trace:
    return traces.of_texts(MARKS)


def rtl() -> schema.Trace:
    return traces.of_texts(RTL)


def split() -> schema.Trace:
    trace = traces.of_texts(SPLIT, {1: "bytes", 2: "bytes"})
    trace.output_text = SPLIT_TEXT
    return trace


def control() -> schema.Trace:
    """A control token, and the same characters as plain text."""
    return traces.of_texts(["<|end|>", "<|end|>", "x"], {0: "control", 1: "text"})
