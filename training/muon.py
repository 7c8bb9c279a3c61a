"""Muon for the matrices of a small transformer, AdamW for the rest, in float32 on a CPU.

Muon (Jordan et al., 2024) replaces a matrix's momentum by its nearest semi-orthogonal matrix, found by a quintic
Newton-Schulz iteration. torch's own implementation iterates in bfloat16, which is emulated on ordinary CPUs.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

QUINTIC = (3.4445, -4.7750, 2.0315)


def orthogonalise(matrix: Tensor, iterations: int = 5) -> Tensor:
    """Approximately U V^T of `matrix` [m, n] = U S V^T, by Newton-Schulz."""
    a, b, c = QUINTIC
    transposed = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if transposed else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(iterations):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if transposed else x


class Muon(torch.optim.Optimizer):
    """Nesterov momentum, orthogonalised, scaled so that an update's RMS is that of Adam (0.2 per unit of lr)."""

    def __init__(self, params: list[Tensor], lr: float, momentum: float = 0.95, weight_decay: float = 0.01) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                buffer = self.state[p].setdefault("momentum", torch.zeros_like(p))
                buffer.lerp_(p.grad, 1 - group["momentum"])
                update = orthogonalise(p.grad.lerp(buffer, group["momentum"]))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(update, alpha=-group["lr"] * 0.2 * max(p.shape) ** 0.5)


def optimizers_for(network: nn.Module, lr: float) -> list[torch.optim.Optimizer]:
    """Muon on the matrices inside the layers, AdamW on embeddings, norms and biases."""
    inside = [p for name, p in network.named_parameters() if p.ndim == 2 and ".layers." in name]
    chosen = {id(p) for p in inside}
    rest = [p for p in network.parameters() if id(p) not in chosen]
    return [Muon(inside, lr), torch.optim.AdamW(rest, lr, betas=(0.9, 0.98), weight_decay=0.0)]
