"""Iterators that hold models' memory: leaving their `with` closes them."""

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """An iterator of its own steps, with `close`."""

    @abstractmethod
    def close(self) -> None:
        """Stop and free everything; harmless if it has ended."""

    def __iter__(self) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
