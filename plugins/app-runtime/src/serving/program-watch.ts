import { readFile, stat } from 'node:fs/promises'
import type { Program } from '@svc/contracts'
import { type FSWatcher, watch } from 'chokidar'
import type { LoadingThread } from './loading-thread.ts'

/** Delay before a saved file is read, in milliseconds: some editors write in several steps. */
const SETTLE_MS = 4
/**
 * Delay of the second read: the watcher reports no event within 50 ms of the last one. An empty file is usually being
 * written, so it is accepted only then.
 */
const ONCE_MORE_MS = 75

export interface SavedProgram {
  readonly text: string
  readonly program: Program
  /** Starts loading it; null without a listener. */
  readonly thread: LoadingThread | null
}

type Listener = (text: string) => Promise<void>

/**
 * Watches the file of a program. It outlives a reload of the plugin, so that no change is missed. The last
 * listener receives one text at a time: of several saved meanwhile, only the last.
 */
export class ProgramWatch {
  readonly path: string
  /** Compiled for the next server. */
  saved: SavedProgram | null = null
  /** True if a program of this file was served since the watch began. */
  isServed = false
  readonly #watcher: FSWatcher
  readonly #listeners: Listener[] = []
  #timer: NodeJS.Timeout | null = null
  #text: string | null = null
  #isForgotten = false
  #isTelling = false
  /** Saved while another text is handled. */
  #next: string | null = null

  constructor(path: string) {
    this.path = path
    this.#watcher = watch(path, { ignoreInitial: true, atomic: 20 })
    this.#watcher.on('change', () => this.#soon())
    this.#watcher.on('add', () => this.#soon())
    this.#watcher.on('error', () => undefined)
  }

  /** `text` is the served one: other texts are reported. Returns a function that ends the watch. */
  listen(text: string, listener: Listener): () => void {
    this.#text = text
    this.#listeners.push(listener)
    return () => {
      this.#listeners.splice(this.#listeners.indexOf(listener), 1)
    }
  }

  /** Reports an unchanged text again at the next save: the cause of its error may be gone. */
  forget(): void {
    this.#isForgotten = true
  }

  async close(): Promise<void> {
    this.#listeners.length = 0
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#watcher.close()
  }

  #soon(): void {
    if (this.#isForgotten) this.#text = null
    this.#isForgotten = false
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = setTimeout(() => {
        this.#timer = null
        void this.#read(true)
      }, ONCE_MORE_MS)
      void this.#read(false)
    }, SETTLE_MS)
  }

  async #read(isSettled: boolean): Promise<void> {
    let text: string
    try {
      const bytes = await readFile(this.path)
      // A save during the read leaves a part of the text; the settled read follows.
      if (!isSettled && (await stat(this.path)).size !== bytes.length) return
      text = bytes.toString('utf8')
    } catch {
      // The file was removed, perhaps temporarily; the served program continues.
      return
    }
    if (text.trim() !== '' || isSettled) await this.#tell(text)
  }

  async #tell(text: string): Promise<void> {
    this.#next = text
    if (this.#isTelling) return
    this.#isTelling = true
    try {
      for (let next = this.#taken(); next !== null; next = this.#taken()) {
        if (next === this.#text) continue
        this.#text = next
        await this.#listeners.at(-1)?.(next)
      }
    } finally {
      this.#isTelling = false
    }
  }

  #taken(): string | null {
    const next = this.#next
    this.#next = null
    return next
  }
}
