"""Command lines for the programs people serve with: the measured method and gamma in their own options.

Names of models and heads are text that anyone could have written: every one is quoted for the shell.
"""

import json
from collections.abc import Sequence
from pathlib import PurePosixPath
from shlex import join, quote

from specviz.analysis.tables import Column, Row, Table
from specviz.trace.choices import Method
from specviz.trace.methods import METHODS

_NEW_TOKENS = 64  # of the transformers line, which runs once and prints
_CHECKED = {
    "transformers": "5.24.0",
    "vLLM": "0.33.0",
    "SGLang": "its documentation of February 2026",
    "llama.cpp": "option lists of builds b9014 to b10425",
    "TGI": "its documentation; maintenance mode",
}
_COLUMNS = [
    Column("engine", "program"),
    Column("command", "command", about='"none" where the program cannot do this'),
    Column("warning", "mind"),
    Column("checked", "quoted from", about="version or text that the options were checked against; not run here"),
]
_TARGET, _DRAFT = "TARGET", "DRAFT"  # in place of a name that no program could load
_Line = tuple[str | None, str]  # command, warning


def flags(
    target: str,
    draft: str | None,
    method: Method,
    gamma: int,
    ngram: int = 3,
    exit_layer: int | None = None,
    embedded: bool = False,
) -> Table:
    """The table "flags": the line that starts each program with this method and gamma.

    draft: the draft model, the Medusa heads, or None. ngram: longest n-gram of a lookup. exit_layer: layers that draft
    in early exit. gamma 0 gives the plain lines. A method that a program lacks has no command and a warning that says
    so. Where a name is missing, or stands for embedded models, which other programs cannot load, TARGET and DRAFT
    stand in the command and the warning says so.
    """
    names = (_TARGET, _DRAFT) if embedded else (target, draft or _DRAFT)
    options = _Options(*names, gamma, ngram, exit_layer)
    drafts = bool(gamma and METHODS[method].needs and (embedded or not draft))
    placeholders = ([_TARGET] if embedded else []) + ([_DRAFT] if drafts else [])
    rows: list[Row] = []
    for engine, lines in _LINES.items():
        command, warning = lines("plain" if gamma == 0 else method, options)
        if command and (used := [name for name in placeholders if name in command]):
            warning = f"{warning} {_explained(used)}".strip()
        rows.append({"engine": engine, "command": command, "warning": warning, "checked": _CHECKED[engine]})
    title = "plain decoding" if gamma == 0 else f"{METHODS[method].title}, gamma {gamma}"
    note = "Quoted from the named versions. Speeds there differ from the ones measured here; measure again."
    return Table("flags", f"Command lines: {title}", _COLUMNS, rows, note)


def _explained(names: Sequence[str]) -> str:
    """What placeholders stand for."""
    if len(names) == 1:
        return f"{names[0]} stands for the name of your own model."
    return f"{' and '.join(names)} stand for the names of your own models."


class _Options:
    """The choices of a line. Names are safe as one shell word: quoted, and never read as an option."""

    def __init__(self, target: str, draft: str, gamma: int, ngram: int, exit_layer: int | None) -> None:
        self.target, self.draft = _as_name(target), _as_name(draft)
        self.gamma, self.ngram, self.exit_layer = gamma, ngram, exit_layer


def _transformers(method: str, o: _Options) -> _Line:
    settings = (
        f"g.num_assistant_tokens = {o.gamma}; g.num_assistant_tokens_schedule = 'constant'; "
        "g.assistant_confidence_threshold = 0"
    )
    load = f"d = M.from_pretrained({o.draft!r}); g = d.generation_config; {settings}"
    if method == "plain":
        return _python(o, "", ""), ""
    if method == "draft-model":
        return _python(o, load, "assistant_model=d"), "Only batch 1; the cache must be one that can be cropped."
    if method == "cross-tokenizer":
        own = f"{load}; e = T.from_pretrained({o.draft!r})"
        asked = "assistant_model=d, tokenizer=t, assistant_tokenizer=e"
        return _python(o, own, asked), "It translates by text, another way than the one measured here; only batch 1."
    if method == "prompt-lookup":
        asked = f"prompt_lookup_num_tokens={o.gamma}, max_matching_ngram_size={o.ngram}"
        return _python(o, "", asked), "Only batch 1."
    if method == "early-exit":
        if o.exit_layer is None:
            return None, "Choose the exit layer first."
        own = f"g = m.generation_config; {settings}"
        return _python(o, own, f"assistant_early_exit={o.exit_layer}"), "Only batch 1."
    return None, {
        "medusa": "transformers has no Medusa.",
        "composite": "transformers takes a draft model or a lookup, not both.",
    }[method]


def _vllm(method: str, o: _Options) -> _Line:
    serve = ["vllm", "serve", o.target]
    config = {"method": method, "num_speculative_tokens": o.gamma}
    if method == "plain":
        return join(serve), ""
    if method == "draft-model":
        config = {**config, "method": "draft_model", "model": o.draft}
        greedy = "It drafts greedily by default, so above temperature 0 it accepts with p(argmax q)."
        return _configured(serve, config), greedy
    if method == "prompt-lookup":
        config = {**config, "method": "ngram", "prompt_lookup_max": o.ngram, "prompt_lookup_min": 1}
        return _configured(serve, config), ""
    if method == "medusa":
        config = {**config, "model": o.draft}
        return _configured(serve, config), "Only up to vLLM 0.32; 0.33 no longer has Medusa, nor the MLP speculator."
    return None, {
        "early-exit": "vLLM has no early exit.",
        "composite": "vLLM takes a draft model or a lookup, not both.",
        "cross-tokenizer": "vLLM has its own way (TLI, greedy drafts only), whose options were not checked.",
    }[method]


def _sglang(method: str, o: _Options) -> _Line:
    serve = ["python3", "-m", "sglang.launch_server", "--model-path", o.target]
    width = ["--speculative-num-draft-tokens", str(o.gamma + 1)]
    if method == "plain":
        return join(serve), ""
    if method == "draft-model":
        asked = ["--speculative-algorithm", "STANDALONE", "--speculative-draft-model-path", o.draft]
        asked += ["--speculative-num-steps", str(o.gamma), "--speculative-eagle-topk", "1", *width]
        return join([*serve, *asked]), "Not with --enable-dp-attention."
    if method == "prompt-lookup":
        asked = ["--speculative-algorithm", "NGRAM", *width, "--speculative-ngram-max-match-window-size", str(o.ngram)]
        return join([*serve, *asked]), "CUDA only. It looks in a cache of all requests, not in this text alone."
    return None, f"SGLang does not have {METHODS[method].title.lower()}."


def _llama_cpp(method: str, o: _Options) -> _Line:
    serve = ["llama-server", "-m", _gguf(o.target)]
    draft = ["-md", _gguf(o.draft), "--spec-draft-n-max", str(o.gamma), "--spec-draft-p-min", "0"]
    lookup = ["--spec-ngram-simple-size-n", str(o.ngram), "--spec-ngram-simple-size-m", str(o.gamma)]
    needs = "Needs GGUF files. Older builds: --draft-max."
    if method == "plain":
        return join(serve), "Needs a GGUF file."
    if method == "draft-model":
        return join([*serve, "--spec-type", "draft-simple", *draft]), f"{needs} Vocabularies must match."
    if method == "prompt-lookup":
        return join([*serve, "--spec-type", "ngram-simple", *lookup]), needs
    if method == "composite":
        return join([*serve, "--spec-type", "ngram-simple,draft-simple", *draft, *lookup]), needs
    if method == "cross-tokenizer":
        return None, "In llama.cpp the vocabularies of both models must match."
    return None, f"llama.cpp does not have {METHODS[method].title.lower()}."


def _tgi(method: str, o: _Options) -> _Line:
    serve = ["text-generation-launcher", "--model-id"]
    old = "TGI is in maintenance mode."
    if method == "plain":
        return join([*serve, o.target]), old
    if method in ("prompt-lookup", "medusa"):
        model = o.draft if method == "medusa" else o.target
        return join([*serve, model, "--speculate", str(o.gamma)]), old
    return None, f"{old} It has only Medusa and n-grams."


_LINES = {"transformers": _transformers, "vLLM": _vllm, "SGLang": _sglang, "llama.cpp": _llama_cpp, "TGI": _tgi}


def _python(o: _Options, prepare: str, asked: str) -> str:
    steps = [
        "from transformers import AutoModelForCausalLM as M, AutoTokenizer as T",
        f"t = T.from_pretrained({o.target!r}); m = M.from_pretrained({o.target!r})",
        prepare,
        f"i = t(input('Prompt: '), return_tensors='pt'); o = m.generate(**i, {asked}{', ' if asked else ''}"
        f"max_new_tokens={_NEW_TOKENS})",
        "print(t.decode(o[0]))",
    ]
    return f"python -c {quote('; '.join(step for step in steps if step))}"


def _configured(serve: Sequence[str], config: dict[str, str | int]) -> str:
    return join([*serve, "--speculative-config", json.dumps(config)])


def _as_name(text: str) -> str:
    """A name that no program takes for an option, without characters that end a line."""
    plain = "".join(c for c in text if c.isprintable())
    return f"./{plain}" if plain.startswith("-") else plain


def _gguf(name: str) -> str:
    return name if name.endswith(".gguf") else f"{_as_name(PurePosixPath(name).name)}.gguf"
