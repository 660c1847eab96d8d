import type { ElementType, Precision } from '../onnx/graph.ts'
import type { OrtApi } from './api.ts'
import { blockCopies } from './cache-blocks.ts'
import { buildRowCopy, buildZeros } from './device-graphs.ts'
import { DeviceMemory, DeviceTensor, deviceOfInputs } from './device-memory.ts'
import { DeviceSession, type DeviceSessionParts } from './device-session.ts'
import type { ExecutionTarget } from './execution-target.ts'
import { type NativeBinding, NativeRuntime, type NativeSession } from './native-runtime.ts'
import {
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
import { type CopyRows, StagedView } from './staged-view.ts'
import { Transfer } from './transfer.ts'

/** Rank of a state: rows, heads, positions, size. */
const STATE_RANK = 4

export interface DeviceRuntimeOptions {
  /** Whether runs that recur are to be recorded on the device, and then played without work for the host. */
  readonly recording?: boolean
  /** Told why they are not although they were to be. */
  onUnrecorded?(reason: string): void
}

interface Helpers {
  readonly memory: DeviceMemory
  /** {@link buildRowCopy} */
  readonly copy: NativeSession
  /** {@link buildZeros} */
  readonly zeros: NativeSession
  readonly transfer: Transfer | null
}

/**
 * ONNX Runtime on a device. Weights and states stay there; what JavaScript writes is copied to it before each run, and
 * outputs in host memory are copied back after it. Runs of bindings that recur can be recorded.
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
  readonly #parts: DeviceSessionParts

  private constructor(
    api: OrtApi,
    native: NativeRuntime,
    target: ExecutionTarget,
    helpers: Helpers,
    options: DeviceRuntimeOptions
  ) {
    this.#target = target
    this.#native = native
    this.#memory = helpers.memory
    this.#copy = helpers.copy
    this.#zeros = helpers.zeros
    this.name = `${native.name} (${target.id})`
    this.#parts = {
      api,
      native,
      memory: helpers.memory,
      transfer: helpers.transfer,
      copyRows: (...rows) => this.#copyRows(...rows),
      onUnrecorded: reason => options.onUnrecorded?.(reason)
    }
  }

  /** Throws what the library says when the device does not work. */
  static async open(api: OrtApi, target: ExecutionTarget, options: DeviceRuntimeOptions = {}): Promise<DeviceRuntime> {
    const native = new NativeRuntime(api, target)
    const helper = (model: Uint8Array) => native.createSession({ model, weights: null, threads: 1 })
    const copy = await helper(buildRowCopy())
    const device = deviceOfInputs(api, copy.handle)
    const memory = new DeviceMemory(api, copy.handle, device ?? native.memoryInfo)
    const zeros = await helper(buildZeros(STATE_RANK))
    let transfer: Transfer | null = null
    try {
      if (options.recording === true) {
        target.enableCopies?.(api, native.environment)
        transfer = Transfer.open(api, native, memory)
      }
    } catch (error) {
      options.onUnrecorded?.((error as Error).message)
    }
    return new DeviceRuntime(api, native, target, { memory, copy, zeros, transfer }, options)
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

  createSession(options: SessionOptions): Promise<Session> {
    return DeviceSession.create(this.#parts, options)
  }

  async close(): Promise<void> {
    this.#memory.release()
    await this.#copy.close()
    await this.#zeros.close()
  }

  /** A tensor's memory as float32, whatever it holds: memory is filled and copied in words of four bytes. */
  #words(tensor: DeviceTensor, shape: readonly number[]): DeviceTensor {
    return this.#memory.part(tensor, shape, 0, 'float32')
  }

  #copyRows(...[source, target, width, sourceRows, targetRows]: Parameters<CopyRows>): void {
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
function wordsIn(count: number, precision: DeviceTensor['precision']): number {
  return (count * elementBytes[precision]) / elementBytes.float32
}
