import { type NativeBinding, type NativeSession, NativeTensor } from './native-runtime.ts'
import type { Bindings, Tensor } from './runtime.ts'
import { onDevice, type Staging } from './staged-view.ts'

/** Binding of the tensors themselves; the library copies host memory to the device. */
export class DirectRun {
  readonly #binding: NativeBinding
  readonly #staging: Staging
  readonly #changing: readonly (readonly [name: string, tensor: Tensor])[]

  constructor(session: NativeSession, staging: Staging, inputs: Bindings, outputs: Bindings, capture: boolean) {
    this.#staging = staging
    this.#binding = session.bind(mapValues(inputs, onDevice), mapValues(outputs, onDevice))
    this.#changing = Object.entries(inputs).filter(([, tensor]) => tensor instanceof NativeTensor)
    if (capture) this.#binding.capture(null)
  }

  async run(signal?: AbortSignal): Promise<void> {
    for (const [name, tensor] of this.#changing) this.#binding.bindInput(name, tensor)
    this.#staging.fill()
    await this.#binding.run(signal)
    this.#staging.drain()
  }

  release(): void {
    this.#binding.release()
  }
}

function mapValues(bindings: Bindings, change: (tensor: Tensor) => Tensor): Bindings {
  return Object.fromEntries(Object.entries(bindings).map(([name, tensor]) => [name, change(tensor)]))
}
