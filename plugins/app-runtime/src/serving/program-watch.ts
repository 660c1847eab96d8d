import { readFile, stat } from 'node:fs/promises'
import type { Program } from '@svc/contracts'
import { type FSWatcher, watch } from 'chokidar'
import type { PreparedPages } from '../pages/prepare-pages.ts'
import type { LoadingThread } from './loading-thread.ts'

/** Delay of the first read after an event in milliseconds: some editors write a file in several steps. */
const SETTLE_MS = 4
/** Delay of the second read in milliseconds: the watcher suppresses events within 50 ms of the last one. */
const SECOND_READ_MS = 75
/** Milliseconds after which an empty file counts as saved. Before that, it is probably still being written. */
const EMPTIED_FILE_MS = 2_000

export interface SavedProgram {
  readonly text: string
  readonly program: Program
  /** The thread that already loads the program; null if there is none. */
  readonly thread: LoadingThread | null
  readonly pages: PreparedPages
}

type Listener = (text: string) => Promise<void>

/**
 * Watches the file of a program. Outlives a reload of the plugin, so that no change is missed. Calls the newest
 * listener with one saved text at a time. If several are saved during a call, only the last one is reported.
 */
export class ProgramWatch {
  readonly path: string
  /** The program for the next server, already compiled. */
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
  /** Text saved while the listener was busy. */
  #next: string | null = null

  constructor(path: string) {
    this.path = path
    this.#watcher = watch(path, { ignoreInitial: true, atomic: 20 })
    this.#watcher.on('change', () => this.#soon())
    this.#watcher.on('add', () => this.#soon())
    this.#watcher.on('error', () => undefined)
  }

  /** Reports each text that differs from `text`, the served one. Returns a function that removes the listener. */
  listen(text: string, listener: Listener): () => void {
    this.#text = text
    this.#listeners.push(listener)
    return () => {
      this.#listeners.splice(this.#listeners.indexOf(listener), 1)
    }
  }

  /** Makes the next save count as a change, even of the same text, which may be valid by then. */
  forget(): void {
    this.#isForgotten = true
  }

  /** Reports the text again, although it did not change, because a file changed that the program uses. */
  again(): void {
    this.#text = null
    this.#readIn(SETTLE_MS, null)
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

  /** Schedules a read. `seen` is the file version of the last read. */
  #readIn(milliseconds: number, seen: string | null): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = null
      void this.#read(seen)
    }, milliseconds)
  }

  /** Reads until two reads see the same version: a save may have truncated the file before its event arrives. */
  async #read(seen: string | null): Promise<void> {
    const number = ++this.#reads
    const read = await readVersion(this.path)
    // A later read has a newer text.
    if (number !== this.#reads) return
    const isEmpty = read.text?.trim() === ''
    // After an event during the read, another read is already scheduled.
    if (!this.#isClosed && this.#timer === null && seen !== read.version) {
      this.#readIn(isEmpty ? EMPTIED_FILE_MS : SECOND_READ_MS, read.version)
    }
    if (read.text !== null && (!isEmpty || seen === read.version)) await this.#notify(read.text)
  }

  async #notify(text: string): Promise<void> {
    this.#next = text
    if (this.#isNotifying) return
    this.#isNotifying = true
    try {
      for (let next = this.#takeNext(); next !== null; next = this.#takeNext()) {
        if (next === this.#text) continue
        this.#text = next
        await this.#listeners.at(-1)?.(next)
      }
    } finally {
      this.#isNotifying = false
    }
  }

  #takeNext(): string | null {
    const next = this.#next
    this.#next = null
    return next
  }
}

/** Reads the file. `text` is null if the file is missing or changed during the read. */
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
