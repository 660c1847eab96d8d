import type { DeviceMemory } from './device-memory.ts'
import { type BoundTensor, type NativeBinding, type NativeSession, NativeTensor } from './native-runtime.ts'
import type { Recorder } from './recorder.ts'
import type { Bindings, Recurring, Tensor } from './runtime.ts'
import { onDevice, type Staging } from './staged-view.ts'
import type { Copy, Transfer } from './transfer.ts'

/** Runs before one is recorded: rows that meet in a batch once or twice are not worth it. */
const RUNS_BEFORE_RECORDING = 2

export interface RecordedRunOptions {
  readonly session: NativeSession
  readonly recorder: Recorder
  readonly memory: DeviceMemory
  readonly transfer: Transfer
  readonly staging: Staging
  readonly inputs: Bindings
  readonly outputs: Bindings
  readonly recurring: Recurring
}

/**
 * A binding whose runs are recorded on the device, and then played.
 *
 * A recording reads and writes the memory that was bound when it was made. So what is in host memory has a twin on the
 * device, to which inputs are copied before each run and from which outputs are copied after it.
 */
export class RecordedRun {
  readonly #options: RecordedRunOptions
  readonly #binding: NativeBinding
  readonly #twins: Tensor[] = []
  readonly #inputs: Copy[] = []
  readonly #outputs: Copy[] = []
  #runs = 0
  #recording: number | null = null

  constructor(options: RecordedRunOptions) {
    const { session, recorder, inputs, outputs, recurring } = options
    this.#options = options
    const bound = Object.entries(inputs).map(([name, tensor]): [string, Tensor] => {
      if (recorder.hostInputs.has(name)) return [name, recurring.bounds[name] ?? tensor]
      return [name, this.#place(tensor, (from, to) => this.#inputs.push({ from, to }))]
    })
    const written = Object.entries(outputs).map(([name, tensor]): [string, Tensor] => [
      name,
      this.#place(tensor, (to, from) => this.#outputs.push({ from, to }))
    ])
    this.#binding = session.bind(Object.fromEntries(bound), Object.fromEntries(written))
  }

  /** A run that is recorded or played is not interrupted: of a recording, a part would be kept. */
  async run(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    const { transfer, staging, recorder } = this.#options
    transfer.copyNow(this.#inputs)
    staging.fill()
    if (this.#recording !== null) recorder.touch(this.#recording)
    else if (this.#runs++ >= RUNS_BEFORE_RECORDING) this.#recording = recorder.begin(() => this.#forget())
    this.#binding.record(this.#recording)
    await this.#binding.run(this.#recording === null ? signal : undefined)
    staging.drain()
    await transfer.copy(this.#outputs)
  }

  release(): void {
    if (this.#recording !== null) this.#options.recorder.drop(this.#recording)
    this.#binding.release()
    for (const twin of this.#twins) twin.release()
  }

  #forget(): void {
    this.#recording = null
    this.#runs = 0
  }

  /** What is bound for a tensor: itself, or a twin of what lies on the host. */
  #place(tensor: Tensor, pair: (host: BoundTensor, twin: BoundTensor) => void): Tensor {
    if (!(tensor instanceof NativeTensor)) return onDevice(tensor)
    const twin = this.#options.memory.allocate(tensor.shape, tensor.type)
    this.#twins.push(twin)
    pair(tensor, twin)
    return twin
  }
}
