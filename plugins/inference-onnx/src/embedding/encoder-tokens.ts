import { setImmediate as nextTurn } from 'node:timers/promises'
import { Tokenizer } from '@huggingface/tokenizers'
import { inferenceErrors } from '../errors.ts'
import { type PairTemplate, readTemplates } from './token-templates.ts'

/** Characters of a text that are tokenised without a pause. */
const PIECE = 2_000
/** Characters after {@link PIECE} in which a place to cut is searched. */
const SEARCH = 6_000
/** Time after which other work runs, in milliseconds. */
const SLICE_MS = 8

/** A sequence of tokens as the model reads it. */
export interface EncodedText {
  readonly tokens: readonly number[]
  /** Segment of each token: 0, or 1 for the second text of a pair. */
  readonly types: readonly number[]
}

/** Tokens that a model adds around one text. */
export interface Frame {
  readonly before: readonly number[]
  readonly after: readonly number[]
}

/**
 * Converts texts to token ids for an encoder, as defined by a `tokenizer.json`. Long texts are tokenised in pieces, and
 * other work runs between them.
 */
export class EncoderTokens {
  /** Tokens around a single text. */
  readonly frame: Frame
  /** Template of a pair of texts; null if the tokenizer has none. */
  readonly pair: PairTemplate | null
  readonly vocabularySize: number
  /** Token of unknown words; null if there is none. */
  readonly unknown: number | null
  readonly #file: string
  readonly #tokenizer: Tokenizer
  #sliceEnd = 0
  #turn: Promise<void> | null = null

  /**
   * `rows`: tokens that the model has; `file`: path for messages. Throws `INF_RUN_DIR_MALFORMED`, or
   * `INF_TOKENIZER_UNSUPPORTED` if the tokenizer has more tokens than the model.
   */
  constructor(
    file: string,
    definition: Record<string, unknown>,
    configuration: Record<string, unknown> | null,
    rows: number
  ) {
    this.#file = file
    this.vocabularySize = rows
    try {
      // The library requires these fields, which tokenizers without them leave out.
      const fields = { decoder: null, post_processor: null, pre_tokenizer: null, normalizer: null, added_tokens: [] }
      this.#tokenizer = new Tokenizer({ ...fields, ...definition }, configuration ?? {})
    } catch (cause) {
      throw inferenceErrors.create('INF_RUN_DIR_MALFORMED', `${file} is not valid: ${(cause as Error).message}`, {
        at: { file },
        data: { file, offset: 0 },
        cause
      })
    }
    const { single, pair } = readTemplates(file, definition.post_processor, name => this.#tokenizer.token_to_id(name))
    this.frame = single
    this.pair = pair
    this.unknown = this.#unknown(definition.model)
    for (const token of [...single.before, ...single.after, ...(pair?.tokens ?? [])]) this.#check(token)
  }

  /**
   * Returns the tokens of a text, without those that the model adds and without the token `dropped`. Stops soon after
   * `limit` tokens, so that the length of a text does not matter. Throws the reason of an aborted signal.
   */
  async encode(text: string, limit: number, signal?: AbortSignal, dropped: number | null = null): Promise<number[]> {
    const tokens: number[] = []
    for (const piece of pieces(text)) {
      await this.#pause()
      signal?.throwIfAborted()
      for (const token of this.#encode(piece)) if (token !== dropped) tokens.push(token)
      if (tokens.length > limit) break
    }
    return tokens
  }

  #unknown(model: unknown): number | null {
    const { unk_token: name, unk_id: id } = (model ?? {}) as { readonly unk_token?: unknown; readonly unk_id?: unknown }
    if (typeof name === 'string') return this.#tokenizer.token_to_id(name) ?? null
    return typeof id === 'number' ? id : null
  }

  #encode(text: string): readonly number[] {
    const ids: readonly (number | undefined)[] = this.#tokenizer.encode(text, { add_special_tokens: false }).ids
    // Unknown characters are dropped if there is no unknown token, as in the reference implementation.
    const tokens = ids.filter(id => id !== undefined)
    for (const token of tokens) this.#check(token)
    return tokens
  }

  #check(token: number): void {
    // The vocabulary of a damaged file may have other values than row numbers.
    if (Number.isSafeInteger(token) && token >= 0 && token < this.vocabularySize) return
    throw inferenceErrors.create(
      'INF_TOKENIZER_UNSUPPORTED',
      `${this.#file}: token ${JSON.stringify(token)} is outside of the model's vocabulary of ${this.vocabularySize} tokens`,
      { at: { file: this.#file }, hint: 'Copy the tokenizer and the weights of the same model.' }
    )
  }

  /** Lets other work run if tokenising has taken long. Concurrent callers share one time slice. */
  async #pause(): Promise<void> {
    while (performance.now() > this.#sliceEnd) {
      this.#turn ??= nextTurn().then(() => {
        this.#sliceEnd = performance.now() + SLICE_MS
        this.#turn = null
      })
      await this.#turn
    }
  }
}

/**
 * Cuts a text into pieces with the same tokens: before a space between two letters, where every tokenizer begins a new
 * word. A text without such a space is cut after {@link PIECE} + {@link SEARCH} characters.
 */
export function* pieces(text: string): Generator<string, void> {
  let start = 0
  while (text.length - start > PIECE) {
    const end = cutAfter(text, start + PIECE)
    yield text.slice(start, end)
    start = end
  }
  if (start < text.length) yield text.slice(start)
}

const CUT = /(?<=\p{L}) (?=\p{L})/u

function cutAfter(text: string, from: number): number {
  const window = text.slice(from - 1, from + SEARCH)
  const at = window.search(CUT)
  if (at !== -1) return from - 1 + at
  const end = Math.min(text.length, from + SEARCH)
  // A surrogate pair stays whole.
  return /[\uD800-\uDBFF]/.test(text[end - 1] ?? '') ? end - 1 : end
}
