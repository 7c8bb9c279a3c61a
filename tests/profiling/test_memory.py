"""Profiling holds the laws of one block at a time: memory O(B V), however many prompts, rounds and positions."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from specfrontier.decoding.drafters.base import Draft
from specfrontier.decoding.sampling import Sampling
from specfrontier.decoding.trace import trace_positions
from specfrontier.profiling.configuration import Configuration
from specfrontier.profiling.store import Store
from specfrontier.profiling.sweep import sweep
from specfrontier.theory import Linear


class PeakElements(TorchDispatchMode):
    """The most elements that storages made within it held at one time; those `given` were there before."""

    def __init__(self, *given: torch.Tensor) -> None:
        super().__init__()
        self.live: dict[int, int] = {tensor.untyped_storage().data_ptr(): 0 for tensor in given}
        self.peak = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(made):
            if isinstance(tensor, torch.Tensor):
                self._note(tensor)
        self.peak = max(self.peak, sum(self.live.values()))
        return made

    def _note(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        key = storage.data_ptr()
        if key and key not in self.live:
            self.live[key] = storage.nbytes() // tensor.element_size()
            weakref.finalize(storage, self.live.pop, key, None)


def peak_of_trace(block_size: int, vocabulary: int) -> int:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(block_size + 1, vocabulary, generator=generator)
    laws = torch.softmax(torch.randn(block_size, vocabulary, generator=generator), -1)
    tokens = torch.multinomial(laws, 1, generator=generator).squeeze(1)
    draft = Draft(tokens=tokens, laws=laws, steps=torch.zeros(block_size, dtype=torch.long), forwards=1)
    with PeakElements(logits, laws) as seen:
        trace_positions(draft, logits, Sampling(temperature=1.0), Linear(0.3))
    return seen.peak


def test_a_trace_takes_memory_in_proportion_to_block_and_vocabulary_up_to_64_positions() -> None:
    unit = peak_of_trace(16, 512) / (16 * 512)
    assert peak_of_trace(32, 512) == pytest.approx(unit * 32 * 512, rel=0.1)
    assert peak_of_trace(16, 2048) == pytest.approx(unit * 16 * 2048, rel=0.1)
    assert peak_of_trace(256, 512) <= 1.1 * unit * 64 * 512


def test_a_sweep_takes_no_more_memory_for_more_problems(masked_pair: Any, task: Any, tmp_path: Path) -> None:
    configuration = Configuration(
        pair=masked_pair.name,
        task=task.name,
        mode="speculative",
        steps=2,
        rule="lossless",
        block_size=4,
        max_new_tokens=12,
    )

    def peak(n: int) -> int:
        # The same problem again and again: lengths of texts, and with them caches, are then the same.
        problem = task.problems(1)[0]
        problems = [type(problem)(f"{problem.identifier}-{i}", problem.question, problem.reference) for i in range(n)]
        with PeakElements() as seen:
            sweep(masked_pair, task, problems, [configuration], Store(tmp_path / str(n)), trace=True)
        return seen.peak

    assert peak(50) <= 1.5 * peak(10)
