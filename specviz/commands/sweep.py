"""python -m specviz sweep: speedup against gamma, measured and predicted, and the gamma to use."""

import argparse
from typing import Any

from specviz.commands.measuring import add_measuring_options, measured_settings, prompts, run
from specviz.commands.options import HELP, add_pair_options, add_settings_options, ignored, load
from specviz.commands.outputs import add_output_options, deliver, note, require_writable
from specviz.trace.errors import SpecvizError


def add(actions: Any) -> None:
    """Register the action."""
    parser = actions.add_parser("sweep", help="speedup against gamma, measured and predicted, and which gamma to use")
    add_pair_options(parser)
    parser.add_argument(
        "--gammas", nargs="+", type=int, default=list(range(1, 9)), help=f"{HELP['gamma']} (default 1 to 8)"
    )
    parser.add_argument(
        "--calibrate", type=int, metavar="GAMMA", help="measure this gamma only, and predict the others from it"
    )
    add_settings_options(parser, leave_out=("gamma", "chat"))
    add_measuring_options(parser)
    add_output_options(parser)
    parser.set_defaults(action=_sweep)


def _sweep(options: argparse.Namespace) -> int:
    gammas = sorted({gamma for gamma in options.gammas if gamma})  # 0 is plain decoding, always in the table
    if not gammas or options.calibrate == 0:
        raise SpecvizError("Give at least one gamma above 0: plain decoding is measured anyway.")
    if options.tree or options.draft_length != "constant":
        raise SpecvizError("A sweep drafts chains of a fixed length; leave out --tree and --draft-length.")
    require_writable(options)
    measured = [options.calibrate] if options.calibrate else gammas
    chosen = {gamma: measured_settings(options, gamma=gamma) for gamma in sorted({*measured, *gammas})}
    texts = prompts(options)
    pair = load(options)
    for notice in (*pair.notices, *ignored(chosen[measured[0]])):
        note(notice)

    from specviz.analysis.advice import by_gamma, calibration_of, sweep_report, usual_context
    from specviz.decoding.bench import LanePlan
    from specviz.decoding.widths import step_times

    running = run([LanePlan(f"gamma {gamma}", pair, chosen[gamma]) for gamma in measured], texts, options)
    sweep = by_gamma(running.decoded)
    calibration = calibration_of(sweep)
    widest, room, context = gammas[-1] + 1, pair.target_info.context, usual_context(calibration)
    widths = range(1, (widest if room is None else min(widest, room - 1)) + 1)  # a pass has a token before it
    try:
        steps = step_times(pair, calibration[0].trace.settings, widths, context)
    except (SpecvizError, RuntimeError) as error:  # no room, no memory: what was measured is reported all the same
        note(f"single passes could not be measured: {error}")
        steps = []
    deliver(sweep_report(sweep, calibration, steps, gammas), options)
    return 0
