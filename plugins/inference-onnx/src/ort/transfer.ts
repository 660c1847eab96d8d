import type { OrtApi, Pointer } from './api.ts'
import type { DeviceMemory } from './device-memory.ts'
import type { BoundTensor, NativeRuntime } from './native-runtime.ts'

/** Copy between two tensors of equal type and shape. */
export interface Copy {
  readonly from: BoundTensor
  readonly to: BoundTensor
}

/** Copies between host and device memory, without allocating. */
export class Transfer {
  readonly #api: OrtApi
  readonly #environment: Pointer

  private constructor(api: OrtApi, environment: Pointer) {
    this.#api = api
    this.#environment = environment
  }

  /** Opens a transfer. Throws the library's error if it cannot copy between host and device. */
  static open(api: OrtApi, native: NativeRuntime, memory: DeviceMemory): Transfer {
    const transfer = new Transfer(api, native.environment)
    const [from, to] = [native.host('float32', [1]), memory.allocate([1])]
    try {
      transfer.copyNow([{ from, to }])
      return transfer
    } finally {
      from.release()
      to.release()
    }
  }

  /** Copies synchronously, for a few numbers to the device. */
  copyNow(copies: readonly Copy[]): void {
    this.#api.call('CopyTensors', ...this.#arguments(copies))
  }

  /** Copies on a thread of the pool, for results of runs. */
  copy(copies: readonly Copy[]): Promise<void> {
    return this.#api.callAsync('CopyTensors', ...this.#arguments(copies))
  }

  #arguments(copies: readonly Copy[]) {
    const [from, to] = [addresses(copies.map(copy => copy.from)), addresses(copies.map(copy => copy.to))]
    return [this.#environment, from, to, 0n, copies.length] as const
  }
}

/** Returns the addresses in a separate buffer: tiny typed arrays may be on the heap and move. */
function addresses(tensors: readonly BoundTensor[]): BigUint64Array {
  const array = new BigUint64Array(new ArrayBuffer(8 * tensors.length))
  for (const [index, { value }] of tensors.entries()) array[index] = value
  return array
}
