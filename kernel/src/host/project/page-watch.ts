import { changedSince, Watcher } from '../../loader/watch.ts'
import type { PluginPages } from '../plugin-pages.ts'

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
    if (files.some(file => !before.has(file) && changedSince(file, begun))) this.#options.onChange()
  }

  close(): Promise<void> {
    return this.#watcher.close()
  }
}
