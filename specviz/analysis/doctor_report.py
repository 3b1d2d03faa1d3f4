"""What the doctor found, as a report: the verdict, one row a finding, and the numbers behind them."""

from collections.abc import Sequence

from specviz.analysis.tables import Column, Report, Row, Table
from specviz.trace.findings import Finding

_COMPUTED = "from configurations and headers of files, before anything is loaded"
_ASSUMED = (
    "exact arithmetic on parameter counts under an assumption: only reading weights takes time, so that a pass over "
    "more tokens takes no longer, v = 1 (but for a mixture's experts); it does take longer, so the speedup is an upper "
    "bound"
)
_MEASURED = "on this machine, with the pair loaded"
_ERROR = "(computed - measured) / measured"


def doctor_report(findings: Sequence[Finding], target: str, draft: str | None) -> Report:
    """findings: of one pair, the last one the verdict. target, draft: what to call them."""
    *found, verdict = findings
    title = f"Pair doctor: {target}" + (f" + {draft}" if draft else "")
    tables = [findings_table(found), *(_numbers_table(finding) for finding in found if finding.numbers)]
    return Report(title, [_told(verdict)], tables)


def findings_table(findings: Sequence[Finding]) -> Table:
    """One row a finding: topic, level, what was found and what to do."""
    columns = [Column("topic", "topic"), Column("level", "level"), Column("finding", "finding")]
    rows: list[Row] = [{"topic": f.topic, "level": f.level, "finding": _told(f)} for f in findings]
    return Table("findings", "Findings", columns, rows)


def _numbers_table(finding: Finding) -> Table:
    """The numbers of one finding: computed and measured; for bytes also how far they are apart."""
    computed = ("computed, at best", _ASSUMED) if finding.topic == "speed" else ("computed", _COMPUTED)
    columns = [
        Column("name", "what"),
        Column("computed", computed[0], finding.unit, "exact", computed[1]),
        Column("measured", "measured", finding.unit, "measured", _MEASURED),
        Column("about", "definition"),
    ]
    rows: list[Row] = [
        {"name": n.name, "computed": n.computed, "measured": n.measured, "about": n.about} for n in finding.numbers
    ]
    if finding.unit == "bytes":
        columns.insert(3, Column("error", "computed off by", "percent", "measured", _ERROR))
        for row in rows:
            row["error"] = _relative(row["computed"], row["measured"])
    return Table(finding.topic.replace(" ", "_"), finding.topic.capitalize(), columns, rows)


def _told(finding: Finding) -> str:
    """What was found, then what to do."""
    return " ".join(part for part in (finding.sentence, finding.advice) if part)


def _relative(computed: float | None, measured: float | None) -> float | None:
    return None if computed is None or not measured else (computed - measured) / measured
