"""Any task of EleutherAI's lm-evaluation-harness on a pair (extra `harness`).

```python
import lm_eval
from specfrontier.profiling.harness import PairLM

lm_eval.simple_evaluate(model=PairLM("arith-masked", steps=2, rule="linear:0.3"), tasks=["gsm8k"], limit=50)
```
"""

from __future__ import annotations

import hashlib
import logging
from typing import Any

import torch
from torch import Tensor

from specfrontier.decoding import Effort, Pair, Settings, load_pair
from specfrontier.errors import InputError
from specfrontier.profiling.configuration import parse_rule

try:
    from lm_eval.api.instance import Instance
    from lm_eval.api.model import LM
    from lm_eval.api.registry import register_model
except ImportError as error:
    raise InputError("the harness wrapper needs `pip install specfrontier[harness]`") from error

DEFAULT_MAX_NEW_TOKENS = 256
"""The harness's own, where a task names no limit."""

_log = logging.getLogger(__name__)


@register_model("specfrontier")
class PairLM(LM):
    """A pair as a model of the harness: it generates by Algorithm 1 and is scored by its verifier.

    Leniency and effort change what is generated, so tasks of type `generate_until` measure them. Log-likelihoods have
    no meaning for a lossy decoder: those tasks measure the verifier (temperature 1, nothing truncated). Tokens are
    drawn as the pair file says, whatever temperature a task asks for.

    Args:
        pair: a loaded pair, or a shipped name or path.
        steps, threshold: diffusion effort, as in `Pair.generate`.
        rule: spec of the acceptance rule.
        block_size: B >= 1; the pair's own if None.
        verification: `paper` or `exact`.
        seed: a request's own seed derives from it and the prompt.

    Raises:
        InputError: if the pair or a dial is invalid.
    """

    def __init__(
        self,
        pair: Pair | str,
        steps: int | None = None,
        threshold: float | None = None,
        rule: str = "lossless",
        block_size: int | None = None,
        verification: Any = "paper",
        seed: int = 0,
        device: str | None = None,
        **_: Any,  # batch_size and the like, which the harness's command line always passes
    ) -> None:
        super().__init__()
        self.pair = load_pair(pair, device=device) if isinstance(pair, str) else pair
        self._device = self.pair.engine.verifier.device
        self._seed = seed
        self._dials: dict[str, Any] = {
            "effort": Effort(1 if steps is None and threshold is None else steps, threshold),
            "rule": parse_rule(rule),
            "block_size": self.pair.file.block_size if block_size is None else block_size,
            "verification": verification,
        }
        self.pair.engine.drafter.check_effort(self._settings("", 1).effort)

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        """Texts up to the first stop string of each request."""
        return [self._generate(*request.args) for request in requests]

    def loglikelihood(self, requests: list[Instance], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        """The verifier's log-probability (nats) of each continuation, and whether it is its greedy choice."""
        return [self._score(*self._split(*request.args)) for request in requests]

    def loglikelihood_rolling(self, requests: list[Instance], disable_tqdm: bool = False) -> list[float]:
        """The verifier's log-probability (nats) of each whole text, in windows no longer than its context."""
        return [self._rolling(request.args[0]) for request in requests]

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        """The prompt of a conversation, thinking switched off."""
        return str(
            self.pair.tokenizer.apply_chat_template(
                chat_history,
                tokenize=False,
                add_generation_prompt=add_generation_prompt,
                continue_final_message=not add_generation_prompt,
                enable_thinking=False,
            )
        )

    def chat_template(self, chat_template: bool | str = False) -> str | None:
        """The tokenizer's template, for the harness's records."""
        return self.pair.tokenizer.chat_template if chat_template else ""

    @property
    def tokenizer_name(self) -> str:
        """Tells the harness's caches of prompts apart."""
        return self.pair.file.verifier.checkpoint.replace("/", "__")

    def _settings(self, context: str, max_new_tokens: int) -> Settings:
        digest = hashlib.sha256(f"{self._seed}:{context}".encode()).digest()
        return Settings(**self._dials, max_new_tokens=max_new_tokens, seed=int.from_bytes(digest[:8], "big") >> 1)

    def _generate(self, context: str, options: dict[str, Any]) -> str:
        limit = int(options.get("max_gen_toks", options.get("max_new_tokens", DEFAULT_MAX_NEW_TOKENS)))
        until = options.get("until") or []
        if options.get("do_sample") or options.get("temperature"):
            _log.warning("the task asks for its own sampling; the pair's file decides it: %s", self.pair.name)
        ids = self._encode(context)
        room = self._context_length
        if room is not None:
            ids = ids[-max(room - limit, 1) :]
        text = self.pair.run_ids(ids, self._settings(context, limit)).text
        return cut_at(text, [until] if isinstance(until, str) else list(until))

    def _encode(self, text: str) -> Tensor:
        """Ids [T >= 1], with the special tokens that the tokenizer adds, unless a chat template has put them."""
        tokenizer = self.pair.tokenizer
        templated = tokenizer.bos_token is not None and text.startswith(tokenizer.bos_token)
        ids = tokenizer(text, add_special_tokens=not templated)["input_ids"] or [self._first]
        return torch.tensor(ids, device=self._device)

    @property
    def _first(self) -> int:
        """What stands before the first token of a text: the beginning token, or else the end token."""
        tokenizer = self.pair.tokenizer
        first = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        return int(first)

    @property
    def _context_length(self) -> int | None:
        """Positions that both models have; None where a configuration names none."""
        return self.pair.context_length

    def _split(self, context: str, continuation: str) -> tuple[Tensor, int]:
        """Ids [T] of context and continuation, and how many of the last belong to the continuation (>= 1).

        Both are tokenised together, as the text would be; spaces at the context's end go to the continuation.
        """
        stripped = context.rstrip()
        before = self._encode(stripped)
        ids = self._encode(stripped + context[len(stripped) :] + continuation)
        if not stripped:
            ids = torch.cat((before[:1], ids)) if ids[0] != before[0] else ids
        return ids, max(len(ids) - len(before), 1)

    def _score(self, ids: Tensor, count: int) -> tuple[float, bool]:
        """Log-probability of the last `count` of ids [T], T > count, and whether each is the likeliest."""
        room = self._context_length
        if room is not None and len(ids) > room + 1:
            ids = ids[-(room + 1) :]
            count = min(count, room)
        with torch.inference_mode():
            logits = self.pair.engine.verifier.session().forward(ids[:-1], rows=count)
            logs = torch.log_softmax(logits[:, : self.pair.engine.vocab_size].float(), dim=-1)
        target = ids[-count:]
        chosen = logs.gather(1, target[:, None].to(logs.device)).sum()
        return float(chosen), bool((logs.argmax(-1) == target.to(logs.device)).all())

    def _rolling(self, text: str) -> float:
        ids = self._encode(text)
        if int(ids[0]) != self._first:
            ids = torch.cat((ids.new_tensor([self._first]), ids))
        window = self._context_length or len(ids)
        total, done = 0.0, 1
        while done < len(ids):
            stop = min(done + window, len(ids))
            start = max(stop - window - 1, 0)
            total += self._score(ids[start:stop], stop - done)[0]
            done = stop
        return total


def cut_at(text: str, stops: list[str]) -> str:
    """The text before the first of the stop strings that occurs; empty ones don't count."""
    return text[: min([len(text), *(i for stop in stops if stop and (i := text.find(stop)) >= 0)])]
