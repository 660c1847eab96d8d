import type { DeviceMemory } from './device-memory.ts'
import type { GraphCaptures } from './graph-captures.ts'
import { type BoundTensor, type NativeBinding, type NativeSession, NativeTensor } from './native-runtime.ts'
import type { Bindings, Recurring, Tensor } from './runtime.ts'
import { onDevice, type Staging } from './staged-view.ts'
import type { Copy, Transfer } from './transfer.ts'

/** Number of runs before a capture: for one or two runs, capturing is not worth its cost. */
const RUNS_BEFORE_CAPTURE = 2

export interface CapturedRunOptions {
  readonly session: NativeSession
  readonly captures: GraphCaptures
  readonly memory: DeviceMemory
  readonly transfer: Transfer
  readonly staging: Staging
  readonly inputs: Bindings
  readonly outputs: Bindings
  readonly recurring: Recurring
}

/**
 * Binding whose runs are captured on the device, and then replayed.
 *
 * A capture reads and writes the memory that was bound when it was taken. So each host tensor has a twin on the device:
 * inputs are copied to it before each run, and outputs from it afterwards.
 */
export class CapturedRun {
  readonly #options: CapturedRunOptions
  readonly #binding: NativeBinding
  readonly #twins: Tensor[] = []
  readonly #inputs: Copy[] = []
  readonly #outputs: Copy[] = []
  #runs = 0
  #capture: number | null = null

  constructor(options: CapturedRunOptions) {
    const { session, captures, inputs, outputs, recurring } = options
    this.#options = options
    const bound = Object.entries(inputs).map(([name, tensor]): [string, Tensor] => {
      if (captures.hostInputs.has(name)) return [name, recurring.bounds[name] ?? tensor]
      return [name, this.#deviceTensor(tensor, (from, to) => this.#inputs.push({ from, to }))]
    })
    const written = Object.entries(outputs).map(([name, tensor]): [string, Tensor] => [
      name,
      this.#deviceTensor(tensor, (to, from) => this.#outputs.push({ from, to }))
    ])
    this.#binding = session.bind(Object.fromEntries(bound), Object.fromEntries(written))
  }

  /** Runs, captures or replays. A captured or replayed run cannot be aborted: the capture would be incomplete. */
  async run(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    const { transfer, staging, captures } = this.#options
    transfer.copyNow(this.#inputs)
    staging.fill()
    if (this.#capture !== null) captures.touch(this.#capture)
    else if (this.#runs++ >= RUNS_BEFORE_CAPTURE) this.#capture = captures.begin(() => this.#forget())
    this.#binding.capture(this.#capture)
    await this.#binding.run(this.#capture === null ? signal : undefined)
    staging.drain()
    await transfer.copy(this.#outputs)
  }

  release(): void {
    if (this.#capture !== null) this.#options.captures.drop(this.#capture)
    this.#binding.release()
    for (const twin of this.#twins) twin.release()
  }

  #forget(): void {
    this.#capture = null
    this.#runs = 0
  }

  /** Returns the tensor to bind: the tensor itself, or for host memory a twin on the device. */
  #deviceTensor(tensor: Tensor, pair: (host: BoundTensor, twin: BoundTensor) => void): Tensor {
    if (!(tensor instanceof NativeTensor)) return onDevice(tensor)
    const twin = this.#options.memory.allocate(tensor.shape, tensor.type)
    this.#twins.push(twin)
    pair(tensor, twin)
    return twin
  }
}
