"""Contrast as WCAG 2 defines it, and colours as dichromats see them (Viénot, Brettel and Mollon 1999)."""

import re

Colour = tuple[float, float, float]

# From linear RGB to what is seen, rows as in the paper's one-plane reduction for a monitor.
SEEN = {
    "protanopia": ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0)),
    "deuteranopia": ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0)),
}


def linear(colour: str | Colour) -> Colour:
    """Linear RGB of "#rrggbb" or "rgb(r, g, b)"; what is linear already passes."""
    if isinstance(colour, tuple):
        return colour
    text = colour.strip()
    parts = (
        [int(text[i : i + 2], 16) for i in (1, 3, 5)]
        if text[0] == "#"
        else [float(x) for x in re.findall(r"[\d.]+", text)[:3]]
    )
    r, g, b = (x / 255 for x in parts)
    return tuple(x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in (r, g, b))


def luminance(colour: str | Colour) -> float:
    r, g, b = linear(colour)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def seen_with(vision: str, colour: str) -> Colour:
    rgb = linear(colour)
    return tuple(min(1.0, max(0.0, sum(m * x for m, x in zip(row, rgb, strict=True)))) for row in SEEN[vision])
