import { readFileSync } from 'node:fs'
import { Tokenizer } from '@huggingface/tokenizers'
import { speechErrors } from '@svc/contracts'

/** The tokenizer of a model. */
export class WhisperTokens {
  /** Token for "no speech", if the model has one. */
  readonly noSpeech: number | null
  readonly #tokenizer: Tokenizer

  /** Throws `SPC_MODEL_INVALID` if the file is not a tokenizer. */
  constructor(file: string) {
    try {
      this.#tokenizer = new Tokenizer(JSON.parse(readFileSync(file, 'utf8')), {})
    } catch (cause) {
      throw speechErrors.create('SPC_MODEL_INVALID', `${file} is not a tokenizer: ${(cause as Error).message}`, {
        cause
      })
    }
    // Older vocabularies use the name "nocaptions".
    this.noSpeech = this.#tokenizer.token_to_id('<|nospeech|>') ?? this.#tokenizer.token_to_id('<|nocaptions|>') ?? null
  }

  encode(text: string): readonly number[] {
    return this.#tokenizer.encode(text, { add_special_tokens: false }).ids
  }

  /** Returns the text of tokens, without special tokens. */
  decode(tokens: readonly number[]): string {
    return tokens.length === 0 ? '' : this.#tokenizer.decode([...tokens], { skip_special_tokens: true })
  }
}
