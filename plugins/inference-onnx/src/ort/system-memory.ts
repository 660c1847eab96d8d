import type { Koffi, Pointer } from './api.ts'

/** Part of a process's memory. */
export interface Mapping {
  readonly address: Pointer
  readonly byteLength: number
}

const READ = 1
const READ_WRITE = 3
const PRIVATE = 2
/** Flags of `mmap` for memory without a file that is not counted before it is used. */
const UNBACKED: Readonly<Partial<Record<NodeJS.Platform, number>>> = { linux: 0x20 | 0x4000, darwin: 0x1000 | 0x40 }
const NOT_NEEDED = 4
const NO_HUGE_PAGES = 15
/** Result of a failed `mmap`: -1 as an address. */
const FAILED = 2n ** 64n - 1n

interface Functions {
  map(...values: unknown[]): unknown
  advise(...values: unknown[]): unknown
  unmap(...values: unknown[]): unknown
  copy(...values: unknown[]): unknown
  pageSize(): unknown
  /** Only glibc has it. */
  trimHeap?(...values: unknown[]): unknown
}

/** Memory outside the JavaScript heap, from the C library of the process: mapped files, and memory that grows by pages. */
export class SystemMemory {
  readonly #functions: Functions
  readonly #pageSize: bigint

  private constructor(functions: Functions) {
    this.#functions = functions
    this.#pageSize = BigInt(functions.pageSize() as number)
  }

  /** Returns null on systems without these functions. */
  static open(koffi: Koffi): SystemMemory | null {
    if (UNBACKED[process.platform] === undefined) return null
    try {
      const library = koffi.load(null)
      return new SystemMemory({
        map: library.func('mmap', 'void *', ['void *', 'size_t', 'int', 'int', 'int', 'int64']),
        advise: library.func('madvise', 'int', ['void *', 'size_t', 'int']),
        unmap: library.func('munmap', 'int', ['void *', 'size_t']),
        copy: library.func('memmove', 'void *', ['void *', 'void *', 'size_t']),
        pageSize: library.func('getpagesize', 'int', []),
        ...trimHeapOf(library)
      })
    } catch {
      return null
    }
  }

  /** Maps a file for reading. Throws if the system refuses. The descriptor may be closed afterwards. */
  mapFile(descriptor: number, byteLength: number): Mapping {
    const address = this.#map(byteLength, READ, PRIVATE, descriptor)
    if (address === null) throw new Error(`A file of ${byteLength} bytes could not be mapped into memory`)
    return { address, byteLength }
  }

  /** Lets the system take back the pages of a file, which are read from it again when they are needed. */
  trim({ address, byteLength }: Mapping): void {
    this.#functions.advise(address, byteLength, NOT_NEEDED)
  }

  /**
   * Reserves zeroed memory that the system provides page by page, when it is first written: unused parts need no memory.
   * Throws if the system refuses.
   */
  reserve(byteLength: number): Pointer {
    const address = this.#map(byteLength, READ_WRITE, PRIVATE | (UNBACKED[process.platform] as number), -1)
    if (address === null) throw new Error(`The system does not provide ${byteLength} bytes of memory`)
    // A huge page would provide megabytes for the first position of each head.
    if (process.platform === 'linux') this.#functions.advise(address, byteLength, NO_HUGE_PAGES)
    return address
  }

  copy(to: Pointer, from: Pointer, byteLength: number): void {
    this.#functions.copy(to, from, byteLength)
  }

  /** True if {@link discard} gives memory back at once, as only Linux does. */
  get canDiscard(): boolean {
    return process.platform === 'linux'
  }

  /** Gives back the whole pages of a part of reserved memory, whose contents are then undefined. */
  discard(address: Pointer, byteLength: number): void {
    const first = ((address + this.#pageSize - 1n) / this.#pageSize) * this.#pageSize
    const end = ((address + BigInt(byteLength)) / this.#pageSize) * this.#pageSize
    if (first < end) this.#functions.advise(first, end - first, NOT_NEEDED)
  }

  /**
   * Gives freed memory of the C library back to the system. glibc keeps freed blocks, such as those of the conversion of
   * weights, for later allocations.
   */
  trimHeap(): void {
    this.#functions.trimHeap?.(0)
  }

  /** Frees a mapping, or reserved memory. */
  unmap({ address, byteLength }: Mapping): void {
    this.#functions.unmap(address, byteLength)
  }

  /** Null if the system refuses. */
  #map(byteLength: number, protection: number, flags: number, descriptor: number): Pointer | null {
    const address = this.#functions.map(null, byteLength, protection, flags, descriptor, 0) as Pointer | null
    return !address || address === FAILED ? null : address
  }
}

function trimHeapOf(library: ReturnType<Koffi['load']>): Pick<Functions, 'trimHeap'> {
  try {
    return { trimHeap: library.func('malloc_trim', 'int', ['size_t']) }
  } catch {
    return {}
  }
}
