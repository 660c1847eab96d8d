import { setImmediate as turn } from 'node:timers/promises'
import { inferenceErrors } from '../errors.ts'
import type { ServedConfig } from '../model-config.ts'
import { engineSurface } from '../onnx/decoder.ts'
import type { Precision } from '../onnx/graph.ts'
import { type Bindings, elementBytes, type Runtime, type Tensor } from '../ort/runtime.ts'

export interface CachePoolOptions {
  readonly runtime: Runtime
  readonly config: ServedConfig
  /** Maximum number of concurrent sequences. */
  readonly slots: number
  /** Maximum positions of a sequence. */
  readonly contextLength: number
  /** Element type of keys and values in the decoder's graph; default float32. */
  readonly precision?: Precision
}

/** Capacity of a row that is reserved first, in positions. */
const FIRST_CAPACITY = 512
/** Bytes copied before yielding to the event loop. */
const BYTES_PER_TURN = 2 ** 23

/** Returns the size of keys and values for one position of one sequence, in bytes. */
function bytesPerPosition(config: ServedConfig, precision: Precision = 'float32'): number {
  return elementBytes[precision] * 2 * config.layers * config.keyValueHeads * config.headSize
}

/**
 * Keys and values of all sequences: for each layer one state of keys and one of values, `[rows, kvHeads, capacity,
 * headSize]`.
 *
 * Sequences in adjacent rows can be computed in one run. The capacity doubles when a sequence outgrows it, up to the
 * context length, so an unused long context costs nothing. With several slots, a spare row is used to swap two rows.
 */
export class CachePool {
  readonly slots: number
  readonly contextLength: number
  readonly #options: CachePoolOptions
  readonly #surface: readonly { readonly past: string; readonly present: string }[]
  #states: Tensor[] = []
  #capacity = 0
  #copied = 0

  constructor(options: CachePoolOptions) {
    this.#options = options
    this.slots = options.slots
    this.contextLength = options.contextLength
    this.#surface = Array.from({ length: options.config.layers }, (_, layer) =>
      (['key', 'value'] as const).map(half => ({
        past: engineSurface.pastName(layer, half),
        present: engineSurface.presentName(layer, half)
      }))
    ).flat()
  }

  /** Current capacity of each row, in positions. When it changes, {@link views} must be created again. */
  get capacity(): number {
    return this.#capacity
  }

  get bytes(): number {
    return this.#rows * this.#capacity * bytesPerPosition(this.#options.config, this.#options.precision)
  }

  get #rows(): number {
    return this.slots === 1 ? 1 : this.slots + 1
  }

  /** True if every row has room for this many positions, so {@link reserve} allocates nothing. */
  holds(positions: number): boolean {
    return positions <= this.#capacity
  }

  /**
   * Reserves `positions` in every row, and keeps the first `lengths[row]` of each. Views must have been released.
   *
   * Throws `INF_OUT_OF_MEMORY`, and changes nothing, if the memory is not available.
   */
  async reserve(positions: number, lengths: readonly number[]): Promise<void> {
    if (this.holds(positions)) return
    const before = this.#capacity
    let capacity = Math.max(FIRST_CAPACITY, before)
    while (capacity < positions) capacity *= 2
    capacity = Math.min(capacity, this.contextLength)
    this.#capacity = 0
    try {
      await this.#resize(capacity, lengths)
    } catch (cause) {
      if (before === 0) this.release()
      else await this.#resize(before, lengths)
      this.#capacity = before
      throw this.#outOfMemory(capacity, cause)
    }
    this.#capacity = capacity
  }

  /** Replaces the states one by one, so that at most one of them exists twice. */
  async #resize(capacity: number, lengths: readonly number[]): Promise<void> {
    const { runtime, config, precision } = this.#options
    for (const index of this.#surface.keys()) {
      const old = this.#states[index]
      if (old?.shape[2] === capacity) continue
      const state = await runtime.state([this.#rows, config.keyValueHeads, capacity, config.headSize], precision)
      for (const [row, end] of lengths.entries()) {
        if (old === undefined || end === 0) continue
        await runtime.copy({ state: old, row, start: 0, end }, { state, row })
        await this.#yieldRegularly(end)
      }
      old?.release()
      this.#states[index] = state
    }
  }

  /** Copies positions `start` to `end` from one row to another. */
  async copy(from: number, to: number, start: number, end: number): Promise<void> {
    for (const state of this.#states) {
      await this.#options.runtime.copy({ state, row: from, start, end }, { state, row: to })
      await this.#yieldRegularly(end - start)
    }
  }

  /** Swaps the first `lengths` positions of two rows. */
  async swap([a, b]: readonly [number, number], lengths: readonly [number, number]): Promise<void> {
    const spare = this.slots
    if (lengths[0] > 0) await this.copy(a, spare, 0, lengths[0])
    if (lengths[1] > 0) await this.copy(b, a, 0, lengths[1])
    if (lengths[0] > 0) await this.copy(spare, b, 0, lengths[0])
  }

  /** Returns views of `count` rows from `row`, by their names in the decoder graph. */
  views(row: number, count: number): CacheViews {
    const { runtime } = this.#options
    const states = this.#states.map(state => runtime.view(state, row, count))
    const named = (name: 'past' | 'present') =>
      Object.fromEntries(this.#surface.map((names, index) => [names[name], states[index] as Tensor]))
    return {
      past: named('past'),
      present: named('present'),
      release() {
        for (const state of states) state.release()
      }
    }
  }

  release(): void {
    for (const state of this.#states) state.release()
    this.#states = []
    this.#capacity = 0
  }

  #outOfMemory(capacity: number, cause: unknown) {
    const { config, precision } = this.#options
    const bytes = this.#rows * capacity * bytesPerPosition(config, precision)
    return inferenceErrors.create(
      'INF_OUT_OF_MEMORY',
      `Not enough memory for ${this.slots} contexts of ${capacity} tokens, which need ${bytes} bytes`,
      {
        cause,
        data: { bytes, capacity, slots: this.slots },
        hint: 'Load the model with a smaller maxContext or fewer slots.'
      }
    )
  }

  /** Yields to the event loop regularly during long copies. */
  async #yieldRegularly(positions: number): Promise<void> {
    const { config, precision } = this.#options
    this.#copied += (positions * bytesPerPosition(config, precision)) / (2 * config.layers)
    if (this.#copied < BYTES_PER_TURN) return
    this.#copied = 0
    await turn()
  }
}

/** Views of some rows of the cache, to bind to a run. */
export interface CacheViews {
  readonly past: Bindings
  readonly present: Bindings
  release(): void
}
