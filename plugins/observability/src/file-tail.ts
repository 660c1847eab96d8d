import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** Milliseconds between two reads. */
const POLL_MS = 250

/** Follows the lines appended to a file, across rotations; the file need not exist yet. */
export class FileTail {
  readonly #path: string
  #inode: number | null = null
  #position = 0
  #rest = ''

  constructor(path: string) {
    this.#path = path
    const file = statSync(path, { throwIfNoEntry: false })
    this.#inode = file?.ino ?? null
    this.#position = file?.size ?? 0
  }

  /** Calls the listener for each complete line until the signal is aborted. */
  async follow(listener: (line: string) => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const line of this.#read()) listener(line)
      await delay(POLL_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  #read(): string[] {
    if (statSync(this.#path, { throwIfNoEntry: false }) === undefined) return []
    const descriptor = openSync(this.#path, 'r')
    try {
      const { ino, size } = fstatSync(descriptor)
      if (ino !== this.#inode || size < this.#position) {
        this.#inode = ino
        this.#position = 0
        this.#rest = ''
      }
      const bytes = Buffer.alloc(size - this.#position)
      this.#position += readSync(descriptor, bytes, 0, bytes.length, this.#position)
      const lines = (this.#rest + bytes.toString('utf8')).split('\n')
      this.#rest = lines.pop() ?? ''
      return lines
    } finally {
      closeSync(descriptor)
    }
  }
}
