import { statSync } from 'node:fs'
import { Watcher } from '../loader/watch.ts'
import type { PluginPages } from './plugin-pages.ts'

/** Resolution of file times in milliseconds. */
const CLOCK_TICK_MS = 10

export interface PageWatchOptions {
  readonly pages: PluginPages
  /** Called after a file of a loaded page changed. */
  readonly onChange: () => void
  readonly onError: (error: unknown) => void
}

/** Watches the files of page modules that were loaded. Pages that no console shows cost nothing. */
export class PageWatch {
  readonly #options: PageWatchOptions
  readonly #watcher: Watcher
  #watched: ReadonlySet<string> = new Set()

  constructor(options: PageWatchOptions) {
    this.#options = options
    this.#watcher = new Watcher(options)
  }

  /** Watches the files of the pages that are loaded now. `begun`: see {@link PageListener}. */
  async update(begun: number): Promise<void> {
    const before = this.#watched
    const files = this.#options.pages.files()
    this.#watched = new Set(files)
    await this.#watcher.update({ files, directories: [] })
    // A file may have changed after it was read and before it was watched.
    const isLate = (file: string): boolean => !before.has(file) && changedAt(file) >= begun - CLOCK_TICK_MS
    if (files.some(isLate)) this.#options.onChange()
  }

  close(): Promise<void> {
    return this.#watcher.close()
  }
}

/** Returns the time at which a file was last written or moved, in milliseconds since the epoch. */
function changedAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.ctimeMs ?? -Infinity
}
