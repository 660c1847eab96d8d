import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers'
import { inferenceErrors } from './errors.ts'
import { beginningNames } from './text-beginning.ts'
import { type TokenDecoder, tokenDecoder } from './token-bytes.ts'

/** Converts text to token ids and back, as defined by a `tokenizer.json`. */
export class Tokenizer {
  /** Tokens that the model expects at the start of every text. */
  readonly beginning: readonly number[]
  readonly #file: string
  readonly #definition: Record<string, unknown>
  readonly #configuration: Record<string, unknown>
  readonly #full: HuggingFaceTokenizer
  readonly #decoder: TokenDecoder
  readonly #added: ReadonlyMap<number, { readonly content: string; readonly special: boolean }>
  /**
   * Tokenizer without special tokens, for text in which their names are ordinary text. Created on first use, because it
   * needs as much memory again.
   */
  #plain: HuggingFaceTokenizer | undefined

  /** `file`: path for messages. Throws `INF_RUN_DIR_MALFORMED` or `INF_TOKENIZER_UNSUPPORTED`. */
  constructor(file: string, definition: Record<string, unknown>, configuration: Record<string, unknown> | null) {
    this.#file = file
    this.#definition = definition
    this.#configuration = configuration ?? {}
    this.#full = this.#build(definition)
    this.#added = this.#full.get_added_tokens_decoder()
    const decoder = tokenDecoder(definition.decoder)
    if (decoder === null) {
      const type = JSON.stringify((definition.decoder as { type?: unknown } | null)?.type ?? null)
      throw inferenceErrors.create(
        'INF_TOKENIZER_UNSUPPORTED',
        `${file}: decoder ${type} is not supported; supported: byte-level BPE, SentencePiece with a space marker`,
        { at: { file, path: 'decoder' } }
      )
    }
    this.#decoder = decoder
    this.beginning = beginningNames(definition.post_processor, this.#configuration).flatMap(name => this.id(name) ?? [])
  }

  /** Tokenises text. `special`: whether names of special tokens become those tokens. Adds no begin-of-text token. */
  encode(text: string, special: boolean): number[] {
    const tokenizer: HuggingFaceTokenizer =
      special || !this.#mentionsSpecial(text) ? this.#full : this.#withoutSpecial()
    // Unknown characters are dropped if there is no unknown token, as in the reference implementation.
    return tokenizer
      .encode(text, { add_special_tokens: false })
      .ids.filter((id: number | undefined) => id !== undefined)
  }

  /** Returns the text of token ids, with special tokens by name; invalid UTF-8 becomes U+FFFD. */
  decode(tokens: readonly number[]): string {
    const text = Buffer.concat(tokens.map(token => this.bytes(token))).toString('utf8')
    const spaces = this.#decoder.leadingSpaces
    return text.startsWith(' '.repeat(spaces)) ? text.slice(spaces) : text
  }

  /** Returns the bytes of a token; none for an id outside the vocabulary. */
  bytes(token: number): Uint8Array {
    const text = this.#added.get(token)?.content ?? this.#full.id_to_token(token)
    return text === undefined ? new Uint8Array() : this.#decoder.bytes(text)
  }

  isSpecial(token: number): boolean {
    return this.#added.get(token)?.special === true
  }

  /** Returns the id of a token by its name, or null. */
  id(name: string): number | null {
    return this.#full.token_to_id(name) ?? null
  }

  /** Names of all special tokens. */
  get specialNames(): readonly string[] {
    return [...this.#added.values()].filter(token => token.special).map(token => token.content)
  }

  #mentionsSpecial(text: string): boolean {
    return this.specialNames.some(name => text.includes(name))
  }

  #withoutSpecial(): HuggingFaceTokenizer {
    this.#plain ??= this.#build({
      ...this.#definition,
      added_tokens: (this.#definition.added_tokens as { special?: boolean }[]).filter(token => token.special !== true)
    })
    return this.#plain
  }

  #build(definition: Record<string, unknown>): HuggingFaceTokenizer {
    try {
      return new HuggingFaceTokenizer(definition, this.#configuration)
    } catch (cause) {
      throw inferenceErrors.create('INF_RUN_DIR_MALFORMED', `${this.#file} is not valid: ${(cause as Error).message}`, {
        at: { file: this.#file },
        data: { file: this.#file, offset: 0 },
        cause
      })
    }
  }
}
