"""The one error that users see: what happened, why, and what to do, in plain words."""


class SpecvizError(Exception):
    """A problem a user can act on; `str(error)` is a plain sentence, never a traceback.

    `field` names the setting at fault (e.g. "gamma"), so that a page can show the sentence beside it.
    """

    def __init__(self, sentence: str, field: str | None = None) -> None:
        super().__init__(sentence)
        self.field = field
