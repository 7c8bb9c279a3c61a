"""How a pair's models are loaded, as the command line says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from specfrontier.errors import InputError

if TYPE_CHECKING:
    from specfrontier.decoding import Pair

DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class LoadOptions:
    """Arguments of `load_pair` as plain values, so that they can be stored with a run and sent to a worker.

    Attributes:
        device, drafter_device: such as `cuda:0`; None is CUDA where there is one, and the verifier's.
        dtype: of `DTYPES`; None is bfloat16 on CUDA, float32 on a CPU.
        device_map: `auto` or `balanced`, for a verifier that needs several GPUs.
        compile: run the verifier through `torch.compile`.

    Raises:
        InputError: if the dtype is not one of `DTYPES`.
    """

    device: str | None = None
    drafter_device: str | None = None
    dtype: str | None = None
    device_map: str | None = None
    compile: bool = False

    def __post_init__(self) -> None:
        if self.dtype is not None and self.dtype not in DTYPES:
            raise InputError(f"dtype is {self.dtype!r}; choose one of {', '.join(DTYPES)}")

    def load(self, pair: str, *, random_weights: bool = False) -> Pair:
        """Load a pair by its shipped name or the path of its file."""
        import torch

        from specfrontier.decoding import load_pair

        return load_pair(
            pair,
            device=self.device,
            drafter_device=self.drafter_device,
            dtype=None if self.dtype is None else getattr(torch, self.dtype),
            device_map=self.device_map,
            random_weights=random_weights,
            compile=self.compile,
        )
