import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { type ExternalTensor, storedType } from '../onnx/graph.ts'
import type { OrtApi, Pointer } from './api.ts'
import type { FileMapping, MappedFiles } from './mapped-files.ts'
import type { ExternalWeights, WeightShare } from './runtime.ts'

/** Interval in which pages of mapped files are given back; some ten megabytes are packed in the meantime. */
const TRIM_INTERVAL_MS = 20

/**
 * Weights of the sessions of one model, in ONNX Runtime's container for prepacked weights: weights that several sessions
 * multiply by are in memory once, in the order in which the CPU reads them. Weights with the same contents are shared,
 * whatever their names.
 *
 * The library shares only weights that the caller has in memory, so the files are mapped here instead of by the library.
 */
export class NativeWeightShare implements WeightShare {
  readonly container: Pointer
  readonly #api: OrtApi
  readonly #memoryInfo: Pointer
  readonly #mapped: MappedFiles
  readonly #files = new Map<string, FileMapping>()
  /** Tensors over the mapped files, by place and shape. */
  readonly #values = new Map<string, Pointer>()
  /** Contents of files that are in memory, which the tensors reference. */
  readonly #inMemory = new Set<Uint8Array>()

  constructor(api: OrtApi, memoryInfo: Pointer, mapped: MappedFiles) {
    this.#api = api
    this.#memoryInfo = memoryInfo
    this.#mapped = mapped
    this.container = api.create('CreatePrepackedWeightsContainer')
  }

  /** Adds weights to the options of a session. Returns false, and adds nothing, if a file cannot be mapped. */
  async add(options: Pointer, { folder, tensors = [], inMemory }: ExternalWeights): Promise<boolean> {
    try {
      for (const location of new Set(tensors.map(tensor => tensor.location))) {
        if (!inMemory.has(location)) await this.#map(join(folder, location))
      }
    } catch {
      // The library maps the files itself, and reports those that it cannot read.
      return false
    }
    for (const tensor of tensors) {
      const bytes = inMemory.get(tensor.location)
      if (bytes !== undefined) this.#inMemory.add(bytes)
      const file = join(folder, tensor.location)
      const start = bytes === undefined ? (this.#files.get(file) as FileMapping).address : this.#api.address(bytes)
      this.#api.call('AddInitializer', options, tensor.name, this.#value(tensor, start + BigInt(tensor.offset)))
    }
    return true
  }

  /**
   * Calls `create`, which packs weights, and lets the system take back the pages that are only read for that. Otherwise
   * the files would be in memory in addition to the packed weights.
   */
  async whilePacking<T>(create: () => Promise<T>): Promise<T> {
    const trim = () => {
      for (const mapping of this.#files.values()) this.#mapped.trim(mapping)
    }
    const timer = setInterval(trim, TRIM_INTERVAL_MS)
    try {
      return await create()
    } finally {
      clearInterval(timer)
      trim()
    }
  }

  release(): void {
    for (const value of this.#values.values()) this.#api.release('ReleaseValue', value)
    this.#values.clear()
    this.#api.release('ReleasePrepackedWeightsContainer', this.container)
    for (const mapping of this.#files.values()) this.#mapped.unmap(mapping)
    this.#files.clear()
    this.#inMemory.clear()
  }

  async #map(file: string): Promise<void> {
    if (this.#files.has(file)) return
    const handle = await open(file, 'r')
    try {
      const { size } = await handle.stat()
      this.#files.set(file, this.#mapped.map(handle.fd, size))
    } finally {
      await handle.close()
    }
  }

  #value({ shape, byteLength, type = 'float32' }: ExternalTensor, address: Pointer): Pointer {
    const name = `${address} ${type} ${shape}`
    const known = this.#values.get(name)
    if (known !== undefined) return known
    const value = this.#api.create(
      'CreateTensorWithDataAsOrtValue',
      this.#memoryInfo,
      address,
      byteLength,
      BigInt64Array.from(shape, BigInt),
      shape.length,
      storedType[type]
    )
    this.#values.set(name, value)
    return value
  }
}
