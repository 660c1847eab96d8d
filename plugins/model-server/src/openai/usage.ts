import type { GenerateUsage } from '@svc/contracts'

/** Sum of the usage of one or more answers. */
export class UsageTotal {
  #promptTokens = 0
  #cachedTokens = 0
  #completionTokens = 0
  #thinkingTokens = 0
  readonly #prompts = new Set<unknown>()

  /** Adds an answer. `prompt` identifies its prompt, whose tokens are counted only once. */
  add(usage: GenerateUsage, thinkingTokens = 0, prompt: unknown = null): void {
    if (!this.#prompts.has(prompt)) {
      this.#prompts.add(prompt)
      this.#promptTokens += usage.promptTokens
      this.#cachedTokens += usage.cachedTokens
    }
    this.#completionTokens += usage.completionTokens
    this.#thinkingTokens += thinkingTokens
  }

  /** Returns the usage in the format of the API. */
  report(): object {
    return {
      prompt_tokens: this.#promptTokens,
      completion_tokens: this.#completionTokens,
      total_tokens: this.#promptTokens + this.#completionTokens,
      prompt_tokens_details: { cached_tokens: this.#cachedTokens, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: this.#thinkingTokens,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0
      }
    }
  }
}
