"""Where a result comes from: seed, versions, machine, pair file and settings, as plain JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specfrontier.decoding import PairFile

PACKAGES = ("specfrontier", "torch", "transformers", "tokenizers", "numpy", "scipy", "pandas", "pyarrow", "statsmodels")


def provenance(pair: PairFile, *, seed: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Everything needed to say what made a result, and to make it again.

    Args:
        pair: the pair's file, stored whole.
        seed: of the run.
        settings: what the user asked for (grid, task, n, ...), JSON values only.
    """
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": seed,
        "versions": package_versions(),
        "machine": machine(),
        "pair": asdict(pair),
        "settings": dict(settings),
    }


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    found = [("python", platform.python_version())]
    for name in PACKAGES:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return tuple(found)


def package_versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on."""
    return dict(_versions())


def machine() -> dict[str, Any]:
    """The processor, its cores and threads in use, memory, and the GPUs."""
    import torch

    gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return {
        "system": platform.platform(),
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": torch.get_num_threads(),
        "memory_bytes": _memory_bytes(),
        "gpus": gpus,
        "cuda": torch.version.cuda,
    }


def cpu_model() -> str:
    """The processor's own name, or its architecture where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
