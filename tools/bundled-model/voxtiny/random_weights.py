"""Random weights for tests with which each part of a model affects the result."""

import torch


def randomise(model: torch.nn.Module, seed: int, only: str = "", norm_centre: float = 1) -> None:
    """Sets random weights so large that a wrong bias, norm or rotary angle changes the logits by more than 1e-3."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if only not in name:
                continue
            noise = torch.randn(parameter.shape, generator=generator)
            if name.endswith("norm.weight"):
                # The norm inside of linear attention is never centred at zero.
                parameter.copy_((1 if "linear_attn" in name else norm_centre) + 0.2 * noise)
            elif name.endswith("bias"):
                parameter.copy_(0.3 * noise)
            elif "lora_" in name:
                parameter.copy_(noise * 0.6 / parameter.shape[-1] ** 0.5)
            elif "embed_tokens" in name:
                parameter.copy_(0.2 * noise)
            else:
                parameter.copy_(noise * 1.5 / parameter.shape[-1] ** 0.5)
