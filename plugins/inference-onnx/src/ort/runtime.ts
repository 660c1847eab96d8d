import type { ElementType, ExternalTensor, Precision } from '../onnx/graph.ts'

/** Array types of host tensors, by element type. */
export interface HostArrays {
  readonly float32: Float32Array<ArrayBufferLike>
  readonly int32: Int32Array<ArrayBufferLike>
  readonly int64: BigInt64Array<ArrayBufferLike>
}

/** Tensor that sessions read and write. The shape is fixed. Do not release it while a run uses it. */
export interface Tensor {
  readonly shape: readonly number[]
  release(): void
}

/** Tensor that JavaScript can access: write inputs before a run, read outputs after it. */
export interface HostTensor<T extends ElementType> extends Tensor {
  readonly data: HostArrays[T]
}

/** Row of a state of shape `[rows, heads, positions, size]`. */
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

/** Weights outside the model's bytes, to which the model refers. */
export interface ExternalWeights {
  /** Folder to which locations are relative. */
  readonly folder: string
  /** Contents of files that are in memory, by location. */
  readonly inMemory: ReadonlyMap<string, Uint8Array>
  /** Weights that may be shared; default: none. */
  readonly tensors?: readonly ExternalTensor[]
  /** Digest of the model: a {@link WeightShare} reads a file once for each version. Default: all have the same. */
  readonly version?: string
}

/**
 * Weights that are in memory once for all sessions that were created with this object. Release it after those sessions.
 */
export interface WeightShare {
  release(): void
}

export interface SessionOptions {
  readonly model: Uint8Array
  readonly weights: ExternalWeights | null
  readonly threads: number
  /** Reason why runs must not be captured on a device; null if they may be. */
  readonly uncapturable?: string | null
  /** Shares the weights with other sessions; null or absent: the session has its own. */
  readonly share?: WeightShare | null
  /** Aborts the creation, if the runtime supports that. */
  readonly signal?: AbortSignal | undefined
}

/**
 * ONNX Runtime as the engine uses it, independent of how it is called.
 *
 * 1. Memory is allocated with {@link Runtime.host} and {@link Runtime.state}.
 * 2. A session is created from a model, and a binding connects its inputs and outputs to memory once.
 * 3. Each run reads and writes that memory without blocking the event loop.
 * 4. Bindings are released before their tensors, sessions after their bindings.
 */
export interface Runtime {
  /** For display, for example `onnxruntime 1.30.0`. */
  readonly name: string
  /**
   * True if the memory of a state is only provided where it is written, so that a large capacity costs nothing. Default
   * false.
   */
  readonly reservesStates?: boolean
  host<T extends ElementType>(type: T, shape: readonly number[]): HostTensor<T>
  /**
   * Allocates zeroed memory that only sessions access: the key and value cache. Default: float32, the only type that
   * the CPU supports.
   */
  state(shape: readonly number[], precision?: Precision): Promise<Tensor>
  /** Allocates float32 memory on the device of the sessions, which only read it. */
  constant(shape: readonly number[], values: Float32Array): Promise<Tensor>
  /**
   * Returns `count` rows (first dimension) from `start`, as a tensor over the same memory. Release it before the
   * tensor.
   */
  view<T extends Tensor>(tensor: T, start: number, count: number): T
  /**
   * Copies a range of positions of every head between states of shape `[rows, heads, positions, size]`; the numbers of
   * rows and positions may differ. The copy happens after earlier runs and before later ones.
   */
  copy(from: CacheRange, to: CacheRow): Promise<void>
  /** Gives memory of positions back where that is possible; their contents are then undefined. Absent: never. */
  readonly discard?: (range: CacheRange) => void
  createSession(options: SessionOptions): Promise<OrtSession>
  /** Opens a place for weights that several sessions share. Absent or null: sessions cannot share weights. */
  shareWeights?(): WeightShare | null
  close(): Promise<void>
}

export interface OrtSession {
  /**
   * Binds tensors to inputs and outputs. Both may name the same tensor, which is then updated in place.
   *
   * `recurring`: the binding will run many times, so a device may capture a run and replay it without host work.
   */
  bind(inputs: Bindings, outputs: Bindings, recurring?: Recurring): Binding
  close(): Promise<void>
}

/** Properties of a binding that captures need. */
export interface Recurring {
  /**
   * Replacements for inputs that the provider reads on the host, by name. A capture reads these only once, so it needs
   * values that are correct for all later runs.
   */
  readonly bounds: Bindings
}

export interface Binding {
  /** Runs the session. `signal` aborts the run if the runtime can be interrupted; otherwise it has no effect. */
  run(signal?: AbortSignal): Promise<void>
  release(): void
}

/** Bytes per number, by element type. */
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
