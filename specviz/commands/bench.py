"""python -m specviz bench: pairs x methods x rules x gammas on prompts, as one table with its sources."""

import argparse
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specviz.commands.measuring import add_measuring_options, measured_settings, prompts, run
from specviz.commands.options import (
    CHOICES,
    HELP,
    add_pair_options,
    add_settings_options,
    ignored,
    load,
    require_readable,
)
from specviz.commands.outputs import add_output_options, deliver, note, require_writable

if TYPE_CHECKING:
    from specviz.decoding.bench import LanePlan
    from specviz.models.pair import Pair
    from specviz.trace.schema import Settings

_MANY = ("method", "rule", "gamma")


def add(actions: Any) -> None:
    """Register the action."""
    parser = actions.add_parser("bench", help="measure methods, gammas and rules against plain decoding")
    add_pair_options(parser, many=True)
    parser.add_argument(
        "--method", nargs="+", choices=list(CHOICES["method"][1]), help="who drafts; several: a lane each"
    )
    parser.add_argument("--rule", nargs="+", choices=list(CHOICES["rule"][1]), help="what is accepted; several too")
    parser.add_argument("--gamma", nargs="+", type=int, default=[4], help=f"{HELP['gamma']}; several too (default 4)")
    add_settings_options(parser, leave_out=(*_MANY, "chat"))
    add_measuring_options(parser)
    parser.add_argument(
        "--baseline", choices=["transformers"], help="also time transformers' generate and assisted generation"
    )
    parser.add_argument(
        "--from", dest="sources", nargs="+", type=Path, metavar="PATH",
        help="make the table from folders of --traces, or from traces, and measure nothing",
    )  # fmt: skip
    add_output_options(parser)
    parser.set_defaults(action=_bench)


def _bench(options: argparse.Namespace) -> int:
    from specviz.analysis.lanes import lane_report
    from specviz.trace.decodes import load_decodes

    require_writable(options)
    if options.sources:
        require_readable(*options.sources, folders=True)
        decodes, references, failed = *load_decodes(options.sources), {}
    else:
        texts = prompts(options)  # a mistake in them is told before anything is loaded
        measured = run(lanes(options), texts, options, references=options.baseline is not None)
        decodes, references, failed = measured.decoded, measured.references, measured.failed
    deliver(lane_report(decodes, references, failed), options)
    return 0


def lanes(options: argparse.Namespace) -> list["LanePlan"]:
    """A lane for every combination that was asked for, its name made of what tells it apart. Raises SpecvizError."""
    from specviz.decoding.bench import LanePlan

    choices = list(dict.fromkeys(product(options.method or [None], options.rule or ["rejection"], options.gamma)))
    for method, rule, gamma in choices:
        # refused before anything is loaded
        measured_settings(options, method=method or "draft-model", rule=rule, gamma=gamma)
    pairs = list(dict.fromkeys(product(options.pair or [None], options.dtype or [None])))
    plans: dict[str, LanePlan] = {}
    notices: list[str] = []
    for name, dtype in pairs:
        pair = load(options, pair=name, dtype=dtype)
        notices += pair.notices
        for method, rule, gamma in choices:
            chosen = measured_settings(options, method=method or pair.default_method, rule=rule, gamma=gamma)
            notices += ignored(chosen)
            label = _label(pair, chosen, several=len(pairs) > 1)
            plans.setdefault(label, LanePlan(label, pair, chosen))
    for notice in dict.fromkeys(notices):
        note(notice)
    return list(plans.values())


def _label(pair: "Pair", chosen: "Settings", several: bool) -> str:
    from specviz.trace.decodes import settings_name

    where = f"{pair.name or pair.target_info.name} {pair.target_info.dtype}: " if several else ""
    return f"{where}{settings_name(chosen)}"
