import type { ElementType, Precision } from '../onnx/graph.ts'
import type { OrtApi } from './api.ts'
import { blockCopies } from './cache-blocks.ts'
import { buildRowCopy, buildZeros } from './device-graphs.ts'
import { DeviceMemory, DeviceTensor, deviceOfInputs } from './device-memory.ts'
import { DeviceSession, type DeviceSessionParts } from './device-session.ts'
import type { ExecutionTarget } from './execution-target.ts'
import { type NativeBinding, NativeRuntime, type NativeSession } from './native-runtime.ts'
import { immediateQueue, type RunQueue, SerialQueue } from './run-queue.ts'
import {
  type Bindings,
  type CacheRange,
  type CacheRow,
  elementBytes,
  elementCount,
  type HostTensor,
  type OrtSession,
  type Runtime,
  type SessionOptions,
  type Tensor
} from './runtime.ts'
import { type CopyRows, StagedView } from './staged-view.ts'
import { Transfer } from './transfer.ts'

/** Number of dimensions of a state: rows, heads, positions, size. */
const STATE_RANK = 4

export interface DeviceRuntimeOptions {
  /** True to capture recurring runs on the device and replay them without host work. */
  readonly capture?: boolean
  /** Called with the reason if requested captures are not possible. */
  onUncaptured?(reason: string): void
}

interface Helpers {
  readonly memory: DeviceMemory
  /** Session of {@link buildRowCopy}. */
  readonly copy: NativeSession
  /** Session of {@link buildZeros}. */
  readonly zeros: NativeSession
}

/**
 * ONNX Runtime on a device other than the CPU. Weights and states stay on the device. Inputs are copied to it before
 * each run; outputs in host memory are copied back afterwards. Runs of recurring bindings can be captured.
 *
 * Each model has a separate runtime, which it closes last.
 */
export class DeviceRuntime implements Runtime {
  readonly name: string
  readonly #target: ExecutionTarget
  readonly #native: NativeRuntime
  readonly #turns: RunQueue
  readonly #memory: DeviceMemory
  readonly #copy: NativeSession
  readonly #zeros: NativeSession
  readonly #parts: DeviceSessionParts

  private constructor(
    native: NativeRuntime,
    target: ExecutionTarget,
    helpers: Helpers,
    parts: Omit<DeviceSessionParts, 'copyRows'>
  ) {
    this.#target = target
    this.#native = native
    this.#turns = parts.turns
    this.#memory = helpers.memory
    this.#copy = helpers.copy
    this.#zeros = helpers.zeros
    this.#parts = { ...parts, copyRows: (...rows) => this.#copyRows(...rows) }
    this.name = `${native.name} (${target.id})`
  }

  /** Opens the runtime. Throws the library's error if the device does not work. */
  static open(api: OrtApi, target: ExecutionTarget, options: DeviceRuntimeOptions = {}): Promise<DeviceRuntime> {
    // During a capture, no other run may use the device.
    const turns = target.concurrent && options.capture !== true ? immediateQueue : new SerialQueue(api.line)
    const native = new NativeRuntime(api, target)
    return turns.take(async () => {
      const helpers = await openHelpers(api, native, turns)
      const transfer = options.capture === true ? openTransfer(api, target, native, helpers.memory, options) : null
      return new DeviceRuntime(native, target, helpers, {
        api,
        native,
        turns,
        memory: helpers.memory,
        transfer,
        onUncaptured: reason => options.onUncaptured?.(reason)
      })
    })
  }

  host<T extends ElementType>(type: T, shape: readonly number[]): HostTensor<T> {
    return this.#native.host(type, shape)
  }

  state(shape: readonly number[], precision: Precision = 'float32'): Promise<Tensor> {
    return this.#turns.take(() => {
      const state = this.#memory.allocate(shape, precision)
      const words = this.#words(state, [...shape.slice(0, -1), wordsIn(shape.at(-1) ?? 1, precision)])
      const sizes = this.#native.host('int64', [shape.length])
      sizes.data.set(words.shape.map(BigInt))
      runOnce(this.#zeros, { shape: sizes }, { zeros: words }, [sizes, words])
      return state
    })
  }

  constant(shape: readonly number[], values: Float32Array): Promise<Tensor> {
    return this.#turns.take(() => {
      const tensor = this.#memory.allocate(shape)
      const source = this.#native.host('float32', [1, values.length])
      source.data.set(values)
      const target = this.#memory.part(tensor, [1, values.length])
      const [from, to] = [this.#native.host('int64', [1]), this.#native.host('int64', [1, 1])]
      const inputs = { source, target, source_rows: from, target_rows: to }
      runOnce(this.#copy, inputs, { copied: target }, [source, target, from, to])
      return tensor
    })
  }

  view<T extends Tensor>(tensor: T, start: number, count: number): T {
    const whole: Tensor = tensor
    if (!(whole instanceof DeviceTensor)) return this.#native.view(tensor, start, count)
    const shape = [count, ...whole.shape.slice(1)]
    const offset = start * elementCount(whole.shape.slice(1)) * elementBytes[whole.precision]
    const view: Tensor =
      offset === 0 || this.#target.addressable
        ? this.#memory.part(whole, shape, offset)
        : new StagedView(this.#memory, whole, start, count)
    return view as T
  }

  async copy(from: CacheRange, to: CacheRow): Promise<void> {
    const [source, target] = [from.state, to.state]
    if (!(source instanceof DeviceTensor && target instanceof DeviceTensor)) return this.#native.copy(from, to)
    const [, heads = 0, sourcePositions = 0, size = 0] = source.shape
    const geometry = { heads, sourcePositions, targetPositions: target.shape[2] ?? 0 }
    await this.#turns.take(() => {
      for (const block of blockCopies(geometry, from.row, to.row, from.start, from.end)) {
        this.#copyRows(source, target, block.positions * size, block.sourceRows, block.targetRows)
      }
    })
  }

  createSession(options: SessionOptions): Promise<OrtSession> {
    return DeviceSession.create(this.#parts, options)
  }

  close(): Promise<void> {
    return this.#turns.take(async () => {
      this.#memory.release()
      await this.#copy.close()
      await this.#zeros.close()
    })
  }

  /** Returns a tensor's memory as float32, whatever its type: fills and copies work on four-byte words. */
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

async function openHelpers(api: OrtApi, native: NativeRuntime, turns: RunQueue): Promise<Helpers> {
  const helper = (model: Uint8Array) => native.createSession({ model, weights: null, threads: 1 })
  const copy = await helper(buildRowCopy())
  const device = deviceOfInputs(api, copy.handle)
  const memory = new DeviceMemory(api, copy.handle, device ?? native.memoryInfo, turns)
  return { memory, copy, zeros: await helper(buildZeros(STATE_RANK)) }
}

/** Opens copies between host and device; null if the device does not support them, so that runs cannot be captured. */
function openTransfer(
  api: OrtApi,
  target: ExecutionTarget,
  native: NativeRuntime,
  memory: DeviceMemory,
  { onUncaptured }: DeviceRuntimeOptions
): Transfer | null {
  try {
    target.enableCopies?.(api, native.environment)
    return Transfer.open(api, native, memory)
  } catch (error) {
    onUncaptured?.((error as Error).message)
    return null
  }
}

/** Runs synchronously, then frees the binding and `tensors`. */
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

/** Returns the number of four-byte words for `count` numbers. Head sizes are multiples of 16, so division is exact. */
function wordsIn(count: number, precision: DeviceTensor['precision']): number {
  return (count * elementBytes[precision]) / elementBytes.float32
}
