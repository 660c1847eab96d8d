import type { DatabaseStore } from '@svc/contracts'
import {
  FORMAT,
  INDEX_TABLES,
  type IndexEntry,
  removeStatements,
  symbolStatements,
  writeStatements
} from './index-sql.ts'
import { hasOutline } from './outline.ts'
import type { FileStat, ReadFile } from './protocol.ts'

/** Files of the project have this prefix before their path. */
export const REPO_URI = 'repo:'

const MAX_SKIPPED_FILES = 20

/** State of a file when it was indexed. */
export interface KnownFile {
  readonly size: number
  readonly mtimeMs: number
  /** Empty if the file must be read again. */
  readonly hash: string
  readonly reason: string | null
  readonly readAtMs: number
  /** False if another version of the program wrote it, which may have skipped what can be read now. */
  readonly isCurrent: boolean
}

export interface IndexCounts {
  readonly documents: number
  readonly chunks: number
  readonly symbols: number
  /** Files that are not indexed, by reason. */
  readonly skipped: Readonly<Record<string, number>>
  /** The newest of them, except binary and empty ones. */
  readonly skippedFiles: readonly { readonly path: string; readonly reason: string }[]
}

export interface JobRow {
  readonly id: number
  readonly status: string
  readonly detail: JobDetail | null
  readonly error: string | null
  readonly updatedAt: string
}

export interface JobDetail {
  readonly pid: number
  readonly done: number
  readonly total: number
}

/** The index of the project's files in the database. A file changes in one transaction, so a killed process leaves none half. */
export class IndexStore {
  readonly #database: DatabaseStore
  #ready: Promise<void> | null = null

  constructor(database: DatabaseStore) {
    this.#database = database
  }

  /** Returns the known files by path; all, or those of some paths. */
  async known(paths?: readonly string[]): Promise<Map<string, KnownFile>> {
    await this.#open()
    const wanted =
      paths === undefined ? "f.uri >= 'repo:' AND f.uri < 'repo;'" : 'f.uri IN (SELECT value FROM json_each(:uris))'
    const { rows } = await this.#database.query(
      `SELECT f.uri, f.size, f.mtime_ms, f.reason, f.read_at_ms,
        CASE WHEN f.format = ${FORMAT} AND (f.state = 'skipped' OR d.id IS NOT NULL) THEN f.content_hash ELSE '' END,
        f.format = ${FORMAT}
        FROM search_index_files AS f LEFT JOIN search_documents AS d ON d.source_uri = f.uri WHERE ${wanted}`,
      paths === undefined ? [] : { uris: JSON.stringify(paths.map(path => REPO_URI + path)) }
    )
    return new Map(
      rows.map(([uri, size, mtime, reason, read, hash, current]) => [
        String(uri).slice(REPO_URI.length),
        {
          size: Number(size),
          mtimeMs: Number(mtime),
          hash: String(hash),
          reason: typeof reason === 'string' ? reason : null,
          readAtMs: Number(read),
          isCurrent: current === 1
        }
      ])
    )
  }

  /** Replaces what the index has of files. */
  async write(files: readonly { readonly file: ReadFile; readonly stat: FileStat }[], now: number): Promise<void> {
    await this.#open()
    if (files.length === 0) return
    const entries = files.map(({ file, stat }) => entryOf(file, stat))
    await this.#database.batch(writeStatements(entries, now))
  }

  /** Returns files whose symbols are to be found, in the order of their paths. */
  async withoutSymbols(
    after: string,
    limit: number
  ): Promise<readonly { readonly path: string; readonly hash: string }[]> {
    await this.#open()
    const { rows } = await this.#database.query(
      `SELECT uri, content_hash FROM search_index_files WHERE has_symbols = 0 AND uri > :after ORDER BY uri LIMIT :limit`,
      { after: REPO_URI + after, limit }
    )
    return rows.map(([uri, hash]) => ({ path: String(uri).slice(REPO_URI.length), hash: String(hash) }))
  }

  /** Replaces the symbols of files. Files whose content has changed since are left for the next run. */
  async writeSymbols(files: readonly ReadFile[]): Promise<void> {
    const statements = files.flatMap(({ path, hash, symbols }) => symbolStatements(REPO_URI + path, hash, symbols))
    if (statements.length > 0) await this.#database.batch(statements)
  }

  /** Notes new sizes and times of files whose content is unchanged. */
  async touch(files: readonly FileStat[], now: number): Promise<void> {
    await this.#open()
    if (files.length === 0) return
    const rows = files.map(({ path, size, mtimeMs }) => ({ uri: REPO_URI + path, size, mtime: mtimeMs }))
    await this.#database.execute(
      `UPDATE search_index_files SET size = f.value ->> 'size', mtime_ms = f.value ->> 'mtime', read_at_ms = :now
        FROM json_each(:files) AS f WHERE search_index_files.uri = f.value ->> 'uri'`,
      { files: JSON.stringify(rows), now }
    )
  }

  /** Removes files. Returns the number of removed files. */
  async remove(paths: readonly string[]): Promise<number> {
    await this.#open()
    if (paths.length === 0) return 0
    const results = await this.#database.batch(removeStatements(paths.map(path => REPO_URI + path)))
    return results.at(-1)?.changes ?? 0
  }

  /** Returns the known files below a folder. */
  async below(folder: string): Promise<readonly string[]> {
    await this.#open()
    const { rows } = await this.#database.query(
      'SELECT uri FROM search_index_files WHERE uri > :from AND uri < :to',
      // `0` follows `/`.
      { from: `${REPO_URI}${folder}/`, to: `${REPO_URI}${folder}0` }
    )
    return rows.map(([uri]) => String(uri).slice(REPO_URI.length))
  }

  async counts(): Promise<IndexCounts> {
    await this.#open()
    const { rows } = await this.#database.query(
      `SELECT (SELECT COUNT(*) FROM search_documents WHERE source_uri LIKE 'repo:%'), (SELECT COUNT(*)
        FROM search_document_chunks AS c JOIN search_documents AS d ON d.id = c.document_id
        WHERE d.source_uri LIKE 'repo:%'), (SELECT COUNT(*) FROM search_symbols)`
    )
    const reasons = await this.#database.query(
      `SELECT reason, COUNT(*) FROM search_index_files
        WHERE state = 'skipped' AND uri >= 'repo:' AND uri < 'repo;' GROUP BY reason`
    )
    const files = await this.#database.query(
      `SELECT uri, reason FROM search_index_files WHERE state = 'skipped' AND uri >= 'repo:' AND uri < 'repo;'
        AND reason NOT IN ('binary', 'empty') ORDER BY read_at_ms DESC, uri LIMIT ${MAX_SKIPPED_FILES}`
    )
    return {
      skippedFiles: files.rows.map(([uri, reason]) => ({
        path: String(uri).slice(REPO_URI.length),
        reason: String(reason)
      })),
      documents: Number(rows[0]?.[0] ?? 0),
      chunks: Number(rows[0]?.[1] ?? 0),
      symbols: Number(rows[0]?.[2] ?? 0),
      skipped: Object.fromEntries(reasons.rows.map(([reason, count]) => [String(reason), Number(count)]))
    }
  }

  /** Begins a job. Jobs of ended processes become `interrupted`. Returns the id. */
  async beginJob(kind: string, detail: JobDetail, isAlive: (pid: number) => boolean): Promise<number> {
    await this.#open()
    for (const { id, detail } of await this.#runningJobs())
      if (detail === null || !isAlive(detail.pid)) await this.endJob(id, 'interrupted', detail, null)
    const { lastInsertId } = await this.#database.execute(
      "INSERT INTO search_indexing_jobs (job_kind, target_uri, status, detail_json) VALUES (:kind, :uri, 'running', :detail)",
      { kind, uri: REPO_URI, detail: JSON.stringify(detail) }
    )
    return Number(lastInsertId)
  }

  async updateJob(id: number, detail: JobDetail): Promise<void> {
    await this.#database.execute(
      "UPDATE search_indexing_jobs SET detail_json = :detail, updated_at = datetime('now') WHERE id = :id",
      { id, detail: JSON.stringify(detail) }
    )
  }

  async endJob(id: number, status: string, detail: JobDetail | null, error: string | null): Promise<void> {
    await this.#database.execute(
      `UPDATE search_indexing_jobs SET status = :status, detail_json = :detail, error_text = :error,
        updated_at = datetime('now') WHERE id = :id`,
      { id, status, detail: detail === null ? null : JSON.stringify(detail), error }
    )
  }

  /** Returns the newest job of the project; null before the first one. */
  async lastJob(): Promise<JobRow | null> {
    const { rows } = await this.#database.query(
      `SELECT id, status, detail_json, error_text, updated_at FROM search_indexing_jobs
        WHERE target_uri = 'repo:' ORDER BY id DESC LIMIT 1`
    )
    const [row] = rows
    if (row === undefined) return null
    const [id, status, detail, error, updated] = row
    return {
      id: Number(id),
      status: String(status),
      detail: detailOf(detail),
      error: error === null || error === undefined ? null : String(error),
      updatedAt: String(updated)
    }
  }

  async #runningJobs(): Promise<{ id: number; detail: JobDetail | null }[]> {
    const { rows } = await this.#database.query(
      "SELECT id, detail_json FROM search_indexing_jobs WHERE target_uri = 'repo:' AND status = 'running'"
    )
    return rows.map(([id, detail]) => ({ id: Number(id), detail: detailOf(detail) }))
  }

  #open(): Promise<void> {
    this.#ready ??= this.#database.migrate(INDEX_TABLES).catch(error => {
      this.#ready = null
      throw error
    })
    return this.#ready
  }
}

function entryOf(file: ReadFile, { size, mtimeMs }: FileStat): IndexEntry {
  const { path, hash, title, mimeType, chunks } = file
  const reason = file.state === 'skipped' ? (file.reason ?? 'unreadable') : null
  return { uri: REPO_URI + path, size, mtimeMs, hash, reason, wantsSymbols: hasOutline(path), title, mimeType, chunks }
}

function detailOf(text: unknown): JobDetail | null {
  if (typeof text !== 'string') return null
  try {
    const { pid, done, total } = JSON.parse(text) as JobDetail
    return typeof pid === 'number' ? { pid, done: Number(done), total: Number(total) } : null
  } catch {
    return null
  }
}
