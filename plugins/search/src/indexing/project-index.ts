import { access } from 'node:fs/promises'
import { relative, sep } from 'node:path'
import type { DatabaseStore, SearchSource } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import { searchErrors } from '../errors.ts'
import { PdfProcess } from '../pdf/pdf-process.ts'
import type { Settings } from '../settings.ts'
import type { ChunkVectors } from '../vectors/chunk-vectors.ts'
import { type IndexCounts, IndexStore, type JobRow } from './index-store.ts'
import { IndexThread } from './index-thread.ts'
import { Indexer, type IndexOptions, type IndexReport, type IndexSettings } from './indexer.ts'
import { ProjectWatch } from './project-watch.ts'
import type { SourceReport } from './source-indexer.ts'
import { SourceWatch } from './source-watch.ts'

export interface ProjectIndexParts {
  readonly projectRoot: string
  readonly database: DatabaseStore | undefined
  readonly settings: () => IndexSettings & Pick<Settings, 'index_watch' | 'index_skip_sources'>
  /** Whether the process serves until it is stopped, so that watching files is worthwhile. */
  readonly serves: boolean
  /** Sources that plugins contribute. */
  readonly sources: () => readonly SearchSource[]
  /** Computes the missing vectors of chunks; see {@link ChunkVectors.complete}. */
  readonly completeVectors: ChunkVectors['complete']
  readonly onChange: () => void
  readonly log: Logger
}

export interface IndexState extends IndexCounts {
  /** Documents of sources in the index. */
  readonly sources: readonly { readonly name: string; readonly documents: number }[]
  /** Newest job; null before the first one. */
  readonly job: JobRow | null
  /** Number of watched folders; 0 if the index is not updated by watching. */
  readonly watchedFolders: number
  /** Why changes may be missed; null if none are. */
  readonly watchProblem: string | null
}

export interface ProjectIndexReport extends IndexReport {
  readonly sources: readonly SourceReport[]
  /** New vectors of chunks. */
  readonly vectors: number
  /** Why chunks have no vectors although there is a model; null if they have. */
  readonly vector_problem: string | null
}

/** The index of the project's files, which follows their changes in a process that serves. */
export class ProjectIndex {
  readonly #parts: ProjectIndexParts
  readonly #thread: IndexThread
  readonly #pdf = new PdfProcess()
  readonly #store: IndexStore | null
  readonly #indexer: Indexer | null
  readonly #sources: SourceWatch | null
  readonly #ending = new AbortController()
  #watch: ProjectWatch | null = null
  #watchProblem: string | null = null
  #embedding: Promise<unknown> = Promise.resolve()

  constructor(parts: ProjectIndexParts) {
    this.#parts = parts
    const { projectRoot, settings, onChange, database } = parts
    this.#thread = new IndexThread(() => settings().index_step_ms)
    this.#store = database === undefined ? null : new IndexStore(database)
    this.#indexer =
      this.#store === null
        ? null
        : new Indexer({ projectRoot, store: this.#store, thread: this.#thread, pdf: this.#pdf, settings, onChange })
    this.#sources = database === undefined ? null : new SourceWatch({ ...parts, database, signal: this.#ending.signal })
  }

  /** Called when plugins contribute other sources. */
  sourcesChanged(): void {
    this.#sources?.refresh()
  }

  /** Updates and watches an index that exists. Never rejects. */
  async resume(): Promise<void> {
    const { database, serves, settings, log } = this.#parts
    if (!serves || database === undefined || !settings().index_watch) return
    // A database that does not exist is not made for this.
    if (database.mode === 'file' && !(await exists(database.location))) return
    try {
      if ((await this.#store?.lastJob()) != null) await this.#follow(true)
    } catch (error) {
      if (!this.#ending.signal.aborted)
        log.warn('the index of the project could not be updated', { reason: errorMessage(error) })
    }
  }

  /**
   * Updates the index, and then the vectors of its chunks. Without vectors the chunks are found by words, so a failing
   * model does not fail the run. Throws `SRH_DATABASE_MISSING`, and like {@link Indexer.index}.
   */
  async index(options: IndexOptions): Promise<ProjectIndexReport> {
    const signal = AbortSignal.any([options.signal, this.#ending.signal])
    const report = await this.#must().index({ ...options, signal })
    const sources = (await this.#sources?.index({ ...options, signal })) ?? []
    if (this.#parts.serves && this.#parts.settings().index_watch) await this.#follow(false)
    const [vectors, problem] = await this.#completeVectors(signal, options.onProgress)
    return { ...report, sources, vectors, vector_problem: problem }
  }

  /** Throws `SRH_DATABASE_MISSING`, and the errors of the database. */
  async state(): Promise<IndexState> {
    this.#must()
    const store = this.#store as IndexStore
    const [counts, job, sources = []] = await Promise.all([store.counts(), store.lastJob(), this.#sources?.counts()])
    return {
      ...counts,
      sources,
      job,
      watchedFolders: this.#watch?.size ?? 0,
      watchProblem: this.#watchProblem
    }
  }

  async close(): Promise<void> {
    this.#ending.abort(searchErrors.create('SRH_INDEX_CLOSED', 'the index is closed: the plugin search ends'))
    await Promise.all([this.#thread.close(), this.#pdf.close()])
    await this.#watch?.close()
    await this.#sources?.close()
    await this.#indexer?.settled()
    await this.#embedding
  }

  /** Whether a path is the file of the database, or one of its logs. */
  #isDatabase(path: string): boolean {
    const { projectRoot, database } = this.#parts
    if (database?.mode !== 'file') return false
    const own = relative(projectRoot, database.location).split(sep).join('/')
    return path === own || path.startsWith(`${own}-`)
  }

  #must(): Indexer {
    if (this.#indexer !== null) return this.#indexer
    throw searchErrors.create('SRH_DATABASE_MISSING', 'the index is kept in the database, which is off', {
      hint: 'enable the plugin database'
    })
  }

  /** Returns the number of new vectors, and why others are missing. Throws the reason of `signal`. */
  async #completeVectors(
    signal: AbortSignal,
    onProgress?: (done: number, total: number) => void
  ): Promise<readonly [number, string | null]> {
    const run = this.#embedding.then(() => this.#parts.completeVectors(signal, onProgress))
    this.#embedding = run.catch(() => 0)
    try {
      const count = await run
      if (count > 0) this.#parts.onChange()
      return [count, null]
    } catch (error) {
      signal.throwIfAborted()
      const reason = errorMessage(error)
      this.#parts.log.warn('passages of the index have no vectors', {
        reason,
        hint: 'check embedding_folder in [plugins.search]'
      })
      return [0, reason]
    }
  }

  /** Watches the folders of the project. `isBehind`: files may have changed since the last run. */
  async #follow(isBehind: boolean): Promise<void> {
    if (this.#watch !== null || this.#ending.signal.aborted) return
    const { projectRoot, log } = this.#parts
    const indexer = this.#must()
    const { signal } = this.#ending
    this.#sources?.follow(isBehind, () => void this.#completeVectors(signal).catch(() => undefined))
    this.#watch = new ProjectWatch({
      root: projectRoot,
      onChange: async changed => {
        // The database may be in the project, and each update of the index writes to it.
        const paths = changed?.filter(path => !this.#isDatabase(path)) ?? null
        if (paths?.length === 0) return []
        try {
          const folders = paths === null ? null : await indexer.update(paths, signal)
          if (folders === null) await indexer.index({ full: false, signal })
          // Changed files are found by their words before their vectors are ready.
          void this.#completeVectors(signal).catch(() => undefined)
          return folders ?? indexer.folders
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
      void this.#completeVectors(signal).catch(() => undefined)
    }
    // A folder that appeared during the run is in its list.
    this.#watch.add(indexer.folders)
  }
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false
  )
}
