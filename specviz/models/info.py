"""What a model is and where a run took place, as trace records."""

import os
import platform
import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers

import specviz
from specviz.models.forward import model_device
from specviz.trace.schema import ModelInfo, Provenance


def model_info(model: Any, name: str, source: str | None = None) -> ModelInfo:
    """Facts of a loaded model; `context` is its position limit, None if it states none."""
    config = model.config.get_text_config()
    return ModelInfo(
        name=name,
        family=config.model_type,
        parameters=sum(p.numel() for p in model.parameters()),
        layers=int(getattr(config, "num_hidden_layers", 0)),
        vocab=int(config.vocab_size),
        dtype=str(next(model.parameters()).dtype).removeprefix("torch."),
        device=str(model_device(model)),
        context=getattr(config, "max_position_embeddings", None),
        revision=getattr(model.config, "_commit_hash", None),
        source=source,
    )


def provenance(
    method: str, rule: str, target: ModelInfo, draft: ModelInfo | None, pair: str | None, notes: list[str]
) -> Provenance:
    """The record of a run that starts now on this machine."""
    return Provenance(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        specviz=specviz.__version__,
        torch=torch.__version__,
        transformers=transformers.__version__,
        python=platform.python_version(),
        machine=machine_name(target.device),
        threads=torch.get_num_threads(),
        method=method,
        rule=rule,
        target=target,
        draft=draft,
        pair=pair,
        notes=list(notes),
    )


@cache
def machine_name(device: str) -> str:
    """The processor or GPU, never the host's name."""
    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    return f"{_processor()}, {os.cpu_count()} cores"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    match = re.search(r"model name\s*:\s*(\S.*)", info.read_text()) if info.exists() else None
    return match[1].strip() if match else f"{platform.processor() or platform.machine()} processor"
