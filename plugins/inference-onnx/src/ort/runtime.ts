import type { ElementType, Precision } from '../onnx/graph.ts'

/** The arrays behind host tensors. */
export interface HostArrays {
  readonly float32: Float32Array<ArrayBufferLike>
  readonly int32: Int32Array<ArrayBufferLike>
  readonly int64: BigInt64Array<ArrayBufferLike>
}

/** A tensor that sessions read and write. Its shape is fixed; do not release it while a run uses it. */
export interface Tensor {
  readonly shape: readonly number[]
  release(): void
}

/** A tensor visible to JavaScript: write inputs before a run, read outputs after it. */
export interface HostTensor<T extends ElementType> extends Tensor {
  readonly data: HostArrays[T]
}

/** A row of a state of shape `[rows, heads, positions, size]`. */
export interface CacheRow {
  readonly state: Tensor
  readonly row: number
}

/** Positions `start` (inclusive) to `end` (exclusive) of all heads of a row. */
export interface CacheRange extends CacheRow {
  readonly start: number
  readonly end: number
}

export type Bindings = Readonly<Record<string, Tensor>>

/** Weights that the model's bytes refer to. */
export interface ExternalWeights {
  /** Base folder of the locations. */
  readonly folder: string
  /** Files in memory, by location. */
  readonly inMemory: ReadonlyMap<string, Uint8Array>
}

export interface SessionOptions {
  readonly model: Uint8Array
  readonly weights: ExternalWeights | null
  readonly threads: number
  /** Why its runs must not be captured on a device; null if they may be. */
  readonly uncapturable?: string | null
  /** Aborting it fails the creation soon, if the runtime supports that. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Requirements of the engine on ONNX Runtime, independent of the binding.
 *
 * 1. Memory is allocated with {@link Runtime.host} and {@link Runtime.state}. 2. A session is created from a model, and
 * a binding connects its inputs and outputs to memory once. 3. Each run reads and writes that memory without blocking
 * the event loop. 4. Bindings are released before their tensors, sessions after their bindings.
 */
export interface Runtime {
  /** For display, for example `onnxruntime 1.30.0`. */
  readonly name: string
  host<T extends ElementType>(type: T, shape: readonly number[]): HostTensor<T>
  /**
   * Zeroed memory that only sessions access: the key and value cache. Default float32, the only type of the CPU's
   * runtimes.
   */
  state(shape: readonly number[], precision?: Precision): Promise<Tensor>
  /** Float32 memory that sessions only read, on their device. */
  constant(shape: readonly number[], values: Float32Array): Promise<Tensor>
  /**
   * `count` rows (first dimension) from `start`, as a tensor over the same memory; release it separately, before the
   * tensor.
   */
  view<T extends Tensor>(tensor: T, start: number, count: number): T
  /**
   * Copies a range of positions of every head between states of shape `[rows, heads, positions, size]`; rows and
   * positions may differ. It is ordered after earlier runs and before later ones.
   */
  copy(from: CacheRange, to: CacheRow): Promise<void>
  createSession(options: SessionOptions): Promise<OrtSession>
  close(): Promise<void>
}

export interface OrtSession {
  /**
   * Inputs and outputs may name the same tensor, which is then updated in place.
   *
   * With `recurring`, the binding is run many times, so a device may capture a run and replay it without host work.
   */
  bind(inputs: Bindings, outputs: Bindings, recurring?: Recurring): Binding
  close(): Promise<void>
}

/** Facts about a binding, needed for captures. */
export interface Recurring {
  /**
   * Replacements by input name, for tensors that the provider reads on the host. A capture reads those only once; with
   * the replacements, every run has the right results.
   */
  readonly bounds: Bindings
}

export interface Binding {
  /** Aborting `signal` fails the run soon if the runtime can be interrupted; otherwise it has no effect. */
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
