"""From the values of the page's controls to settings, with one plain sentence for each bad one."""

from typing import Any

from specviz.trace.methods import METHODS, OPTIONAL, RULES, used_settings
from specviz.trace.schema import Settings
from specviz.trace.settings import BAD_TREE, check_settings, tree_widths

FIELDS = OPTIONAL | {
    "method", "rule", "temperature", "top_k", "top_p", "max_new_tokens", "seed", "min_p", "repetition_penalty",
    "presence_penalty", "frequency_penalty", "stop", "chat", "control_tokens",
}  # fmt: skip
MOST_CHARACTERS = 20_000
# narrower than the engine's own limits, because a page is shared and must stay quick
PAGE_LIMITS = {"gamma": ("Gamma", 1, 16), "max_new_tokens": ("The number of tokens", 1, 512)}


def read_settings(values: dict[str, Any]) -> tuple[Settings, dict[str, str]]:
    """Settings from the raw values by field name (missing ones keep their default), and field -> sentence.

    Values that the chosen method and rule do not use are left aside, good or bad. The settings may only be used
    if there is no sentence.
    """
    raw = {name: _whole(value) for name, value in values.items() if name in FIELDS}
    if "stop" in raw:
        raw["stop"] = stop_strings(raw["stop"])
    raw["exit_layer"] = _number_or_none(raw.get("exit_layer"))
    widths = tree_widths(raw.get("tree"))
    raw["tree"] = widths or ()
    unknown = _unknown_choices(raw)
    settings = _with_used(raw)
    problems = check_settings(settings) | unknown | _page_problems(settings)
    if widths is None and "tree" in used_settings(settings.method, settings.rule):
        problems["tree"] = BAD_TREE
    if problem := _prompt_problem(values.get("prompt")):
        problems["prompt"] = problem
    return settings, problems


def stop_strings(text: Any) -> tuple[str, ...]:
    r"""One stop string a line; \n and \t in a line mean a new line and a tab; empty lines are skipped."""
    lines = text.splitlines() if isinstance(text, str) else []
    return tuple(line.replace("\\n", "\n").replace("\\t", "\t") for line in lines if line)


def _unknown_choices(raw: dict[str, Any]) -> dict[str, str]:
    """Sentences for a method or rule that does not exist; it is taken out of `raw`."""
    problems = {}
    for name, known in (("method", METHODS), ("rule", RULES)):
        if name in raw and not (isinstance(raw[name], str) and raw[name] in known):
            problems[name] = f"The {name} must be one of {', '.join(known)}."
            del raw[name]
    return problems


def _with_used(raw: dict[str, Any]) -> Settings:
    """Settings of `raw` with the default for everything that the method and the rule do not use."""
    chosen = Settings(**raw)
    unused = OPTIONAL - used_settings(chosen.method, chosen.rule, chosen)
    return Settings(**{name: value for name, value in raw.items() if name not in unused})


def _page_problems(settings: Settings) -> dict[str, str]:
    problems = {}
    for name, (title, least, most) in PAGE_LIMITS.items():
        value = getattr(settings, name)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            problems[name] = f"{title} must be a whole number from {least} to {most} on this page."
    return problems


def _whole(value: Any) -> Any:
    """Browsers send 4.0 for 4."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _number_or_none(text: Any) -> Any:
    """A whole number that was typed, None if nothing was; what is neither is left for the check."""
    words = text.split() if isinstance(text, str) else [text]
    if len(words) == 1 and isinstance(words[0], str) and words[0].isascii() and words[0].isdigit():
        return int(words[0][:9])  # enough to be out of bounds; Python refuses to read thousands of digits
    return text if words else None


def _prompt_problem(prompt: Any) -> str | None:
    if not isinstance(prompt, str):
        return "The prompt must be text."
    if len(prompt) > MOST_CHARACTERS:
        return f"The prompt has {len(prompt):,} characters; this page takes at most {MOST_CHARACTERS:,}."
    return None
