"""Numbers as short texts."""


def count(number: int, noun: str) -> str:
    """A number and its noun: 1 token, 2 tokens, 2 passes."""
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{ending}"


def milliseconds(seconds: float) -> str:
    """Seconds as text in ms, three significant digits from 1 ms up."""
    value = seconds * 1000
    return f"{value:.0f} ms" if value >= 100 else f"{value:.1f} ms" if value >= 10 else f"{value:.2f} ms"
