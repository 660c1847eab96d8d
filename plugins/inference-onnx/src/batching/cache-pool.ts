import { setImmediate as turn } from 'node:timers/promises'
import { inferenceErrors } from '../errors.ts'
import type { ServedConfig } from '../model-config.ts'
import { type CacheState, cacheLayout, positionBytes, wholeBytes } from '../onnx/cache-layout.ts'
import type { Precision } from '../onnx/graph.ts'
import {
  type Bindings,
  type CacheRange,
  type CacheRow,
  elementBytes,
  type Runtime,
  type Tensor
} from '../ort/runtime.ts'

export interface CachePoolOptions {
  readonly runtime: Runtime
  readonly config: ServedConfig
  /** Maximum number of concurrent sequences. */
  readonly slots: number
  /** Maximum positions of a sequence. */
  readonly contextLength: number
  /** Element type of keys and values in the decoder's graph; default float32. */
  readonly precision?: Precision
  /** True if each run copies whole rows, so that unused positions cost time and memory; default false. */
  readonly copiesRows?: boolean
}

/** Capacity of a row that is reserved first, in positions. */
const FIRST_CAPACITY = 512
/** Positions that a row must have given up before their memory is given back. */
const MIN_DISCARDED = 2048
/** Bytes copied before yielding to the event loop. */
const BYTES_PER_TURN = 2 ** 23

/**
 * Memory of all sequences between runs: for each layer keys and values, `[rows, heads, capacity, size]`, or the states
 * of linear attention, which summarise all positions of a sequence.
 *
 * Sequences in adjacent rows can be computed in one run. Where the runtime only provides memory that is written, all rows
 * have the capacity of a full context, and each row grows by itself. Elsewhere the capacity doubles when a sequence
 * outgrows it, up to the context length. So an unused long context costs nothing. With several slots, a spare row is used
 * to swap two rows.
 */
export class CachePool {
  readonly slots: number
  readonly contextLength: number
  /** True if some states summarise a sequence, so that a row cannot go back to an earlier length. */
  readonly recurrent: boolean
  readonly #options: CachePoolOptions
  readonly #layout: readonly CacheState[]
  #states: Tensor[] = []
  /** Zeroes of one row, by size, from which states are cleared. */
  readonly #zeroes = new Map<string, Tensor>()
  #capacity = 0
  #copied = 0
  /** Number of positions of each row whose memory is provided. */
  readonly #held: number[]
  /** True if only positions that were held need memory. */
  readonly #isReserved: boolean
  /** False once the system refused the memory of full contexts. */
  #reserves: boolean

  constructor(options: CachePoolOptions) {
    this.#options = options
    this.slots = options.slots
    this.contextLength = options.contextLength
    this.#layout = cacheLayout(options.config)
    this.recurrent = this.#layout.some(({ kind }) => kind === 'whole')
    this.#held = Array<number>(this.#rows).fill(0)
    this.#isReserved = options.runtime.reservesStates === true && options.copiesRows !== true
    this.#reserves = this.#isReserved
  }

  /** Current capacity of each row, in positions. When it changes, {@link views} must be created again. */
  get capacity(): number {
    return this.#capacity
  }

  /** Memory in use, in bytes. */
  get bytes(): number {
    if (this.#capacity === 0) return 0
    if (!this.#isReserved) return this.#bytesOf(this.#rows * this.#capacity)
    return this.#bytesOf(this.#held.reduce((sum, positions) => sum + positions, 0))
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
    if (this.#reserves) {
      const hasRoom = await this.#resize(this.contextLength, lengths).then(
        () => true,
        () => false
      )
      if (hasRoom) {
        this.#capacity = this.contextLength
        return
      }
      this.release()
      this.#reserves = false
    }
    await this.#grow(positions, lengths)
  }

  async #grow(positions: number, lengths: readonly number[]): Promise<void> {
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

  /**
   * Counts the memory of a row's first `positions`, before they are written. Gives back the memory of those after them, if
   * a much longer sequence was there: the row no longer contains it.
   */
  async extend(row: number, positions: number): Promise<void> {
    const held = this.#held[row] as number
    const { discard } = this.#options.runtime
    if (this.#isReserved && discard !== undefined && held - positions >= MIN_DISCARDED) {
      for (const [index, { kind }] of this.#layout.entries()) {
        if (kind !== 'positions') continue
        const state = this.#states[index] as Tensor
        discard({ state, row, start: positions, end: held })
        await this.#yieldAfter(state, held - positions)
      }
      this.#held[row] = positions
    } else {
      this.#held[row] = Math.max(positions, held)
    }
  }

  /** Replaces the states one by one, so that at most one of them exists twice. */
  async #resize(capacity: number, lengths: readonly number[]): Promise<void> {
    const { runtime } = this.#options
    for (const [index, { kind, shape }] of this.#layout.entries()) {
      const old = this.#states[index]
      if (old !== undefined && (kind === 'whole' || old.shape[2] === capacity)) continue
      const state = await runtime.state([this.#rows, ...shape(capacity)], this.#precisionOf(kind))
      try {
        for (const [row, end] of lengths.entries()) {
          if (old === undefined || end === 0) continue
          await this.#copyPart({ state: old, row, start: 0, end }, { state, row })
        }
      } catch (error) {
        state.release()
        throw error
      }
      old?.release()
      this.#states[index] = state
    }
  }

  /** Copies positions `start` to `end` from one row to another, and with `whole`, the states that summarise the row. */
  async copy(from: number, to: number, start: number, end: number, whole = true): Promise<void> {
    await this.extend(to, end)
    for (const [index, { kind }] of this.#layout.entries()) {
      const state = this.#states[index] as Tensor
      if (kind === 'positions') {
        if (start < end) await this.#copyPart({ state, row: from, start, end }, { state, row: to })
      } else if (whole)
        await this.#copyPart({ state, row: from, start: 0, end: positionsOf(state) }, { state, row: to })
    }
  }

  /** Swaps the first `lengths` positions of two rows. */
  async swap([a, b]: readonly [number, number], lengths: readonly [number, number]): Promise<void> {
    const spare = this.slots
    if (lengths[0] > 0) await this.copy(a, spare, 0, lengths[0])
    if (lengths[1] > 0) await this.copy(b, a, 0, lengths[1])
    if (lengths[0] > 0) await this.copy(spare, b, 0, lengths[0])
  }

  /** Sets the states that summarise a row to those of an empty sequence. The cache must have been reserved. */
  async clear(row: number): Promise<void> {
    for (const [index, { kind }] of this.#layout.entries()) {
      if (kind !== 'whole') continue
      const state = this.#states[index] as Tensor
      const shape = [1, ...state.shape.slice(1)]
      const zero = this.#zeroes.get(`${shape}`) ?? (await this.#options.runtime.state(shape, this.#precisionOf(kind)))
      this.#zeroes.set(`${shape}`, zero)
      await this.#copyPart({ state: zero, row: 0, start: 0, end: positionsOf(state) }, { state, row })
    }
  }

  /** Returns copies of the states that summarise a row; release them with {@link SavedStates.release}. */
  async save(row: number): Promise<SavedStates> {
    const saved: Tensor[] = []
    const release = () => {
      for (const state of saved) state.release()
    }
    try {
      for (const [index, { kind }] of this.#layout.entries()) {
        if (kind !== 'whole') continue
        const state = this.#states[index] as Tensor
        const copy = await this.#options.runtime.state([1, ...state.shape.slice(1)], this.#precisionOf(kind))
        saved.push(copy)
        await this.#copyPart({ state, row, start: 0, end: positionsOf(state) }, { state: copy, row: 0 })
      }
    } catch (error) {
      release()
      throw error
    }
    return { states: saved, release }
  }

  /** Sets the states that summarise a row to saved ones. The cache must have been reserved. */
  async restore({ states }: SavedStates, row: number): Promise<void> {
    const saved = states.values()
    for (const [index, { kind }] of this.#layout.entries()) {
      if (kind !== 'whole') continue
      const from = saved.next().value as Tensor
      const state = this.#states[index] as Tensor
      await this.#copyPart({ state: from, row: 0, start: 0, end: positionsOf(state) }, { state, row })
    }
  }

  /** Returns views of `count` rows from `row`, by their names in the decoder graph. */
  views(row: number, count: number): CacheViews {
    const { runtime } = this.#options
    const states = this.#states.map(state => runtime.view(state, row, count))
    const named = (name: 'past' | 'present') =>
      Object.fromEntries(this.#layout.map((names, index) => [names[name], states[index] as Tensor]))
    return {
      past: named('past'),
      present: named('present'),
      release() {
        for (const state of states) state.release()
      }
    }
  }

  release(): void {
    for (const state of [...this.#states, ...this.#zeroes.values()]) state.release()
    this.#states = []
    this.#zeroes.clear()
    this.#capacity = 0
    this.#held.fill(0)
  }

  /** Recurrent states are float32 in every graph. */
  #precisionOf(kind: CacheState['kind']): Precision {
    return kind === 'whole' ? 'float32' : (this.#options.precision ?? 'float32')
  }

  /** Returns the memory of so many positions of all rows together, in bytes. */
  #bytesOf(positions: number): number {
    const { config, precision } = this.#options
    return positions * positionBytes(config, precision) + this.#rows * wholeBytes(config)
  }

  #outOfMemory(capacity: number, cause: unknown) {
    const bytes = this.#bytesOf(this.#rows * capacity)
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

  /** Copies a part of a state, and yields to the event loop regularly. */
  async #copyPart(from: CacheRange, to: CacheRow): Promise<void> {
    await this.#options.runtime.copy(from, to)
    await this.#yieldAfter(from.state, from.end - from.start)
  }

  async #yieldAfter({ shape }: Tensor, positions: number): Promise<void> {
    const [, heads = 1, , size = 1] = shape
    this.#copied += heads * positions * size * elementBytes.float32
    if (this.#copied < BYTES_PER_TURN) return
    this.#copied = 0
    await turn()
  }
}

/** Copies of the states that summarise a row. */
export interface SavedStates {
  readonly states: readonly Tensor[]
  release(): void
}

function positionsOf(state: Tensor): number {
  return state.shape[2] ?? 0
}

/** Views of some rows of the cache, to bind to a run. */
export interface CacheViews {
  readonly past: Bindings
  readonly present: Bindings
  release(): void
}
