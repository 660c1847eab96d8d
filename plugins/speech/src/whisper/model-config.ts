import { readFile } from 'node:fs/promises'
import { speechErrors } from '@svc/contracts'
import type { LogMelOptions } from './log-mel.ts'
import type { ModelFiles } from './model-files.ts'

/** Configuration of a model, from its three JSON files. */
export interface ModelConfig {
  readonly layers: number
  readonly heads: number
  readonly headSize: number
  readonly vocabulary: number
  /** Number of positions of the decoder. */
  readonly positions: number
  readonly mel: LogMelOptions
  readonly start: number
  readonly end: number
  readonly noTimestamps: number | null
  /** Language tokens by language code; empty for an English-only model. */
  readonly languages: ReadonlyMap<string, number>
  readonly tasks: ReadonlyMap<string, number>
  /** Tokens that are never decoded. */
  readonly suppressed: readonly number[]
  readonly suppressedFirst: readonly number[]
}

/** Reads the configuration of a model. Throws `SPC_MODEL_INVALID` with the file and the missing or invalid field. */
export async function readModelConfig(files: ModelFiles): Promise<ModelConfig> {
  const [config, generation, preprocessor] = await Promise.all(
    [files.config, files.generation, files.preprocessor].map(Fields.read)
  )
  if (config === undefined || generation === undefined || preprocessor === undefined) throw new Error('three files')
  const heads = config.integer('decoder_attention_heads')
  const rate = preprocessor.integer('sampling_rate', 16_000)
  return {
    layers: config.integer('decoder_layers'),
    heads,
    headSize: config.integer('d_model') / heads,
    vocabulary: config.integer('vocab_size'),
    positions: config.integer('max_target_positions'),
    mel: {
      bands: preprocessor.integer('feature_size', config.integer('num_mel_bins', 80)),
      window: preprocessor.integer('n_fft', 400),
      hop: preprocessor.integer('hop_length', 160),
      samples: preprocessor.integer('chunk_length', 30) * rate,
      rate
    },
    start: generation.integer('decoder_start_token_id', config.integer('decoder_start_token_id')),
    end: generation.integer('eos_token_id', config.integer('eos_token_id')),
    noTimestamps: generation.has('no_timestamps_token_id') ? generation.integer('no_timestamps_token_id') : null,
    languages: new Map(
      [...generation.numbers('lang_to_id')].map(([name, token]) => [name.replaceAll(/[<|>]/g, ''), token])
    ),
    tasks: generation.numbers('task_to_id'),
    suppressed: generation.tokens('suppress_tokens'),
    suppressedFirst: generation.tokens('begin_suppress_tokens')
  }
}

class Fields {
  readonly #file: string
  readonly #values: Readonly<Record<string, unknown>>

  static async read(this: void, file: string): Promise<Fields> {
    let values: unknown
    try {
      values = JSON.parse(await readFile(file, 'utf8'))
    } catch (cause) {
      throw speechErrors.create('SPC_MODEL_INVALID', `${file} cannot be read: ${(cause as Error).message}`, { cause })
    }
    if (typeof values !== 'object' || values === null)
      throw speechErrors.create('SPC_MODEL_INVALID', `${file} is not an object`, { at: { file } })
    return new Fields(file, values as Record<string, unknown>)
  }

  private constructor(file: string, values: Readonly<Record<string, unknown>>) {
    this.#file = file
    this.#values = values
  }

  has(name: string): boolean {
    return this.#values[name] !== undefined && this.#values[name] !== null
  }

  integer(name: string, otherwise?: number): number {
    const value = this.has(name) ? this.#values[name] : otherwise
    if (!Number.isSafeInteger(value) || (value as number) < 0)
      throw this.#wrong(name, 'not a whole number of 0 or more')
    return value as number
  }

  tokens(name: string): readonly number[] {
    const value = this.#values[name] ?? []
    if (!Array.isArray(value) || !value.every(Number.isSafeInteger)) throw this.#wrong(name, 'not a list of tokens')
    return value.filter(token => token >= 0)
  }

  numbers(name: string): ReadonlyMap<string, number> {
    const value = this.#values[name] ?? {}
    const entries = typeof value === 'object' ? Object.entries(value as object) : []
    if (!entries.every(([, token]) => Number.isSafeInteger(token))) throw this.#wrong(name, 'not a table of tokens')
    return new Map(entries as [string, number][])
  }

  #wrong(name: string, problem: string): Error {
    return speechErrors.create('SPC_MODEL_INVALID', `${this.#file}: ${name} is ${problem}`, {
      at: { file: this.#file, path: name }
    })
  }
}
