"""Batches for the embedded models: whole sequences for the causal ones, prefix and canvas for the diffusion ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from specfrontier.profiling.tasks.arith_problems import Split, problems

POOL = 8192


@dataclass(frozen=True)
class Example:
    """Token ids of a question and of its answer, the end token included."""

    question: list[int]
    answer: list[int]


@dataclass(frozen=True)
class CausalBatch:
    """`ids` [N, T], padded on the right; `is_answer` [N, T] marks the tokens that the loss counts."""

    ids: Tensor
    is_answer: Tensor


@dataclass(frozen=True)
class CanvasBatch:
    """`ids` [N, T] whose last `block_size` positions are the clean canvas, end tokens filling what is over."""

    ids: Tensor
    block_size: int


def examples(tokenizer: PreTrainedTokenizerFast, split: Split, seed: int) -> Iterator[list[Example]]:
    """Pools of tokenised problems, without end."""
    stream = problems(split, seed)
    end = tokenizer.eos_token_id
    while True:
        pool = list(islice(stream, POOL))
        questions = tokenizer([p.question for p in pool], add_special_tokens=False)["input_ids"]
        answers = tokenizer([p.answer for p in pool], add_special_tokens=False)["input_ids"]
        yield [Example(q, [*a, end]) for q, a in zip(questions, answers, strict=True)]


def _causal_batch(batch: list[Example], pad: int) -> CausalBatch:
    length = max(len(e.question) + len(e.answer) for e in batch)
    ids = torch.full((len(batch), length), pad)
    is_answer = torch.zeros(len(batch), length, dtype=torch.bool)
    for row, e in enumerate(batch):
        start, stop = len(e.question), len(e.question) + len(e.answer)
        ids[row, :stop] = torch.tensor(e.question + e.answer)
        is_answer[row, start:stop] = True
    return CausalBatch(ids, is_answer)


def causal_batches(
    tokenizer: PreTrainedTokenizerFast, split: Split, seed: int, batch_size: int
) -> Iterator[CausalBatch]:
    """Batches of sequences of like length, in random order."""
    rng = Random(seed)
    for pool in examples(tokenizer, split, seed):
        pool.sort(key=lambda e: len(e.question) + len(e.answer) + rng.random())
        batches = [pool[i : i + batch_size] for i in range(0, len(pool), batch_size)]
        rng.shuffle(batches)
        for batch in batches:
            yield _causal_batch(batch, tokenizer.pad_token_id)


def canvas_batches(
    tokenizer: PreTrainedTokenizerFast, split: Split, seed: int, batch_size: int, block_sizes: tuple[int, ...]
) -> Iterator[CanvasBatch]:
    """Batches cut at a random place of the answer, of one prefix length each, so that nothing is padded.

    These are the states that a drafter meets: a question, some accepted tokens, then a block to fill.
    """
    rng = Random(seed)
    end = tokenizer.eos_token_id
    for pool in examples(tokenizer, split, seed):
        by_shape: defaultdict[tuple[int, int], list[list[int]]] = defaultdict(list)
        for e in pool:
            cut, size = rng.randrange(len(e.answer)), rng.choice(block_sizes)
            canvas = e.answer[cut : cut + size]
            canvas += [end] * (size - len(canvas))
            prefix = e.question + e.answer[:cut]
            by_shape[len(prefix), size].append(prefix + canvas)
        batches = [
            CanvasBatch(torch.tensor(rows[i : i + batch_size]), size)
            for (_, size), rows in by_shape.items()
            for i in range(0, len(rows) - batch_size // 2 + 1, batch_size)
        ]
        rng.shuffle(batches)
        yield from batches
