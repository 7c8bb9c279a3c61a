"""Numbers printed in the paper, each with the place where it stands.

"Speculative Diffusion is a Tale of Two Tradeoffs". Nothing here was read off a plot.
"""

from __future__ import annotations

from dataclasses import dataclass

#: d_K, the mean total variation between verifier and drafter, Dream-7B and Qwen2.5-32B on GSM8K (Appendix F.4).
DISTANCE_BY_STEPS = {1: 0.566, 2: 0.517, 3: 0.424, 4: 0.360}
#: Lossless acceptance rates 1 - d_K, as the same paragraph states them.
LOSSLESS_ACCEPTANCE_BY_STEPS = {1: 0.434, 2: 0.483, 3: 0.576, 4: 0.640}
#: Block size in Equation 7 for Figure 3 (Appendix F.4).
THEORY_BLOCK_SIZE = 512
#: Questions that d_K was measured on (Appendix F.4).
CALIBRATION_QUESTIONS = 50
#: Parameters in billions, as the models' names state them (Section 4.1): drafter, verifier.
DREAM_QWEN_PARAMETERS = (7, 32)
#: Leniencies of the comparison under one verifier (Section 4.3, Appendices G.2 and G.5).
COARSE_LENIENCIES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
#: Confidence thresholds of SDAR (Section 4.3).
SDAR_THRESHOLDS = (0.3, 0.5, 0.7, 0.9)
#: Block sizes of the ablation; the last is the remaining canvas (Appendix G.2).
ABLATION_BLOCK_SIZES = (32, 64, 128, 512)
#: Reference answer of the mathematical example (Appendix H.1).
EXAMPLE_REFERENCE_ANSWER = "50 + 0.20 × 50 = 60 students"
#: Leniencies at which Appendix H raises K.
EXAMPLE_LENIENCIES = (0.4, 0.6)
#: Chance of a right guess on GPQA Diamond: four choices.
GPQA_CHANCE = 0.25


@dataclass(frozen=True)
class Baseline:
    """A row of Table 1; accuracies, errors and the gap in per cent as printed."""

    pair: str
    benchmark: str
    n: int
    drafter: float
    drafter_se: float
    verifier: float
    verifier_se: float
    gap: float


_DREAM = "Dream 7B → Qwen2.5 32B"
_SDAR = "SDAR 8B → Qwen3 8B"
_GEMMA = "DiffusionGemma 26B-A4B → Gemma-4 31B"

TABLE_1 = (
    Baseline(_DREAM, "GSM8K", 500, 79.8, 1.8, 95.0, 1.0, 15.2),
    Baseline(_DREAM, "HumanEval", 164, 57.3, 3.9, 84.8, 2.8, 27.4),
    Baseline(_DREAM, "GPQA Diamond", 198, 22.7, 3.0, 45.5, 3.5, 22.7),
    Baseline(_SDAR, "GSM8K", 500, 85.0, 1.6, 92.2, 1.2, 7.2),
    Baseline(_SDAR, "HumanEval", 164, 39.6, 3.8, 85.4, 2.8, 45.7),
    Baseline(_SDAR, "GPQA Diamond", 198, 25.3, 3.1, 43.4, 3.5, 18.2),
    Baseline(_GEMMA, "GSM8K", 500, 96.4, 0.8, 96.6, 0.8, 0.2),
    Baseline(_GEMMA, "HumanEval", 164, 91.5, 2.2, 93.3, 2.0, 1.8),
    Baseline(_GEMMA, "GPQA Diamond", 198, 64.1, 3.4, 73.2, 3.1, 9.1),
)

#: Table 2: role, checkpoint, reference.
TABLE_2 = (
    ("Dream drafter", "Dream-org/Dream-v0-Instruct-7B", "Ye et al. (2025)"),
    ("Qwen2.5 verifier", "Qwen/Qwen2.5-32B-Instruct", "Qwen Team (2024b)"),
    ("DiffusionGemma drafter", "google/diffusiongemma-26B-A4B-it", "DiffusionGemma Team (2026)"),
    ("Gemma verifier", "google/gemma-4-31B-it", "Gemma Team (2026)"),
    ("Qwen3 verifier / Uno", "s-sahoo/uno-qwen3-8B", "Sahoo et al. (2026)"),
    ("SDAR 8B drafter", "JetLM/SDAR-8B-Chat-b16", "Cheng et al. (2026a)"),
    ("SDAR 1.7B drafter", "JetLM/SDAR-1.7B-Chat-b16", "Cheng et al. (2026a)"),
    ("DFlash drafter", "z-lab/Qwen3-8B-DFlash-b16", "Chen et al. (2026)"),
    ("DSpark drafter", "deepseek-ai/dspark_qwen3_8b_block7", "Cheng et al. (2026b)"),
)

#: Table 3: sampler, temperature, top-p, top-k.
TABLE_3 = (
    ("Dream draft / standalone", "0.2", "0.95", "–"),
    ("Qwen2.5-32B verifier", "0.7", "0.8", "20"),
    ("DiffusionGemma draft / standalone", "0.8 → 0.4", "0.95", "–"),
    ("Gemma-4-31B verifier", "1.0", "0.95", "64"),
    ("SDAR draft", "0.6", "0.95", "20"),
    ("Uno draft", "1.0", "0.95", "50"),
    ("DFlash draft", "Greedy", "–", "–"),
    ("DSpark draft", "1.0", "–", "–"),
    ("Qwen3-8B verifier / AR", "1.0", "0.95", "50"),
)

_ADAPTIVE = "τ = 0.3, 0.5, 0.7, 0.9 or fixed K = 1"
_BOTH = "GSM8K, HumanEval"

#: Table 4: model or pair, dataset, diffusion effort, acceptance, block, token limit.
TABLE_4 = (
    ("Dream 7B + Qwen2.5 32B", "GSM8K", "K ∈ {1, 2, 3, 4}", "Cactus", "≤ 512", "512"),
    ("Dream 7B + Qwen2.5 32B", "HumanEval", "K ∈ {1, 2, 3, 4}", "Cactus", "≤ 512", "512"),
    ("DiffusionGemma 26B-A4B + Gemma-4 31B", "GPQA", "K ∈ {1, 2, 4, 8}", "Cactus", "256", "2048"),
    ("DiffusionGemma 26B-A4B + Gemma-4 31B", "GPQA", "K ∈ {1, 2, 4, 8}", "Linear", "256", "2048"),
    ("SDAR 8B", _BOTH, _ADAPTIVE, "Linear", "16", "512"),
    ("SDAR 1.7B", _BOTH, _ADAPTIVE, "Linear", "16", "512"),
    ("Uno", _BOTH, "K = 1", "Linear", "16", "512"),
    ("DFlash", _BOTH, "One draft pass", "Linear", "16", "512"),
    ("DSpark", _BOTH, "Fixed sampler", "Linear", "7", "512"),
)


def _budgets(*start: float, to: int, then: tuple[float, ...] = ()) -> tuple[float, ...]:
    """`start`, continued in whole steps up to `to`, and what follows."""
    return (*start, *(float(n) for n in range(int(start[-1]) + 1, to + 1)), *then)


_FULL = (0.0, 0.25, 0.5, 1.0)

#: Table 5: pair and dataset, K, Cactus budgets δ.
TABLE_5 = (
    ("Dream–Qwen / GSM8K", 1, _budgets(*_FULL, to=8)),
    ("Dream–Qwen / GSM8K", 2, _budgets(*_FULL, to=11)),
    ("Dream–Qwen / GSM8K", 3, _budgets(*_FULL, to=13)),
    ("Dream–Qwen / GSM8K", 4, _budgets(*_FULL, to=15)),
    ("DiffusionGemma–Gemma / GPQA", 1, _budgets(*_FULL, to=5)),
    ("DiffusionGemma–Gemma / GPQA", 2, _budgets(*_FULL, to=6)),
    ("DiffusionGemma–Gemma / GPQA", 4, _budgets(*_FULL, to=8, then=(10.0,))),
    ("DiffusionGemma–Gemma / GPQA", 8, (1.0, 3.0, 5.0, 7.0, 10.0, 15.0)),
    ("Dream–Qwen / HumanEval", 1, _budgets(*_FULL, to=6)),
    ("Dream–Qwen / HumanEval", 2, _budgets(*_FULL, to=12)),
    ("Dream–Qwen / HumanEval", 3, _budgets(*_FULL, to=13)),
    ("Dream–Qwen / HumanEval", 4, _budgets(*_FULL, to=15)),
    ("DiffusionGemma–Gemma / HumanEval", 1, _budgets(*_FULL, to=8)),
    ("DiffusionGemma–Gemma / HumanEval", 2, _budgets(*_FULL, to=12)),
    ("DiffusionGemma–Gemma / HumanEval", 4, _budgets(*_FULL, to=16)),
    ("DiffusionGemma–Gemma / HumanEval", 6, _budgets(*_FULL, to=15)),
    ("DiffusionGemma–Gemma / HumanEval", 10, _budgets(0.25, 0.5, 1.0, to=15, then=(20.0,))),
)
