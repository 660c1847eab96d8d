import type { DatabaseStore, SearchSource } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import type { Settings } from '../settings.ts'
import { SourceIndexer, type SourceIndexerParts, type SourceReport, type SourceRun } from './source-indexer.ts'
import { SourceStore } from './source-store.ts'

/** Time without changes of a source after which it is listed again. */
const QUIET_MS = 1_000

export interface SourceWatchParts {
  readonly database: DatabaseStore
  readonly settings: () => ReturnType<SourceIndexerParts['settings']> & Pick<Settings, 'index_skip_sources'>
  readonly sources: () => readonly SearchSource[]
  readonly onChange: () => void
  readonly log: Logger
  /** Aborted when the index closes. */
  readonly signal: AbortSignal
}

/** The contributed sources: indexes them on demand and, in a process that serves, when they report changes. */
export class SourceWatch {
  readonly #parts: SourceWatchParts
  readonly #store: SourceStore
  readonly #indexer: SourceIndexer
  readonly #watched = new Map<SearchSource, () => void>()
  readonly #changed = new Set<SearchSource>()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  /** Null before {@link SourceWatch.follow}. */
  #afterwards: (() => void) | null = null

  constructor(parts: SourceWatchParts) {
    this.#parts = parts
    this.#store = new SourceStore(parts.database)
    this.#indexer = new SourceIndexer({ store: this.#store, settings: parts.settings })
  }

  /** Throws like {@link SourceIndexer.index}. */
  async index(run: SourceRun): Promise<readonly SourceReport[]> {
    this.refresh()
    const gone = await this.#indexer.drop(this.#parts.settings().index_skip_sources)
    const reports = await this.#indexer.index(this.#sources(), run)
    if (gone > 0 || reports.some(({ indexed, removed }) => indexed + removed > 0)) this.#parts.onChange()
    return reports
  }

  counts(): ReturnType<SourceStore['counts']> {
    return this.#store.counts()
  }

  /**
   * Updates sources when they report changes. `isBehind`: all may have changed. `afterwards` is called after passages
   * changed. All plugins run in a process that serves, so documents of other sources are removed.
   */
  follow(isBehind: boolean, afterwards: () => void): void {
    if (this.#afterwards !== null) return
    this.#afterwards = afterwards
    this.refresh(isBehind)
  }

  /** Watches the sources that are contributed now. */
  refresh(allChanged = false): void {
    if (this.#afterwards === null || this.#parts.signal.aborted) return
    const sources = new Set(this.#sources())
    for (const [source, end] of this.#watched)
      if (!sources.has(source)) {
        this.#watched.delete(source)
        this.#changed.delete(source)
        this.#guarded(source, end)
      }
    for (const source of sources) {
      if (allChanged) this.#changed.add(source)
      if (this.#watched.has(source)) continue
      this.#changed.add(source)
      const changed = (): void => {
        this.#changed.add(source)
        this.#soon()
      }
      this.#guarded(source, () => void this.#watched.set(source, source.watch?.(changed) ?? (() => undefined)))
    }
    this.#soon()
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#afterwards = null
    for (const [source, end] of this.#watched) this.#guarded(source, end)
    this.#watched.clear()
    await this.#running
    await this.#indexer.settled()
  }

  /** The contributed sources that the settings do not skip. */
  #sources(): readonly SearchSource[] {
    const { sources, settings } = this.#parts
    const skipped = new Set(settings().index_skip_sources)
    return sources().filter(({ name }) => !skipped.has(name))
  }

  #soon(): void {
    if (this.#parts.signal.aborted) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#running = this.#running.then(() => this.#update())
    }, QUIET_MS).unref()
  }

  async #update(): Promise<void> {
    const { signal, log } = this.#parts
    const current = new Set(this.#sources())
    const changed = [...this.#changed].filter(source => current.has(source))
    this.#changed.clear()
    try {
      const gone = await this.#indexer.keep(new Set([...current].map(({ name }) => name)))
      const reports = await this.#indexer.index(changed, { full: false, signal })
      for (const { name, problem } of reports)
        if (problem !== null) log.warn('a source of the index could not be read', { source: name, reason: problem })
      if (gone === 0 && reports.every(({ indexed, removed }) => indexed + removed === 0)) return
      this.#parts.onChange()
      this.#afterwards?.()
    } catch (error) {
      if (!signal.aborted) log.warn('the sources of the index could not be updated', { reason: errorMessage(error) })
    }
  }

  /** Sources are code of other plugins. */
  #guarded({ name }: SearchSource, run: () => void): void {
    try {
      run()
    } catch (error) {
      this.#parts.log.warn('changes of a source of the index will be missed', {
        source: name,
        reason: errorMessage(error)
      })
    }
  }
}
