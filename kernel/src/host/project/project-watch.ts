import type { KernelLogger } from '../../core/logger.ts'
import { changedSince, Watcher } from '../../loader/watch.ts'
import type { PluginCatalog } from '../catalog.ts'
import type { PluginPages } from '../plugin-pages.ts'
import { PageWatch } from './page-watch.ts'

export interface ProjectWatchOptions {
  readonly pages: PluginPages
  readonly log: KernelLogger
  /** Called with the changed paths of configuration files and plugins. */
  readonly onFiles: (paths: readonly string[]) => Promise<void>
  /** Called after a file of a loaded page changed. */
  readonly onPages: () => void
}

/** Watches the files of a project: its configuration, its plugins and the page modules that were loaded. */
export class ProjectWatch {
  readonly #log: KernelLogger
  readonly #files: Watcher
  readonly #pages: PageWatch
  /** File lists that are being watched. */
  #watched: { readonly found: readonly string[]; readonly sources: PluginCatalog['sources'] } | undefined

  constructor({ pages, log, onFiles, onPages }: ProjectWatchOptions) {
    this.#log = log
    this.#files = new Watcher({
      onChange: onFiles,
      onError: error => log.error('watching files failed', { error })
    })
    this.#pages = new PageWatch({
      pages,
      onChange: onPages,
      onError: error => log.error('watching the files of pages failed', { error })
    })
  }

  /**
   * Watches the files of a catalog instead of those of the last one. Returns newly watched files that changed since
   * `begun` (milliseconds since the epoch), before which they were unwatched.
   */
  async update({ found, sources }: PluginCatalog, begun = Infinity): Promise<readonly string[]> {
    const before = this.#watched
    // Most saves do not change the set of watched files.
    if (before?.found === found.files && before.sources === sources) return []
    const files = [...found.files, ...sources.files]
    await this.#files.update({ files, directories: found.directories })
    // Stored after the update, so that a failed one is repeated.
    this.#watched = { found: found.files, sources }
    const known = new Set([...(before?.found ?? []), ...(before?.sources.files ?? [])])
    return files.filter(file => !known.has(file) && changedSince(file, begun))
  }

  /** Watches the files of a page that was loaded. `begun`: when loading began, in milliseconds since the epoch. */
  pageLoaded(begun: number): void {
    this.#pages.update(begun).catch(error => this.#log.error('watching the files of pages failed', { error }))
  }

  async close(): Promise<void> {
    await this.#files.close()
    await this.#pages.close()
  }
}
