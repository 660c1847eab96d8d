"""Times transformers with a static cache on a run directory, and writes one JSON object.

usage: peer.py RUN_DIRECTORY DEVICE BATCHES PREFILL CONTEXT STEPS ROUNDS [compile]
"""
import json
import sys
import time


def main():
    folder, device, batches, prefill, context, steps, rounds = sys.argv[1:8]
    compiled = "compile" in sys.argv[8:]
    batches = [int(batch) for batch in batches.split(",")]
    prefill, context, steps, rounds = int(prefill), int(context), int(steps), int(rounds)
    try:
        import torch
        import transformers
        from transformers import AutoModelForCausalLM, StaticCache
    except ImportError as error:
        return {"skipped": str(error)}
    on_gpu = device.startswith("cuda")
    if on_gpu and not torch.cuda.is_available():
        return {"skipped": "torch finds no CUDA device"}
    target = torch.device(device if on_gpu else "cpu")
    dtype = torch.bfloat16 if on_gpu else torch.float32

    def clock():
        if on_gpu:
            torch.cuda.synchronize(target)
        return time.perf_counter()

    result = {"torch": torch.__version__, "transformers": transformers.__version__, "compiled": compiled}
    if on_gpu:
        result["gpu"] = torch.cuda.get_device_name(target)
        result["copyGBps"] = copy_bandwidth(torch, target, clock)
    model = first_supported(
        lambda: AutoModelForCausalLM.from_pretrained(folder, dtype=dtype),
        lambda: AutoModelForCausalLM.from_pretrained(folder, torch_dtype=dtype),
    )
    model = model.to(target).eval()
    vocabulary = model.config.vocab_size

    def cache(batch, length):
        settings = {"config": model.config, "max_cache_len": length}
        older = {"max_batch_size": batch, "device": target, "dtype": dtype}
        return first_supported(lambda: StaticCache(**settings, **older), lambda: StaticCache(**settings))

    def run(function, ids, past, position):
        positions = torch.arange(position, position + ids.shape[1], device=target)
        output = function(
            input_ids=ids, past_key_values=past, cache_position=positions, use_cache=True, logits_to_keep=1
        )
        return output.logits[:, -1:].argmax(-1)

    forward = torch.compile(model.forward, mode="reduce-overhead") if compiled else model.forward
    with torch.inference_mode():
        best = None
        for _ in range(rounds + 1):
            ids = torch.randint(10, vocabulary, (1, prefill), device=target)
            past = cache(1, prefill + 1)
            start = clock()
            run(model.forward, ids, past, 0)
            spent = clock() - start
            best = spent if best is None else min(best, spent)
        result["prefillMs"] = best * 1000
        result["decodeMs"] = {}
        for batch in batches:
            past = cache(batch, context + 2 * steps + 1)
            token = run(model.forward, torch.randint(10, vocabulary, (batch, context), device=target), past, 0)
            times = []
            for step in range(2 * steps):
                start = clock()
                token = run(forward, token, past, context + step)
                times.append(clock() - start)
            result["decodeMs"][str(batch)] = sorted(times[steps:])[steps // 2] * 1000
    return result


def first_supported(*attempts):
    """Returns the result of the first attempt that accepts its arguments; their names differ between releases."""
    for attempt in attempts[:-1]:
        try:
            return attempt()
        except TypeError:
            continue
    return attempts[-1]()


def copy_bandwidth(torch, target, clock):
    """Returns the bandwidth of a copy within the device's memory, bytes read plus written, in GB/s."""
    source = torch.empty(2**30, dtype=torch.uint8, device=target)
    copy = torch.empty_like(source)
    copy.copy_(source)
    start = clock()
    for _ in range(20):
        copy.copy_(source)
    return 20 * 2 * source.numel() / (clock() - start) / 1e9


if __name__ == "__main__":
    try:
        print(json.dumps(main()))
    except Exception as error:  # the error becomes the result
        print(json.dumps({"skipped": f"{type(error).__name__}: {error}"}))
