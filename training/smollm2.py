"""Train the drafters of SmolLM2-135M-Instruct: `python -m training.smollm2 all --text checkpoints/smollm2/text`.

Stages: `ar` (the verifier's first and sixteenth layer), `block` (started from `ar`; anchored blocks filled over
denoising steps) and `dflash` (`ar`'s first layer, that reads the verifier's hidden states). Embedding and head are the
verifier's, shared and frozen. A stage goes on from its checkpoint, and reads what text there is at the beginning of
every pass over it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from specfrontier.decoding.networks.backbone import Backbone, BackboneConfig
from specfrontier.decoding.networks.feature_backbone import FeatureBackbone
from training.anchored_blocks import Blocks, blocks_mask, cut_blocks, text_and_blocks_mask
from training.sampled_softmax import SampledHead
from training.verifier_text import FEATURE_LAYERS, TEMPERATURE, Sequence, load, verifier

BLOCK_SIZE = 16
BLOCKS_PER_TEXT = 24
MASK_ID = 16
"""`<empty_output>`, a special token of the vocabulary that the chat model never writes."""
HELD_OUT_FILES = 1
SAVE_EVERY = 20


@dataclass(frozen=True)
class Stage:
    """How long and how fast a drafter is trained."""

    steps: int
    layers: tuple[int, ...]
    lr: float = 1e-3
    texts: int = 8
    warmup: int = 20
    decay: float = 0.6


STAGES = {
    "ar": Stage(steps=500, layers=(0, 15)),
    "block": Stage(steps=360, layers=(0, 15), lr=1.5e-3),
    "dflash": Stage(steps=260, layers=(0,), lr=3e-3),
}
STARTS_FROM = {"block": "ar", "dflash": "ar"}


@dataclass(frozen=True)
class Loss:
    """Sum of the weighted losses of some slots, the sum of the weights, and what the held-out set is judged by.

    Attributes:
        overlap: sum of min(p, q), by slot [B] (one slot for the causal drafter).
        slots: number of tokens behind each entry of `overlap`.
    """

    value: Tensor
    weight: Tensor
    overlap: Tensor
    slots: Tensor


Losses = Callable[[nn.Module, SampledHead, Sequence, torch.Generator], Loss]


def config_of(model: PreTrainedModel, layers: int) -> BackboneConfig:
    """The verifier's shape at another depth."""
    table = {**model.config.to_dict(), "num_hidden_layers": layers}
    return BackboneConfig.from_json(table, attention_bias=False, qk_norm=False)


def initial(name: str, model: PreTrainedModel, layers: tuple[int, ...]) -> nn.Module:
    """A drafter made of the verifier's own layers, embedding and head (both frozen)."""
    config = config_of(model, len(layers))
    weights = model.model
    if name == "dflash":
        network = FeatureBackbone(config, len(FEATURE_LAYERS))
        network.embed = [model.get_input_embeddings()]  # in a list, so that it is no parameter of the drafter
        body = network
        with torch.no_grad():
            network.fc.weight.zero_()
            network.fc.weight[:, -config.hidden_size :] = torch.eye(config.hidden_size)
    else:
        network = Backbone(config)
        network.model.embed_tokens.weight = model.get_input_embeddings().weight
        network.tie_weights()
        network.model.embed_tokens.weight.requires_grad_(False)
        body = network.model
    for ours, theirs in zip(body.layers, layers, strict=True):
        ours.load_state_dict(weights.layers[theirs].state_dict())
    body.norm.load_state_dict(weights.norm.state_dict())
    return network


def start_from(network: nn.Module, trained: dict[str, Tensor]) -> None:
    """Put another drafter's layers and norm in place of the verifier's, as many as `network` has."""
    renamed = {
        key.removeprefix("model.") if isinstance(network, FeatureBackbone) else key: t for key, t in trained.items()
    }
    ours = network.state_dict()
    network.load_state_dict({key: t for key, t in renamed.items() if key in ours}, strict=False)


def causal_loss(network: Backbone, head: SampledHead, text: Sequence, generator: torch.Generator) -> Loss:
    """KL(p || q) of every token of the answer."""
    hidden = network.hidden(text.ids[None, :-1], causal=True)[0, text.prompt_length - 1 :]
    target = text.final[text.prompt_length - 1 :].float()
    weights = torch.ones(len(hidden))
    overlap = head.overlap(hidden.detach(), target).sum()[None]
    return Loss(head.divergence(hidden, target, weights), weights.sum(), overlap, weights.sum()[None])


def block_loss(network: Backbone, head: SampledHead, text: Sequence, generator: torch.Generator) -> Loss:
    """Loss of the hidden slots of blocks cut out of the answer, the row before a slot predicting it."""
    blocks = cut_blocks(text.ids, text.prompt_length, BLOCKS_PER_TEXT, BLOCK_SIZE, MASK_ID, False, generator)
    length = len(text.ids) - 1
    ids = torch.cat((text.ids[:-1], blocks.inputs.flatten()))[None]
    positions = torch.cat((torch.arange(length), blocks.positions()))
    body = network.model
    rope = (body.rotary.cos[positions], body.rotary.sin[positions])
    mask = text_and_blocks_mask(length, blocks)
    x = body.embed_tokens(ids)
    *early, last = body.layers
    for layer in early:
        x = layer(x, rope, mask, False, None)
    x = last(x, rope, mask, False, None, slice(length, None))
    return _slots_loss(body.norm(x)[0], blocks, head, text, soft=blocks.soft)


def dflash_loss(network: FeatureBackbone, head: SampledHead, text: Sequence, generator: torch.Generator) -> Loss:
    """The same for blocks that see the text through the verifier's hidden states; row i predicts its own slot."""
    blocks = cut_blocks(text.ids, text.prompt_length, BLOCKS_PER_TEXT, BLOCK_SIZE - 1, MASK_ID, True, generator)
    context = network.hidden_norm(network.fc(text.features.float()))[None]
    rotary, length = network.rotary, context.shape[1]
    cache = network.new_cache()
    for layer in network.layers:
        layer.self_attn.remember(context, (rotary.cos[:length], rotary.sin[:length]), cache)
    positions = blocks.positions()
    rope = (rotary.cos[positions], rotary.sin[positions])
    x = network.embed[0](blocks.inputs.flatten())[None]
    mask = blocks_mask(length, blocks)
    for layer in network.layers:
        x = layer(x, rope, mask, False, cache)
    return _slots_loss(network.norm(x)[0], blocks, head, text, soft=blocks.soft, own_row=True)


def _slots_loss(
    hidden: Tensor, blocks: Blocks, head: SampledHead, text: Sequence, soft: Tensor, own_row: bool = False
) -> Loss:
    rows = hidden.unflatten(0, (-1, blocks.size + 1))
    rows = rows[:, 1:] if own_row else rows[:, :-1]
    targets, weights = blocks.targets(), blocks.weights()
    value = hidden.new_zeros(())
    overlap, slots = torch.zeros(blocks.size), torch.zeros(blocks.size)
    for kind in (True, False):
        chosen = blocks.hidden & (soft == kind)[:, None]
        if not chosen.any():
            continue
        where, weight = targets[chosen], weights[chosen]
        if kind:
            law = text.final[where - 1].float()
            value = value + head.divergence(rows[chosen], law, weight)
            whole = chosen.nonzero()[:, 1]
            overlap.index_add_(0, whole, head.overlap(rows[chosen].detach(), law))
            slots.index_add_(0, whole, torch.ones(len(whole)))
        else:
            value = value + head.surprise(rows[chosen], text.ids[where], weight)
    return Loss(value, weights.sum(), overlap, slots)


LOSSES: dict[str, Losses] = {"ar": causal_loss, "block": block_loss, "dflash": dflash_loss}


def texts(folder: Path, seed: int) -> Iterator[Sequence]:
    """Training texts in random order, without end; files that appear meanwhile are read on the next pass."""
    rng = Random(seed)
    while True:
        pool = [s for path in sorted(folder.glob("*.safetensors"))[HELD_OUT_FILES:] for s in load(path)]
        rng.shuffle(pool)
        yield from pool


def held_out(folder: Path, count: int = 32) -> list[Sequence]:
    """Texts that no stage trains on."""
    return [s for path in sorted(folder.glob("*.safetensors"))[:HELD_OUT_FILES] for s in load(path)][:count]


@torch.no_grad()
def overlap_by_slot(network: nn.Module, losses: Losses, head: SampledHead, pool: list[Sequence]) -> Tensor:
    """Mean of sum min(p, q) by slot over held-out texts, the same blocks every time."""
    generator = torch.Generator().manual_seed(0)
    found = [losses(network, head, text, generator) for text in pool]
    return sum(f.overlap for f in found) / sum(f.slots for f in found).clamp(min=1)


def _rate(step: int, stage: Stage) -> float:
    return stage.lr * min(1.0, (step + 1) / stage.warmup, (stage.steps - step) / (stage.decay * stage.steps))


def train(name: str, stage: Stage, folder: Path, out: Path, seed: int = 0) -> nn.Module:
    """Train one drafter, or go on from its checkpoint in `out`."""
    out.mkdir(parents=True, exist_ok=True)
    model, _ = verifier()
    network = initial(name, model, stage.layers)
    if name in STARTS_FROM:
        start_from(network, torch.load(out / f"{STARTS_FROM[name]}.pt")["network"])
    trained = [p for p in network.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, stage.lr, betas=(0.9, 0.98), weight_decay=0.0)
    path, first = out / f"{name}.pt", 0
    if path.exists():
        saved = torch.load(path)
        network.load_state_dict(saved["network"], strict=False)
        optimizer.load_state_dict(saved["optimizer"])
        first = saved["step"]
    seen = torch.cat([s.ids for p in sorted(folder.glob("*.safetensors")) for s in load(p)])
    head = SampledHead(model.get_output_embeddings().weight.detach(), seen, TEMPERATURE)
    generator = torch.Generator().manual_seed(seed + first)
    pool, data = held_out(folder), texts(folder, seed + first)
    del model

    started, mean = time.monotonic(), 0.0
    for step in range(first, stage.steps):
        head.resample(generator)
        if step % 50 == 0:
            print(f"{name} held out {_numbers(overlap_by_slot(network, LOSSES[name], head, pool))}", flush=True)
        total = 0.0
        for text in (next(data) for _ in range(stage.texts)):
            loss = LOSSES[name](network, head, text, generator)
            (loss.value / loss.weight / stage.texts).backward()
            total += float(loss.value.detach() / loss.weight / stage.texts)
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        for group in optimizer.param_groups:
            group["lr"] = _rate(step, stage)
        optimizer.step()
        optimizer.zero_grad()
        mean += (total - mean) / min(step - first + 1, 20)
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == stage.steps:
            pace = (time.monotonic() - started) / (step + 1 - first)
            print(f"{name} step {step + 1}/{stage.steps} loss {mean:.4f} {pace:.2f} s/step", flush=True)
            _save(network, optimizer, stage, step + 1, path)
    print(f"{name} held out {_numbers(overlap_by_slot(network, LOSSES[name], head, pool))}", flush=True)
    return network


def own_weights(network: nn.Module) -> dict[str, Tensor]:
    """What a checkpoint holds: all but the tensors shared with the verifier."""
    shared = ("model.embed_tokens.weight", "lm_head.weight")
    return {name: tensor for name, tensor in network.state_dict().items() if name not in shared}


def _save(network: nn.Module, optimizer: torch.optim.Optimizer, stage: Stage, step: int, path: Path) -> None:
    state: dict[str, Any] = {"network": own_weights(network), "optimizer": optimizer.state_dict(), "step": step}
    torch.save({**state, "config": asdict(network.config), "layers": stage.layers}, path.with_suffix(".tmp"))
    path.with_suffix(".tmp").replace(path)


def _numbers(values: Tensor) -> str:
    return " ".join(f"{v:.3f}" for v in values.tolist())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stage", choices=[*STAGES, "all"])
    parser.add_argument("--text", type=Path, default=Path("checkpoints/smollm2/text"))
    parser.add_argument("--out", type=Path, default=Path("checkpoints/smollm2"))
    parser.add_argument("--steps", type=int, help="override the number of steps")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    for name in STAGES if arguments.stage == "all" else [arguments.stage]:
        stage = STAGES[name] if arguments.steps is None else replace(STAGES[name], steps=arguments.steps)
        train(name, stage, arguments.text, arguments.out)


if __name__ == "__main__":
    main()
