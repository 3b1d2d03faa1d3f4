"""The views of the other ways to draft: trees and masks, copies, rules side by side, the exit lens, two token cuts."""

from collections.abc import Callable
from pathlib import Path

import axe_playwright_python
import pytest
from conftest import TRACES
from playwright.sync_api import Page, expect
from test_player_inspector import prob, shown
from test_player_stream import CHIPS
from test_player_transport import scrub

from specviz.analysis.rules import rule_rows
from specviz.analysis.tree import depths
from specviz.trace.schema import Round, Trace

Show = Callable[..., Page]
AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
JUDGED = ("accepted", "rejected")
MASK = """
() => [...document.querySelectorAll('#sp .mask-row')].map(row => {
  const cells = [...row.querySelectorAll('.cell')].slice(1), first = +cells[0].getAttribute('x');
  const size = +cells[0].getAttribute('width') + 2;
  return cells.map(cell => [Math.round((cell.getAttribute('x') - first) / size), cell.classList.contains('lit')]);
})
"""
ARROW = "document.querySelector('#sp .arrow-line').getAttribute('d')"


def full_round(trace: Trace) -> Round:
    """A round with an accepted node, and rejected siblings where it ended."""
    return next(r for r in trace.rounds if r.accepted and r.emitted[-1].origin == "resampled")


def later_sibling(trace: Trace, before: str, verdicts: tuple[str, ...], turn: int = 1) -> tuple[Round, int]:
    """A node with one of these verdicts, after at least `turn` siblings of which the last has the verdict `before`."""
    for record in trace.rounds:
        for k, token in enumerate(record.drafted):
            older = [d.verdict for d in record.drafted[:k] if d.parent == token.parent]
            if len(older) >= turn and older[-1] == before and token.verdict in verdicts:
                return record, k
    raise AssertionError("no such node")


def refused(record: Round) -> list[int]:
    """Tries that failed where the round ended, and what was cut."""
    last = max((k for k, d in enumerate(record.drafted) if d.verdict == "accepted"), default=-1)
    return [
        k for k, d in enumerate(record.drafted) if d.verdict == "cut" or (d.verdict == "rejected" and d.parent == last)
    ]


def quoted(trace: Trace, token: int) -> str:
    return "“" + shown(trace.pieces[token].text).replace("·", " ") + "”"


@pytest.mark.parametrize("name", ["tree", "wide tree"])
def test_the_stream_shows_the_path_and_the_tries_at_its_end(show: Show, name: str) -> None:
    page, trace = show(name), TRACES[name]
    text = lambda token: shown(trace.pieces[token.id].text)  # noqa: E731
    expected = [
        {
            "line": [[e.origin, text(e)] for e in r.emitted],
            "over": [[r.drafted[k].verdict, text(r.drafted[k])] for k in refused(r)],
        }
        for r in trace.rounds
    ]
    assert page.evaluate(CHIPS) == expected


def test_tree_and_mask_equal_the_trace(show: Show) -> None:
    page, record = show("tree"), full_round(TRACES["tree"])
    scrub(page, record.index + 1)
    levels = page.locator("#sp [role=treeitem]").evaluate_all(
        "nodes => Object.fromEntries(nodes.map(n => [n.dataset.node, [+n.getAttribute('aria-level'), n.classList[1]]]))"
    )
    verdicts = {str(k): [d + 1, record.drafted[k].verdict] for k, d in enumerate(depths(record))}
    assert levels == {"-1": [1, "prompt"], **verdicts}
    mask = page.evaluate(MASK)
    assert mask[0] == [[0, True]]
    for k, token in enumerate(record.drafted):
        path, node = [k], token.parent
        while node >= 0:
            path, node = [node, *path], record.drafted[node].parent
        lit = [token.verdict == "accepted" and (j < 0 or record.drafted[j].verdict == "accepted") for j in [-1, *path]]
        assert mask[k + 1] == [
            [column, bright] for column, bright in zip([0, *(j + 1 for j in path)], lit, strict=True)
        ]


def test_the_walk_through_the_tries(show: Show) -> None:
    page, trace = show("tree"), TRACES["tree"]
    record = full_round(trace)
    scrub(page, record.index + 1)
    tries = [k for k, d in enumerate(record.drafted) if d.verdict in JUDGED]
    for turn, k in enumerate(tries, 1):
        token = record.drafted[k]
        expect(page.locator("#sp .try-count")).to_have_text(f"try {turn} of {len(tries)}")
        p = f"p {prob(token.p)}" if token.p_left is None else f"p left {prob(token.p_left)}"
        facts = f"{quoted(trace, token.id)} · {p} · q {prob(token.q)} · min(1, p/q) {prob(token.accept_prob)}"
        text = page.locator("#sp .try-facts").text_content()
        assert facts in text
        assert f"u {prob(token.uniform)}" in text
        assert text.endswith(token.verdict)
        chosen = page.locator("#sp .bar-label .chosen").first
        expect(chosen).to_have_text(shown(trace.pieces[token.id].text))
        if turn < len(tries):
            page.get_by_role("button", name="Next try").click()
    expect(page.get_by_role("button", name="Next try")).to_be_disabled()
    page.get_by_role("button", name="Previous try").focus()
    page.keyboard.press("ArrowUp")
    expect(page.locator("#sp .try-count")).to_have_text(f"try {len(tries) - 1} of {len(tries)}")


def test_a_later_try_is_drawn_with_what_was_left_of_p(show: Show) -> None:
    page, trace = show("tree"), TRACES["tree"]
    record, k = later_sibling(trace, "rejected", JUDGED)
    scrub(page, record.index + 1)
    page.locator(f"#sp .node[data-node='{k}']").click()
    expect(page.locator("#sp .token-detail")).to_contain_text("p left once the siblings before are refused")
    before = max(j for j in range(k) if record.drafted[j].parent == record.drafted[k].parent)
    top = record.drafted[before].residual_top
    row = page.locator("#sp .token-detail .bar-row", has_text=shown(trace.pieces[top.ids[0]].text)).first
    assert row.locator(".number").first.text_content() == prob(top.probs[0])


def test_a_sibling_after_an_accepted_one_is_drawn_with_p_itself(show: Show) -> None:
    """What the accepted sibling would have left was not recorded, and an older residual is not it."""
    page, trace = show("wide tree"), TRACES["wide tree"]
    record, k = later_sibling(trace, "accepted", ("not_judged",), turn=2)
    token = record.drafted[k]
    scrub(page, record.index + 1)
    page.locator(f"#sp .node[data-node='{k}']").click()
    detail = page.locator("#sp .token-detail")
    said = f"p left once the siblings before are refused: {prob(token.p_left)} (p itself: {prob(token.p)})"
    expect(detail).to_contain_text(said)
    row = detail.locator(".bar-row", has_text=shown(trace.pieces[token.p_top.ids[0]].text)).first
    assert row.locator(".number").first.text_content() == prob(token.p_top.probs[0])


def test_arrow_keys_move_in_the_tree_and_not_the_player(show: Show) -> None:
    page = show("tree")
    record = full_round(TRACES["tree"])
    scrub(page, record.index + 1)
    selected = page.locator("#sp [role=treeitem][aria-selected=true]")
    page.locator("#sp [role=treeitem][tabindex='0']").focus()
    page.keyboard.press("Home")
    expect(page.locator("#sp [role=treeitem]:focus")).to_have_attribute("data-node", "-1")
    steps = {"ArrowRight": "0", "ArrowDown": "3", "ArrowLeft": "0", "ArrowUp": None}
    for key, node in steps.items():
        page.keyboard.press(key)
        if node:
            expect(selected).to_have_attribute("data-node", node)
            expect(page.locator("#sp [role=treeitem]:focus")).to_have_attribute("data-node", node)
    assert page.locator("#sp [role=treeitem][tabindex='0']").count() == 1
    expect(page.locator("#sp .round-title")).to_have_text(f"Round {record.index + 1}")
    page.keyboard.press("End")
    expect(page.locator("#sp .try-facts")).to_contain_text("not tried")


def test_chains_have_no_tree(show: Show) -> None:
    page = show("example")
    expect(page.locator("#sp .tree-view")).to_be_hidden()


@pytest.mark.parametrize("width", [1280, 360])
def test_a_copy_is_marked_and_pointed_at(show: Show, width: int) -> None:
    page, trace = show("copied", width), TRACES["copied"]
    record = next(r for r in trace.rounds if r.copied and r.copied.start + 4 <= len(trace.prompt.ids))
    scrub(page, record.index + 1)
    sequence = [*trace.prompt.ids, *trace.output_ids]
    start, matched = record.copied.start, record.copied.matched
    text = lambda a, b: [shown(trace.pieces[i].text) for i in sequence[a:b]]  # noqa: E731
    assert page.locator("#sp .lanes .tok.copied").all_text_contents() == text(start, start + len(record.drafted))
    expected = text(start - matched, start) + text(record.start - matched, record.start)
    assert page.locator("#sp .lanes .tok.matched").all_text_contents() == expected
    sentence = f"copied from position {start + 1}, after a match of {matched} tokens"
    expect(page.locator("#sp [role=status]")).to_contain_text(sentence)
    expect(page.locator("#sp .arrow")).to_be_visible()
    before = page.evaluate(ARROW)
    assert before.startswith("M")
    strip = page.locator("#sp .lane-prompt .strip")
    strip.evaluate("strip => { strip.style.paddingBottom = '200px'; }")
    strip.evaluate("strip => { strip.scrollTop += 25; }")
    page.wait_for_function(f"{ARROW} !== '{before}'")
    scrub(page, 1)
    expect(page.locator("#sp .arrow")).to_be_hidden()
    assert page.locator("#sp .copied, #sp .matched").count() == 0
    assert "no n-gram of the end" in page.locator("#sp .round-note").text_content()


def test_a_composite_says_who_drafted(show: Show) -> None:
    page, trace = show("composite"), TRACES["composite"]
    for by, title in (("draft-model", "Draft model"), ("prompt-lookup", "Prompt lookup")):
        record = next(r for r in trace.rounds if r.by == by)
        scrub(page, record.index + 1)
        expect(page.locator("#sp [role=status]")).to_contain_text(f"drafted by {title}")
        expect(page.locator("#sp .round-note")).to_contain_text(f"Drafted by: {title}.")


def number(value: float | None, none: str) -> str:
    return none if value is None else prob(float(f"{value:.4g}"))


def test_the_rules_side_by_side(show: Show) -> None:
    page, trace = show("block"), TRACES["block"]
    record = trace.rounds[1]
    scrub(page, 2)
    page.locator("#sp .inspector tbody .pick").nth(1).click()
    rows = page.locator("#sp .rules tbody tr")
    found = rows.evaluate_all("rows => rows.map(r => [...r.cells].slice(1).map(c => c.textContent))")
    assert len(found) == 5
    for cells, row in zip(found, rule_rows(record, trace.settings), strict=True):
        another = "drafts another token" if row.means[1] is not None else "not recorded"
        assert cells[0] == number(row.chances[1], another)
        assert cells[1] == number(row.means[1], "–")
        assert cells[2] == ("drafts another token" if row.expected is None else f"{row.expected:.2f}")
    expect(rows.nth(3)).to_contain_text("this run")
    expect(rows.nth(4)).to_contain_text("changes the output")
    page.locator("#sp .inspector tbody .pick").last.click()
    expect(page.locator("#sp .rules")).to_be_hidden()


def test_the_lens_is_a_chart_of_its_own(show: Show) -> None:
    page = show("early exit")
    card = page.locator("#sp .chart", has_text="Early-exit lens")
    expect(card).to_contain_text("The output does not depend on the layer")
    expect(card.locator(".main-svg").first).to_be_visible()
    assert show("example").locator("#sp .chart", has_text="Early-exit lens").count() == 0


def test_both_cuts_of_the_text(show: Show) -> None:
    page, trace = show("other tokenizer"), TRACES["other tokenizer"]
    above = page.locator("#sp .cut-target .tok").all_text_contents()
    assert above == [shown(trace.pieces[i].text) for i in trace.output_ids]
    assert page.locator("#sp .cut-draft .tok").all_text_contents() == [shown(text) for text in trace.draft_cut]
    scrub(page, 2)
    page.locator("#sp .inspector tbody .pick").first.click()
    expect(page.locator("#sp .token-detail")).to_contain_text("hold 0.875 of the draft’s own distribution")


@pytest.mark.parametrize(
    ("name", "accept", "said"),
    [("typical", "passes", "is not above the threshold"), ("match", "p(x)", "the target drew another token"),
     ("block", "h", "no longer prefix passed")],
)  # fmt: skip
def test_each_rule_has_its_own_words(show: Show, name: str, accept: str, said: str) -> None:
    page, trace = show(name), TRACES[name]
    record = next(r for r in trace.rounds if r.emitted[-1].origin == "resampled")
    scrub(page, record.index + 1)
    expect(page.locator("#sp .inspector th.c-accept")).to_have_text(accept)
    expect(page.locator("#sp [role=status]")).to_contain_text(said)


def test_a_rule_that_changes_the_output_is_marked_and_claims_nothing(show: Show) -> None:
    page = show("typical")
    expect(page.locator("#sp .title-row .changes")).to_have_text("changes the output")
    text = page.locator("#sp").inner_text()
    assert "so the lanes are not compared" in text
    assert not any(claim in text for claim in ("the distribution is the same", "wrote the same", "lossless", "equal"))
    expect(show("block").locator("#sp .title-row .changes")).to_be_hidden()


@pytest.mark.parametrize("name", ["typical", "match"])
def test_tokens_that_were_not_judged_have_their_chance(show: Show, name: str) -> None:
    page = show(name)
    record = next(r for r in TRACES[name].rounds if r.drafted and r.drafted[-1].verdict == "not_judged")
    scrub(page, record.index + 1)
    expected = [prob(token.accept_prob) for token in record.drafted if token.verdict == "not_judged"]
    assert page.locator("#sp .inspector tr.not_judged td.c-accept").all_text_contents() == expected


def test_a_rule_that_did_not_run_is_not_shown(show: Show) -> None:
    page = show("fallen back")
    expect(page.locator("#sp .title-row .changes")).to_be_hidden()
    expect(page.locator("#sp .inspector th.c-accept")).to_have_text("min(1, p/q)")
    assert "not compared" not in page.locator("#sp").inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["tree", "copied", "other tokenizer", "typical"])
def test_axe_finds_no_violation(show: Show, name: str, theme: str) -> None:
    page = show(name, theme=theme)
    scrub(page, 3)
    page.wait_for_timeout(200)
    page.add_script_tag(path=AXE)
    result = page.evaluate("axe.run('#sp', { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })")
    assert [(v["id"], v["nodes"][0]["target"], v["nodes"][0]["failureSummary"]) for v in result["violations"]] == []


@pytest.mark.parametrize("name", ["tree", "wide tree", "copied", "other tokenizer", "early exit", "typical"])
def test_no_sideways_scroll_at_360_px(show: Show, name: str) -> None:
    page = show(name, 360)
    scrub(page, 3)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
