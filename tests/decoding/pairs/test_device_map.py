"""A device map places the verifier, and only that; what it needs and what it excludes is said in one line."""

from __future__ import annotations

from importlib import util
from pathlib import Path
from typing import Any

import pytest
from tiny_checkpoints import pair_file, qwen3_checkpoint

from specfrontier.decoding import load_pair, loading
from specfrontier.errors import InputError
from specfrontier.theory import Linear


@pytest.fixture
def pair(tmp_path: Path) -> str:
    return str(pair_file(tmp_path, "autoregressive", qwen3_checkpoint(tmp_path / "drafter")))


@pytest.mark.parametrize("device_map", [{"": "cpu"}, {"model": "cpu", "lm_head": "cpu"}])
def test_a_mapped_verifier_generates_what_a_placed_one_does(pair: str, device_map: dict[str, int | str]) -> None:
    pytest.importorskip("accelerate")
    mapped, placed = load_pair(pair, device_map=device_map), load_pair(pair, device="cpu")
    one, other = (p.generate("a b", rule=Linear(0.3), block_size=3, max_new_tokens=6, seed=1) for p in (mapped, placed))
    assert one.tokens == other.tokens


def test_a_map_without_accelerate_names_the_package(pair: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(name: str, *rest: Any) -> Any:
        return None if name == "accelerate" else util.find_spec(name, *rest)

    monkeypatch.setattr(loading, "find_spec", without)
    with pytest.raises(InputError, match=r"needs the package accelerate: pip install 'specfrontier\[device-map\]'"):
        load_pair(pair, device_map="auto")


def test_a_map_and_random_weights_exclude_each_other() -> None:
    with pytest.raises(InputError, match="leave device_map out"):
        load_pair("arith-masked", device_map="auto", random_weights=True)
