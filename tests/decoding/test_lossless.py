"""One place sampled by the engine's rules: the place is exact, right rules pass, wrong ones do not, draws are free."""

from collections import Counter
from dataclasses import replace

import pytest
from exactness import PENALTIES, PROMPT, VOCAB, chi_square_p, oracle
from tiny import table_model, tokenizer

import specviz
from specviz import Settings, SpecvizError
from specviz.decoding import acceptance, lossless, rows
from specviz.decoding.lossless import sample_place
from specviz.trace.checked import FAULTS, FIRST_PROMPT, SAMPLED
from specviz.trace.methods import RULES

EXACT = [rule for rule, info in RULES.items() if info.exact]
SETTINGS = Settings(gamma=2, temperature=1.5, top_k=3, seed=1)
END = 4  # an id that is among the likeliest after PROMPT


def make(eos=None):
    target, draft = table_model(VOCAB, seed=1, scale=0.9), table_model(VOCAB, seed=2)
    target.config.eos_token_id = target.config.get_text_config().eos_token_id = eos
    return specviz.Pair(target, draft)


@pytest.fixture(autouse=True)
def _tallies_only(monkeypatch):
    """However slow the machine is."""
    monkeypatch.setattr(lossless, "SILENCE", 60.0)


@pytest.fixture(scope="module")
def pair():
    return make()


def last_tallies(pair, rules, draws, settings=SETTINGS, **options):
    with sample_place(pair, PROMPT, rules, draws, settings, every=draws, **options) as sampling:
        return sampling.place, {tally.rule: tally for tally in sampling}


def p_value(place, tally):
    """By scipy; impossible continuations give 0."""
    assert sum(tally.counts) + tally.outside == tally.draws
    drawn = Counter(dict(zip(place.cells, tally.counts, strict=True)))
    expected = dict(zip(place.cells, place.chances, strict=True))
    return 0.0 if tally.outside else chi_square_p(drawn, expected, tally.draws)


@pytest.mark.parametrize("settings", [SETTINGS, replace(SETTINGS, top_k=4, **PENALTIES)])
def test_the_exact_distribution_is_the_enumerated_one(pair, settings):
    place, _ = last_tallies(pair, ["rejection"], 1, settings)
    assert sum(place.chances) == pytest.approx(1)
    assert len(place.cells) == settings.top_k**2
    for (first, second), chance in zip(place.cells, place.chances, strict=True):
        p1 = oracle(pair.target.row(PROMPT).numpy(), PROMPT, settings)[first]
        longer = [*PROMPT, first]
        p2 = oracle(pair.target.row(longer).numpy(), longer, settings)[second]
        assert chance == pytest.approx(p1 * p2, abs=1e-6)


def test_right_rules_pass_and_wrong_ones_are_found(pair):
    place, tallies = last_tallies(pair, [*RULES, *FAULTS], 2500)
    found = {rule: p_value(place, tally) for rule, tally in tallies.items()}
    assert {rule for rule, p in found.items() if p > 0.001} == set(EXACT)
    assert all(p < 1e-4 for rule, p in found.items() if rule not in EXACT), found


def test_a_rule_of_the_engine_that_breaks_is_found(pair, monkeypatch):
    monkeypatch.setattr(acceptance, "residual", lambda p, q: (p, False))
    place, tallies = last_tallies(pair, ["rejection", "block"], 1500)
    assert p_value(place, tallies["rejection"]) < 1e-6
    assert p_value(place, tallies["block"]) > 0.001


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("gamma", [1, 3])
def test_a_draw_is_a_round_of_the_engine(pair, rule, gamma):
    """The same seed draws the same numbers, so what is counted is what the loop emits first."""
    for seed in range(12):
        settings = replace(SETTINGS, gamma=gamma, seed=seed, rule=rule, max_new_tokens=20)
        with specviz.speculate(pair, PROMPT, settings) as run:
            emitted = [token.id for token in next(run).emitted]
        for tokens in (1, 2):
            place, tallies = last_tallies(pair, [rule], 1, settings, tokens=tokens)
            drawn = place.cells[tallies[rule].counts.index(1)]
            assert list(drawn[: len(emitted)]) == emitted[:tokens]


def test_an_end_of_the_text_is_a_continuation_of_its_own():
    place, tallies = last_tallies(make(eos=END), EXACT, 1000)
    assert (END,) in place.cells
    assert not any(cell[0] == END and len(cell) > 1 for cell in place.cells)
    assert sum(place.chances) == pytest.approx(1)
    assert min(p_value(place, tally) for tally in tallies.values()) > 0.001


def test_draws_cost_no_forward_passes(pair):
    calls = []
    for draws in (300, 2000):
        before = pair.target.calls, pair.draft.calls
        last_tallies(pair, ["rejection"], draws)
        calls.append((pair.target.calls - before[0], pair.draft.calls - before[1]))
    paths = 1 + 3 + 3 * 4  # of two tokens at most: the target may write 3 at each place, the draft 3, not all the same
    assert max(calls[1]) <= 1 + paths, "one pass more takes in the prompt"
    assert calls[1][0] <= calls[0][0] + 2, "draws that come later find their rows"


def test_rows_that_were_let_go_are_computed_again(pair, monkeypatch):
    """With room for a few rows only, the same comes out, and no more than these are held."""
    rules = ["rejection", "raw-q-residual"]
    place, expected = last_tallies(pair, rules, 400)
    monkeypatch.setattr(rows, "MOST", 5_000)
    monkeypatch.setattr(lossless, "_JUDGED", 9_000)
    before = pair.target.calls
    with sample_place(pair, PROMPT, rules, 400, SETTINGS, every=400) as sampling:
        assert (sampling.place.cells, sampling.place.chances) == (place.cells, place.chances)
        assert {t.rule: t for t in sampling if not _held(sampling)} == expected
    assert pair.target.calls - before > 100


def _held(sampling):
    """Nothing too much: checked while the rounds are still there."""
    rounds = sampling._rounds
    if rounds is not None:
        assert rounds._target.kept.bytes <= 5_000 >= rounds._draft.kept.bytes
        assert rounds._judged.bytes <= 9_000
    return False


def test_unprocessed_rows_are_kept_only_for_the_rule_that_asks(pair):
    for rules, some in ((["rejection", "soft-q"], False), (["raw-q-residual"], True)):
        with sample_place(pair, PROMPT, rules, 50, SETTINGS, every=50) as sampling:
            next(sampling)
            found = sampling._rounds._draft.row(())
            assert (found.raw is not None) == some
            if some:
                assert found.raw.untyped_storage().nbytes() == VOCAB * 4, "a row of its own, not a view of all"


def test_kept_values_go_when_they_were_not_asked_for_longest():
    kept = rows.Kept(10)
    for key in "abc":
        kept.put(key, key.upper(), 4)
        assert kept.get("a" if key != "c" else "c")
    assert (kept.get("a"), kept.get("b"), kept.get("c"), kept.bytes) == ("A", None, "C", 8)
    kept.put("large", "L", 50)
    assert (len(kept), kept.get("large"), kept.bytes) == (1, "L", 50)


def test_it_tells_that_it_goes_on_between_the_passes(pair, monkeypatch):
    """A pass takes a second on the clock that is told here: None comes after every one, until a tally does."""
    now = [0.0]
    monkeypatch.setattr(lossless, "SILENCE", 0.2)
    monkeypatch.setattr(lossless, "monotonic", lambda: now[0])
    sampling = sample_place(pair, PROMPT, ["rejection"], 300, SETTINGS, every=300)
    silent, calls = [], None
    feed = rows.Stepper.feed

    def slow(self, ids, keep=1):
        now[0] += 1.0
        return feed(self, ids, keep)

    monkeypatch.setattr(rows.Stepper, "feed", slow)
    for tally in sampling:
        total = pair.target.calls + pair.draft.calls
        if calls is not None:
            silent.append(total - calls)
        calls = total
        if tally is not None:
            break
    assert len(silent) > 8
    assert max(silent) <= 2, "of one draft's last row and of the target"
    assert tally.draws == 300
    stopped = sample_place(pair, PROMPT, ["rejection"], 300, SETTINGS, every=300)
    assert next(stopped) is None
    stopped.close()
    assert list(stopped) == []


def test_the_seed_decides_and_other_rules_change_nothing(pair):
    one, again, more = (
        last_tallies(pair, rules, 300)[1]["match"] for rules in (["match"], ["match"], ["rejection", "match", "soft-q"])
    )
    assert one == again == more
    assert last_tallies(pair, ["match"], 300, replace(SETTINGS, seed=2))[1]["match"] != one


def test_tallies_grow_and_stop(pair):
    sampling = sample_place(pair, PROMPT, ["rejection", "block"], 1000, SETTINGS, every=400)
    seen = [next(sampling) for _ in range(3)]
    assert [(t.rule, t.draws) for t in seen] == [("rejection", 400), ("block", 400), ("rejection", 800)]
    assert all(a <= b for a, b in zip(seen[0].counts, seen[2].counts, strict=True))
    sampling.close()
    assert list(sampling) == []
    whole = list(sample_place(pair, PROMPT, ["block"], 1000, SETTINGS, every=400))
    assert [t.draws for t in whole] == [400, 800, 1000]


def test_the_embedded_pair_tells_right_from_wrong():
    """At the place that the page and the command line begin with; the two faults that show wherever p and q differ."""
    pair = specviz.load_pair("tiny-code")
    rules = ["rejection", "block", "no-residual", "soft-q"]
    with sample_place(pair, FIRST_PROMPT, rules, 1500, SAMPLED, every=1500) as sampling:
        found = {tally.rule: p_value(sampling.place, tally) for tally in sampling}
    assert {rule for rule, p in found.items() if p > 0.001} == {"rejection", "block"}, found


@pytest.mark.parametrize(
    ("changes", "field", "sentence"),
    [
        ({"temperature": 0.0}, "temperature", "nothing to sample"),
        ({"gamma": 0}, "gamma", "Gamma must be a whole number from 1 to 8"),
        ({"top_k": 0}, "top_k", "Top-k must be a whole number from 1 to 32"),
        ({"top_p": 0.0}, "top_p", "Top-p must be above 0"),
    ],
)
def test_what_cannot_be_sampled_is_refused(pair, changes, field, sentence):
    with pytest.raises(SpecvizError, match=sentence) as error:
        sample_place(pair, PROMPT, ["rejection"], 10, replace(SETTINGS, **changes))
    assert error.value.field == field


def test_other_refusals(pair):
    with pytest.raises(SpecvizError, match="no rule 'greedy'"):
        sample_place(pair, PROMPT, ["greedy"], 10, SETTINGS)
    with pytest.raises(SpecvizError, match="from 1 to 1,000,000"):
        sample_place(pair, PROMPT, ["rejection"], 0, SETTINGS)
    with pytest.raises(SpecvizError, match="No draft model is loaded"):
        sample_place(specviz.Pair(table_model(VOCAB, 1), None, tokenizer(VOCAB)), PROMPT, ["rejection"], 10, SETTINGS)
