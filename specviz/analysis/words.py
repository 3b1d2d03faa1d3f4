"""Numbers as short texts."""


def count(number: int, noun: str) -> str:
    """A number and its noun: 1 token, 2 tokens, 2 passes."""
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{ending}"


def duration(seconds: float) -> str:
    """A time with three significant digits, in ms up to ten seconds: 0.90 ms, 14.1 ms, 1091 ms, 70.2 s."""
    value = seconds * 1000
    if value >= 10_000:
        return f"{seconds:.1f} s"
    return f"{value:.0f} ms" if value >= 100 else f"{value:.1f} ms" if value >= 10 else f"{value:.2f} ms"
