"""How one run reads in the terms of engines and papers: the same rounds under each one's name and definition."""

from collections.abc import Sequence

from specviz.analysis.acceptance import AcceptanceTable, acceptance_table
from specviz.analysis.pace import rounds_of
from specviz.analysis.tables import Column, Row, Table
from specviz.analysis.totals import Totals, ratio
from specviz.analysis.tree import drafts_trees
from specviz.analysis.words import count
from specviz.trace.measured import Decoded

COLUMNS = [
    Column("used_by", "Used by"),
    Column("name", "Its name"),
    Column("value", "This run", "number", "measured", "the figure from the counts beside it; shares are in [0, 1]"),
    Column("part", "Counted", "count", "measured", "what the definition names before its stroke"),
    Column("whole", "Of", "count", "measured", "what the definition names behind its stroke"),
    Column("exact", "From p and q", "number", "exact", "the figure from the recorded probabilities of judged tokens"),
    Column("definition", "Definition"),
    Column("leaves_out", "What it leaves out"),
]
_FALLS = "drafts behind a rejection are never judged, so it falls as gamma grows"


def terms_table(decodes: Sequence[Decoded]) -> Table:
    """The decodes of one lane in specviz's and the papers' terms, vLLM's, SGLang's, llama.cpp's and the naive ones.

    Definitions: Leviathan et al. 2023, section 3; vLLM v1/spec_decode/metrics.py; SGLang's spec_* fields of a request;
    llama.cpp examples/speculative and its server's timings; flashspec metrics/acceptance.py.
    """
    rounds = rounds_of(decodes)
    totals, gamma = Totals.of(rounds), _constant_gamma(decodes)
    rows = [
        *_papers(totals, gamma),
        *_vllm(totals, acceptance_table(rounds)),
        *_sglang(totals),
        *_llama(totals),
        *_naive(totals, gamma),
    ]
    note = (
        f"All repeats: {count(totals.rounds, 'target pass')}, {totals.draft_rounds:,} with drafts. A draft beyond the "
        "end of the text counts as drafted and as nothing else."
    )
    return Table("terms", "One run in everybody's terms", COLUMNS, rows, note)


def _papers(totals: Totals, gamma: int | None) -> list[Row]:
    alpha = totals.alpha
    tau = None if alpha is None or gamma is None else sum(alpha**i for i in range(gamma + 1))
    return [
        _row(
            "specviz", "acceptance (conditional)", totals.accepted, totals.judged, "accepted / judged, all positions",
            "how it differs by position", exact=alpha,
        ),
        _row(
            "papers", "alpha", None, totals.judged, "mean over judged of beta = sum over the vocabulary of min(p, q)",
            "places differ and depend on each other, where the formulas take them as alike", exact=alpha,
        ),
        _row(
            "papers, specviz", "block efficiency tau, tokens per target pass", totals.emitted, totals.rounds,
            "tokens written, resampled and bonus ones too / target passes; from alpha: 1 + alpha + ... + alpha^gamma",
            "what drafts and wider passes cost: it is not a speedup", exact=tau,
        ),
    ]  # fmt: skip


def _vllm(totals: Totals, table: AcceptanceTable | None) -> list[Row]:
    return [
        _row(
            "vLLM", "mean acceptance length", totals.accepted, totals.draft_rounds, "1 + accepted / rounds with drafts",
            "passes without a draft, tokens cut at the end, and what drafts cost", plus=1,
        ),
        _row("vLLM", "draft acceptance rate", totals.accepted, totals.drafted, "accepted / drafted", _FALLS),
        *(
            _row(
                "vLLM, llama.cpp", f"per-position acceptance rate, position {row.position}", row.unconditional.hits,
                row.unconditional.of, "rounds that accepted this position / rounds with drafts",
                "how many rounds got this far: it falls with the position even where every draft is as good",
            )
            for row in (table.positions if table else [])
        ),
    ]  # fmt: skip


def _sglang(totals: Totals) -> list[Row]:
    return [
        _row(
            "SGLang", "accept length", totals.emitted, totals.rounds, "tokens written / verify passes",
            "what drafts and wider passes cost; passes without a draft are in it",
        ),
        _row("SGLang", "accept rate", totals.accepted, totals.drafted, "accepted drafts / proposed drafts", _FALLS),
    ]  # fmt: skip


def _llama(totals: Totals) -> list[Row]:
    definition = "n_accept / n_drafted, in percent; in the server's timings draft_n_accepted / draft_n"
    return [_row("llama.cpp", "accept", totals.accepted, totals.drafted, definition, _FALLS)]


def _naive(totals: Totals, gamma: int | None) -> list[Row]:
    return [
        _row(
            "flashspec; by hand for transformers, which reports none", "alpha (naive)", totals.accepted, totals.drafted,
            "accepted / proposed", "it is no conditional rate: in the papers' formulas it predicts too little",
        ),
        _row(
            "flashspec", "expected tokens per pass", gamma and gamma * totals.accepted, totals.drafted,
            "1 + gamma * accepted / proposed",
            "drafts that a limit made shorter; it restates the counts of this gamma and predicts no other", plus=1,
        ),
    ]  # fmt: skip


def _row(
    used_by: str,
    name: str,
    part: int | None,
    whole: int,
    definition: str,
    leaves_out: str,
    exact: float | None = None,
    plus: int = 0,
) -> Row:
    value = None if part is None else ratio(part, whole)
    return {
        "used_by": used_by,
        "name": name,
        "value": None if value is None else plus + value,
        "part": part,
        "whole": whole,
        "exact": exact,
        "definition": definition,
        "leaves_out": leaves_out,
    }


def _constant_gamma(decodes: Sequence[Decoded]) -> int | None:
    """The gamma of the lane, if it drafts chains of one length."""
    settings = decodes[0].trace.settings if decodes else None
    if settings is None or drafts_trees(settings) or settings.draft_length != "constant":
        return None
    return settings.gamma or None
