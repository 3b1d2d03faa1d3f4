"""Is a rule lossless? What it emitted at one place, thousands of times, against the exact distribution there."""

import math
from collections.abc import Sequence

from specviz.analysis.chi_square import LEAST_EXPECTED, Fit, fit
from specviz.analysis.equality import equality_sentence, equality_table, token_text
from specviz.analysis.tables import Column, Report, Row, Table, p_text
from specviz.analysis.words import count
from specviz.trace.checked import FAULTS, Compared, Fault, Place, Tally
from specviz.trace.choices import Rule
from specviz.trace.methods import RULES

LEVEL = 1e-4  # p-values below it count as a difference; one right run in 10,000 ends there too


def rule_title(rule: Rule | Fault) -> str:
    """What a rule, or one with a fault, is called."""
    return FAULTS[rule].title if rule in FAULTS else RULES[rule].title


def claims_exact(rule: Rule | Fault) -> bool:
    """Whether the rule says of itself that it keeps the distribution."""
    return rule not in FAULTS and RULES[rule].exact


def fit_of(place: Place, tally: Tally) -> Fit | None:
    """How the draws of a tally agree with the exact distribution."""
    return fit(tally.counts, place.chances, tally.outside)


def failed(place: Place, tallies: Sequence[Tally]) -> list[Rule | Fault]:
    """Of the rules that claim to be exact, those whose last tally says that they are not."""
    return [t.rule for t in _latest(tallies) if claims_exact(t.rule) and _differs(fit_of(place, t))]


def lossless_table(place: Place, tally: Tally) -> Table:
    """One row for every continuation, the likeliest first: its exact probability, and how often it came out."""
    looked = "the next token" if place.tokens == 1 else f"the next {place.tokens} tokens"
    columns = [
        Column("text", "Continuation", about=looked),
        Column("exact", "Exact", "percent", "exact",
               "product of the target's p of these tokens, after temperature and filters"),
        Column("frequency", "Drawn", "percent", "measured", "share of the draws that gave this continuation"),
        Column("count", "Draws", "count", "measured", "draws that gave this continuation"),
        Column("z", "z", "number", "measured",
               "(draws - expected) / standard deviation of a binomial: within 2 for 95 of 100 continuations if all "
               "is right"),
    ]  # fmt: skip
    rows: list[Row] = [
        {
            "text": " + ".join(token_text(place.pieces[token]) for token in cell),
            "exact": chance,
            "frequency": drawn / tally.draws,
            "count": drawn,
            "z": _z(drawn, tally.draws, chance),
        }
        for cell, chance, drawn in zip(place.cells, place.chances, tally.counts, strict=True)
    ]
    rows.sort(key=lambda row: -row["exact"])
    note = f"{count(tally.draws, 'draw')} under {rule_title(tally.rule)}, at {_where(place)}."
    if tally.outside:
        note += f" {count(tally.outside, 'draw')} gave a continuation that has no chance."
    return Table("lossless", f"Drawn and exact: {rule_title(tally.rule)}", columns, rows, note)


def rules_table(place: Place, tallies: Sequence[Tally]) -> Table:
    """The last tally of every rule: does the test tell it from the exact distribution?"""
    columns = [
        Column("rule", "Rule"),
        Column("sort", "Sort"),
        Column("draws", "Draws", "count", "measured", "continuations drawn"),
        Column("chi_square", "Chi-square", "number", "measured",
               f"sum of (draws - expected)² / expected; continuations that expect fewer than {LEAST_EXPECTED:g} draws "
               "count as one"),
        Column("df", "Degrees of freedom", "count", "exact", "groups that were compared, less one"),
        Column("p_value", "p-value", "p", "measured",
               "chance of a chi-square this large if the rule is right: any value from 0 to 1 is as likely as any "
               "other then, and with a fault it goes to 0"),
        Column("total_variation", "Total variation", "number", "measured",
               "half the sum of |share of the draws - exact|; with a right rule it keeps falling"),
        Column("noise", "Of that, luck", "number", "exact",
               "the total variation that this many draws from the exact distribution have on average"),
        Column("verdict", "Verdict"),
    ]  # fmt: skip
    rows = [_rule_row(place, tally) for tally in _latest(tallies)]
    note = f"At {_where(place)}. All rules had the same random numbers. Below p = {LEVEL:g} it counts as different."
    return Table("rules", "Rules under test", columns, rows, note)


def growth_table(place: Place, tallies: Sequence[Tally]) -> Table:
    """How the two distances went as draws came in: a row for every tally."""
    columns = [
        Column("rule", "Rule"),
        Column("draws", "Draws", "count", "measured", "continuations drawn so far"),
        Column("chi_square_per_df", "Chi-square / df", "number", "measured", "near 1 for a right rule, however many"),
        Column("total_variation", "Total variation", "number", "measured", "half the sum of |share - exact|"),
        Column("noise", "Luck", "number", "exact", "total variation of so many draws from the exact distribution"),
    ]  # fmt: skip
    rows: list[Row] = []
    for tally in tallies:
        if found := fit_of(place, tally):
            per_df = None if found.df is None else found.chi_square / found.df
            row = {"rule": rule_title(tally.rule), "draws": tally.draws, "chi_square_per_df": per_df}
            rows.append(row | {"total_variation": found.total_variation, "noise": found.noise})
    return Table("growth", "Distances as draws come in", columns, rows)


def lossless_report(place: Place | None, tallies: Sequence[Tally], comparisons: Sequence[Compared] = ()) -> Report:
    """What a check says: verdicts first, then the tables. tallies: of all rules, in the order they came."""
    report = Report("Is it lossless?", [], [])
    latest = _latest(tallies)
    if place and latest:
        report.sentences += [_sentence(place, tally) for tally in latest]
        report.tables += [rules_table(place, tallies), *(lossless_table(place, tally) for tally in latest)]
        report.tables.append(growth_table(place, tallies))
        report.provenance.append(place.provenance)
    if comparisons:
        report.sentences.append(equality_sentence(comparisons))
        report.tables.append(equality_table(comparisons))
        report.provenance.append(comparisons[0].decoded.trace.provenance)
    return report


def _rule_row(place: Place, tally: Tally) -> Row:
    found = fit_of(place, tally)
    row: Row = {"rule": rule_title(tally.rule), "sort": _sort(tally.rule), "draws": tally.draws}
    if found is None:
        return row
    numbers = {name: getattr(found, name) for name in ("chi_square", "df", "p_value", "total_variation", "noise")}
    return row | numbers | {"verdict": _verdict(tally, found)}


def _sort(rule: Rule | Fault) -> str:
    if rule in FAULTS:
        return "wrong on purpose"
    return "exact" if RULES[rule].exact else "changes the output on purpose"


def _verdict(tally: Tally, found: Fit) -> str:
    if found.p_value is None:
        return "too few draws to tell"
    if _differs(found):
        return "another distribution" if claims_exact(tally.rule) else "another distribution, as expected"
    return "no difference seen" if claims_exact(tally.rule) else "no difference seen here so far"


def _sentence(place: Place, tally: Tally) -> str:
    found, title = fit_of(place, tally), rule_title(tally.rule)
    if found is None or found.p_value is None:
        return f"{title}: {_too_few(place, tally)}"
    p = f"= {p_text(found.p_value)}" if found.p_value else p_text(found.p_value)
    numbers = f"{count(tally.draws, 'draw')}, p {p}"
    if _differs(found):
        return f"{title} writes another distribution than the target ({numbers}): {_meaning(tally.rule)}."
    if claims_exact(tally.rule):
        return f"{title}: nothing tells its tokens from the target's own ({numbers})."
    return f"{title}: not told from the target's own tokens so far ({numbers}), though it is not exact."


def _too_few(place: Place, tally: Tally) -> str:
    """Why the test cannot be made, which needs `LEAST_EXPECTED` draws of the likeliest continuation and of the rest."""
    likeliest, *others = sorted(place.chances, reverse=True)
    smaller = min(likeliest, math.fsum(others))
    if not smaller:
        return "only one continuation has a chance here, so there is nothing to tell apart."
    needed = math.ceil(LEAST_EXPECTED / smaller)
    return f"{count(tally.draws, 'draw')} cannot tell; the test needs at least {needed:,}."


def _meaning(rule: Rule | Fault) -> str:
    """What it means that a rule does not keep the distribution."""
    if rule in FAULTS:
        return "the test finds the fault"
    return "it is not lossless here" if RULES[rule].exact else "it changes the output, as it says of itself"


def _differs(found: Fit | None) -> bool:
    return found is not None and found.p_value is not None and found.p_value < LEVEL


def _latest(tallies: Sequence[Tally]) -> list[Tally]:
    """The last tally of each rule, in the order of the rules."""
    return list({tally.rule: tally for tally in tallies if tally.draws}.values())


def _where(place: Place) -> str:
    s = place.settings
    return f"temperature {s.temperature:g}, top-k {s.top_k}, gamma {s.gamma}, seed {s.seed}"


def _z(drawn: int, draws: int, chance: float) -> float | None:
    spread = math.sqrt(draws * chance * (1 - chance)) if 0 < chance < 1 else 0.0
    return (drawn - draws * chance) / spread if spread else None
