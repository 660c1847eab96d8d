/** Types of the part of yauzl that is used; the package has none. */
declare module 'yauzl' {
  import type { Readable } from 'node:stream'

  export interface Entry {
    readonly fileName: string
    readonly uncompressedSize: number
  }

  export interface ZipFile {
    eachEntry(): AsyncIterable<Entry>
    openReadStreamPromise(entry: Entry): Promise<Readable>
    close(): void
  }

  export function openPromise(path: string, options?: { readonly autoClose?: boolean }): Promise<ZipFile>
}
