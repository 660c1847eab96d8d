import type { DatabaseStore, SqlStatement } from '@svc/contracts'
import { hasOutline, nameWords, type SourceSymbol } from './outline.ts'
import type { FileStat, ReadFile } from './protocol.ts'

/** Files of the project have this prefix before their path. */
export const REPO_URI = 'repo:'

/** Tables in addition to `search_documents` and `search_document_chunks` of the baseline schema. */
export const INDEX_TABLES = `
CREATE TABLE IF NOT EXISTS search_index_files (
  uri TEXT PRIMARY KEY,
  size INTEGER NOT NULL,
  mtime_ms REAL NOT NULL,
  content_hash TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT,
  format INTEGER NOT NULL,
  has_symbols INTEGER NOT NULL,
  read_at_ms INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS search_chunk_places (
  chunk_id INTEGER PRIMARY KEY REFERENCES search_document_chunks (id) ON DELETE CASCADE,
  first_line INTEGER,
  heading TEXT NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS search_symbols (
  id INTEGER PRIMARY KEY,
  uri TEXT NOT NULL,
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  first_line INTEGER NOT NULL,
  last_line INTEGER NOT NULL,
  UNIQUE (uri, position)
);
CREATE TABLE IF NOT EXISTS search_symbol_words (
  symbol_id INTEGER NOT NULL REFERENCES search_symbols (id) ON DELETE CASCADE,
  word TEXT NOT NULL,
  PRIMARY KEY (symbol_id, word)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS search_symbol_words_word ON search_symbol_words (word);
`

/** Version of the chunks and symbols. Files of another version are read again. */
const FORMAT = 2

/** State of a file when it was indexed. */
export interface KnownFile {
  readonly size: number
  readonly mtimeMs: number
  /** Empty if the file must be read again. */
  readonly hash: string
  readonly reason: string | null
  readonly readAtMs: number
}

export interface IndexCounts {
  readonly documents: number
  readonly chunks: number
  readonly symbols: number
  /** Files that are not indexed, by reason. */
  readonly skipped: Readonly<Record<string, number>>
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

const DOCUMENT = '(SELECT id FROM search_documents WHERE source_uri = :uri)'

/** `source_type` of the vectors of chunks in the table `embeddings`; `source_id` is the id of the chunk. */
export const CHUNK_SOURCE = 'chunk'

const FORGET_SYMBOLS: readonly string[] = [
  'DELETE FROM search_symbol_words WHERE symbol_id IN (SELECT id FROM search_symbols WHERE uri = :uri)',
  'DELETE FROM search_symbols WHERE uri = :uri'
]
const FORGET_CHUNKS: readonly string[] = [
  ...FORGET_SYMBOLS,
  `DELETE FROM embeddings WHERE source_type = '${CHUNK_SOURCE}' AND source_id IN
    (SELECT CAST(id AS TEXT) FROM search_document_chunks WHERE document_id = ${DOCUMENT})`,
  `DELETE FROM search_chunk_places WHERE chunk_id IN
    (SELECT id FROM search_document_chunks WHERE document_id = ${DOCUMENT})`,
  `DELETE FROM search_document_chunks WHERE document_id = ${DOCUMENT}`
]
const FORGET_DOCUMENT = 'DELETE FROM search_documents WHERE source_uri = :uri'
/** The last statement counts the removed files. */
const FORGET = [...FORGET_CHUNKS, FORGET_DOCUMENT, 'DELETE FROM search_index_files WHERE uri = :uri']

const DOCUMENT_ROW = `INSERT INTO search_documents (source_uri, title, mime_type, content_hash)
  VALUES (:uri, :title, :mime_type, :hash) ON CONFLICT (source_uri) DO UPDATE SET
  title = excluded.title, mime_type = excluded.mime_type, content_hash = excluded.content_hash,
  ingested_at = datetime('now')`
const CHUNK_ROWS = `INSERT INTO search_document_chunks (document_id, chunk_index, body_text)
  SELECT ${DOCUMENT}, part.key, part.value ->> 'text' FROM json_each(:chunks) AS part`
const PLACE_ROWS = `INSERT INTO search_chunk_places (chunk_id, first_line, heading)
  SELECT chunk.id, part.value ->> 'line', part.value ->> 'heading' FROM json_each(:places) AS part
  JOIN search_document_chunks AS chunk ON chunk.document_id = ${DOCUMENT} AND chunk.chunk_index = part.key`
const SYMBOL_ROWS = `INSERT INTO search_symbols (uri, position, name, kind, first_line, last_line)
  SELECT :uri, part.key, part.value ->> 'name', part.value ->> 'kind', part.value ->> 'line', part.value ->> 'endLine'
  FROM json_each(:symbols) AS part
  WHERE EXISTS (SELECT 1 FROM search_index_files WHERE uri = :uri AND content_hash = :hash)`
const WORD_ROWS = `INSERT INTO search_symbol_words (symbol_id, word)
  SELECT symbol.id, word.value FROM json_each(:words) AS part
  JOIN search_symbols AS symbol ON symbol.uri = :uri AND symbol.position = part.key, json_each(part.value) AS word`
const FILE_ROW = `INSERT OR REPLACE INTO search_index_files (uri, size, mtime_ms, content_hash, state, reason, format, has_symbols,
    read_at_ms)
  VALUES (:uri, :size, :mtime, :hash, :state, :reason, ${FORMAT}, :has_symbols, :now)`

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
        CASE WHEN f.format = ${FORMAT} AND (f.state = 'skipped' OR d.id IS NOT NULL) THEN f.content_hash ELSE '' END
        FROM search_index_files AS f LEFT JOIN search_documents AS d ON d.source_uri = f.uri WHERE ${wanted}`,
      paths === undefined ? [] : { uris: JSON.stringify(paths.map(path => REPO_URI + path)) }
    )
    return new Map(
      rows.map(([uri, size, mtime, reason, read, hash]) => [
        String(uri).slice(REPO_URI.length),
        {
          size: Number(size),
          mtimeMs: Number(mtime),
          hash: String(hash),
          reason: typeof reason === 'string' ? reason : null,
          readAtMs: Number(read)
        }
      ])
    )
  }

  /** Replaces what the index has of files. */
  async write(files: readonly { readonly file: ReadFile; readonly stat: FileStat }[], now: number): Promise<void> {
    await this.#open()
    if (files.length > 0) await this.#database.batch(files.flatMap(({ file, stat }) => statements(file, stat, now)))
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
    const results = await this.#database.batch(
      paths.flatMap((path): SqlStatement[] => {
        const uri = REPO_URI + path
        return FORGET.map(sql => ({ sql, parameters: { uri } }))
      })
    )
    return results.reduce((sum, { changes }, at) => sum + (at % FORGET.length === FORGET.length - 1 ? changes : 0), 0)
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
      "SELECT reason, COUNT(*) FROM search_index_files WHERE state = 'skipped' GROUP BY reason"
    )
    return {
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

function statements(file: ReadFile, { size, mtimeMs }: FileStat, now: number): SqlStatement[] {
  const uri = REPO_URI + file.path
  const record = {
    sql: FILE_ROW,
    parameters: {
      uri,
      size,
      mtime: mtimeMs,
      hash: file.hash,
      state: file.state === 'skipped' ? 'skipped' : 'indexed',
      reason: file.reason,
      has_symbols: file.state === 'skipped' || !hasOutline(file.path),
      now
    }
  }
  const forget = FORGET_CHUNKS.map(sql => ({ sql, parameters: { uri } }))
  if (file.state === 'skipped') return [...forget, { sql: FORGET_DOCUMENT, parameters: { uri } }, record]
  const places = file.chunks.map(({ line, heading }) => ({ line, heading }))
  return [
    ...forget,
    { sql: DOCUMENT_ROW, parameters: { uri, title: file.title, mime_type: file.mimeType, hash: file.hash } },
    { sql: CHUNK_ROWS, parameters: { uri, chunks: JSON.stringify(file.chunks) } },
    { sql: PLACE_ROWS, parameters: { uri, places: JSON.stringify(places) } },
    record
  ]
}

function symbolStatements(uri: string, hash: string, symbols: readonly SourceSymbol[]): SqlStatement[] {
  const words = symbols.map(({ name }) => nameWords(name))
  return [
    ...FORGET_SYMBOLS.map(sql => ({ sql, parameters: { uri } })),
    { sql: SYMBOL_ROWS, parameters: { uri, hash, symbols: JSON.stringify(symbols) } },
    { sql: WORD_ROWS, parameters: { uri, words: JSON.stringify(words) } },
    {
      sql: 'UPDATE search_index_files SET has_symbols = 1 WHERE uri = :uri AND content_hash = :hash',
      parameters: { uri, hash }
    }
  ]
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
