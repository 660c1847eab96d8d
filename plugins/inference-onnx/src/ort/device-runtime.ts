import type { ElementType, Precision } from '../onnx/graph.ts'
import type { OrtApi } from './api.ts'
import { blockCopies } from './cache-blocks.ts'
import { buildRowCopy, buildZeros } from './device-graphs.ts'
import { DeviceMemory, DeviceTensor, deviceOfInputs } from './device-memory.ts'
import type { ExecutionTarget } from './execution-target.ts'
import { type NativeBinding, NativeRuntime, type NativeSession, NativeTensor } from './native-runtime.ts'
import {
  type Binding,
  type Bindings,
  type CacheRange,
  type CacheRow,
  elementBytes,
  elementCount,
  type HostTensor,
  type Runtime,
  type Session,
  type SessionOptions,
  type Tensor
} from './runtime.ts'

/** Rank of a state: rows, heads, positions, size. */
const STATE_RANK = 4

interface Helpers {
  readonly memory: DeviceMemory
  /** {@link buildRowCopy} */
  readonly copy: NativeSession
  /** {@link buildZeros} */
  readonly zeros: NativeSession
}

/**
 * ONNX Runtime on a device. Weights and states stay there; what JavaScript writes is copied to it before each run, and
 * outputs in host memory are copied back after it.
 *
 * Each model has a runtime of its own, and closes it last.
 */
export class DeviceRuntime implements Runtime {
  readonly name: string
  readonly #target: ExecutionTarget
  readonly #native: NativeRuntime
  readonly #memory: DeviceMemory
  readonly #copy: NativeSession
  readonly #zeros: NativeSession

  private constructor(native: NativeRuntime, target: ExecutionTarget, helpers: Helpers) {
    this.#target = target
    this.#native = native
    this.#memory = helpers.memory
    this.#copy = helpers.copy
    this.#zeros = helpers.zeros
    this.name = `${native.name} (${target.id})`
  }

  /** Throws what the library says when the device does not work. */
  static async open(api: OrtApi, target: ExecutionTarget): Promise<DeviceRuntime> {
    const native = new NativeRuntime(api, target)
    const helper = (model: Uint8Array) => native.createSession({ model, weights: null, threads: 1 })
    const copy = await helper(buildRowCopy())
    const device = deviceOfInputs(api, copy.handle)
    const memory = new DeviceMemory(api, copy.handle, device ?? native.memoryInfo)
    return new DeviceRuntime(native, target, { memory, copy, zeros: await helper(buildZeros(STATE_RANK)) })
  }

  host<T extends ElementType>(type: T, shape: readonly number[]): HostTensor<T> {
    return this.#native.host(type, shape)
  }

  state(shape: readonly number[], precision: Precision = 'float32'): Tensor {
    const state = this.#memory.allocate(shape, precision)
    const words = this.#words(state, [...shape.slice(0, -1), wordsIn(shape.at(-1) ?? 1, precision)])
    const sizes = this.#native.host('int64', [shape.length])
    sizes.data.set(words.shape.map(BigInt))
    runOnce(this.#zeros, { shape: sizes }, { zeros: words }, [sizes, words])
    return state
  }

  constant(shape: readonly number[], values: Float32Array): Tensor {
    const tensor = this.#memory.allocate(shape)
    const source = this.#native.constant([1, values.length], values)
    const target = this.#memory.part(tensor, [1, values.length])
    const [from, to] = [this.#native.host('int64', [1]), this.#native.host('int64', [1, 1])]
    const inputs = { source, target, source_rows: from, target_rows: to }
    runOnce(this.#copy, inputs, { copied: target }, [source, target, from, to])
    return tensor
  }

  view<T extends Tensor>(tensor: T, start: number, count: number): T {
    const whole: Tensor = tensor
    if (!(whole instanceof DeviceTensor)) return this.#native.view(tensor, start, count)
    const shape = [count, ...whole.shape.slice(1)]
    const offset = start * elementCount(whole.shape.slice(1)) * elementBytes[whole.precision]
    const view: Tensor =
      offset === 0 || this.#target.addressable
        ? this.#memory.part(whole, shape, offset)
        : new StagedView(this.#memory.allocate(shape, whole.precision), whole, start)
    return view as T
  }

  copy(from: CacheRange, to: CacheRow): void {
    const [source, target] = [from.state, to.state]
    if (!(source instanceof DeviceTensor && target instanceof DeviceTensor)) {
      this.#native.copy(from, to)
      return
    }
    const [, heads = 0, sourcePositions = 0, size = 0] = source.shape
    const geometry = { heads, sourcePositions, targetPositions: target.shape[2] ?? 0 }
    for (const block of blockCopies(geometry, from.row, to.row, from.start, from.end)) {
      this.#copyRows(source, target, block.positions * size, block.sourceRows, block.targetRows)
    }
  }

  async createSession(options: SessionOptions): Promise<Session> {
    const session = await this.#native.createSession(options)
    return {
      bind: (inputs, outputs) => this.#bind(session, inputs, outputs),
      close: () => session.close()
    }
  }

  async close(): Promise<void> {
    this.#memory.release()
    await this.#copy.close()
    await this.#zeros.close()
  }

  #bind(session: NativeSession, inputs: Bindings, outputs: Bindings): Binding {
    const views = new Set([...Object.values(inputs), ...Object.values(outputs)].filter(isStaged))
    const written = new Set(Object.values(outputs).filter(isStaged))
    const binding = session.bind(mapValues(inputs, onDevice), mapValues(outputs, onDevice))
    const changing = Object.entries(inputs).filter(([, tensor]) => tensor instanceof NativeTensor)
    return {
      run: async signal => {
        for (const [name, tensor] of changing) binding.bindInput(name, tensor)
        for (const view of views) this.#stage(view, 'in')
        await binding.run(signal)
        for (const view of written) this.#stage(view, 'out')
      },
      release: () => binding.release()
    }
  }

  #stage({ stage, whole, start }: StagedView, direction: 'in' | 'out'): void {
    const width = elementCount(whole.shape.slice(-2))
    const count = elementCount(stage.shape) / width
    const first = start * (whole.shape[1] ?? 1)
    const own = Array.from({ length: count }, (_, row) => row)
    const shared = own.map(row => first + row)
    if (direction === 'in') this.#copyRows(whole, stage, width, shared, own)
    else this.#copyRows(stage, whole, width, own, shared)
  }

  /** A tensor's memory as float32, whatever it holds: memory is filled and copied in words of four bytes. */
  #words(tensor: DeviceTensor, shape: readonly number[]): DeviceTensor {
    return this.#memory.part(tensor, shape, 0, 'float32')
  }

  /** Copies rows of two tensors, both seen as `[n, width]`. */
  #copyRows(
    source: DeviceTensor,
    target: DeviceTensor,
    width: number,
    sourceRows: readonly number[],
    targetRows: readonly number[]
  ): void {
    const table = (tensor: DeviceTensor) =>
      this.#words(tensor, [elementCount(tensor.shape) / width, wordsIn(width, tensor.precision)])
    const [from, to] = [table(source), table(target)]
    const reading = this.#native.host('int64', [sourceRows.length])
    const writing = this.#native.host('int64', [targetRows.length, 1])
    reading.data.set(sourceRows.map(BigInt))
    writing.data.set(targetRows.map(BigInt))
    const inputs = { source: from, target: to, source_rows: reading, target_rows: writing }
    runOnce(this.#copy, inputs, { copied: to }, [from, to, reading, writing])
  }
}

/**
 * Rows of a state whose parts have no address: runs use memory of their own, to which the rows are copied before each
 * run and from which they are copied back after it.
 */
class StagedView implements Tensor {
  readonly stage: DeviceTensor
  readonly whole: DeviceTensor
  /** First of the rows. */
  readonly start: number

  constructor(stage: DeviceTensor, whole: DeviceTensor, start: number) {
    this.stage = stage
    this.whole = whole
    this.start = start
  }

  get shape(): readonly number[] {
    return this.stage.shape
  }

  release(): void {
    this.stage.release()
  }
}

function isStaged(tensor: Tensor): tensor is StagedView {
  return tensor instanceof StagedView
}

function onDevice(tensor: Tensor): Tensor {
  return isStaged(tensor) ? tensor.stage : tensor
}

function mapValues(bindings: Bindings, change: (tensor: Tensor) => Tensor): Bindings {
  return Object.fromEntries(Object.entries(bindings).map(([name, tensor]) => [name, change(tensor)]))
}

/** Runs while the caller waits, then frees the binding and `tensors`. */
function runOnce(session: NativeSession, inputs: Bindings, outputs: Bindings, tensors: readonly Tensor[]): void {
  let binding: NativeBinding | undefined
  try {
    binding = session.bind(inputs, outputs)
    binding.runNow()
  } finally {
    binding?.release()
    for (const tensor of tensors) tensor.release()
  }
}

/** Words of four bytes that `count` numbers take. Sizes of heads are multiples of 16, so nothing is left over. */
function wordsIn(count: number, precision: Precision): number {
  return (count * elementBytes[precision]) / elementBytes.float32
}
