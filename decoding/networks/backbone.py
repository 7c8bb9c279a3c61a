"""A pre-norm, rotary, gated-MLP transformer: the body that the diffusion drafters share.

Parameter names are those of Qwen2 and Qwen3 in transformers, and so of Dream's and SDAR's public checkpoints:
weights load one to one, and an autoregressive checkpoint can initialise a diffusion drafter (Dream's recipe).
What differs between families is a switch of the configuration (`attention_bias`, `qk_norm`) and who sees whom,
which the caller says with a mask.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from specfrontier.decoding.config_table import ConfigTable
from specfrontier.decoding.networks.reduced_head import ReducedHead

MOST_LAYERS = 1000


@dataclass(frozen=True)
class BackboneConfig:
    """Shape of a backbone, read from a checkpoint's `config.json`.

    `attention_bias`: biases on q, k and v (Qwen2, Dream). `qk_norm`: RMS norm of each head's q and k (Qwen3, SDAR).
    `draft_vocab_size`: tokens that may be proposed, if not all (`networks.reduced_head`).
    """

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10_000.0
    max_position_embeddings: int = 2048
    attention_bias: bool = True
    qk_norm: bool = False
    tie_word_embeddings: bool = False
    draft_vocab_size: int | None = None

    @classmethod
    def from_json(cls, config: Mapping[str, Any], *, attention_bias: bool, qk_norm: bool) -> BackboneConfig:
        """Read the fields of a Qwen-like `config.json` (rope in `rope_theta` or in `rope_parameters`).

        Raises:
            InputError: if a field is missing, of another type, or out of range.
        """
        table = ConfigTable.of(config)
        hidden_size, heads = table.integer("hidden_size"), table.integer("num_attention_heads")
        shared = table.integer("num_key_value_heads", heads, high=heads)
        if heads % shared:
            raise table.refusal("num_key_value_heads", f"give a divisor of num_attention_heads ({heads})")
        head_dim = table.integer("head_dim", hidden_size // heads)
        if head_dim % 2:
            raise table.refusal("head_dim" if table.has("head_dim") else "hidden_size", "give heads of an even size")
        vocab_size = table.integer("vocab_size")
        rope = table if table.has("rope_theta") else table.table("rope_parameters")
        return cls(
            vocab_size=vocab_size,
            hidden_size=hidden_size,
            intermediate_size=table.integer("intermediate_size"),
            num_hidden_layers=table.integer("num_hidden_layers", high=MOST_LAYERS),
            num_attention_heads=heads,
            num_key_value_heads=shared,
            head_dim=head_dim,
            rms_norm_eps=table.number("rms_norm_eps", 1e-6),
            rope_theta=rope.number("rope_theta", 10_000.0),
            max_position_embeddings=table.integer("max_position_embeddings"),
            attention_bias=attention_bias,
            qk_norm=qk_norm,
            tie_word_embeddings=table.flag("tie_word_embeddings"),
            draft_vocab_size=table.optional_integer("draft_vocab_size", high=vocab_size),
        )


Rope = tuple[Tensor, Tensor]
"""cos and sin of the rotary angles of the fed positions."""


EVERY = slice(None)


class KeyValueCache:
    """Keys and values of the positions that later forwards may look at, one pair of tensors a layer."""

    def __init__(self, num_layers: int) -> None:
        self.keys: list[Tensor | None] = [None] * num_layers
        self.values: list[Tensor | None] = [None] * num_layers

    @property
    def length(self) -> int:
        """Number of positions held."""
        first = self.keys[0]
        return 0 if first is None else first.shape[-2]

    def extend(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Append `k`, `v` [N, H, T, D] to a layer and return all that it holds."""
        old_k, old_v = self.keys[layer], self.values[layer]
        if old_k is not None and old_v is not None:
            k, v = torch.cat((old_k, k), dim=-2), torch.cat((old_v, v), dim=-2)
        self.keys[layer], self.values[layer] = k, v
        return k, v

    def crop(self, length: int) -> None:
        """Forget every position from `length` on (a no-op where no more are held)."""
        self.keys = [None if k is None else k[..., :length, :] for k in self.keys]
        self.values = [None if v is None else v[..., :length, :] for v in self.values]


class RMSNorm(nn.Module):
    """x / rms(x) * weight, over the last axis."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), self.weight, self.eps)


class RotaryTable(nn.Module):
    """cos and sin of the rotary angles, computed in float32 and looked up by position."""

    cos: Tensor
    sin: Tensor

    def __init__(self, head_dim: int, theta: float, length: int) -> None:
        super().__init__()
        # On the CPU even where weights are still to come (the meta device): no checkpoint holds this table.
        even = torch.arange(0, head_dim, 2, dtype=torch.float32, device="cpu")
        angle = torch.outer(torch.arange(length, dtype=torch.float32, device="cpu"), theta ** (-even / head_dim))
        angle = torch.cat((angle, angle), dim=-1)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def forward(self, start: int, length: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        rows = slice(start, start + length)
        return self.cos[rows].to(dtype), self.sin[rows].to(dtype)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Apply the rotary embedding to x [N, H, T, D]."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Attention(nn.Module):
    def __init__(self, config: BackboneConfig, index: int) -> None:
        super().__init__()
        self.index, self.head_dim = index, config.head_dim
        self.grouped = config.num_key_value_heads != config.num_attention_heads
        inner = config.num_attention_heads * config.head_dim
        shared = config.num_key_value_heads * config.head_dim
        self.q_proj = nn.Linear(config.hidden_size, inner, bias=config.attention_bias)
        self.k_proj = nn.Linear(config.hidden_size, shared, bias=config.attention_bias)
        self.v_proj = nn.Linear(config.hidden_size, shared, bias=config.attention_bias)
        self.o_proj = nn.Linear(inner, config.hidden_size, bias=False)
        if config.qk_norm:
            self.q_norm = RMSNorm(config.head_dim, config.rms_norm_eps)
            self.k_norm = RMSNorm(config.head_dim, config.rms_norm_eps)
        self.qk_norm = config.qk_norm

    def _heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, self.head_dim))

    def _queries(self, x: Tensor, rope: Rope) -> Tensor:
        q = self._heads(self.q_proj(x))
        q = self.q_norm(q) if self.qk_norm else q
        return rotate(q.transpose(1, 2), *rope)

    def _keys_and_values(self, x: Tensor, rope: Rope) -> tuple[Tensor, Tensor]:
        k, v = self._heads(self.k_proj(x)), self._heads(self.v_proj(x))
        k = self.k_norm(k) if self.qk_norm else k
        return rotate(k.transpose(1, 2), *rope), v.transpose(1, 2)

    def remember(self, x: Tensor, rope: Rope, cache: KeyValueCache) -> None:
        """Add the keys and values of `x` [N, T, hidden] to the cache; nothing is attended to."""
        cache.extend(self.index, *self._keys_and_values(x, rope))

    def forward(
        self,
        x: Tensor,
        rope: Rope,
        mask: Tensor | None,
        causal: bool,
        cache: KeyValueCache | None,
        rows: slice = EVERY,
    ) -> Tensor:
        cos, sin = rope
        q, (k, v) = self._queries(x[:, rows], (cos[rows], sin[rows])), self._keys_and_values(x, rope)
        mask = None if mask is None else mask[..., rows, :]
        if cache is not None:
            k, v = cache.extend(self.index, k, v)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=self.grouped)
        return self.o_proj(out.transpose(1, 2).flatten(-2))


class MLP(nn.Module):
    def __init__(self, config: BackboneConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, config: BackboneConfig, index: int) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.self_attn = Attention(config, index)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.mlp = MLP(config)

    def forward(
        self,
        x: Tensor,
        rope: Rope,
        mask: Tensor | None,
        causal: bool,
        cache: KeyValueCache | None,
        rows: slice = EVERY,
    ) -> Tensor:
        """Outputs [N, len(rows), hidden] of the positions `rows`; all of them give keys and values."""
        x = x[:, rows] + self.self_attn(self.input_layernorm(x), rope, mask, causal, cache, rows)
        return x + self.mlp(self.post_attention_layernorm(x))


class Body(nn.Module):
    """Embedding, layers and final norm."""

    def __init__(self, config: BackboneConfig) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config, i) for i in range(config.num_hidden_layers))
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.rotary = RotaryTable(config.head_dim, config.rope_theta, config.max_position_embeddings)

    def forward(
        self,
        ids: Tensor,
        mask: Tensor | None = None,
        causal: bool = False,
        cache: KeyValueCache | None = None,
        rows: slice = EVERY,
    ) -> Tensor:
        x = self.embed_tokens(ids)
        start = 0 if cache is None else cache.length
        rope = self.rotary(start, ids.shape[-1], x.dtype)
        *early, last = self.layers
        for layer in early:
            x = layer(x, rope, mask, causal, cache)
        # Nothing looks at the last layer's other positions; under `causal` the mask is for all of them.
        x = last(x, rope, mask, causal, cache)[:, rows] if causal else last(x, rope, mask, causal, cache, rows)
        return self.norm(x)


def make_head(config: BackboneConfig) -> nn.Linear | ReducedHead:
    """The head that the configuration asks for; a reduced one takes its rows from the embedding."""
    if config.draft_vocab_size is None:
        return nn.Linear(config.hidden_size, config.vocab_size, bias=False)
    return ReducedHead(config.vocab_size, config.draft_vocab_size)


class Backbone(nn.Module):
    """Token ids [N, T] to hidden states [N, T, hidden], and those to logits [..., V]."""

    def __init__(self, config: BackboneConfig) -> None:
        super().__init__()
        self.config = config
        self.model = Body(config)
        self.lm_head: nn.Linear | ReducedHead = make_head(config)
        self.tie_weights()

    def tie_weights(self) -> None:
        """Let the head be the embedding, if the configuration says so (again, after weights were put in place)."""
        if isinstance(self.lm_head, ReducedHead):
            self.lm_head.take_rows(self.model.embed_tokens.weight)
        elif self.config.tie_word_embeddings:
            self.lm_head.weight = self.model.embed_tokens.weight

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.model.embed_tokens.weight.device

    def new_cache(self) -> KeyValueCache:
        """An empty cache of this network's depth."""
        return KeyValueCache(self.config.num_hidden_layers)

    def hidden(
        self,
        ids: Tensor,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        cache: KeyValueCache | None = None,
        rows: slice = EVERY,
    ) -> Tensor:
        """Final hidden states [N, len(rows), hidden] of `ids` [N, T]; all is seen unless `mask` or `causal` say less.

        `mask`: additive or boolean [T, cached + T] (true: may be seen). `causal` is for an empty cache only.
        `cache`: ids stand after what it holds, and their keys are added to it.
        """
        return self.model(ids, mask, causal, cache, rows)

    def forward(
        self,
        ids: Tensor,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        cache: KeyValueCache | None = None,
        rows: slice = EVERY,
    ) -> Tensor:
        """Logits [N, len(rows), V] of the positions `rows` of `ids`; the other arguments as `hidden`."""
        return self.lm_head(self.hidden(ids, mask=mask, causal=causal, cache=cache, rows=rows))
