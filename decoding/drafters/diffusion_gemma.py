"""DiffusionGemma, through transformers' own classes: uniform diffusion over a canvas, with a cached prefix."""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import (
    AutoConfig,
    DiffusionGemmaForBlockDiffusion,
    DynamicCache,
    LogitsProcessorList,
    TopPLogitsWarper,
)

from specfrontier.decoding.checkpoints import Checkpoint
from specfrontier.decoding.drafters.base import Draft, DraftRequest, Effort
from specfrontier.decoding.drafters.uniform import check_fixed_steps, redraw_block
from specfrontier.decoding.pretrained import check_sizes, from_folder, transformers_errors
from specfrontier.decoding.sampling import Sampling


def load_diffusion_gemma(
    checkpoint: Checkpoint, device: torch.device, dtype: torch.dtype
) -> DiffusionGemmaForBlockDiffusion:
    """Transformers' model, from a folder or of random weights."""
    checkpoint.config.integer("canvas_length")
    check_sizes(checkpoint.text_config)
    with transformers_errors(f"DiffusionGemma from {checkpoint.name}"):
        if checkpoint.folder is not None:
            network = from_folder(DiffusionGemmaForBlockDiffusion, checkpoint, dtype=dtype)
        else:
            table = {name: value for name, value in checkpoint.config.items() if name != "model_type"}
            with device:
                config = AutoConfig.for_model("diffusion_gemma", **table)
                network = DiffusionGemmaForBlockDiffusion._from_config(config, dtype=dtype)
    return network.to(device).eval().requires_grad_(False)


class DiffusionGemmaDrafter:
    """Fixed K as the paper modifies it, so that each token has the law of the last step's draw.

    The model always denoises its whole canvas; a shorter request keeps the first tokens. Each step reads the
    law of the step before (self-conditioning). The temperature falls evenly from `temperature_first` in the first
    step to the sampling's in the last, which is the only one if K = 1. Alone, it decodes by its native
    entropy-bound sampler with at most K steps a canvas, whose output is the canvas's argmax: a point mass.

    Args:
        network: transformers' model.
        vocab_size: laws and noise are over ids below this.
        temperature_first: of the first of several steps; None keeps one temperature.
    """

    feature_layers: tuple[int, ...] = ()

    def __init__(
        self,
        network: DiffusionGemmaForBlockDiffusion,
        *,
        vocab_size: int,
        sampling: Sampling,
        temperature_first: float | None = None,
    ) -> None:
        self.network, self.vocab_size, self.sampling = network, vocab_size, sampling
        self.max_block_size = int(network.config.canvas_length)  # type: ignore[arg-type]
        self.temperature_first = sampling.temperature if temperature_first is None else temperature_first

    def session(self) -> DiffusionGemmaSession:
        return DiffusionGemmaSession(self)

    def check_effort(self, effort: Effort) -> None:
        check_fixed_steps(effort, "DiffusionGemma as a drafter")

    def sampling_at(self, step: int, steps: int) -> Sampling:
        """The sampling of step 1..K."""
        if steps == 1 or self.sampling.greedy:
            return self.sampling
        first, last = self.temperature_first, self.sampling.temperature
        return self.sampling.at_temperature(first + (last - first) * (step - 1) / (steps - 1))


class DiffusionGemmaSession:
    """Keeps the encoder's keys and values of the prefix, which the decoder reads and never changes."""

    def __init__(self, drafter: DiffusionGemmaDrafter) -> None:
        self.drafter = drafter
        self.cache = DynamicCache(config=drafter.network.config.get_text_config(decoder=True))
        self.encoded = 0

    def draft(self, request: DraftRequest) -> Draft:
        steps = check_fixed_steps(request.effort, "DiffusionGemma as a drafter")
        return self._native(request, steps) if request.alone else self._fixed(request, steps)

    def _fixed(self, request: DraftRequest, steps: int) -> Draft:
        drafter, prefix = self.drafter, request.prefix
        self._encode(prefix)
        previous: list[Tensor | None] = [None]

        def laws_of(noisy: Tensor, step: int) -> Tensor:
            law = drafter.sampling_at(step, steps).law(self._logits(noisy, previous[0]).to(prefix.device))
            previous[0] = law
            return law

        noise = (0, drafter.vocab_size)
        tokens, laws = redraw_block(laws_of, drafter.max_block_size, steps, noise, request.generator)
        kept = None if drafter.sampling.greedy else laws
        draft = Draft(tokens, kept, torch.full_like(tokens, steps), forwards=steps)
        return draft.truncated(request.block_size)

    def _encode(self, prefix: Tensor) -> None:
        """Encode the tokens that are new since the last block."""
        new = prefix[self.encoded :].to(self.drafter.network.device)[None]
        encoder = self.drafter.network.model.encoder
        positions = torch.arange(self.encoded, len(prefix), device=new.device)[None]
        masks = encoder.create_masks_for_generate(
            config=self.drafter.network.config,
            inputs_embeds=torch.empty(1, new.shape[1], 0, dtype=self.drafter.network.dtype, device=new.device),
            attention_mask=torch.ones(1, len(prefix), dtype=torch.bool, device=new.device),
            cache=self.cache,
            position_ids=positions,
        )
        encoder(input_ids=new, attention_mask=masks, cache=self.cache, position_ids=positions)
        self.encoded = len(prefix)

    def _logits(self, canvas: Tensor, previous: Tensor | None) -> Tensor:
        """Logits [canvas, V]; `previous` is the law of the step before."""
        network = self.drafter.network
        out = network(
            decoder_input_ids=canvas[None].to(network.device),
            self_conditioning_logits=None if previous is None else self._signal(previous),
            decoder_position_ids=torch.arange(self.encoded, self.encoded + len(canvas), device=network.device)[None],
            cache=self.cache,
        )
        return out.logits[0, :, : self.drafter.vocab_size]

    def _signal(self, law: Tensor) -> Tensor:
        """The law [canvas, V] as logits over all of the network's ids, where those that laws leave out have none."""
        network = self.drafter.network
        padding = network.config.get_text_config().vocab_size - law.shape[-1]
        return torch.nn.functional.pad(law, (0, padding)).log()[None].to(network.device)

    def _native(self, request: DraftRequest, steps: int) -> Draft:
        """One canvas by transformers' own generation; its random numbers are seeded from the request's."""
        drafter, prefix = self.drafter, request.prefix
        network = drafter.network
        new = prefix[self.encoded :].to(network.device)
        processors = LogitsProcessorList()
        if drafter.sampling.top_p is not None:
            processors.append(TopPLogitsWarper(drafter.sampling.top_p))
        seed = int(torch.randint(2**31, (1,), generator=request.generator, device=request.generator.device))
        forwards = _Counter()
        handle = network.model.decoder.register_forward_pre_hook(forwards)
        try:
            with torch.random.fork_rng(devices=[network.device] if network.device.type == "cuda" else []):
                torch.manual_seed(seed)
                out = network.generate(
                    new[None],
                    cache=self.cache,
                    max_new_tokens=drafter.max_block_size,
                    max_denoising_steps=steps,
                    logits_processor=processors,
                )
        finally:
            handle.remove()
        self.encoded = len(prefix)
        tokens = out.sequences[0, len(new) :][: request.block_size].to(prefix.device)
        return Draft(tokens, None, torch.full_like(tokens, forwards.count), forwards.count, selects_on_draws=True)


class _Counter:
    """Counts the decoder's forwards: the native sampler stops when it is sure."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, *_: object) -> None:
        self.count += 1
