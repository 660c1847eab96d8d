import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type ExternalTensor, storedType } from '../onnx/graph.ts'
import type { OrtApi, Pointer } from './api.ts'
import type { ExternalWeights, WeightShare } from './runtime.ts'
import type { Mapping, SystemMemory } from './system-memory.ts'

/** Interval in which pages of mapped files are given back; some ten megabytes are packed in the meantime. */
const TRIM_INTERVAL_MS = 20

/** Mapping of a file, with what identifies the file in its file system. */
interface MappedFile extends Mapping {
  readonly dev: number
  readonly ino: number
}

/** Bytes that tensors refer to by their offsets. */
interface Contents {
  readonly address: Pointer
  readonly byteLength: number
}

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
  readonly #memory: SystemMemory
  /** By version and path. */
  readonly #files = new Map<string, MappedFile>()
  /** Tensors over the mapped files, by place and shape. */
  readonly #values = new Map<string, Pointer>()
  /** Contents of files that are in memory, which the tensors reference. */
  readonly #inMemory = new Set<Uint8Array>()

  constructor(api: OrtApi, memoryInfo: Pointer, memory: SystemMemory) {
    this.#api = api
    this.#memoryInfo = memoryInfo
    this.#memory = memory
    this.container = api.create('CreatePrepackedWeightsContainer')
  }

  /**
   * Adds weights to the options of a session. Returns false, and adds nothing, if a file cannot be mapped or ends before
   * one of its tensors: the system ends a process that reads behind the end of a mapped file.
   */
  async add(options: Pointer, weights: ExternalWeights): Promise<boolean> {
    const { tensors = [], inMemory } = weights
    const contents = new Map<string, Contents>()
    try {
      for (const { location, offset, byteLength } of tensors) {
        const found = contents.get(location) ?? (await this.#contents(location, weights))
        contents.set(location, found)
        if (offset + byteLength > found.byteLength) return false
      }
    } catch {
      // The library maps the files itself, and reports those that it cannot read.
      return false
    }
    for (const bytes of inMemory.values()) this.#inMemory.add(bytes)
    for (const tensor of tensors) {
      const { address } = contents.get(tensor.location) as Contents
      this.#api.call('AddInitializer', options, tensor.name, this.#value(tensor, address + BigInt(tensor.offset)))
    }
    return true
  }

  /**
   * Calls `create`, which packs weights, and lets the system take back the pages that are only read for that. Otherwise
   * the files would be in memory in addition to the packed weights.
   */
  async whilePacking<T>(create: () => Promise<T>): Promise<T> {
    const trim = () => {
      for (const mapping of this.#files.values()) this.#memory.trim(mapping)
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
    for (const mapping of this.#files.values()) this.#memory.unmap(mapping)
    this.#files.clear()
    this.#inMemory.clear()
  }

  async #contents(location: string, { folder, inMemory, version = '' }: ExternalWeights): Promise<Contents> {
    const bytes = inMemory.get(location)
    if (bytes !== undefined) return { address: this.#api.address(bytes), byteLength: bytes.byteLength }
    const file = join(folder, location)
    const name = `${version} ${file}`
    const known = this.#files.get(name)
    if (known === undefined) {
      const mapped = await this.#map(file)
      this.#files.set(name, mapped)
      return mapped
    }
    // A file that was removed or replaced still exists in memory; one that was cut off does not.
    const now = await stat(file).catch(() => null)
    const isCut = now?.dev === known.dev && now.ino === known.ino && now.size < known.byteLength
    return isCut ? { address: known.address, byteLength: now.size } : known
  }

  async #map(file: string): Promise<MappedFile> {
    const handle = await open(file, 'r')
    try {
      const { size, dev, ino } = await handle.stat()
      return { ...this.#memory.mapFile(handle.fd, size), dev, ino }
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
