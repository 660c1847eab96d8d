import { readFile } from 'node:fs/promises'
import type { Program } from '@svc/contracts'
import { type FSWatcher, watch } from 'chokidar'

/** Milliseconds after which a file is read that was just written: some write it in several steps. */
const SETTLE_MS = 4
/** An empty file is most often one that is being written. */
const EMPTY_MS = 60

export interface SavedProgram {
  readonly text: string
  readonly program: Program
}

type Listener = (text: string) => void

/**
 * Watches the file of a program. It outlives a reload of the plugin, so that nothing is missed meanwhile; who began last to
 * listen is told.
 */
export class ProgramWatch {
  readonly path: string
  /** Compiled already, for whoever serves it next. */
  saved: SavedProgram | null = null
  readonly #watcher: FSWatcher
  readonly #listeners: Listener[] = []
  #timer: NodeJS.Timeout | null = null
  #text: string | null = null

  constructor(path: string) {
    this.path = path
    this.#watcher = watch(path, { ignoreInitial: true, atomic: 20 })
    this.#watcher.on('change', () => this.#soon(SETTLE_MS))
    this.#watcher.on('add', () => this.#soon(SETTLE_MS))
    this.#watcher.on('error', () => undefined)
  }

  /** `text` is what is served: it is told of other texts. Returns how to end it. */
  listen(text: string, listener: Listener): () => void {
    this.#text = text
    this.#listeners.push(listener)
    return () => {
      this.#listeners.splice(this.#listeners.indexOf(listener), 1)
    }
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#watcher.close()
  }

  #soon(milliseconds: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = null
      void this.#read(milliseconds)
    }, milliseconds)
  }

  async #read(waited: number): Promise<void> {
    let text: string
    try {
      text = await readFile(this.path, 'utf8')
    } catch {
      // It was taken away, perhaps to be put back; what is served goes on.
      return
    }
    if (text.trim() === '' && waited < EMPTY_MS) this.#soon(EMPTY_MS)
    else if (text !== this.#text) {
      this.#text = text
      this.#listeners.at(-1)?.(text)
    }
  }
}
