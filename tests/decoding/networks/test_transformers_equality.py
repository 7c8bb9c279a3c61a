"""Where transformers has the class, networks and drafters agree with it directly."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from tiny_families import BLOCK, SHAPE, V, diffusion_gemma, filled, qwen3
from transformers import Qwen2Config, Qwen2ForCausalLM

from specfrontier.decoding.drafters.base import DraftRequest, Effort
from specfrontier.decoding.drafters.diffusion_gemma import DiffusionGemmaDrafter
from specfrontier.decoding.materialize import fill
from specfrontier.decoding.networks.backbone import Backbone, BackboneConfig
from specfrontier.decoding.sampling import Sampling

IDS = torch.tensor([1, 2, 3, 1, 2, 3, 1, 4, 0])


@pytest.mark.parametrize("qk_norm", [False, True])
def test_the_backbone_under_a_causal_mask_is_transformers_qwen(qk_norm: bool) -> None:
    shape = SHAPE if qk_norm else {name: value for name, value in SHAPE.items() if name != "head_dim"}
    theirs = qwen3() if qk_norm else filled(Qwen2ForCausalLM(Qwen2Config(**shape)))
    backbone = Backbone(BackboneConfig.from_json(shape, attention_bias=not qk_norm, qk_norm=qk_norm))
    fill(backbone, dict(theirs.state_dict()), "transformers")
    with torch.no_grad():
        torch.testing.assert_close(backbone(IDS[None], causal=True), theirs(IDS[None]).logits, rtol=1e-4, atol=1e-4)


def request(prefix: torch.Tensor, steps: int = 1, alone: bool = False) -> DraftRequest:
    return DraftRequest(prefix, BLOCK, Effort(steps), torch.Generator().manual_seed(3), alone=alone)


@pytest.mark.parametrize("first", [1, 5, 8])
def test_diffusion_gemma_logits_do_not_depend_on_how_the_prefix_was_encoded(first: int) -> None:
    """Encoded in two parts, past the sliding window, or at once by transformers' own forward: the same canvas."""
    network = diffusion_gemma()
    session = DiffusionGemmaDrafter(network, vocab_size=V, sampling=Sampling()).session()
    canvas = torch.tensor([0, 3, 2, 4])
    with torch.inference_mode():
        session._encode(IDS[:first])
        session._encode(IDS)
        ours = session._logits(canvas, None)
        theirs = network(input_ids=IDS[None], decoder_input_ids=canvas[None], cache=_cache(network)).logits[0, :, :V]
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def _cache(network: torch.nn.Module) -> object:
    from transformers import DynamicCache

    return DynamicCache(config=network.config.get_text_config(decoder=True))


def test_diffusion_gemma_conditions_a_step_on_the_law_of_the_step_before() -> None:
    network = diffusion_gemma()
    session = DiffusionGemmaDrafter(network, vocab_size=V + 1, sampling=Sampling()).session()
    canvas, earlier = torch.tensor([0, 3, 2, 4]), torch.randn(BLOCK, V + 1, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        session._encode(IDS)
        ours = session._logits(canvas, earlier.softmax(-1))
        theirs = network(
            input_ids=IDS[None],
            decoder_input_ids=canvas[None],
            self_conditioning_logits=earlier[None],
            cache=_cache(network),
        ).logits[0]
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    assert (ours - session._logits(canvas, None)).abs().max() > 1e-2


def test_temperature_is_annealed_evenly_and_low_for_a_single_step() -> None:
    drafter = DiffusionGemmaDrafter(
        diffusion_gemma(), vocab_size=V, sampling=Sampling(temperature=0.4), temperature_first=0.8
    )
    assert [drafter.sampling_at(k, 3).temperature for k in (1, 2, 3)] == pytest.approx([0.8, 0.6, 0.4])
    assert drafter.sampling_at(1, 1).temperature == 0.4


def test_alone_diffusion_gemma_is_transformers_generation_block_by_block() -> None:
    """Two blocks from a session that caches, and from transformers' generate on the whole prefix."""
    network = diffusion_gemma()
    drafter = DiffusionGemmaDrafter(network, vocab_size=V + 1, sampling=Sampling())
    session, prefix = drafter.session(), IDS
    with torch.inference_mode():
        for _ in range(2):
            ask = request(prefix, steps=3, alone=True)
            draft = session.draft(ask)
            seed = int(torch.randint(2**31, (1,), generator=torch.Generator().manual_seed(3)))
            torch.manual_seed(seed)
            whole = network.generate(prefix[None], max_new_tokens=BLOCK, max_denoising_steps=3)
            assert draft.tokens.tolist() == whole.sequences[0, len(prefix) :].tolist()
            assert 1 <= draft.forwards <= 3
            assert draft.laws is None
            prefix = torch.cat((prefix, draft.tokens))


def test_a_shorter_request_keeps_the_canvas_and_drops_its_end() -> None:
    drafter = DiffusionGemmaDrafter(diffusion_gemma(), vocab_size=V, sampling=Sampling())
    with torch.inference_mode():
        whole = drafter.session().draft(request(IDS, 2))
        part = drafter.session().draft(replace(request(IDS, 2), block_size=2))
    assert part.tokens.tolist() == whole.tokens[:2].tolist()
