import { existsSync } from 'node:fs'
import type { DatabaseStore } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import { searchErrors } from '../errors.ts'
import type { Settings } from '../settings.ts'
import { type IndexCounts, IndexStore, type JobRow } from './index-store.ts'
import { IndexThread } from './index-thread.ts'
import { Indexer, type IndexOptions, type IndexReport, type IndexSettings } from './indexer.ts'
import { ProjectWatch } from './project-watch.ts'

export interface ProjectIndexParts {
  readonly projectRoot: string
  readonly database: DatabaseStore | undefined
  readonly settings: () => IndexSettings & Pick<Settings, 'index_step_ms' | 'index_watch'>
  /** Whether the process serves until it is stopped, so that watching files is worthwhile. */
  readonly serves: boolean
  readonly onChange: () => void
  readonly log: Logger
}

export interface IndexState extends IndexCounts {
  /** Newest job; null before the first one. */
  readonly job: JobRow | null
  /** Number of watched folders; 0 if the index is not updated by watching. */
  readonly watchedFolders: number
  /** Why changes may be missed; null if none are. */
  readonly watchProblem: string | null
}

/** The index of the project's files, which follows their changes in a process that serves. */
export class ProjectIndex {
  readonly #parts: ProjectIndexParts
  readonly #thread: IndexThread
  readonly #store: IndexStore | null
  readonly #indexer: Indexer | null
  readonly #ending = new AbortController()
  #watch: ProjectWatch | null = null
  #watchProblem: string | null = null

  constructor(parts: ProjectIndexParts) {
    this.#parts = parts
    const { projectRoot, settings, onChange, database } = parts
    this.#thread = new IndexThread(() => settings().index_step_ms)
    this.#store = database === undefined ? null : new IndexStore(database)
    this.#indexer =
      this.#store === null
        ? null
        : new Indexer({ projectRoot, store: this.#store, thread: this.#thread, settings, onChange })
  }

  /** Updates and watches an index that exists. Never rejects. */
  async resume(): Promise<void> {
    const { database, serves, settings, log } = this.#parts
    const mayExist = database !== undefined && (database.mode !== 'file' || existsSync(database.location))
    if (!serves || !mayExist || !settings().index_watch) return
    try {
      if ((await this.#store?.lastJob()) != null) await this.#follow(true)
    } catch (error) {
      if (!this.#ending.signal.aborted)
        log.warn('the index of the project could not be updated', { reason: errorMessage(error) })
    }
  }

  /** Updates the index. Throws `SRH_DATABASE_MISSING`, and like {@link Indexer.index}. */
  async index(options: IndexOptions): Promise<IndexReport> {
    const signal = AbortSignal.any([options.signal, this.#ending.signal])
    const report = await this.#must().index({ ...options, signal })
    if (this.#parts.serves && this.#parts.settings().index_watch) await this.#follow(false)
    return report
  }

  /** Throws `SRH_DATABASE_MISSING`, and the errors of the database. */
  async state(): Promise<IndexState> {
    this.#must()
    const store = this.#store as IndexStore
    const [counts, job] = await Promise.all([store.counts(), store.lastJob()])
    return { ...counts, job, watchedFolders: this.#watch?.size ?? 0, watchProblem: this.#watchProblem }
  }

  async close(): Promise<void> {
    this.#ending.abort(searchErrors.create('SRH_INDEX_CLOSED', 'the index is closed: the plugin search ends'))
    await this.#thread.close()
    await this.#watch?.close()
  }

  #must(): Indexer {
    if (this.#indexer !== null) return this.#indexer
    throw searchErrors.create('SRH_DATABASE_MISSING', 'the index is kept in the database, which is off', {
      hint: 'enable the plugin database'
    })
  }

  /** Watches the folders of the project. `isBehind`: files may have changed since the last run. */
  async #follow(isBehind: boolean): Promise<void> {
    if (this.#watch !== null || this.#ending.signal.aborted) return
    const { projectRoot, log } = this.#parts
    const indexer = this.#must()
    const { signal } = this.#ending
    this.#watch = new ProjectWatch({
      root: projectRoot,
      onChange: async paths => {
        try {
          if (paths !== null) return await indexer.update(paths, signal)
          await indexer.index({ full: false, signal })
          return indexer.folders
        } catch (error) {
          if (signal.aborted) return []
          this.#watchProblem = errorMessage(error)
          log.warn('changed files could not be indexed', { reason: this.#watchProblem })
          return paths === null ? indexer.folders : []
        }
      },
      onProblem: reason => {
        if (this.#watchProblem === null)
          log.warn('changes of some files will be missed by the index', {
            reason,
            hint: 'raise the limit of watched files of the system, or run svc search index after changes'
          })
        this.#watchProblem = reason
      }
    })
    if (isBehind) {
      this.#watch.add(await indexer.list(signal))
      await indexer.index({ full: false, signal })
    }
    // A folder that appeared during the run is in its list.
    this.#watch.add(indexer.folders)
  }
}
