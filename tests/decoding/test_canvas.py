"""A canvas pass computes no more than it needs, and what it computes is right."""

from __future__ import annotations

import pytest
import torch

from specfrontier.decoding.drafters.canvas import CanvasPass
from specfrontier.decoding.networks.backbone import Backbone, BackboneConfig

CONFIG = BackboneConfig(
    vocab_size=23,
    hidden_size=16,
    intermediate_size=24,
    num_hidden_layers=3,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=8,
)
PREFIX = torch.arange(7)
# float32 rounding of matrix products of other shapes
TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def network() -> Backbone:
    torch.manual_seed(0)
    return Backbone(CONFIG).eval().requires_grad_(False)


@pytest.mark.parametrize("causal", [False, True])
def test_rows_of_the_last_layer_equal_those_of_a_whole_forward(network: Backbone, causal: bool) -> None:
    ids = torch.arange(11)[None]
    whole = network(ids, causal=causal)
    assert torch.allclose(network(ids, causal=causal, rows=slice(4, 9)), whole[:, 4:9], atol=TOLERANCE)


@pytest.mark.parametrize("shifted", [False, True])
def test_the_first_cached_step_is_a_whole_forward(network: Backbone, shifted: bool) -> None:
    canvas = torch.full((5,), 22)
    plain, cached = (
        CanvasPass(network, PREFIX, 5, vocab_size=20, shifted=shifted, prefix_cache=cache)(canvas)
        for cache in (False, True)
    )
    first = len(PREFIX) - shifted
    whole = network(torch.cat((PREFIX, canvas))[None])[0, first : first + 5, :20]
    assert plain.shape == (5, 20)
    assert torch.allclose(plain, whole, atol=TOLERANCE)
    assert torch.allclose(cached, whole, atol=TOLERANCE)


@pytest.mark.parametrize("shifted", [False, True])
def test_later_cached_steps_see_the_new_canvas_and_the_first_steps_prefix(network: Backbone, shifted: bool) -> None:
    """The reference recomputes it by hand: prefix keys of the first canvas, the rest fresh."""
    first_canvas, second_canvas = torch.full((5,), 22), torch.tensor([1, 22, 3, 22, 5])
    steps = CanvasPass(network, PREFIX, 5, vocab_size=23, shifted=shifted, prefix_cache=True)
    steps(first_canvas)
    cached = steps(second_canvas)
    first = len(PREFIX) - shifted
    cache = network.new_cache()
    network(torch.cat((PREFIX, first_canvas))[None], cache=cache)
    cache.crop(first)
    by_hand = network(torch.cat((PREFIX[first:], second_canvas))[None], cache=cache)[0, :5]
    assert torch.allclose(cached, by_hand, atol=TOLERANCE)
    plain = CanvasPass(network, PREFIX, 5, vocab_size=23, shifted=shifted, prefix_cache=False)(second_canvas)
    assert not torch.allclose(cached, plain, atol=TOLERANCE)


def test_without_a_prefix_there_is_nothing_to_reuse(network: Backbone) -> None:
    canvas = torch.full((4,), 22)
    steps = CanvasPass(network, PREFIX[:1], 4, vocab_size=23, shifted=True, prefix_cache=True)
    assert torch.allclose(steps(canvas), steps(canvas), atol=TOLERANCE)
