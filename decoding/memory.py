"""How much memory a pair needs, and what is free: said before a download or an allocation, not after."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch

from specfrontier.decoding.checkpoints import known_config, text_config
from specfrontier.decoding.config_table import ConfigTable
from specfrontier.decoding.pair_file import PairFile
from specfrontier.errors import InputError

PROMPT_TOKENS = 1024
LAW_TABLES = 4
GIB = 2**30


@dataclass(frozen=True)
class MemoryNeed:
    """Bytes that a pair takes while it generates.

    Attributes:
        verifier, drafter: weights.
        working: laws of a block (q, p, the verifier's logits and a copy while they are filtered, in float32) and
            the verifier's keys and values over a prompt and the longest output.
    """

    verifier: int
    drafter: int
    working: int

    @property
    def total(self) -> int:
        """All of it on one device."""
        return self.verifier + self.drafter + self.working


@dataclass(frozen=True)
class MemoryCheck:
    """Whether a pair can run on a machine."""

    need: MemoryNeed
    device: str
    free: int

    @property
    def fits(self) -> bool:
        """Whether the need is within what is free."""
        return self.need.total <= self.free

    def __str__(self) -> str:
        return f"needs {self.need.total / GIB:.1f} GiB, {self.free / GIB:.1f} GiB free on {self.device}"


def memory_need(pair: PairFile, dtype: torch.dtype) -> MemoryNeed:
    """Estimate from the parameters that the pair file states and the shapes that ship with the project."""
    verifier, drafter = (round(billions * 1e9) * dtype.itemsize for billions in pair.parameters)
    try:
        config = text_config(known_config(pair.verifier.checkpoint))
        working = _working(pair, config, dtype)
    except InputError:  # a user's own model: weights are all that is known before it is there
        working = 0
    return MemoryNeed(verifier, drafter, working)


def _working(pair: PairFile, config: ConfigTable, dtype: torch.dtype) -> int:
    longest = max(pair.max_new_tokens.values()) + PROMPT_TOKENS
    heads = config.integer("num_attention_heads")
    head_dim = config.integer("head_dim", config.integer("hidden_size") // heads)
    width = 2 * config.integer("num_hidden_layers") * config.integer("num_key_value_heads", heads) * head_dim
    laws = LAW_TABLES * (pair.block_size + 1) * config.integer("vocab_size") * 4
    return laws + longest * width * dtype.itemsize


def free_memory(device: torch.device) -> int:
    """Bytes free on a device; on a CPU, what the system can hand out without swapping."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            table = dict(line.split(":") for line in lines)
        return int(table["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError):  # not Linux
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def memory_check(pair: PairFile, device: torch.device | None = None, dtype: torch.dtype | None = None) -> MemoryCheck:
    """What `specfrontier pairs` shows: the pair on one device, by default where `load_pair` would put it."""
    device = device or torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = dtype or (torch.bfloat16 if device.type == "cuda" else torch.float32)
    return MemoryCheck(memory_need(pair, dtype), str(device), free_memory(device))


def check_memory(pair: PairFile, verifier: torch.device, drafter: torch.device, dtype: torch.dtype) -> None:
    """Raise InputError, in one line, if a pair does not fit where it is to go."""
    need = memory_need(pair, dtype)
    if verifier == drafter:
        shares = {verifier: need.total}
    else:
        shares = {verifier: need.verifier + need.working, drafter: need.drafter}
    for device, share in shares.items():
        free = free_memory(device)
        if share > free:
            raise InputError(
                f"{pair.name} needs about {share / GIB:.1f} GiB on {device}, where {free / GIB:.1f} GiB are free; "
                "place the drafter elsewhere (drafter_device), spread the verifier (device_map='auto'), or free memory"
            )
