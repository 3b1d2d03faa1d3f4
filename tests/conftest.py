"""Shared by all tests: no network, small thread pools (tiny models run fastest on one thread)."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ["OMP_NUM_THREADS"] = "1"  # of the programs that tests start, too

import pytest
from hypothesis import settings

settings.register_profile("specviz", deadline=None)  # a busy machine is no fault
settings.load_profile("specviz")


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)
