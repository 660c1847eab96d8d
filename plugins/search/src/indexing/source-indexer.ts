import { setImmediate as nextTurn } from 'node:timers/promises'
import { SEARCH_SOURCE_CORPORA, type SearchSource, type SearchSourceDocument } from '@svc/contracts'
import { errorMessage, withTimeout } from '@svc/plugin-sdk'
import { searchErrors } from '../errors.ts'
import { chunkLines, chunkMarkdown, cut } from './chunk.ts'
import type { IndexEntry } from './index-sql.ts'
import type { SkipReason } from './protocol.ts'
import type { NodeEntry, SourceStore } from './source-store.ts'

/** Documents that are written in one transaction. */
const BATCH = 64
/** Characters that are split before other work runs, unless one document is larger. */
const TURN_CHARS = 262_144
/** Characters of a batch, unless one document is larger. */
const BATCH_CHARS = 4_194_304
const MAX_ENTRIES = 100_000
/** As of the names of sessions. */
const MAX_KEY_CHARS = 2_048
const MAX_VERSION_CHARS = 200
const MAX_TITLE_CHARS = 1_000
const MAX_PROBLEM_CHARS = 1_000
/** A source that hangs is left until the next run. */
const MAX_HUNG = 3
const NAME = /^[a-z][a-z0-9-]{0,63}$/

export interface SourceReport {
  readonly name: string
  /** Documents that the source lists. */
  readonly documents: number
  readonly indexed: number
  readonly removed: number
  /** Documents that are not in the index, by reason. */
  readonly skipped: Readonly<Record<string, number>>
  /** Why documents of the source are missing or old; null if none are. */
  readonly problem: string | null
}

export interface SourceIndexerParts {
  readonly store: SourceStore
  readonly settings: () => { readonly index_max_file_bytes: number; readonly index_step_ms: number }
  readonly now?: () => number
}

export interface SourceRun {
  /** Whether unchanged documents are read again. */
  readonly full: boolean
  readonly signal: AbortSignal
  readonly onProgress?: (done: number, total: number) => void
}

/** Brings the index of sources up to date, one run at a time. */
export class SourceIndexer {
  readonly #parts: SourceIndexerParts
  readonly #now: () => number
  #tail: Promise<unknown> = Promise.resolve()

  constructor(parts: SourceIndexerParts) {
    this.#parts = parts
    this.#now = parts.now ?? Date.now
  }

  /**
   * Reads new and changed documents of sources, and removes those that are gone. A source that fails does not affect
   * the others. Throws the reason of `signal`, and the errors of the database; what is written stays.
   */
  index(sources: readonly SearchSource[], run: SourceRun): Promise<readonly SourceReport[]> {
    const result = this.#tail.then(async () => {
      const reports: SourceReport[] = []
      for (const source of sources) reports.push(await this.#index(source, run))
      return reports
    })
    this.#tail = result.catch(() => undefined)
    return result
  }

  /** Resolves when the runs have ended that were begun. */
  async settled(): Promise<void> {
    await this.#tail
  }

  /** Removes the documents of all sources but these. Returns their number. */
  async keep(names: ReadonlySet<string>): Promise<number> {
    const counts = await this.#parts.store.counts()
    return this.drop(counts.map(({ name }) => name).filter(name => !names.has(name)))
  }

  /** Removes the documents of sources. Returns their number. */
  async drop(names: readonly string[]): Promise<number> {
    const { store } = this.#parts
    let removed = 0
    for (const name of names) if (name !== 'repo') removed += await store.remove([...(await store.known(name)).keys()])
    return removed
  }

  async #index(source: SearchSource, { full, signal, onProgress }: SourceRun): Promise<SourceReport> {
    const { store } = this.#parts
    const report = { name: source.name, documents: 0, indexed: 0, removed: 0, problem: null }
    const skipped: Record<string, number> = {}
    signal.throwIfAborted()
    let listed: ReadonlyMap<string, string>
    try {
      listed = await this.#list(source, signal)
    } catch (error) {
      signal.throwIfAborted()
      return { ...report, skipped, problem: errorMessage(error).slice(0, MAX_PROBLEM_CHARS) }
    }
    let problem: string | null = null
    let hung = 0
    const isNode = source.corpus === 'knowledge_graph'
    const known = await store.known(source.name)
    const uri = (key: string): string => `${source.name}:${key}`
    const changed = [...listed].filter(([key, version]) => {
      const before = known.get(uri(key))
      return full || before === undefined || before.version !== version || before.isNode !== isNode
    })
    let done = 0
    let entries: IndexEntry[] = []
    let nodes: NodeEntry[] = []
    let [size, sinceTurn] = [0, 0]
    let removed = 0
    const flush = async (): Promise<void> => {
      await store.write(entries, nodes, this.#now())
      ;[entries, nodes, size] = [[], [], 0]
      onProgress?.(done, changed.length)
    }
    for (const [key, version] of changed) {
      const read = await this.#read(source, key, signal)
      done += 1
      hung = read === 'timed_out' ? hung + 1 : 0
      if (hung === MAX_HUNG) {
        problem = `${MAX_HUNG} documents in a row exceeded the time limit; ${changed.length - done} were not read`
        break
      }
      const record = { ...NO_FILE, uri: uri(key), hash: version }
      if (read === 'gone') removed += await store.remove([uri(key)])
      else if (typeof read === 'string') {
        skipped[read] = (skipped[read] ?? 0) + 1
        entries.push({ ...record, reason: read })
      } else {
        report.indexed += 1
        size += read.text.length
        sinceTurn += read.text.length
        if (sinceTurn > TURN_CHARS) {
          await nextTurn()
          sinceTurn = 0
        }
        const title = cut(read.title, MAX_TITLE_CHARS)
        if (isNode) nodes.push({ uri: uri(key), version, label: title, content: read.text, source: source.name })
        else {
          const chunks = read.format === 'markdown' ? chunkMarkdown(read.text) : chunkLines(read.text)
          const mimeType = read.format === 'markdown' ? 'text/markdown' : 'text/plain'
          entries.push({ ...record, title, mimeType, size: read.text.length, chunks })
        }
      }
      if (entries.length + nodes.length === BATCH || size > BATCH_CHARS) await flush()
    }
    if (entries.length + nodes.length > 0) await flush()
    const present = new Set([...listed.keys()].map(uri))
    removed += await store.remove([...known.keys()].filter(each => !present.has(each)))
    return { ...report, documents: listed.size, removed, skipped, problem }
  }

  /** Returns the versions by key. */
  async #list(source: SearchSource, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const { name, corpus } = source
    const invalid = (what: string) =>
      searchErrors.create('SRH_SOURCE_INVALID', `${name}: ${what}`, { hint: 'correct the plugin of the source' })
    if (!NAME.test(name) || name === 'repo')
      throw invalid('its name must be lower-case letters, digits and -, not repo')
    if (corpus !== undefined && !SEARCH_SOURCE_CORPORA.includes(corpus)) throw invalid('it has an unknown corpus')
    const found: unknown = await this.#limited(source, signal, async inner => source.list(inner))
    if (!Array.isArray(found)) throw invalid('its list is no array')
    if (found.length > MAX_ENTRIES) throw invalid(`it lists ${found.length} documents; the limit is ${MAX_ENTRIES}`)
    const wrong = found.findIndex(each => !isEntry(each))
    if (wrong !== -1) throw invalid(`entry ${wrong} of its list has no key and version of allowed length`)
    return new Map(found.map(({ key, version }) => [key, version]))
  }

  async #read(source: SearchSource, key: string, signal: AbortSignal): Promise<SearchSourceDocument | SkipReason> {
    let read: unknown
    try {
      read = await this.#limited(source, signal, async inner => source.read(key, inner))
    } catch (error) {
      signal.throwIfAborted()
      return (error as { code?: unknown }).code === 'SRH_SOURCE_TIMEOUT' ? 'timed_out' : 'unreadable'
    }
    if (read === null) return 'gone'
    if (!isDocument(read)) return 'malformed'
    if (Buffer.byteLength(read.text) > this.#parts.settings().index_max_file_bytes) return 'too_large'
    // The database does not store U+0000 and half surrogates.
    const clean = (text: string): string => Buffer.from(text).toString().replaceAll('\0', ' ')
    return read.text.trim() === '' ? 'empty' : { ...read, title: clean(read.title), text: clean(read.text) }
  }

  #limited<A>({ name }: SearchSource, signal: AbortSignal, run: (signal: AbortSignal) => Promise<A>): Promise<A> {
    const limit = this.#parts.settings().index_step_ms
    return withTimeout(limit, run, {
      signal,
      error: () =>
        searchErrors.create('SRH_SOURCE_TIMEOUT', `${name}: no answer within ${limit} ms`, {
          hint: 'raise plugins.search.index_step_ms, or turn off the plugin of the source'
        })
    })
  }
}

const NO_FILE = { size: 0, mtimeMs: 0, reason: null, wantsSymbols: false, title: '', mimeType: '', chunks: [] } as const

function isEntry(entry: unknown): boolean {
  const { key, version } = (entry ?? {}) as Record<string, unknown>
  // The database would store another text.
  const isText = (value: unknown, maximum: number): boolean =>
    typeof value === 'string' && value !== '' && value.length <= maximum && !/[\0\p{Surrogate}]/u.test(value)
  return isText(key, MAX_KEY_CHARS) && isText(version, MAX_VERSION_CHARS)
}

function isDocument(value: unknown): value is SearchSourceDocument {
  const { title, text, format } = (value ?? {}) as Record<string, unknown>
  return (
    typeof title === 'string' &&
    typeof text === 'string' &&
    (format === undefined || format === 'plain' || format === 'markdown')
  )
}
