"""python -m specviz doctor: may two models work together here, and is it worth a try."""

import argparse
from typing import TYPE_CHECKING, Any

from specviz.commands.options import DEFAULT_PAIR, add_pair_options, load, require_one_pair
from specviz.commands.outputs import add_output_options, deliver, require_writable
from specviz.trace.errors import SpecvizError

if TYPE_CHECKING:
    from specviz.models.catalog import CatalogEntry
    from specviz.trace.findings import Finding


def add(actions: Any) -> None:
    """Register the action."""
    parser = actions.add_parser("doctor", help="may two models work together here, and is it worth a try")
    add_pair_options(parser)
    parser.add_argument(
        "--context", type=int, help="tokens of prompt and output (default: what the target takes, at most 4096)"
    )
    parser.add_argument("--gamma", type=int, default=4, help="tokens drafted per round (default 4)")
    parser.add_argument(
        "--measure", action="store_true", help="also load the pair, and measure memory and the time of its passes"
    )
    add_output_options(parser)
    parser.set_defaults(action=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    from specviz.analysis.doctor_report import doctor_report

    require_writable(options)
    entry = _entry(options)
    found = _before(entry, options)
    if options.measure and found[-1].level != "fault":
        found = _after(options, found)
    deliver(doctor_report(found, entry.target, entry.draft), options)
    return 1 if found[-1].level == "fault" else 0


def _entry(options: argparse.Namespace) -> "CatalogEntry":
    """Which folders or hub names are examined. Raises SpecvizError as `load` does."""
    from specviz.models.catalog import CatalogEntry, find

    require_one_pair(options)
    if not options.target:
        return find(options.pair or DEFAULT_PAIR)
    return CatalogEntry("", options.target, "", options.target, options.draft, medusa=options.medusa)


def _before(entry: "CatalogEntry", options: argparse.Namespace) -> list["Finding"]:
    """Findings without loading."""
    from specviz.models.doctor import examine

    return examine(
        entry.target,
        entry.draft,
        tokenizer=entry.tokenizer,
        others=entry.others,
        context=options.context,
        gamma=options.gamma,
        dtype=options.dtype,
        device=options.device,
    )


def _after(options: argparse.Namespace, before: list["Finding"]) -> list["Finding"]:
    """Findings with the pair loaded, after those on its files; a pair that does not load is a finding too."""
    from specviz.decoding.widths import step_times
    from specviz.models.doctor import examine_pair, verdict
    from specviz.trace.choices import Settings
    from specviz.trace.findings import Finding

    files = [finding for finding in before if finding.topic in ("files", "custom code", "quantisation")]
    try:
        pair = load(options)
        method = pair.default_method
        steps = step_times(pair, Settings(gamma=options.gamma, method=method), (1, options.gamma + 1))
        found = files + examine_pair(pair, context=options.context, gamma=options.gamma, steps=steps)[:-1]
    except SpecvizError as error:
        found = [*before[:-1], Finding("loading", "fault", str(error))]
    return [*found, verdict(found)]
