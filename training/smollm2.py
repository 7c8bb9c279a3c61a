"""Train the drafters of SmolLM2-135M-Instruct: `python -m training.smollm2 all --text checkpoints/smollm2/text`.

Stages: `ar` (the verifier's first and sixteenth layer), `block` (started from `ar`; anchored blocks filled over
denoising steps) and `dflash` (`ar`'s first layer, that reads the verifier's hidden states). Embedding and head are the
verifier's, shared and frozen. A stage goes on from its checkpoint, and reads what text there is at the beginning of
every pass over it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
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
from training.train import Stage, chosen_stages, learning_rate, stage_parser
from training.verifier_text import FEATURE_LAYERS, TEMPERATURE, Sequence, load, verifier

BLOCK_SIZE = 16
BLOCKS_PER_TEXT = 24
MASK_ID = 16
"""`<empty_output>`, a special token of the vocabulary that the chat model never writes."""
HELD_OUT_FILES = 1
SAVE_EVERY = 20


@dataclass(frozen=True)
class DrafterStage(Stage):
    """How long and how fast a drafter is trained, and the verifier's layers that it is made of."""

    lr: float = 1e-3
    batch_size: int = 8
    warmup: int = 20
    decay: float = 0.6
    layers: tuple[int, ...] = (0, 15)
    block_size: int = BLOCK_SIZE


STAGES = {
    "ar": DrafterStage(steps=800),
    "block": DrafterStage(steps=560, lr=1.5e-3),
    "dflash": DrafterStage(steps=900, layers=(0,), block_size=8, lr=1.5e-3),
}
STARTS_FROM = {"block": "ar", "dflash": "ar"}


@dataclass(frozen=True)
class Slots:
    """What a drafter says of M tokens of one text.

    Attributes:
        hidden: [M, hidden], what the head turns into q.
        where: [M], positions of the tokens in the text.
        slot: [M], 0, 1, ... within the block that each stands in.
        weights: [M], in the loss.
        soft: [M], whether the verifier's law is the right target; otherwise the token is.
    """

    hidden: Tensor
    where: Tensor
    slot: Tensor
    weights: Tensor
    soft: Tensor


Draft = Callable[[Any, Sequence, torch.Generator], Slots]


def config_of(model: PreTrainedModel, layers: int) -> BackboneConfig:
    """The verifier's shape at another depth."""
    table = {**model.config.to_dict(), "num_hidden_layers": layers}
    return BackboneConfig.from_json(table, attention_bias=False, qk_norm=False)


def initial(name: str, model: PreTrainedModel, layers: tuple[int, ...]) -> nn.Module:
    """A drafter made of the verifier's own layers, embedding and head (both frozen).

    The feature-conditioned one begins by reading the last of the features alone.
    """
    config = config_of(model, len(layers))
    weights = model.model
    if name == "dflash":
        network = FeatureBackbone(config, len(FEATURE_LAYERS))
        network.embed = [model.get_input_embeddings()]  # in a list, so that it is no parameter of the drafter
        body = network
        with torch.no_grad():
            network.fc.weight.zero_()
            network.fc.weight[:, -config.hidden_size :] = torch.eye(config.hidden_size)
            network.hidden_norm.weight.copy_(weights.layers[layers[0]].input_layernorm.weight)
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


def causal_slots(network: Backbone, text: Sequence, generator: torch.Generator) -> Slots:
    """Every token of the answer, each a block of its own."""
    where = torch.arange(text.prompt_length, len(text.ids))
    hidden = network.hidden(text.ids[None, :-1], causal=True)[0, where - 1]
    return Slots(
        hidden, where, torch.zeros_like(where), torch.ones(len(where)), torch.ones_like(where, dtype=torch.bool)
    )


def block_slots(network: Backbone, text: Sequence, generator: torch.Generator) -> Slots:
    """Hidden slots of blocks cut out of the answer, the row before a slot predicting it."""
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
    return _hidden_slots(body.norm(x)[0], blocks, first_row=0)


def dflash_slots(network: FeatureBackbone, text: Sequence, generator: torch.Generator) -> Slots:
    """The same for blocks that see the text through the verifier's hidden states; row i predicts its own slot."""
    blocks = cut_blocks(
        text.ids, text.prompt_length, BLOCKS_PER_TEXT, STAGES["dflash"].block_size - 1, MASK_ID, True, generator
    )
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
    return _hidden_slots(network.norm(x)[0], blocks, first_row=1)


def _hidden_slots(rows: Tensor, blocks: Blocks, first_row: int) -> Slots:
    """The hidden slots, of which the first is predicted by row `first_row` of its block."""
    rows = rows.unflatten(0, (-1, blocks.size + 1))[:, first_row : first_row + blocks.size]
    block, slot = blocks.hidden.nonzero(as_tuple=True)
    chosen = blocks.hidden
    return Slots(rows[chosen], blocks.targets()[chosen], slot, blocks.weights()[chosen], blocks.soft[block])


DRAFTS: dict[str, Draft] = {"ar": causal_slots, "block": block_slots, "dflash": dflash_slots}


def loss_of(slots: Slots, head: SampledHead, text: Sequence) -> Tensor:
    """Mean loss of the slots: KL(p || q), or -log q of the token where something to its right was shown."""
    soft, hard = slots.soft, ~slots.soft
    law = text.final[slots.where[soft] - 1].float()
    total = head.divergence(slots.hidden[soft], law, slots.weights[soft])
    if hard.any():
        total = total + head.surprise(slots.hidden[hard], text.ids[slots.where[hard]], slots.weights[hard])
    return total / slots.weights.sum()


def texts(folder: Path, seed: int) -> Iterator[Sequence]:
    """Training texts in random order, without end; files that appear meanwhile are read on the next pass."""
    rng = Random(seed)
    while True:
        pool = [s for path in sorted(folder.glob("*.safetensors"))[HELD_OUT_FILES:] for s in load(path)]
        rng.shuffle(pool)
        yield from pool


def held_out(folder: Path, count: int = 24) -> list[Sequence]:
    """Texts that no stage trains on."""
    return [s for path in sorted(folder.glob("*.safetensors"))[:HELD_OUT_FILES] for s in load(path)][:count]


@torch.no_grad()
def overlap_by_slot(network: nn.Module, draft: Draft, head: SampledHead, pool: list[Sequence]) -> Tensor:
    """Mean of sum min(p, q) by slot over held-out texts, the same blocks every time."""
    generator = torch.Generator().manual_seed(0)
    total, count = torch.zeros(BLOCK_SIZE), torch.zeros(BLOCK_SIZE)
    for text in pool:
        found = draft(network, text, generator)
        law = text.final[found.where[found.soft] - 1].float()
        total.index_add_(0, found.slot[found.soft], head.overlap(found.hidden[found.soft], law))
        count += torch.bincount(found.slot[found.soft], minlength=BLOCK_SIZE)
    return (total / count)[count > 0]


def train(name: str, stage: DrafterStage, folder: Path, out: Path, seed: int = 0) -> nn.Module:
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
        if step % 50 == 0:
            head.use(head.tokens)
            print(f"{name} held out {_numbers(overlap_by_slot(network, DRAFTS[name], head, pool))}", flush=True)
        batch, total = [next(data) for _ in range(stage.batch_size)], 0.0
        head.resample(torch.cat([text.ids for text in batch]), generator)
        for text in batch:
            loss = loss_of(DRAFTS[name](network, text, generator), head, text) / stage.batch_size
            loss.backward()
            total += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, stage)
        optimizer.step()
        optimizer.zero_grad()
        mean += (total - mean) / min(step - first + 1, 20)
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == stage.steps:
            pace = (time.monotonic() - started) / (step + 1 - first)
            print(f"{name} step {step + 1}/{stage.steps} loss {mean:.4f} {pace:.2f} s/step", flush=True)
            _save(network, optimizer, stage, step + 1, path)
    head.use(head.tokens)
    print(f"{name} held out {_numbers(overlap_by_slot(network, DRAFTS[name], head, pool))}", flush=True)
    return network


def own_weights(network: nn.Module) -> dict[str, Tensor]:
    """What a checkpoint holds: all but the tensors shared with the verifier."""
    shared = ("model.embed_tokens.weight", "lm_head.weight")
    return {name: tensor for name, tensor in network.state_dict().items() if name not in shared}


def _save(network: nn.Module, optimizer: torch.optim.Optimizer, stage: DrafterStage, step: int, path: Path) -> None:
    state: dict[str, Any] = {"network": own_weights(network), "optimizer": optimizer.state_dict(), "step": step}
    torch.save({**state, "config": asdict(network.config), "layers": stage.layers}, path.with_suffix(".tmp"))
    path.with_suffix(".tmp").replace(path)


def _numbers(values: Tensor) -> str:
    return " ".join(f"{v:.3f}" for v in values.tolist())


def main() -> None:
    parser = stage_parser(__doc__, STAGES, "checkpoints/smollm2")
    parser.add_argument("--text", type=Path, default=Path("checkpoints/smollm2/text"))
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    for name, stage in chosen_stages(arguments, STAGES).items():
        train(name, stage, arguments.text, arguments.out, arguments.seed)


if __name__ == "__main__":
    main()
