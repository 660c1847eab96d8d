import type { ElementType, Precision } from '../onnx/graph.ts'

/** The arrays behind host tensors. */
export interface HostArrays {
  readonly float32: Float32Array<ArrayBufferLike>
  readonly int32: Int32Array<ArrayBufferLike>
  readonly int64: BigInt64Array<ArrayBufferLike>
}

/** A tensor that sessions read and write. Its shape is fixed; releasing it while a run uses it is an error. */
export interface Tensor {
  readonly shape: readonly number[]
  release(): void
}

/** A tensor whose numbers JavaScript sees: write inputs before a run, read outputs after it. */
export interface HostTensor<T extends ElementType> extends Tensor {
  readonly data: HostArrays[T]
}

/** A row of a state of shape `[rows, heads, positions, size]`. */
export interface CacheRow {
  readonly state: Tensor
  readonly row: number
}

/** Positions `start` (included) to `end` (excluded) of all heads of a row. */
export interface CacheRange extends CacheRow {
  readonly start: number
  readonly end: number
}

export type Bindings = Readonly<Record<string, Tensor>>

/** Weights that the model's bytes only point at. */
export interface ExternalWeights {
  /** Folder that locations are relative to. */
  readonly folder: string
  /** Files that exist only in memory, by location. */
  readonly inMemory: ReadonlyMap<string, Uint8Array>
}

export interface SessionOptions {
  readonly model: Uint8Array
  readonly weights: ExternalWeights | null
  readonly threads: number
  /** Why its runs must not be captured on a device; null where they may be. */
  readonly uncapturable?: string | null
  /** Aborting it makes the creation fail soon, where the runtime supports that. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Requirements of the engine on ONNX Runtime, independent of the binding.
 *
 * 1. Memory is made with {@link Runtime.host} and {@link Runtime.state}.
 * 2. A session is made from a model, and a binding ties its inputs and outputs to memory once.
 * 3. Each run reads and writes that memory; the event loop is free meanwhile.
 * 4. Bindings are released before their tensors, sessions after their bindings.
 */
export interface Runtime {
  /** For people, for example `onnxruntime 1.30.0`. */
  readonly name: string
  host<T extends ElementType>(type: T, shape: readonly number[]): HostTensor<T>
  /**
   * Zeroed memory that only sessions touch: the key and value cache. Default float32, which is all that the CPU's
   * runtimes have.
   */
  state(shape: readonly number[], precision?: Precision): Promise<Tensor>
  /** Float32 memory that sessions only read, where they compute. */
  constant(shape: readonly number[], values: Float32Array): Promise<Tensor>
  /** `count` rows (first dimension) from `start` as a tensor over the same memory; it is released on its own, and first. */
  view<T extends Tensor>(tensor: T, start: number, count: number): T
  /**
   * Copies a range of positions of every head between states of shape `[rows, heads, positions, size]`, which may differ
   * in rows and positions. It happens after runs that began before it, and before those that begin after it.
   */
  copy(from: CacheRange, to: CacheRow): Promise<void>
  createSession(options: SessionOptions): Promise<Session>
  close(): Promise<void>
}

export interface Session {
  /**
   * Inputs and outputs may name the same tensor, which is then updated in place.
   *
   * With `recurring` the binding is run many times, so a device may capture what a run does there, and from then on replay
   * that without computing on the host.
   */
  bind(inputs: Bindings, outputs: Bindings, recurring?: Recurring): Binding
  close(): Promise<void>
}

/** Facts about a binding that capture needs. */
export interface Recurring {
  /**
   * By the name of their input, tensors to bind in place of those that the device's provider reads on the host, which a
   * capture does once: with them the results of every run are right.
   */
  readonly bounds: Bindings
}

export interface Binding {
  /** Aborting `signal` makes the run fail soon where the runtime can interrupt itself, and not at all elsewhere. */
  run(signal?: AbortSignal): Promise<void>
  release(): void
}

/** Bytes per number. */
export const elementBytes = {
  float32: 4,
  float16: 2,
  bfloat16: 2,
  int32: 4,
  int64: 8
} as const satisfies Readonly<Record<Precision | ElementType, number>>

export function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, dimension) => product * dimension, 1)
}
