"""The round under the glass, the figures and the sentences: the numbers of the trace and no others."""

from collections.abc import Callable

import traces
import wire
from conftest import TRACES
from playwright.sync_api import Page
from test_player_transport import scrub

from specviz.trace import schema

Show = Callable[..., Page]
WORDS = {
    "accepted": "✓ accepted",
    "rejected": "✗ rejected",
    "not_judged": "– not judged",
    "resampled": "○ resampled",
    "bonus": "★ bonus",
    "plain": "· plain",
}
ROWS = "() => [...document.querySelectorAll('#sp .inspector tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
TICKS = """
() => [...document.querySelectorAll('#sp .axis')].map(axis => {
  const tick = axis.querySelector('.axis-tick'), bar = axis.querySelector('.axis-bar').getBoundingClientRect();
  return tick && tick.getBoundingClientRect().left + tick.offsetWidth / 2 < bar.right;
})
"""
BARS = """
() => [...document.querySelectorAll('#sp .token-detail .bar-row')].map(row => [
  row.querySelector('.bar-label').textContent,
  ...[...row.querySelectorAll('.number')].map(n => n.textContent)])
"""


def shown(text: str) -> str:
    return text.replace(" ", "·").replace("\n", "⏎").replace("\t", "→").replace("\u00a0", "⍽")


def prob(x: float) -> str:
    if x in (0, 1):
        return str(int(x))
    if x < 0.0005:
        mantissa, exponent = f"{x:.1e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return ">0.999" if x > 0.9995 else f"{x:.3f}"


def row_of(trace: schema.Trace, k: int, token: schema.Drafted) -> list[str]:
    u = "–" if token.uniform is None else prob(token.uniform)
    return [
        str(k + 1),
        shown(trace.pieces[token.id].text),
        prob(token.p),
        prob(token.q),
        prob(token.accept_prob),
        u,
        "",
        WORDS[token.verdict],
    ]


def test_table_equals_the_trace_in_every_round(show: Show) -> None:
    page, trace = show("example"), TRACES["example"]
    origins = {"resampled": "drawn from the residual", "bonus": "bonus: drawn from p after a full accept"}
    for record in trace.rounds:
        scrub(page, record.index + 1)
        expected = [row_of(trace, k, d) for k, d in enumerate(record.drafted)]
        expected += [
            [
                str(k + 1),
                shown(trace.pieces[e.id].text),
                prob(e.p),
                "",
                "",
                "",
                origins.get(e.origin, "drawn from p, no draft"),
                WORDS[e.origin],
            ]
            for k, e in enumerate(record.emitted)
            if e.origin != "accepted"
        ]
        assert page.evaluate(ROWS) == expected


def test_tick_is_inside_the_bar_exactly_if_accepted(show: Show) -> None:
    page = show("example")
    for record in TRACES["example"].rounds:
        scrub(page, record.index + 1)
        ticks = page.evaluate(TICKS)
        assert ticks == [None if d.uniform is None else d.verdict == "accepted" for d in record.drafted]


def test_bars_of_the_chosen_token_are_its_distributions(show: Show) -> None:
    page, trace = show("example"), TRACES["example"]
    scrub(page, 1)
    token = trace.rounds[0].drafted[1]
    page.locator("#sp .inspector tbody .pick").nth(1).click()
    rows = {label: values for label, *values in page.evaluate(BARS)}
    for side, (top, own) in enumerate([(token.p_top, token.p), (token.q_top, token.q)]):
        known = dict(zip(top.ids, top.probs, strict=True)) | {token.id: own}
        for i in {*token.p_top.ids, *token.q_top.ids, token.id}:
            assert rows[shown(trace.pieces[i].text)][side] == (prob(known[i]) if i in known else "in rest")
        assert rows["rest"][side] == prob(top.rest)
    assert page.locator("#sp .beta b").text_content() == f"Overlap β = Σ min(p, q), exact: {prob(token.beta)}"


def test_residual_and_the_token_drawn_from_it(show: Show) -> None:
    page, trace = show("example"), TRACES["example"]
    record = next(r for r in trace.rounds if r.emitted[-1].origin == "resampled" and r.accepted)
    scrub(page, record.index + 1)
    token = record.drafted[record.accepted]
    labels = page.locator("#sp .token-residual .tok").all_text_contents()
    assert labels == [shown(trace.pieces[i].text) for i in token.residual_top.ids]
    assert page.locator("#sp .token-residual .tok.chosen").text_content() == shown(
        trace.pieces[record.emitted[-1].id].text
    )
    assert page.locator("#sp .token-residual .bar-note").text_content() == "drawn"


def test_greedy_shows_the_models_own_probabilities(show: Show) -> None:
    page, trace = show("greedy"), TRACES["greedy"]
    scrub(page, 1)
    assert "only if it is the target’s top token" in page.locator("#sp .remark").text_content()
    assert (
        page.locator("#sp .bars-name").first.text_content()
        == "models’ own probabilities at T = 1, exact; not used for the decision"
    )
    token = next(d for d in trace.rounds[0].drafted if d.verdict == "rejected")
    rows = {label: values for label, *values in page.evaluate(BARS)}
    assert rows[shown(trace.pieces[token.draft_top.ids[0]].text)][1] == prob(token.draft_top.probs[0])


def test_rounds_without_drafts_say_so_and_show_p(show: Show) -> None:
    page = show("plain")
    assert (
        page.locator("#sp .round-note").text_content()
        == "No draft in this round: gamma is 0, so this is plain decoding."
    )
    assert page.locator("#sp .bar-label .chosen").count() == 1
    assert page.locator("#sp .figure[data-figure='acceptance']").inner_text().split("\n") == [
        "Acceptance",
        "–",
        "no drafts yet",
    ]
    assert "NaN" not in page.locator("#sp").inner_text()
    assert page.locator("#sp .lane-plain").is_hidden()


def test_figures_are_those_of_the_step(show: Show) -> None:
    page, trace = show("example"), TRACES["example"]
    assert page.locator("#sp .figure").count() == 5
    for step in (1, 7, len(trace.rounds)):
        scrub(page, step)
        figures = wire.figures(
            trace.rounds[:step], traces.PLAIN + traces.SAMPLING + traces.OTHER, wire.clock(trace)[step - 1]
        )
        for name, figure in figures.items():
            card = page.locator(f"#sp .figure[data-figure='{name}']")
            assert card.locator(".amount").text_content() == figure["value"]
            assert card.locator(".detail").text_content().endswith(figure["detail"])
            assert card.locator(".kind").text_content() == figure["kind"]
    scrub(page, 0)
    assert page.locator("#sp .amount").all_text_contents() == ["–"] * 5
    assert page.locator("#sp .detail").all_text_contents() == ["no rounds yet"] * 5


def test_slower_than_plain_is_said(show: Show) -> None:
    page = show("slow")
    card = page.locator("#sp .figure[data-figure='speedup']")
    assert float(card.locator(".amount").text_content().rstrip("x")) < 1
    assert card.locator(".detail").text_content().startswith("slower than plain · ")


def sentence(trace: schema.Trace, record: schema.Round) -> list[str]:
    quote = lambda i: "“" + shown(trace.pieces[i].text).replace("·", " ") + "”"  # noqa: E731
    parts = [f"Round {record.index + 1} of {len(trace.rounds)}: {len(record.drafted)} drafted"]
    parts.append("all accepted" if record.accepted == len(record.drafted) else f"{record.accepted} accepted")
    parts += [f"{quote(d.id)} rejected because" for d in record.drafted if d.verdict == "rejected"]
    last = record.emitted[-1]
    parts.append(
        f"{quote(last.id)} " + ("drawn from the residual" if last.origin == "resampled" else "added as the bonus token")
    )
    n = len(record.emitted)
    return [*parts, f"{n} token{'s' if n > 1 else ''} emitted."]


def test_every_step_reads_as_one_sentence(show: Show) -> None:
    page, trace = show("example"), TRACES["example"]
    for record in trace.rounds[:-1]:
        scrub(page, record.index + 1)
        text = page.locator("#sp [role=status]").text_content()
        assert [part for part in sentence(trace, record) if part not in text] == []
    scrub(page, len(trace.rounds) + 1)
    assert page.locator("#sp [role=status]").text_content() == f"Finished: 40 tokens in {len(trace.rounds)} rounds."


def test_numbers_in_a_sentence_never_look_equal_or_zero(show: Show) -> None:
    page = show("close")
    expected = ["0.7141 was not below 0.7139", "0.17 was not below 0.0007"]
    for step, text in enumerate(expected, 1):
        scrub(page, step)
        assert f"rejected because {text}, " in page.locator("#sp [role=status]").text_content()
