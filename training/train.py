"""Train the embedded pairs' models: `python -m training.train all --out checkpoints`.

Stages: `ar` (the small causal drafter), `verifier` (that network grown in depth), `masked` (a diffusion drafter
started from the causal one's weights), `uniform` and `refined` (both started from the masked one's; the latter is what
ships as the masked drafter). A stage resumes from its last checkpoint.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from specfrontier.decoding.networks.backbone import Backbone, BackboneConfig
from training import batches, objectives
from training.muon import optimizers_for
from training.tokenizer import build_tokenizer

DRAFTER = BackboneConfig(
    vocab_size=0, hidden_size=192, intermediate_size=512, num_hidden_layers=3, num_attention_heads=6,
    num_key_value_heads=6, head_dim=32, max_position_embeddings=256, tie_word_embeddings=True,
)  # fmt: skip
VERIFIER_DEPTH = 12
BLOCK_SIZES = (16, 32)
SAVE_EVERY = 20

Loss = Callable[[Backbone, Any, torch.Generator], Tensor]


@dataclass(frozen=True)
class Stage:
    """How long and how fast a model is trained."""

    steps: int
    lr: float
    batch_size: int = 64
    warmup: int = 50
    decay: float = 0.5


StageType = TypeVar("StageType", bound=Stage)
STAGES = {
    "ar": Stage(steps=1100, lr=4e-3),
    "verifier": Stage(steps=200, lr=2e-3),
    "masked": Stage(steps=1800, lr=3e-3),
    "uniform": Stage(steps=700, lr=2e-3),
    "refined": Stage(steps=700, lr=2e-3),
}
DATA_SEEDS = {"ar": 0, "verifier": 0, "masked": 0, "uniform": 0, "refined": 1}
STARTS_FROM = {"verifier": "ar", "masked": "ar", "uniform": "masked", "refined": "masked"}


def grow(small: Backbone, depth: int) -> Backbone:
    """A deeper network that computes what `small` computes: each layer followed by copies that add nothing yet."""
    copies = depth // small.config.num_hidden_layers
    deep = Backbone(replace(small.config, num_hidden_layers=depth))
    deep.model.embed_tokens.load_state_dict(small.model.embed_tokens.state_dict())
    deep.model.norm.load_state_dict(small.model.norm.state_dict())
    for i, layer in enumerate(deep.model.layers):
        layer.load_state_dict(small.model.layers[i // copies].state_dict())
        if i % copies:
            torch.nn.init.zeros_(layer.self_attn.o_proj.weight)
            torch.nn.init.zeros_(layer.mlp.down_proj.weight)
    return deep


def _initial(name: str, folder: Path, config: BackboneConfig, seed: int) -> Backbone:
    torch.manual_seed(seed)
    network = Backbone(config)
    if name == "ar":
        for p_name, p in network.named_parameters():
            if p.ndim == 2:
                torch.nn.init.normal_(p, std=0.02 if "embed" in p_name else p.shape[1] ** -0.5)
        return network
    network.load_state_dict(torch.load(folder / f"{STARTS_FROM[name]}.pt")["network"])
    return grow(network, VERIFIER_DEPTH) if name == "verifier" else network


def _data(name: str, tokenizer: PreTrainedTokenizerFast, stage: Stage, seed: int) -> tuple[Iterator[Any], Loss]:
    if name in ("ar", "verifier"):
        return batches.causal_batches(tokenizer, "train", seed, stage.batch_size), objectives.causal_loss
    data = batches.canvas_batches(tokenizer, "train", seed, stage.batch_size, BLOCK_SIZES)
    if name in ("masked", "refined"):
        return data, objectives.masked_loss(tokenizer.mask_token_id)
    return data, objectives.uniform_loss(len(tokenizer))


def learning_rate(step: int, stage: Stage) -> float:
    """Linear warm-up, constant, then linear decay to nothing over the last `decay` of the steps."""
    return stage.lr * min(1.0, (step + 1) / stage.warmup, (stage.steps - step) / (stage.decay * stage.steps))


def train(name: str, stage: Stage, folder: Path, seed: int) -> Backbone:
    """Train one model, or go on from its checkpoint in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = build_tokenizer()
    network = _initial(name, folder, replace(DRAFTER, vocab_size=len(tokenizer)), seed)
    optimizers = optimizers_for(network, stage.lr)
    path, first = folder / f"{name}.pt", 0
    if path.exists():
        saved = torch.load(path)
        network.load_state_dict(saved["network"])
        for optimizer, state in zip(optimizers, saved["optimizers"], strict=True):
            optimizer.load_state_dict(state)
        first = saved["step"]
    data, loss_of = _data(name, tokenizer, stage, seed + DATA_SEEDS[name] + 1000 * first)
    generator = torch.Generator().manual_seed(seed + first)

    started, mean = time.monotonic(), 0.0
    for step in range(first, stage.steps):
        loss = loss_of(network, next(data), generator)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step, stage)
            optimizer.step()
            optimizer.zero_grad()
        mean += (loss.item() - mean) / min(step - first + 1, 50)
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == stage.steps:
            pace = (time.monotonic() - started) / (step + 1 - first)
            print(f"{name} step {step + 1}/{stage.steps} loss {mean:.4f} {pace:.2f} s/step", flush=True)
            state = {"network": network.state_dict(), "optimizers": [o.state_dict() for o in optimizers]}
            torch.save({**state, "config": asdict(network.config), "step": step + 1}, path.with_suffix(".tmp"))
            path.with_suffix(".tmp").replace(path)
    return network


def stage_parser(description: str | None, stages: Mapping[str, Stage], out: str) -> argparse.ArgumentParser:
    """Arguments of a program that trains stages."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("stage", choices=[*stages, "all"])
    parser.add_argument("--out", type=Path, default=Path(out))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, help="override the number of steps")
    parser.add_argument("--threads", type=int, default=2)
    return parser


def chosen_stages(arguments: argparse.Namespace, stages: Mapping[str, StageType]) -> dict[str, StageType]:
    """The stages asked for, at the number of steps asked for."""
    chosen = stages if arguments.stage == "all" else {arguments.stage: stages[arguments.stage]}
    if arguments.steps is None:
        return dict(chosen)
    return {name: replace(stage, steps=arguments.steps) for name, stage in chosen.items()}


def main() -> None:
    arguments = stage_parser(__doc__, STAGES, "checkpoints").parse_args()
    torch.set_num_threads(arguments.threads)
    for name, stage in chosen_stages(arguments, STAGES).items():
        train(name, stage, arguments.out, arguments.seed)


if __name__ == "__main__":
    main()
