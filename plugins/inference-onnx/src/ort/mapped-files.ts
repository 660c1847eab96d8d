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

/** Maps files into memory through the C library of the process. */
export class MappedFiles {
  readonly #library: ReturnType<Koffi['load']>

  private constructor(library: ReturnType<Koffi['load']>) {
    this.#library = library
  }

  /** Returns null on systems without these functions. */
  static open(koffi: Koffi): MappedFiles | null {
    if (process.platform !== 'linux' && process.platform !== 'darwin') return null
    try {
      return new MappedFiles(koffi.load(null))
    } catch {
      return null
    }
  }

  /** Maps a file for reading. Throws if the system refuses. The descriptor may be closed afterwards. */
  map(descriptor: number, byteLength: number): FileMapping {
    const map = this.#library.func('mmap', 'void *', ['void *', 'size_t', 'int', 'int', 'int', 'int64'])
    const address = map(null, byteLength, READ, PRIVATE, descriptor, 0) as Pointer | null
    if (!address || address === FAILED) throw new Error(`A file of ${byteLength} bytes could not be mapped into memory`)
    return { address, byteLength }
  }

  /** Lets the system take back the pages, which are read from the file again when they are needed. */
  trim({ address, byteLength }: FileMapping): void {
    this.#library.func('madvise', 'int', ['void *', 'size_t', 'int'])(address, byteLength, NOT_NEEDED)
  }

  unmap({ address, byteLength }: FileMapping): void {
    this.#library.func('munmap', 'int', ['void *', 'size_t'])(address, byteLength)
  }
}
