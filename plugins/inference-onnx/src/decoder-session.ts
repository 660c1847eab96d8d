import { inferenceErrors } from './errors.ts'
import type { DecoderConfig } from './model-config.ts'
import { engineSurface } from './onnx/decoder.ts'
import type { Binding, HostTensor, Runtime, Session, Tensor } from './ort/runtime.ts'

export interface DecoderSessionOptions {
  readonly runtime: Runtime
  readonly session: Session
  readonly config: DecoderConfig
  /** Positions that each slot can hold. */
  readonly capacity: number
  /** Tokens of a prompt that are read in one run. */
  readonly chunk: number
}

/** Which positions of a step get logits. */
export type Wanted = 'last' | 'all'

/**
 * Runs a decoder over slots, each of which holds the key and value cache of one sequence.
 *
 * A slot's cache is bound as past and present at once, so a run appends to it where it lies. Going back to an earlier
 * position needs nothing: what lies behind is overwritten. Steps of one slot must not overlap.
 */
export class DecoderSession {
  readonly #options: DecoderSessionOptions
  readonly #slots = new Map<number, Slot>()

  constructor(options: DecoderSessionOptions) {
    this.#options = options
  }

  get chunk(): number {
    return this.#options.chunk
  }

  /** Positions of the slots that have been used so far. */
  get cachePositions(): number {
    return this.#slots.size * this.#options.capacity
  }

  get cacheBytes(): number {
    return this.#slots.size * slotBytes(this.#options)
  }

  /**
   * Reads `tokens` at `position` (tokens already in the slot) and returns logits: `[vocabulary]` of the last token, or
   * `[tokens, vocabulary]` of all. The array is valid until the next step of this slot.
   *
   * Throws `INF_OUT_OF_MEMORY` when the slot's cache cannot be allocated on its first use.
   */
  async step(
    slot: number,
    tokens: readonly number[],
    position: number,
    wanted: Wanted,
    signal?: AbortSignal
  ): Promise<Float32Array> {
    let state = this.#slots.get(slot)
    if (state === undefined) {
      state = new Slot(this.#options)
      this.#slots.set(slot, state)
    }
    return state.step(tokens, position, wanted, signal)
  }

  /** Frees everything. No step may be under way. */
  async close(): Promise<void> {
    for (const slot of this.#slots.values()) slot.release()
    this.#slots.clear()
    await this.#options.session.close()
  }
}

class Slot {
  readonly #options: DecoderSessionOptions
  readonly #cache: Readonly<Record<string, Tensor>>
  /** Bindings for the shapes that recur: one token, and a whole chunk. */
  readonly #steps = new Map<string, Step>()

  constructor(options: DecoderSessionOptions) {
    this.#options = options
    this.#cache = allocateCache(options)
  }

  async step(
    tokens: readonly number[],
    position: number,
    wanted: Wanted,
    signal: AbortSignal | undefined
  ): Promise<Float32Array> {
    const { length } = tokens
    const recurs = wanted === 'last' && (length === 1 || length === this.#options.chunk)
    const key = `${length}`
    const step = (recurs ? this.#steps.get(key) : undefined) ?? new Step(this.#options, this.#cache, length, wanted)
    if (recurs) this.#steps.set(key, step)
    try {
      return await step.run(tokens, position, signal)
    } finally {
      if (!recurs) step.release()
    }
  }

  release(): void {
    for (const step of this.#steps.values()) step.release()
    for (const tensor of Object.values(this.#cache)) tensor.release()
  }
}

/** Memory and binding for one number of tokens. */
class Step {
  readonly #tokens: HostTensor<'int64'>
  readonly #lastPositions: HostTensor<'int32'>
  readonly #totalLength: HostTensor<'int32'>
  readonly #logitPositions: HostTensor<'int64'>
  readonly #logits: HostTensor<'float32'>
  readonly #binding: Binding

  constructor(
    { runtime, session, config }: DecoderSessionOptions,
    cache: Readonly<Record<string, Tensor>>,
    length: number,
    wanted: Wanted
  ) {
    const rows = wanted === 'all' ? length : 1
    this.#tokens = runtime.host('int64', [1, length])
    this.#lastPositions = runtime.host('int32', [1])
    this.#totalLength = runtime.host('int32', [])
    this.#logitPositions = runtime.host('int64', [rows])
    this.#logits = runtime.host('float32', [rows, config.vocabularySize])
    for (let row = 0; row < rows; row++) this.#logitPositions.data[row] = BigInt(length - rows + row)
    const halves = cacheNames(config)
    this.#binding = session.bind(
      {
        input_ids: this.#tokens,
        last_positions: this.#lastPositions,
        total_length: this.#totalLength,
        logit_positions: this.#logitPositions,
        ...Object.fromEntries(halves.map(({ past, key }) => [past, cache[key] as Tensor]))
      },
      {
        logits: this.#logits,
        ...Object.fromEntries(halves.map(({ present, key }) => [present, cache[key] as Tensor]))
      }
    )
  }

  async run(tokens: readonly number[], position: number, signal: AbortSignal | undefined): Promise<Float32Array> {
    for (let i = 0; i < tokens.length; i++) this.#tokens.data[i] = BigInt(tokens[i] as number)
    const length = position + tokens.length
    this.#lastPositions.data[0] = length - 1
    this.#totalLength.data[0] = length
    await this.#binding.run(signal)
    return this.#logits.data
  }

  release(): void {
    this.#binding.release()
    const tensors = [this.#tokens, this.#lastPositions, this.#totalLength, this.#logitPositions, this.#logits]
    for (const tensor of tensors) tensor.release()
  }
}

function cacheNames(config: DecoderConfig): { key: string; past: string; present: string }[] {
  return Array.from({ length: config.layers }, (_, layer) =>
    (['key', 'value'] as const).map(half => ({
      key: `${layer}.${half}`,
      past: engineSurface.pastName(layer, half),
      present: engineSurface.presentName(layer, half)
    }))
  ).flat()
}

function slotBytes({ config, capacity }: Pick<DecoderSessionOptions, 'config' | 'capacity'>): number {
  return 4 * 2 * config.layers * config.keyValueHeads * capacity * config.headSize
}

function allocateCache({ runtime, config, capacity }: DecoderSessionOptions): Record<string, Tensor> {
  const shape = [1, config.keyValueHeads, capacity, config.headSize]
  const cache: Record<string, Tensor> = {}
  try {
    for (const { key } of cacheNames(config)) cache[key] = runtime.state(shape)
  } catch (cause) {
    for (const tensor of Object.values(cache)) tensor.release()
    const bytes = slotBytes({ config, capacity })
    throw inferenceErrors.create(
      'INF_OUT_OF_MEMORY',
      `No memory for the ${bytes} bytes that a context of ${capacity} tokens takes`,
      { cause, data: { bytes, capacity }, hint: 'Load the model with a smaller maxContext or fewer slots.' }
    )
  }
  return cache
}
