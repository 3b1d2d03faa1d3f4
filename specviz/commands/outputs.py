"""Where a report goes: the terminal, JSON, CSV tables, Markdown."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from specviz.trace.errors import SpecvizError

if TYPE_CHECKING:
    from specviz.analysis.tables import Report


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """--json, --csv and --report, read by `deliver`."""
    parser.add_argument(
        "--json", nargs="?", const="-", metavar="FILE",
        help="the report as JSON: to FILE, or in place of the tables (schema: python -m specviz schema --report)",
    )  # fmt: skip
    parser.add_argument("--csv", type=Path, metavar="DIR", help="also write every table as CSV there")
    parser.add_argument("--report", type=Path, metavar="FILE", help="also write the report as Markdown")


def require_writable(options: argparse.Namespace) -> None:
    """Raise SpecvizError now, not after a long measurement, if a report cannot be written where it should."""
    for file in (options.report, Path(options.json) if options.json not in (None, "-") else None):
        if file and (file.is_dir() or not file.resolve().parent.is_dir()):
            raise SpecvizError(f"Cannot write to {file}: choose a file in a folder that exists.")
    if options.csv and options.csv.exists() and not options.csv.is_dir():
        raise SpecvizError(f"Cannot write tables to {options.csv}: it is a file.")


def note(sentence: str) -> None:
    """A line on stderr; names of folders in it must not steer the terminal."""
    from specviz.terminal_tables import safe

    print(f"note: {safe(sentence)}", file=sys.stderr)


def deliver(report: "Report", options: argparse.Namespace) -> None:
    """Write the report to all the places that were asked for, and show it."""
    from specviz.analysis.tables import report_json, report_markdown
    from specviz.terminal_tables import show_report

    if options.csv:
        options.csv.mkdir(parents=True, exist_ok=True)
        for name, table in report.keyed().items():
            (options.csv / f"{name}.csv").write_text(table.csv())
    if options.report:
        options.report.write_text(report_markdown(report))
    if options.json == "-":
        sys.stdout.write(report_json(report))
        return
    if options.json:
        Path(options.json).write_text(report_json(report))
    show_report(report)
