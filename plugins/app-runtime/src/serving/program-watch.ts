import { readFile, stat } from 'node:fs/promises'
import type { Program } from '@svc/contracts'
import { type FSWatcher, watch } from 'chokidar'
import type { LoadingThread } from './loading-thread.ts'

/** Delay of the first read in milliseconds: some editors write a file in several steps. */
const SETTLE_MS = 4
/** Delay of the second read: the watcher reports no event within 50 ms of the last one. */
const ONCE_MORE_MS = 75
/** An empty file is usually being written. It counts only after this time without a change. */
const EMPTIED_FILE_MS = 2_000

export interface SavedProgram {
  readonly text: string
  readonly program: Program
  /** The load that has already started; null without one. */
  readonly thread: LoadingThread | null
}

type Listener = (text: string) => Promise<void>

/**
 * Watches the file of a program. It outlives a reload of the plugin, so that nothing is missed meanwhile. It notifies
 * the newest listener, one text at a time: of several saved meanwhile, only the last.
 */
export class ProgramWatch {
  readonly path: string
  /** Compiled already, for the next server. */
  saved: SavedProgram | null = null
  /** True if a program of this file was served since the watch began. */
  isServed = false
  readonly #watcher: FSWatcher
  readonly #listeners: Listener[] = []
  #timer: NodeJS.Timeout | null = null
  #text: string | null = null
  #isForgotten = false
  #isClosed = false
  #reads = 0
  #isNotifying = false
  /** Saved while another text is being processed. */
  #next: string | null = null

  constructor(path: string) {
    this.path = path
    this.#watcher = watch(path, { ignoreInitial: true, atomic: 20 })
    this.#watcher.on('change', () => this.#soon())
    this.#watcher.on('add', () => this.#soon())
    this.#watcher.on('error', () => undefined)
  }

  /** `text` is the served one: other texts are reported. Returns a function that stops it. */
  listen(text: string, listener: Listener): () => void {
    this.#text = text
    this.#listeners.push(listener)
    return () => {
      this.#listeners.splice(this.#listeners.indexOf(listener), 1)
    }
  }

  /** Reports the same text again when it is saved again: it may be valid by then. */
  forget(): void {
    this.#isForgotten = true
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#listeners.length = 0
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#watcher.close()
  }

  #soon(): void {
    if (this.#isForgotten) this.#text = null
    this.#isForgotten = false
    this.#readIn(SETTLE_MS, null)
  }

  /** `seen`: the version of the file that the last read met. */
  #readIn(milliseconds: number, seen: string | null): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = null
      void this.#read(seen)
    }, milliseconds)
  }

  /** Reads until two reads meet the same version of the file: the next save may have truncated it before its event. */
  async #read(seen: string | null): Promise<void> {
    const number = ++this.#reads
    const read = await readVersion(this.path)
    // A later read has the newer text.
    if (number !== this.#reads) return
    const isEmpty = read.text?.trim() === ''
    // An event during the read has its own read.
    if (!this.#isClosed && this.#timer === null && seen !== read.version) {
      this.#readIn(isEmpty ? EMPTIED_FILE_MS : ONCE_MORE_MS, read.version)
    }
    if (read.text !== null && (!isEmpty || seen === read.version)) await this.#tell(read.text)
  }

  async #tell(text: string): Promise<void> {
    this.#next = text
    if (this.#isNotifying) return
    this.#isNotifying = true
    try {
      for (let next = this.#taken(); next !== null; next = this.#taken()) {
        if (next === this.#text) continue
        this.#text = next
        await this.#listeners.at(-1)?.(next)
      }
    } finally {
      this.#isNotifying = false
    }
  }

  #taken(): string | null {
    const next = this.#next
    this.#next = null
    return next
  }
}

/** `text` is null if the file is missing, perhaps briefly, or was saved during the read. */
async function readVersion(path: string): Promise<{ readonly text: string | null; readonly version: string }> {
  try {
    const before = await versionOf(path)
    const text = await readFile(path, 'utf8')
    const version = await versionOf(path)
    return { text: before === version ? text : null, version }
  } catch {
    return { text: null, version: 'absent' }
  }
}

async function versionOf(path: string): Promise<string> {
  const { ino, size, mtimeNs } = await stat(path, { bigint: true })
  return `${ino} ${size} ${mtimeNs}`
}
