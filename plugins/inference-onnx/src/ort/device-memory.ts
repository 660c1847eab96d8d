import { type ElementType, type Precision, storedType } from '../onnx/graph.ts'
import type { OrtApi, Pointer } from './api.ts'
import type { RunQueue } from './run-queue.ts'
import { elementBytes, elementCount, type Tensor } from './runtime.ts'

/** `OrtMemoryInfoDeviceType_CPU` */
const DEVICE_CPU = 0

/**
 * Allocates memory on a session's device, through the session's allocator. Use it only inside the device's queue.
 * Memory is freed when the device is idle.
 */
export class DeviceMemory {
  readonly #api: OrtApi
  readonly #info: Pointer
  readonly #allocator: Pointer
  readonly #turns: RunQueue

  constructor(api: OrtApi, session: Pointer, info: Pointer, turns: RunQueue) {
    this.#api = api
    this.#turns = turns
    this.#info = info
    this.#allocator = api.create('CreateAllocator', session, info)
  }

  /** Allocates a tensor with undefined contents. */
  allocate(shape: readonly number[], precision: Precision | ElementType = 'float32'): DeviceTensor {
    const value = this.#api.create(
      'CreateTensorAsOrtValue',
      this.#allocator,
      BigInt64Array.from(shape, BigInt),
      shape.length,
      storedType[precision]
    )
    return new DeviceTensor(value, shape, precision, () => this.#free(value))
  }

  /**
   * Returns a part of a tensor's memory with another shape and, optionally, type. `start`: offset in bytes; must be 0
   * if the device cannot address parts. Release the part before the tensor.
   */
  part(tensor: DeviceTensor, shape: readonly number[], start = 0, precision = tensor.precision): DeviceTensor {
    const base = this.#api.create('GetTensorMutableData', tensor.value)
    const value = this.#api.create(
      'CreateTensorWithDataAsOrtValue',
      this.#info,
      base + BigInt(start),
      elementCount(shape) * elementBytes[precision],
      BigInt64Array.from(shape, BigInt),
      shape.length,
      storedType[precision]
    )
    return new DeviceTensor(value, shape, precision, () => this.#free(value))
  }

  release(): void {
    this.#api.release('ReleaseAllocator', this.#allocator)
  }

  #free(value: Pointer): void {
    this.#turns.later(() => this.#api.release('ReleaseValue', value))
  }
}

/** Tensor in device memory, which JavaScript cannot access. */
export class DeviceTensor implements Tensor {
  readonly value: Pointer
  readonly shape: readonly number[]
  readonly precision: Precision | ElementType
  readonly release: () => void

  constructor(value: Pointer, shape: readonly number[], precision: Precision | ElementType, release: () => void) {
    this.value = value
    this.shape = shape
    this.precision = precision
    this.release = release
  }
}

/**
 * Returns the memory location of the inputs that a session expects on the device; null if it expects all on the CPU.
 */
export function deviceOfInputs(api: OrtApi, session: Pointer): Pointer | null {
  return memoryOfInputs(api, session).find(info => !isHost(api, info)) ?? null
}

/** Returns the names of the inputs that a session expects on the CPU. */
export function inputsOnHost(api: OrtApi, session: Pointer): ReadonlySet<string> {
  const names = memoryOfInputs(api, session).map((info, index) =>
    isHost(api, info) ? [api.createText('SessionGetInputName', session, index)] : []
  )
  return new Set(names.flat())
}

function memoryOfInputs(api: OrtApi, session: Pointer): readonly Pointer[] {
  const count = Number(api.create('SessionGetInputCount', session))
  const infos = new BigUint64Array(new ArrayBuffer(8 * count))
  api.call('SessionGetMemoryInfoForInputs', session, infos, count)
  return [...infos]
}

function isHost(api: OrtApi, info: Pointer): boolean {
  return api.readInt('MemoryInfoGetDeviceType', info) === DEVICE_CPU
}
