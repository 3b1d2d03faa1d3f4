"""A pair that loads at once."""

import pytest
from tiny import byte_tokenizer, table_model

import specviz


@pytest.fixture
def tiny_pair(monkeypatch):
    """What `load` gives for any name; the list of what was asked for."""
    text, asked = byte_tokenizer(), []
    size = len(text)

    def load(key=None, **options):
        asked.append((key, options))
        return specviz.Pair(table_model(size, 0), table_model(size, 0, scale=1.2), text, name=key)

    monkeypatch.setattr("specviz.models.loading.load_pair", load)
    return asked
