import { type ElementType, elementType } from '../onnx/graph.ts'
import type { OrtApi, Pointer } from './api.ts'
import type { ExecutionTarget } from './execution-target.ts'
import { int8Overflows } from './int8-overflow.ts'
import {
  type Binding,
  type Bindings,
  type CacheRange,
  type CacheRow,
  type ExternalWeights,
  elementBytes,
  elementCount,
  type HostArrays,
  type HostTensor,
  type OrtSession,
  type Runtime,
  type SessionOptions,
  type Tensor,
  type WeightShare
} from './runtime.ts'
import type { SystemMemory } from './system-memory.ts'
import { NativeWeightShare } from './weight-share.ts'

const LOG_ERRORS = 3
const OPTIMISE_ALL = 99
const ALLOCATOR_ARENA = 1
const MEMORY_DEFAULT = 0
/** Time after a session was opened or closed until freed memory is given back: the garbage collector frees its arrays later. */
const TRIM_AFTER_MS = 20_000

/** ONNX Runtime through its C interface: runs do not block the event loop, and the cache is updated in place. */
export class NativeRuntime implements Runtime {
  readonly name: string
  readonly #api: OrtApi
  readonly environment: Pointer
  /** Location of the CPU's memory, for the library. */
  readonly memoryInfo: Pointer
  readonly #target: ExecutionTarget | null
  readonly #memory: SystemMemory | null
  readonly discard?: (range: CacheRange) => void

  /** `target`: device of the sessions; null for the CPU. Tensors are in host memory in both cases. */
  constructor(api: OrtApi, target: ExecutionTarget | null = null) {
    this.#api = api
    this.#target = target
    this.name = `onnxruntime ${api.version}`
    // The library has one environment per process, with a reference count. It is never released, because it must
    // outlive all sessions, including those of a reloaded plugin.
    this.environment = api.create('CreateEnv', LOG_ERRORS, 'svc')
    this.memoryInfo = api.create('CreateCpuMemoryInfo', ALLOCATOR_ARENA, MEMORY_DEFAULT)
    this.#memory = api.systemMemory()
    if (this.#memory?.canDiscard === true) {
      this.discard = ({ state, row, start, end }) => (state as ReservedTensor).discard(row, start, end)
    }
  }

  get reservesStates(): boolean {
    return this.#memory !== null
  }

  host<T extends ElementType>(type: T, shape: readonly number[]): NativeTensor<T> {
    return new NativeTensor(this.#api, this.memoryInfo, type, shape)
  }

  async state(shape: readonly number[]): Promise<Tensor> {
    if (this.#memory === null) return new NativeTensor(this.#api, this.memoryInfo, 'float32', shape)
    return new ReservedTensor(this.#api, this.memoryInfo, this.#memory, shape)
  }

  async constant(shape: readonly number[], values: Float32Array): Promise<NativeTensor<'float32'>> {
    const tensor = new NativeTensor(this.#api, this.memoryInfo, 'float32', shape)
    tensor.data.set(values)
    return tensor
  }

  view<T extends Tensor>(tensor: T, start: number, count: number): T {
    const whole: Tensor = tensor
    if (whole instanceof ReservedTensor) return whole.view(start, count) as Tensor as T
    const { type, shape, data } = whole as NativeTensor<ElementType>
    const size = elementCount(shape.slice(1))
    const rows = data.subarray(start * size, (start + count) * size)
    const view: Tensor = new NativeTensor(this.#api, this.memoryInfo, type, [count, ...shape.slice(1)], rows)
    return view as T
  }

  async copy(from: CacheRange, to: CacheRow): Promise<void> {
    if (from.state instanceof ReservedTensor && to.state instanceof ReservedTensor) return to.state.copy(to.row, from)
    const [source, target] = [from.state as NativeTensor<'float32'>, to.state as NativeTensor<'float32'>]
    const [, heads = 0, sourcePositions = 0, size = 0] = source.shape
    const targetPositions = target.shape[2] ?? 0
    for (let head = 0; head < heads; head++) {
      const start = (from.row * heads + head) * sourcePositions
      const values = source.data.subarray((start + from.start) * size, (start + from.end) * size)
      target.data.set(values, ((to.row * heads + head) * targetPositions + from.start) * size)
    }
  }

  /** Creates a session. `capture`: enables captures, if the target supports them. */
  async createSession(
    { model, weights, threads, share, signal }: SessionOptions,
    capture = false
  ): Promise<NativeSession> {
    const api = this.#api
    const options = api.create('CreateSessionOptions')
    const cancel = () => api.call('SessionOptionsSetLoadCancellationFlag', options, 1)
    signal?.addEventListener('abort', cancel)
    try {
      api.call('SetSessionLogSeverityLevel', options, LOG_ERRORS)
      api.call('SetSessionGraphOptimizationLevel', options, OPTIMISE_ALL)
      api.call('SetIntraOpNumThreads', options, threads)
      // Threads busy-wait during a run and sleep between runs.
      api.call('AddSessionConfigEntry', options, 'session.force_spinning_stop', '1')
      // Exact 8-bit products are slower, so they are used only if the fast ones may overflow.
      if (int8Overflows()) api.call('AddSessionConfigEntry', options, 'session.x64quantprecision', '1')
      this.#target?.append(api, this.environment, options, capture)
      const kept = weights === null ? [] : addWeights(api, options, weights)
      const source = [this.environment, model, model.byteLength, options] as const
      const shared = share instanceof NativeWeightShare && weights !== null && (await share.add(options, weights))
      const session = shared
        ? await share.whilePacking(() =>
            api.createAsync('CreateSessionFromArrayWithPrepackedWeightsContainer', ...source, share.container)
          )
        : await api.createAsync('CreateSessionFromArray', ...source)
      return new NativeSession(api, session, kept, () => this.#trimLater())
    } finally {
      this.#trimLater()
      signal?.removeEventListener('abort', cancel)
      api.release('ReleaseSessionOptions', options)
    }
  }

  shareWeights(): WeightShare | null {
    if (this.#target !== null || this.#memory === null) return null
    return new NativeWeightShare(this.#api, this.memoryInfo, this.#memory)
  }

  async close(): Promise<void> {}

  /** Gives freed memory back soon. Not with a timer, which would end with the plugin: models outlive its reload. */
  #trimLater(): void {
    AbortSignal.timeout(TRIM_AFTER_MS).addEventListener('abort', () => this.#memory?.trimHeap())
  }
}

/** Adds external weights to the session options. Returns the arrays that must live as long as the session. */
function addWeights(api: OrtApi, options: Pointer, weights: ExternalWeights): readonly NodeJS.TypedArray[] {
  api.call('AddSessionConfigEntry', options, 'session.model_external_initializers_file_folder_path', weights.folder)
  const files = [...weights.inMemory]
  if (files.length === 0) return []
  const names = files.map(([location]) => Buffer.from(`${location}\0`))
  const contents = files.map(([, bytes]) => bytes)
  api.call(
    'AddExternalInitializersFromFilesInMemory',
    options,
    BigUint64Array.from(names, name => api.address(name)),
    BigUint64Array.from(contents, bytes => api.address(bytes)),
    BigUint64Array.from(contents, bytes => BigInt(bytes.byteLength)),
    files.length
  )
  return [...names, ...contents]
}

const arrays = { float32: Float32Array, int32: Int32Array, int64: BigInt64Array } as const

/** Allocates a separate buffer: tiny typed arrays may be on the heap and move. */
function allocate<T extends ElementType>(type: T, shape: readonly number[]): HostArrays[T] {
  const Arrays = arrays[type]
  return new Arrays(new ArrayBuffer(elementCount(shape) * Arrays.BYTES_PER_ELEMENT)) as HostArrays[T]
}

/** Tensor in host memory. */
export class NativeTensor<T extends ElementType> implements HostTensor<T> {
  readonly type: T
  readonly shape: readonly number[]
  /** The library writes into this memory, so it lives as long as the tensor. */
  readonly data: HostArrays[T]
  readonly value: Pointer
  readonly #api: OrtApi

  constructor(
    api: OrtApi,
    memoryInfo: Pointer,
    type: T,
    shape: readonly number[],
    data: HostArrays[T] = allocate(type, shape)
  ) {
    this.#api = api
    this.type = type
    this.shape = shape
    this.data = data
    this.value = api.create(
      'CreateTensorWithDataAsOrtValue',
      memoryInfo,
      this.data,
      this.data.byteLength,
      BigInt64Array.from(shape, BigInt),
      shape.length,
      elementType[type]
    )
  }

  release(): void {
    this.#api.release('ReleaseValue', this.value)
  }
}

/** State in reserved memory. */
export class ReservedTensor implements Tensor {
  readonly shape: readonly number[]
  readonly value: Pointer
  readonly #api: OrtApi
  readonly #memoryInfo: Pointer
  readonly #memory: SystemMemory
  readonly #address: Pointer
  readonly #isView: boolean

  /** `address`: memory of another tensor, which must be released later; absent: the tensor reserves its own memory. */
  constructor(api: OrtApi, memoryInfo: Pointer, memory: SystemMemory, shape: readonly number[], address?: Pointer) {
    this.#api = api
    this.#memoryInfo = memoryInfo
    this.#memory = memory
    this.shape = shape
    this.#isView = address !== undefined
    this.#address = address ?? memory.reserve(this.#byteLength)
    const dimensions = BigInt64Array.from(shape, BigInt)
    const place = [memoryInfo, this.#address, this.#byteLength, dimensions, shape.length] as const
    this.value = api.create('CreateTensorWithDataAsOrtValue', ...place, elementType.float32)
  }

  get #byteLength(): number {
    return elementCount(this.shape) * elementBytes.float32
  }

  /** Returns `count` rows from `start`, over the same memory. */
  view(start: number, count: number): ReservedTensor {
    const shape = [count, ...this.shape.slice(1)]
    const offset = start * elementCount(this.shape.slice(1)) * elementBytes.float32
    const address = this.#address + BigInt(offset)
    return new ReservedTensor(this.#api, this.#memoryInfo, this.#memory, shape, address)
  }

  /** Copies positions of another state to the same positions of `row`. */
  copy(row: number, from: CacheRange): void {
    const source = from.state as ReservedTensor
    const [, heads = 0, , size = 0] = source.shape
    const bytes = size * elementBytes.float32
    for (let head = 0; head < heads; head++) {
      const target = this.#positionAddress(row, head, from.start)
      const origin = source.#positionAddress(from.row, head, from.start)
      this.#memory.copy(target, origin, (from.end - from.start) * bytes)
    }
  }

  /** Gives memory of positions back. */
  discard(row: number, start: number, end: number): void {
    const [, heads = 0, , size = 0] = this.shape
    const bytes = (end - start) * size * elementBytes.float32
    for (let head = 0; head < heads; head++) this.#memory.discard(this.#positionAddress(row, head, start), bytes)
  }

  #positionAddress(row: number, head: number, position: number): Pointer {
    const [, heads = 0, positions = 0, size = 0] = this.shape
    return this.#address + BigInt(((row * heads + head) * positions + position) * size * elementBytes.float32)
  }

  release(): void {
    this.#api.release('ReleaseValue', this.value)
    if (!this.#isView) this.#memory.unmap({ address: this.#address, byteLength: this.#byteLength })
  }
}

export class NativeSession implements OrtSession {
  readonly handle: Pointer
  readonly #api: OrtApi
  /** Memory that the library reads during the session's life. */
  readonly weights: readonly NodeJS.TypedArray[]
  readonly #onClosed: () => void

  constructor(api: OrtApi, session: Pointer, weights: readonly NodeJS.TypedArray[], onClosed: () => void) {
    this.#api = api
    this.handle = session
    this.weights = weights
    this.#onClosed = onClosed
  }

  bind(inputs: Bindings, outputs: Bindings): NativeBinding {
    return new NativeBinding(this.#api, this.handle, inputs, outputs)
  }

  async close(): Promise<void> {
    this.#api.release('ReleaseSession', this.handle)
    this.#onClosed()
  }
}

/** Tensor that has a handle in the library. */
export interface BoundTensor extends Tensor {
  readonly value: Pointer
}

export class NativeBinding implements Binding {
  readonly #api: OrtApi
  readonly #session: Pointer
  readonly #binding: Pointer
  readonly #runOptions: Pointer
  /** The bound tensors, whose memory the library references. */
  readonly tensors: readonly Tensor[]

  constructor(api: OrtApi, session: Pointer, inputs: Bindings, outputs: Bindings) {
    this.#api = api
    this.#session = session
    this.#binding = api.create('CreateIoBinding', session)
    this.#runOptions = api.create('CreateRunOptions')
    this.tensors = [...Object.values(inputs), ...Object.values(outputs)]
    for (const [name, tensor] of Object.entries(inputs)) this.bindInput(name, tensor)
    for (const [name, tensor] of Object.entries(outputs)) {
      api.call('BindOutput', this.#binding, name, (tensor as BoundTensor).value)
    }
  }

  /** Binds an input again: on a device, binding copies the current contents. */
  bindInput(name: string, tensor: Tensor): void {
    this.#api.call('BindInput', this.#binding, name, (tensor as BoundTensor).value)
  }

  /**
   * Sets the capture id of the next runs: the first run with an id is captured, and later ones replay it. null disables
   * captures.
   */
  capture(id: number | null): void {
    this.#api.call('AddRunConfigEntry', this.#runOptions, 'gpu_graph_id', String(id ?? -1))
  }

  /** Runs synchronously, for short work between awaited runs. */
  runNow(): void {
    this.#api.call('RunWithBinding', this.#session, this.#runOptions, this.#binding)
  }

  async run(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    const interrupt = () => this.#api.call('RunOptionsSetTerminate', this.#runOptions)
    signal?.addEventListener('abort', interrupt)
    try {
      await this.#api.callAsync('RunWithBinding', this.#session, this.#runOptions, this.#binding)
    } finally {
      signal?.removeEventListener('abort', interrupt)
      if (signal?.aborted) this.#api.call('RunOptionsUnsetTerminate', this.#runOptions)
    }
  }

  release(): void {
    this.#api.release('ReleaseIoBinding', this.#binding)
    this.#api.release('ReleaseRunOptions', this.#runOptions)
  }
}
