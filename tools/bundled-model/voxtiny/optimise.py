"""The training loop: Muon for matrices, AdamW for the rest, warm-up, cosine decay, a wall-clock budget."""

import math
import time
from collections.abc import Iterator

import torch

Batches = Iterator[tuple[torch.Tensor, torch.Tensor]]


def optimisers_for(
    model: torch.nn.Module, rate: float, use_muon: bool, weight_decay: float
) -> list[torch.optim.Optimizer]:
    """Returns the optimisers: Muon for full weight matrices, AdamW for embeddings, norms and LoRA factors."""
    matrices = [
        p for n, p in model.named_parameters() if use_muon and p.dim() == 2 and p.requires_grad and "embed" not in n
    ]
    chosen = {id(p) for p in matrices}
    others = [p for p in model.parameters() if p.requires_grad and id(p) not in chosen]
    optimisers: list[torch.optim.Optimizer] = [
        torch.optim.AdamW(others, lr=rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True)
    ]
    if matrices:
        optimisers.append(
            torch.optim.Muon(matrices, lr=rate, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw")
        )
    return optimisers


def train(
    model: torch.nn.Module,
    phases: list[tuple[float, Batches]],
    *,
    seconds: float,
    peak_rate: float,
    use_muon: bool = False,
    weight_decay: float = 0.05,
    warm_up: float = 0.03,
) -> int:
    """Trains until `seconds` have passed and returns the number of steps.

    `phases`: pairs of the fraction of the time at which the phase ends, and its batches. The learning rate depends on the
    fraction of time spent, so the schedule completes on any machine. Runs are therefore not reproducible bit for bit.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimisers = optimisers_for(model, peak_rate, use_muon, weight_decay)
    forward = torch.compile(model, dynamic=False)
    model.train()
    remaining, step, shown, running = list(phases), 0, 0.0, None
    compiling, start = True, time.monotonic()
    while True:
        spent = (time.monotonic() - start) / seconds
        while remaining and spent >= remaining[0][0]:
            remaining.pop(0)
        if not remaining:
            break
        inputs, labels = next(remaining[0][1])
        decay = 0.5 * (1 + math.cos(math.pi * (spent - warm_up) / (1 - warm_up)))
        for optimiser in optimisers:
            for group in optimiser.param_groups:
                group["lr"] = peak_rate * (spent / warm_up if spent < warm_up else decay)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = forward(input_ids=inputs, use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(
            logits[:, :-1].flatten(0, 1).float(), labels[:, 1:].flatten(), ignore_index=-100
        )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        for optimiser in optimisers:
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        if compiling:  # compilation does not count as training time
            compiling, start = False, time.monotonic()
        step += 1
        running = loss.item() if running is None else 0.97 * running + 0.03 * loss.item()
        if spent - shown > 0.05:
            shown = spent
            print(f"{spent:4.0%}  step {step}  loss {running:.4f}", flush=True)
    model.eval()
    return step
