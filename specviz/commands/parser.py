"""The parser of the command line: a mistake gets one sentence, not the usage of all options before it."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from specviz.terminal_tables import safe


class Parser(argparse.ArgumentParser):
    """Its actions' parsers are of this class too."""

    def error(self, message: str) -> NoReturn:
        """End with status 2, as argparse does."""
        print(f"specviz: {safe(message)}; see {self.prog} --help", file=sys.stderr)
        self.exit(2)

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Refuse unknown options here: argparse leaves those of an action to the parser above, which has other help."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown
