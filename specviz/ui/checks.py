"""From the values of the page's controls to settings, with one plain sentence for each bad one."""

from typing import Any

from specviz.trace.schema import Settings
from specviz.trace.settings import check_settings

FIELDS = (
    "gamma", "temperature", "top_k", "top_p", "max_new_tokens", "seed", "min_p", "repetition_penalty",
    "presence_penalty", "frequency_penalty", "stop", "chat", "control_tokens",
)  # fmt: skip
MOST_CHARACTERS = 20_000
# narrower than the engine's own limits, because a page is shared and must stay quick
PAGE_LIMITS = {"gamma": ("Gamma", 1, 16), "max_new_tokens": ("The number of tokens", 1, 512)}


def read_settings(values: dict[str, Any]) -> tuple[Settings, dict[str, str]]:
    """Settings from the raw values by field name (missing ones keep their default), and field -> sentence.

    The settings may only be used if there is no sentence.
    """
    raw = {name: _whole(value) for name, value in values.items() if name in FIELDS}
    if "stop" in raw:
        raw["stop"] = stop_strings(raw["stop"])
    settings = Settings(**raw)
    problems = check_settings(settings)
    for name, (title, least, most) in PAGE_LIMITS.items():
        value = getattr(settings, name)
        if name in problems or not least <= value <= most:
            problems[name] = f"{title} must be a whole number from {least} to {most} on this page."
    if problem := _prompt_problem(values.get("prompt")):
        problems["prompt"] = problem
    return settings, problems


def stop_strings(text: Any) -> tuple[str, ...]:
    r"""One stop string a line; \n and \t in a line mean a new line and a tab; empty lines are skipped."""
    lines = text.splitlines() if isinstance(text, str) else []
    return tuple(line.replace("\\n", "\n").replace("\\t", "\t") for line in lines if line)


def _whole(value: Any) -> Any:
    """Browsers send 4.0 for 4."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _prompt_problem(prompt: Any) -> str | None:
    if not isinstance(prompt, str):
        return "The prompt must be text."
    if len(prompt) > MOST_CHARACTERS:
        return f"The prompt has {len(prompt):,} characters; this page takes at most {MOST_CHARACTERS:,}."
    return None
