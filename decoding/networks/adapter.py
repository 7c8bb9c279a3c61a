"""Low-rank adapters whose update applies to some rows only: Uno drafts and verifies with one set of weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from specfrontier.decoding.config_table import ConfigTable
from specfrontier.decoding.networks.backbone import Backbone, KeyValueCache
from specfrontier.errors import InputError

PREFIX = "base_model.model."


@dataclass
class Gate:
    """Which rows of the running forward are adapted: [T, 1], one or zero; shared by all adapted layers."""

    rows: Tensor | None = None


class GatedLinear(nn.Module):
    """`base(x) + gate * scale * B A x`."""

    def __init__(self, base: nn.Linear, rank: int, scale: float, gate: Gate) -> None:
        super().__init__()
        self.base, self.scale, self.gate = base, scale, gate
        self.lora_A = nn.Linear(base.in_features, rank, bias=False)
        self.lora_B = nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + self.lora_B(self.lora_A(x) * self.gate.rows) * self.scale


class AdaptedBackbone(nn.Module):
    """A causal backbone with an adapter that a forward switches on row by row.

    Args:
        backbone: the verifier's own weights; its projections are wrapped in place.
        adapter: `adapter_config.json`: rank `r`, `lora_alpha`, `target_modules`.
    """

    def __init__(self, backbone: Backbone, adapter: Mapping[str, Any]) -> None:
        super().__init__()
        table = ConfigTable.of(adapter)
        if table.flag("use_dora") or table.flag("use_rslora") or table.text("bias", "none") != "none":
            raise InputError("the adapter uses DoRA, rank-stabilised scaling or biases; only plain LoRA adapters load")
        self.backbone, self.gate = backbone, Gate()
        rank, targets = table.integer("r"), table.texts("target_modules")
        if not targets:
            raise InputError(f"{table.origin} lacks target_modules; give the list of adapted modules")
        scale = table.number("lora_alpha") / rank
        for layer in backbone.model.layers:
            parts: tuple[nn.Module, ...] = (layer.self_attn, layer.mlp)  # type: ignore[assignment]
            for part in parts:
                for name in [n for n, _ in part.named_children() if n in targets]:
                    setattr(part, name, GatedLinear(getattr(part, name), rank, scale, self.gate))

    def adapter_names(self) -> dict[str, str]:
        """The name that a PEFT checkpoint gives each adapter weight, and the name it has here."""
        ours = [name for name, _ in self.named_parameters() if ".lora_" in name]
        return {PREFIX + name.removeprefix("backbone."): name for name in ours}

    def load_adapter(self, tensors: dict[str, Tensor], source: str) -> None:
        """Make `tensors`, under their names in a PEFT checkpoint, the adapter's weights.

        Raises:
            InputError: if a name is missing, unexpected, or of another shape.
        """
        names = self.adapter_names()
        differing = sorted(names.keys() ^ tensors.keys())
        if differing:
            word = "lacks" if differing[0] in names else "holds unexpected"
            raise InputError(f"the adapter of {source} {word} tensor {differing[0]}; it is not made for this model")
        try:
            self.load_state_dict({names[n]: t for n, t in tensors.items()}, strict=False, assign=True)
        except RuntimeError as error:
            reason = str(error).strip().splitlines()[-1].strip()
            raise InputError(f"the adapter of {source} does not fit the model: {reason}") from error

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.backbone.device

    def new_cache(self) -> KeyValueCache:
        """An empty cache of this network's depth."""
        return self.backbone.new_cache()

    def forward(self, ids: Tensor, adapted: Tensor, cache: KeyValueCache, rows: slice) -> Tensor:
        """Logits [len(rows), V] of the positions `rows` of `ids` [T], causal after the cache.

        `adapted` [T], boolean, says at which positions the adapter is on; their keys are added like the others.
        """
        self.gate.rows = adapted[:, None].to(self.backbone.lm_head.weight.dtype)
        mask = torch.ones(len(ids), cache.length + len(ids), dtype=torch.bool, device=ids.device).tril(cache.length)
        # All rows run through every layer, as the gate is per row.
        hidden = self.backbone.hidden(ids[None], mask=mask, cache=cache)
        return self.backbone.lm_head(hidden[0, rows])
