"""What a lane's figures amount to, in plain sentences: faster or not and why, same text or not."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from specviz.analysis.equality import difference, first_difference
from specviz.analysis.pace import Speed, plain_rounds_of, rounds_of, whole
from specviz.analysis.speed import FEWEST, UNSTEADY, unsteadiness, why_slower
from specviz.analysis.summary import agreement
from specviz.analysis.tables import Row
from specviz.analysis.totals import Totals
from specviz.analysis.words import count
from specviz.trace.measured import Decoded, Reference
from specviz.trace.methods import RULES

OTHER_DRAWS, NOT_CLAIMED, NOT_COMPARED = "other draws", "not claimed", "not compared"
COMPARED = "greedy, compared"
_TOGETHER = timedelta(minutes=1)  # lanes that take turns begin together


def verdict(speed: Speed, cause: str = "") -> str:
    """Faster, slower or cannot tell, in one sentence. cause: why, where the lane is slower."""
    if speed.value is None:
        why = f"a lane has fewer than {FEWEST} tokens" if speed.prompts else "no plain lane ran beside this one"
        return f"No speedup: {why}."
    figure = f"{speed.value:.2f}×"
    if speed.low is None or speed.high is None:
        return f"{figure} the speed of plain decoding on this prompt, without an interval."
    if is_slower(speed):
        return f"Slower than plain decoding: {figure}{cause and f'; {cause}'}."
    if speed.low > 1:
        return f"Faster than plain decoding: {figure}."
    cure = "take a longer text" if speed.over == "rounds" else "take more prompts"
    return f"Cannot tell: {figure}, and the interval {speed.low:.2f} to {speed.high:.2f} holds 1; {cure}."


def is_slower(speed: Speed) -> bool:
    """Whether the whole interval is below 1."""
    return speed.high is not None and speed.high < 1


def slower_because(decodes: Sequence[Decoded]) -> str:
    """Why speculation lost, from the measured split: the cause, and the arithmetic of a round; empty if it did not."""
    why = why_slower(Totals.of(rounds_of(decodes)), Totals.of(plain_rounds_of(decodes)))
    return why.removeprefix("Slower than plain decoding: ") if why else ""


def cause_of(explanation: str) -> str:
    """The cause alone, the first sentence of `slower_because`, to stand within another one."""
    return explanation.partition(". ")[0]


def same_text(decodes: Sequence[Decoded]) -> Row:
    """The cells "texts", "same_texts" and "texts_compared": of the prompts compared, those in which every repeat wrote
    the ids of its plain lane; or why that is no question.

    A decode that ended sooner than the other counts as the same as far as it goes; `doubts` says that lengths differ.
    """
    compared = [d for d in decodes if d.trace.output_ids and d.trace.baseline and d.trace.baseline.output_ids]
    rules = [RULES.get(d.trace.provenance.rule) for d in decodes]
    if any(rule and not rule.exact for rule in rules):
        return {"texts": NOT_CLAIMED}
    if any(not d.trace.settings.greedy for d in compared):
        return {"texts": OTHER_DRAWS}
    return count_same((d.prompt, d.trace.output_ids, d.trace.baseline.output_ids) for d in compared)


def count_same(texts: Iterable[tuple[str, list[int], list[int]]]) -> Row:
    """The same of (prompt, ids, ids of the plain lane), one of each repeat, all greedy."""
    same: dict[str, bool] = {}
    for prompt, ids, plain in texts:
        same[prompt] = same.get(prompt, True) and first_difference(ids, plain) in (None, min(len(ids), len(plain)))
    if not same:
        return {"texts": NOT_COMPARED}
    return {"texts": COMPARED, "same_texts": sum(same.values()), "texts_compared": len(same)}


def doubts(lane: str, decodes: Sequence[Decoded], texts: Row) -> list[str]:
    """What a reader of this lane's figures must know: other lengths, other texts and why, repeats left out.

    texts: `same_text` of these decodes.
    """
    found = []
    paired = [d for d in decodes if d.trace.baseline]
    odd = {d.prompt for d in paired if len(d.trace.output_ids) != len(d.trace.baseline.output_ids)}
    if odd:
        of = count(len({d.prompt for d in paired}), "prompt")
        found.append(f"{lane}: in {len(odd)} of {of} its length differs from the plain lane's, so times are per token.")
    differing = {d.prompt: d.trace for d in reversed(paired) if difference(d.trace)}  # of repeats the first
    if texts["texts"] not in (NOT_CLAIMED, OTHER_DRAWS):
        explained = [(prompt, agreement(trace)) for prompt, trace in reversed(differing.items())]
        found += [f"{lane}, {prompt}: {sentence}" for prompt, sentence in explained if sentence]
    if len(whole(decodes)) < len(paired):
        found.append(f"{lane}: a repeat without all prompts, or without tokens, is left out of the speedup.")
    return found


def uneven(lanes: Mapping[str, Sequence[Decoded]], references: Mapping[str, Sequence[Reference]]) -> list[str]:
    """A sentence for each lane or reference that lacks decodes (of a prompt and repeat) which other lanes have."""
    decoded = {name: {(d.prompt, d.repeat) for d in group} for name, group in (*lanes.items(), *references.items())}
    every = set().union(*(decoded[lane] for lane in lanes))
    return [
        f"{name} has {len(own & every)} of the {len(every)} decodes (prompts times repeats) that the lanes have "
        "together, so its figures are not of the same texts as the others'."
        for name, own in decoded.items()
        if every - own
    ]


def apart(lanes: Mapping[str, Sequence[Decoded]]) -> list[str]:
    """A sentence on the lanes recorded on another machine, or at another time, than most lanes, or the newest, here."""
    groups: list[list[str]] = []
    for lane, decodes in lanes.items():
        known = next((group for group in groups if _in_turns(lanes[group[0]], decodes)), None)
        if known is None:
            groups.append([lane])
        else:
            known.append(lane)
    groups.sort(key=lambda group: (len(group), lanes[group[0]][0].trace.provenance.date), reverse=True)
    return [_recorded(group, lanes[group[0]]) for group in groups[1:]]


def _recorded(names: Sequence[str], decodes: Sequence[Decoded]) -> str:
    source = decodes[0].trace.provenance
    return (
        f"{', '.join(names)}: recorded on {source.machine} ({source.date}), not in turns with the others, so compare "
        "speedups over the plain lane beside each, and no times."
    )


def _in_turns(lane: Sequence[Decoded], other: Sequence[Decoded]) -> bool:
    """Whether two lanes began together on one machine."""
    one, two = lane[0].trace.provenance, other[0].trace.provenance
    if one.machine != two.machine:
        return False
    try:
        return abs(datetime.fromisoformat(one.date) - datetime.fromisoformat(two.date)) <= _TOGETHER
    except (ValueError, TypeError):  # a trace from elsewhere may write its date otherwise
        return one.date == two.date


def targets(lanes: Mapping[str, Sequence[Decoded]]) -> list[str]:
    """A sentence where lanes do not have the same target in the same precision."""
    models = {lane: decodes[0].trace.provenance.target for lane, decodes in lanes.items()}
    names = {lane: f"{model.name} ({model.dtype})" for lane, model in models.items()}
    if len(set(names.values())) < 2:
        return []
    listed = "; ".join(f"{lane}: {name}" for lane, name in names.items())
    return [f"The lanes have different targets ({listed}), and each speedup is over plain decoding with its own."]


def text_sentence(texts: Row) -> str:
    """Whether a lane writes what plain decoding writes; empty where `doubts` tells of a difference. See `same_text`."""
    if texts["texts"] == NOT_CLAIMED:
        return "Its rule changes the output."
    if texts["texts"] == OTHER_DRAWS:
        return "Its texts are other draws from the target's own distribution."
    if texts["texts"] == NOT_COMPARED or texts["same_texts"] < texts["texts_compared"]:
        return ""
    return f"Its text is that of plain decoding in {_all(texts['texts_compared'])}."


def _all(prompts: int) -> str:
    return f"all {prompts} prompts" if prompts > 1 else "its one prompt"


def busy(lanes: Iterable[Sequence[Decoded]]) -> list[str]:
    """A warning where other work disturbed the plain lanes' clocks; empty if none did."""
    ratios = [unsteadiness(plain_rounds_of(decodes)) or 1.0 for decodes in lanes]
    worst = max(ratios, default=1.0)
    if worst < UNSTEADY:
        return []
    return [
        f"The machine was busy with other work (plain steps took {worst:.2f} times their median on average), so do not "
        "trust the times; the counts stand."
    ]
