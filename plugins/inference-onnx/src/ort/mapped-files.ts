import type { Koffi, Pointer } from './api.ts'

/** Part of a process's memory that contains a file. */
export interface FileMapping {
  readonly address: Pointer
  readonly byteLength: number
}

const READ = 1
const PRIVATE = 2
const NOT_NEEDED = 4
/** Result of a failed `mmap`: -1 as an address. */
const FAILED = 2n ** 64n - 1n

interface Functions {
  map(...values: unknown[]): unknown
  advise(...values: unknown[]): unknown
  unmap(...values: unknown[]): unknown
}

/** Maps files into memory through the C library of the process. */
export class MappedFiles {
  readonly #functions: Functions

  private constructor(functions: Functions) {
    this.#functions = functions
  }

  /** Returns null on systems without these functions. */
  static open(koffi: Koffi): MappedFiles | null {
    if (process.platform !== 'linux' && process.platform !== 'darwin') return null
    try {
      const library = koffi.load(null)
      return new MappedFiles({
        map: library.func('mmap', 'void *', ['void *', 'size_t', 'int', 'int', 'int', 'int64']),
        advise: library.func('madvise', 'int', ['void *', 'size_t', 'int']),
        unmap: library.func('munmap', 'int', ['void *', 'size_t'])
      })
    } catch {
      return null
    }
  }

  /** Maps a file for reading. Throws if the system refuses. The descriptor may be closed afterwards. */
  map(descriptor: number, byteLength: number): FileMapping {
    const address = this.#functions.map(null, byteLength, READ, PRIVATE, descriptor, 0) as Pointer | null
    if (!address || address === FAILED) throw new Error(`A file of ${byteLength} bytes could not be mapped into memory`)
    return { address, byteLength }
  }

  /** Lets the system take back the pages, which are read from the file again when they are needed. */
  trim({ address, byteLength }: FileMapping): void {
    this.#functions.advise(address, byteLength, NOT_NEEDED)
  }

  unmap({ address, byteLength }: FileMapping): void {
    this.#functions.unmap(address, byteLength)
  }
}
