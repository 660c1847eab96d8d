import type { DeviceMemory, DeviceTensor } from './device-memory.ts'
import { type Bindings, elementCount, type Tensor } from './runtime.ts'

/**
 * View of rows of a state, on a device that cannot address parts of a buffer. Runs use separate memory: the rows are
 * copied to it before each run, and back afterwards.
 */
export class StagedView implements Tensor {
  readonly shape: readonly number[]
  readonly whole: DeviceTensor
  /** First row. */
  readonly start: number
  readonly #memory: DeviceMemory
  #stage: DeviceTensor | null = null

  constructor(memory: DeviceMemory, whole: DeviceTensor, start: number, count: number) {
    this.shape = [count, ...whole.shape.slice(1)]
    this.whole = whole
    this.start = start
    this.#memory = memory
  }

  get stage(): DeviceTensor {
    this.#stage ??= this.#memory.allocate(this.shape, this.whole.precision)
    return this.#stage
  }

  release(): void {
    this.#stage?.release()
    this.#stage = null
  }
}

/** Copies rows between two tensors, both with shape `[n, width]`. */
export type CopyRows = (
  source: DeviceTensor,
  target: DeviceTensor,
  width: number,
  sourceRows: readonly number[],
  targetRows: readonly number[]
) => void

/** Staged views of a binding. */
export class Staging {
  readonly #read: ReadonlySet<StagedView>
  readonly #written: ReadonlySet<StagedView>
  readonly #copyRows: CopyRows

  constructor(inputs: Bindings, outputs: Bindings, copyRows: CopyRows) {
    this.#read = new Set([...Object.values(inputs), ...Object.values(outputs)].filter(isStaged))
    this.#written = new Set(Object.values(outputs).filter(isStaged))
    this.#copyRows = copyRows
  }

  /** Copies the rows to the separate memory. Call before a run. */
  fill(): void {
    for (const { stage, whole, start } of this.#read) {
      const { width, own, shared } = rowsOf(stage, whole, start)
      this.#copyRows(whole, stage, width, shared, own)
    }
  }

  /** Copies the rows back. Call after a run. */
  drain(): void {
    for (const { stage, whole, start } of this.#written) {
      const { width, own, shared } = rowsOf(stage, whole, start)
      this.#copyRows(stage, whole, width, own, shared)
    }
  }
}

/** Returns the tensor to pass to the library. */
export function onDevice(tensor: Tensor): Tensor {
  return isStaged(tensor) ? tensor.stage : tensor
}

function isStaged(tensor: Tensor): tensor is StagedView {
  return tensor instanceof StagedView
}

function rowsOf(stage: DeviceTensor, whole: DeviceTensor, start: number) {
  const width = elementCount(whole.shape.slice(-2))
  const count = elementCount(stage.shape) / width
  const first = start * (whole.shape[1] ?? 1)
  const own = Array.from({ length: count }, (_, row) => row)
  return { width, own, shared: own.map(row => first + row) }
}
