"""Why a configuration could not be measured, as it is stored; and what the process has to do before it goes on."""

from __future__ import annotations

import gc
from dataclasses import dataclass

import torch

SURVIVED = ("out of memory", "alloc_failed", "not_supported")
"""Words of CUDA errors after which the device still works: a call was refused, no kernel failed."""


@dataclass(frozen=True)
class Failure:
    """What is kept of an exception: its words alone, as its traceback holds every tensor of the frames it passed.

    Attributes:
        reason: one line.
        device_lost: whether no CUDA call of this process can succeed any more.
    """

    reason: str
    device_lost: bool = False

    @classmethod
    def of(cls, error: BaseException, doing: str = "") -> Failure:
        """The failure of an exception, with what was being done in front of its words."""
        return cls(f"{doing}{describe(error)}", _lost_device(error))


def describe(error: BaseException) -> str:
    """An exception as one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def free_memory() -> None:
    """Give back what a failed attempt held; the caller has left its `except` block, which keeps the frames alive."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _lost_device(error: BaseException) -> bool:
    """Whether a kernel failed: its error stays with the process's CUDA context, and every later call returns it."""
    text = str(error).lower()
    by_kind = isinstance(error, getattr(torch, "AcceleratorError", ()))  # torch >= 2.8
    by_words = isinstance(error, RuntimeError) and "cuda error" in text
    return (by_kind or by_words) and not any(words in text for words in SURVIVED)
