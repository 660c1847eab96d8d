"""The training loop: AdamW, warm-up, cosine decay, a wall-clock budget."""

import math
import time
from collections.abc import Iterator

import torch


def train(model: torch.nn.Module, batches: Iterator[tuple[torch.Tensor, torch.Tensor]], *, seconds: float, peak_rate: float,
          warm_up: float = 0.03, weight_decay: float = 0.05, bf16: bool = True) -> int:
    """Trains until `seconds` have passed and returns the number of steps.

    The learning rate follows the fraction of time spent, so the schedule always completes on the machine at hand.
    Runs are therefore repeatable in distribution, not bit for bit; what ships is pinned by SHA-256 in the model card.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    decayed = [p for p in parameters if p.dim() > 1]
    plain = [p for p in parameters if p.dim() <= 1]
    optimiser = torch.optim.AdamW([{"params": decayed, "weight_decay": weight_decay}, {"params": plain, "weight_decay": 0.0}],
                                  lr=peak_rate, betas=(0.9, 0.98), fused=True)
    model.train()
    start, step, shown, running = time.monotonic(), 0, 0.0, None
    while (spent := (time.monotonic() - start) / seconds) < 1:
        inputs, labels = next(batches)
        rate = peak_rate * (spent / warm_up if spent < warm_up else 0.5 * (1 + math.cos(math.pi * (spent - warm_up) / (1 - warm_up))))
        for group in optimiser.param_groups:
            group["lr"] = rate
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            logits = model(input_ids=inputs, use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1).float(), labels[:, 1:].flatten(), ignore_index=-100)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        step += 1
        running = loss.item() if running is None else 0.95 * running + 0.05 * loss.item()
        if spent - shown > 0.02:
            shown = spent
            print(f"{spent:5.0%}  step {step}  loss {running:.4f}  rate {rate:.2e}", flush=True)
    model.eval()
    return step
