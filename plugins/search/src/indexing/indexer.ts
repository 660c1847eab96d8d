import { errorMessage } from '@svc/plugin-sdk'
import { searchErrors } from '../errors.ts'
import { isPdf, type PdfProcess } from '../pdf/pdf-process.ts'
import type { IndexStore, KnownFile } from './index-store.ts'
import type { IndexThread } from './index-thread.ts'
import type { FileStat, ReadFile, ReadItem } from './protocol.ts'

/** Files that are read in one request and written in one transaction. */
const BATCH_FILES = 64
/**
 * The same in a run of many files, from the batch {@link LARGE_FROM} on: the database writes its log to the file after
 * about each transaction, and waits for the disk.
 */
const LARGE_BATCH_FILES = 512
const LARGE_FROM = 4
/** Bytes of the files of a batch, unless one file is larger. */
const BATCH_BYTES = 8_388_608
/** Minimum time between two updates of the job's row. */
const JOB_MS = 1_000
/** Minimum time between two reports of progress. */
const PROGRESS_MS = 200
/** A file that was changed so shortly before it was read may have changed again with the same time. */
const RACY_MS = 2_000
const MIN_FILES = 100
/** Skipped files with these reasons are read again, although they did not change. */
const RETRIED: ReadonlySet<string> = new Set(['unreadable', 'timed_out', 'link', 'not_a_file', 'too_many_pages'])

export interface IndexSettings {
  readonly repo_max_files: number
  readonly repo_skip_dirs: readonly string[]
  readonly index_max_file_bytes: number
  readonly index_max_pdf_bytes: number
  readonly index_max_pdf_pages: number
  readonly index_step_ms: number
}

export interface IndexerParts {
  readonly projectRoot: string
  readonly store: IndexStore
  readonly thread: IndexThread
  readonly pdf: PdfProcess
  readonly settings: () => IndexSettings
  /** Called after files of the index changed. */
  readonly onChange: () => void
  readonly now?: () => number
}

export interface IndexOptions {
  /** Whether unchanged files are read again. */
  readonly full: boolean
  readonly signal: AbortSignal
  readonly onProgress?: (done: number, total: number) => void
}

export interface IndexReport {
  /** Files of the project that git does not ignore. */
  readonly files: number
  readonly indexed: number
  readonly unchanged: number
  readonly removed: number
  /** Files that are not in the index, by reason. Those of the walk are counted in each run. */
  readonly skipped: Readonly<Record<string, number>>
  readonly chunks: number
  /** True if the project has more files than `repo_max_files`. */
  readonly truncated: boolean
  /** Milliseconds until the words of all files were in the index; after that, symbols are found. */
  readonly words_ms: number
  readonly duration_ms: number
}

interface Counts {
  indexed: number
  unchanged: number
  removed: number
  chunks: number
  skipped: Record<string, number>
}

/** Brings the index of the project's files up to date, one run at a time. */
export class Indexer {
  readonly #parts: IndexerParts
  readonly #now: () => number
  #tail: Promise<unknown> = Promise.resolve()
  /** Folders of the last complete list, relative to the project. */
  folders: readonly string[] = []

  constructor(parts: IndexerParts) {
    this.#parts = parts
    this.#now = parts.now ?? Date.now
  }

  /**
   * Reads new and changed files, and removes those that are gone. A run that was ended continues where it was: what is
   * written stays. Throws the reason of `signal` if it is aborted, `SRH_INDEX_THREAD_ENDED`, `SRH_INDEX_CLOSED`,
   * `SRH_FILE_UNREADABLE` if the folder of the project cannot be read, and the errors of the database.
   */
  index(options: IndexOptions): Promise<IndexReport> {
    return this.#inTurn(() => this.#run(options))
  }

  /**
   * Updates single paths, which may be files, folders, ignored or gone. Returns the new folders among them, which a
   * watcher must watch, too. Throws like {@link Indexer.index}.
   */
  update(paths: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    return this.#inTurn(() => this.#update(paths, signal))
  }

  /** Resolves when the runs have ended that were begun, and their jobs are written. */
  async settled(): Promise<void> {
    await this.#tail
  }

  /** Lists the folders of the project whose files are indexed. */
  async list(signal: AbortSignal): Promise<readonly string[]> {
    const { folders } = await this.#walk('', signal)
    this.folders = folders
    return folders
  }

  #inTurn<A>(run: () => Promise<A>): Promise<A> {
    const result = this.#tail.then(run)
    this.#tail = result.catch(() => undefined)
    return result
  }

  async #run({ full, signal, onProgress }: IndexOptions): Promise<IndexReport> {
    const { store } = this.#parts
    const began = performance.now()
    const detail = { pid: process.pid, done: 0, total: 0 }
    const job = await store.beginJob(full ? 'full' : 'incremental', detail, isAlive)
    const counts: Counts = { indexed: 0, unchanged: 0, removed: 0, chunks: 0, skipped: {} }
    try {
      const { files, folders, skipped, truncated } = await this.#walk('', signal)
      if (!folders.includes(''))
        throw searchErrors.create('SRH_FILE_UNREADABLE', `${this.#parts.projectRoot}: the project cannot be read`, {
          hint: 'make the folder readable; the index keeps its files until then'
        })
      this.folders = folders
      const known = await store.known()
      counts.skipped = { ...skipped }
      detail.total = files.length
      onProgress?.(0, files.length)
      let savedAt = Number.NEGATIVE_INFINITY
      let reportedAt = performance.now()
      await this.#read(files, known, full, counts, signal, async done => {
        detail.done = done
        if (done === files.length || performance.now() - reportedAt >= PROGRESS_MS) {
          reportedAt = performance.now()
          onProgress?.(done, files.length)
        }
        if (performance.now() - savedAt < JOB_MS) return
        savedAt = performance.now()
        await store.updateJob(job, detail)
      })
      const found = new Set(files.map(({ path }) => path))
      // Beyond the limit it is not known which files exist.
      const gone = truncated ? [] : [...known.keys()].filter(path => !found.has(path))
      for (let at = 0; at < gone.length; at += BATCH_FILES) {
        signal.throwIfAborted()
        counts.removed += await store.remove(gone.slice(at, at + BATCH_FILES))
      }
      const words_ms = Math.round(performance.now() - began)
      await this.#outline(signal)
      await store.endJob(job, 'done', detail, null)
      this.#parts.onChange()
      return { ...counts, files: files.length, truncated, words_ms, duration_ms: Math.round(performance.now() - began) }
    } catch (error) {
      const status = signal.aborted ? 'cancelled' : 'failed'
      // The first error is the one to report.
      await store.endJob(job, status, detail, errorMessage(error)).catch(() => undefined)
      throw error
    }
  }

  async #walk(folder: string, signal: AbortSignal) {
    signal.throwIfAborted()
    const { projectRoot, thread, settings } = this.#parts
    const { repo_max_files, repo_skip_dirs } = settings()
    const maxFiles = Math.max(MIN_FILES, repo_max_files)
    return thread.walk({ root: projectRoot, folder, maxFiles, skipDirs: repo_skip_dirs })
  }

  /** Reads a batch while the one before it is written. */
  async #read(
    files: readonly FileStat[],
    known: ReadonlyMap<string, KnownFile>,
    full: boolean,
    counts: Counts,
    signal: AbortSignal,
    onBatch: (done: number) => Promise<void>
  ): Promise<void> {
    const { store, settings } = this.#parts
    const limits = settings()
    const changed = full
      ? files
      : files.filter(file => !isSame(file, known.get(file.path), maxBytesOf(file.path, limits)))
    counts.unchanged += files.length - changed.length
    let done = counts.unchanged
    let writing: Promise<void> = Promise.resolve()
    try {
      for (const batch of batches(changed)) {
        signal.throwIfAborted()
        const readAt = this.#now()
        const items = batch.map(({ path }) => ({ path, knownHash: full ? null : known.get(path)?.hash || null }))
        const read = await this.#readBatch(items, limits, signal)
        await writing
        done += batch.length
        writing = this.#write(store, batch, read, known, readAt, counts).then(() => onBatch(done))
        // It is awaited after the next batch was read.
        writing.catch(() => undefined)
      }
    } finally {
      await writing
    }
    if (changed.length === 0) await onBatch(done)
  }

  /** Reads the files of a batch, which are one PDF document or files of other kinds. */
  async #readBatch(
    items: readonly ReadItem[],
    limits: IndexSettings,
    signal: AbortSignal
  ): Promise<readonly ReadFile[]> {
    const { projectRoot: root, thread, pdf } = this.#parts
    const [first] = items
    if (first === undefined || !isPdf(first.path))
      return thread.read({ root, maxBytes: limits.index_max_file_bytes, items })
    const { index_max_pdf_bytes: maxBytes, index_max_pdf_pages: maxPages, index_step_ms: stepMs } = limits
    return [await pdf.read({ root, ...first, maxBytes, maxPages, stepMs }, signal)]
  }

  async #write(
    store: IndexStore,
    batch: readonly FileStat[],
    read: readonly ReadFile[],
    known: ReadonlyMap<string, KnownFile>,
    readAt: number,
    counts: Counts
  ): Promise<void> {
    const stats = new Map(batch.map(stat => [stat.path, stat]))
    const written: { file: ReadFile; stat: FileStat }[] = []
    const touched: FileStat[] = []
    const gone: string[] = []
    for (const file of read) {
      const stat = stats.get(file.path)
      if (stat === undefined) continue
      if (file.reason !== null) counts.skipped[file.reason] = (counts.skipped[file.reason] ?? 0) + 1
      if (file.state === 'unchanged') {
        counts.unchanged += 1
        touched.push(stat)
      } else if (file.reason === 'gone') {
        if (known.has(file.path)) gone.push(file.path)
      } else {
        if (file.state === 'read') counts.indexed += 1
        counts.chunks += file.chunks.length
        written.push({ file, stat })
      }
    }
    await store.touch(touched, readAt)
    await store.write(written, readAt)
    counts.removed += await store.remove(gone)
  }

  /** Finds the symbols of files that have none yet. */
  async #outline(signal: AbortSignal): Promise<void> {
    const { projectRoot, store, thread, settings } = this.#parts
    const maxBytes = settings().index_max_file_bytes
    for (let after = ''; ; ) {
      signal.throwIfAborted()
      const files = await store.withoutSymbols(after, BATCH_FILES)
      const last = files.at(-1)
      if (last === undefined) return
      after = last.path
      const items = files.map(({ path, hash }) => ({ path, knownHash: hash }))
      const read = await thread.read({ root: projectRoot, maxBytes, items, symbols: true })
      // A file that hangs its parser has no symbols.
      const hashes = new Map(files.map(({ path, hash }) => [path, hash]))
      const known = read.map(file =>
        file.reason === 'timed_out' ? { ...file, hash: hashes.get(file.path) ?? '' } : file
      )
      await store.writeSymbols(known.filter(({ state, reason }) => state === 'read' || reason === 'timed_out'))
    }
  }

  async #update(paths: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted()
    const { projectRoot, store, thread, settings } = this.#parts
    const { repo_skip_dirs } = settings()
    const { kinds, stats } = await thread.check({ root: projectRoot, paths, skipDirs: repo_skip_dirs })
    const files = stats.filter(stat => stat !== null)
    const folders: string[] = []
    const gone = new Set<string>()
    for (const [at, path] of paths.entries()) {
      if (kinds[at] === 'folder') {
        const below = await this.#walk(path, signal)
        files.push(...below.files)
        folders.push(...below.folders)
      }
      if (kinds[at] !== 'other') continue
      gone.add(path)
      for (const each of await store.below(path)) gone.add(each)
    }
    const known = await store.known([...files.map(({ path }) => path), ...gone])
    const counts: Counts = { indexed: 0, unchanged: 0, removed: 0, chunks: 0, skipped: {} }
    await this.#read(files, known, false, counts, signal, async () => undefined)
    counts.removed += await store.remove([...gone].filter(path => known.has(path)))
    await this.#outline(signal)
    if (counts.indexed + counts.removed > 0) this.#parts.onChange()
    return folders
  }
}

function isSame(file: FileStat, known: KnownFile | undefined, maxBytes: number): boolean {
  if (known === undefined || !known.isCurrent || known.size !== file.size || known.mtimeMs !== file.mtimeMs)
    return false
  if (known.reason === null) return known.hash !== '' && known.readAtMs - file.mtimeMs > RACY_MS
  return known.reason === 'too_large' ? file.size > maxBytes : !RETRIED.has(known.reason)
}

function maxBytesOf(path: string, limits: IndexSettings): number {
  return isPdf(path) ? limits.index_max_pdf_bytes : limits.index_max_file_bytes
}

/** PDF documents come last, one per batch, because they take longest. */
function* batches(files: readonly FileStat[]): Generator<readonly FileStat[]> {
  const documents = files.filter(({ path }) => isPdf(path))
  yield* textBatches(documents.length === 0 ? files : files.filter(({ path }) => !isPdf(path)))
  for (const document of documents) yield [document]
}

function* textBatches(files: readonly FileStat[]): Generator<readonly FileStat[]> {
  let batch: FileStat[] = []
  let bytes = 0
  let number = 1
  for (const file of files) {
    const maximum = number < LARGE_FROM ? BATCH_FILES : LARGE_BATCH_FILES
    if (batch.length === maximum || (batch.length > 0 && bytes + file.size > BATCH_BYTES)) {
      yield batch
      batch = []
      bytes = 0
      number += 1
    }
    batch.push(file)
    bytes += file.size
  }
  if (batch.length > 0) yield batch
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
