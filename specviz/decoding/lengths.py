"""How many tokens to draft next. State of one run; nothing is remembered between runs."""

from specviz.trace.schema import Round, Settings

LONGEST = 64


class DraftLength:
    """constant and confidence: always gamma. heuristic: from gamma on +2 after a full accept, -1 after a rejection,
    at least 1 (the schedule "heuristic" of transformers' assisted generation).
    """

    def __init__(self, settings: Settings) -> None:
        self._adapts = settings.draft_length == "heuristic"
        self.gamma = settings.gamma

    def learn(self, done: Round) -> None:
        """A round is over."""
        if self._adapts and done.drafted:
            full = done.accepted == len(done.drafted)
            self.gamma = min(LONGEST, self.gamma + 2) if full else max(1, self.gamma - 1)
