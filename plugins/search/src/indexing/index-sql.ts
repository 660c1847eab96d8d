import type { SqlStatement } from '@svc/contracts'
import type { Chunk } from './chunk.ts'
import { nameWords, type SourceSymbol } from './outline.ts'

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
CREATE TABLE IF NOT EXISTS search_chunk_pages (
  chunk_id INTEGER PRIMARY KEY REFERENCES search_document_chunks (id) ON DELETE CASCADE,
  page INTEGER NOT NULL
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
export const FORMAT = 3

/** `source_type` of the vectors of chunks in the table `embeddings`; `source_id` is the id of the chunk. */
export const CHUNK_SOURCE = 'chunk'

/** A document or a file without one, as it is written to the index. */
export interface IndexEntry {
  readonly uri: string
  readonly size: number
  readonly mtimeMs: number
  /** Hash or version of the content. */
  readonly hash: string
  /** Why there is no document; null if there is one. */
  readonly reason: string | null
  /** Whether symbols are found later. */
  readonly wantsSymbols: boolean
  readonly title: string
  readonly mimeType: string
  readonly chunks: readonly Chunk[]
}

const URIS = '(SELECT value FROM json_each(:uris))'
const DOCUMENTS = `(SELECT id FROM search_documents WHERE source_uri IN ${URIS})`
const CHUNKS = `(SELECT id FROM search_document_chunks WHERE document_id IN ${DOCUMENTS})`
const SYMBOLS = `(SELECT id FROM search_symbols WHERE uri IN ${URIS})`

const FORGET_SYMBOLS: readonly string[] = [
  `DELETE FROM search_symbol_words WHERE symbol_id IN ${SYMBOLS}`,
  `DELETE FROM search_symbols WHERE uri IN ${URIS}`
]
const FORGET_CHUNKS: readonly string[] = [
  ...FORGET_SYMBOLS,
  `DELETE FROM embeddings WHERE source_type = '${CHUNK_SOURCE}' AND source_id IN
    (SELECT CAST(id AS TEXT) FROM search_document_chunks WHERE document_id IN ${DOCUMENTS})`,
  `DELETE FROM search_chunk_pages WHERE chunk_id IN ${CHUNKS}`,
  `DELETE FROM search_chunk_places WHERE chunk_id IN ${CHUNKS}`,
  `DELETE FROM search_document_chunks WHERE document_id IN ${DOCUMENTS}`
]
const FORGET_DOCUMENTS = `DELETE FROM search_documents WHERE source_uri IN ${URIS}`
const FORGET_FILES = `DELETE FROM search_index_files WHERE uri IN ${URIS}`

const DOCUMENT_ROWS = `INSERT INTO search_documents (source_uri, title, mime_type, content_hash)
  SELECT f.value ->> 'uri', f.value ->> 'title', f.value ->> 'mime_type', f.value ->> 'hash'
  FROM json_each(:documents) AS f WHERE true ON CONFLICT (source_uri) DO UPDATE SET
  title = excluded.title, mime_type = excluded.mime_type, content_hash = excluded.content_hash,
  ingested_at = datetime('now')`
/**
 * One statement for all files: after each statement with triggers, FTS5 writes what it holds in memory, which doubles
 * the time if each file has its own.
 */
const CHUNK_ROWS = `INSERT INTO search_document_chunks (document_id, chunk_index, body_text)
  SELECT d.id, part.key, part.value FROM json_each(:texts) AS f
  CROSS JOIN search_documents AS d ON d.source_uri = f.value ->> 0 CROSS JOIN json_each(f.value, '$[1]') AS part`
const PLACE_ROWS = `INSERT INTO search_chunk_places (chunk_id, first_line, heading)
  SELECT chunk.id, part.value ->> 0, part.value ->> 1 FROM json_each(:places) AS f
  CROSS JOIN search_documents AS d ON d.source_uri = f.value ->> 0 CROSS JOIN json_each(f.value, '$[1]') AS part
  CROSS JOIN search_document_chunks AS chunk ON chunk.document_id = d.id AND chunk.chunk_index = part.key`
const PAGE_ROWS = `INSERT INTO search_chunk_pages (chunk_id, page)
  SELECT chunk.id, part.value FROM json_each(:pages) AS f
  CROSS JOIN search_documents AS d ON d.source_uri = f.value ->> 0 CROSS JOIN json_each(f.value, '$[1]') AS part
  CROSS JOIN search_document_chunks AS chunk ON chunk.document_id = d.id AND chunk.chunk_index = part.key`
const FILE_ROWS = `INSERT OR REPLACE INTO search_index_files (uri, size, mtime_ms, content_hash, state, reason, format,
    has_symbols, read_at_ms)
  SELECT f.value ->> 'uri', f.value ->> 'size', f.value ->> 'mtime', f.value ->> 'hash', f.value ->> 'state',
    f.value ->> 'reason', ${FORMAT}, f.value ->> 'has_symbols', :now FROM json_each(:files) AS f`
const SYMBOL_ROWS = `INSERT INTO search_symbols (uri, position, name, kind, first_line, last_line)
  SELECT :uri, part.key, part.value ->> 'name', part.value ->> 'kind', part.value ->> 'line', part.value ->> 'endLine'
  FROM json_each(:symbols) AS part
  WHERE EXISTS (SELECT 1 FROM search_index_files WHERE uri = :uri AND content_hash = :hash)`
const WORD_ROWS = `INSERT INTO search_symbol_words (symbol_id, word)
  SELECT symbol.id, word.value FROM json_each(:words) AS part
  JOIN search_symbols AS symbol ON symbol.uri = :uri AND symbol.position = part.key, json_each(part.value) AS word`

/** Replaces what the index has of documents and files. */
export function writeStatements(entries: readonly IndexEntry[], now: number): readonly SqlStatement[] {
  const read = entries.filter(({ reason }) => reason === null)
  const skipped = entries.filter(({ reason }) => reason !== null)
  const paged = read.filter(({ chunks }) => chunks.some(({ page }) => page !== undefined))
  return [
    ...forgetting(entries, FORGET_CHUNKS),
    ...(skipped.length === 0 ? [] : forgetting(skipped, [FORGET_DOCUMENTS])),
    ...(read.length === 0 ? [] : documentStatements(read)),
    ...(paged.length === 0
      ? []
      : [statement(PAGE_ROWS, { pages: paged.map(({ uri, chunks }) => [uri, chunks.map(({ page }) => page)]) })]),
    {
      sql: FILE_ROWS,
      parameters: {
        files: JSON.stringify(
          entries.map(({ uri, size, mtimeMs, hash, reason, wantsSymbols }) => ({
            ...{ uri, size, mtime: mtimeMs, hash, reason },
            state: reason === null ? 'indexed' : 'skipped',
            has_symbols: reason !== null || !wantsSymbols ? 1 : 0
          }))
        ),
        now
      }
    }
  ]
}

/** Removes documents and files. The last statement counts the removed files. */
export function removeStatements(uris: readonly string[]): readonly SqlStatement[] {
  return forgetting(
    uris.map(uri => ({ uri })),
    [...FORGET_CHUNKS, FORGET_DOCUMENTS, FORGET_FILES]
  )
}

/** Replaces the symbols of a file, unless its content is no longer that of `hash`. */
export function symbolStatements(uri: string, hash: string, symbols: readonly SourceSymbol[]): readonly SqlStatement[] {
  const words = symbols.map(({ name }) => nameWords(name))
  return [
    ...forgetting([{ uri }], FORGET_SYMBOLS),
    { sql: SYMBOL_ROWS, parameters: { uri, hash, symbols: JSON.stringify(symbols) } },
    { sql: WORD_ROWS, parameters: { uri, words: JSON.stringify(words) } },
    {
      sql: 'UPDATE search_index_files SET has_symbols = 1 WHERE uri = :uri AND content_hash = :hash',
      parameters: { uri, hash }
    }
  ]
}

function documentStatements(entries: readonly IndexEntry[]): readonly SqlStatement[] {
  return [
    statement(DOCUMENT_ROWS, {
      documents: entries.map(({ uri, title, mimeType, hash }) => ({ uri, title, mime_type: mimeType, hash }))
    }),
    statement(CHUNK_ROWS, { texts: entries.map(({ uri, chunks }) => [uri, chunks.map(({ text }) => text)]) }),
    statement(PLACE_ROWS, {
      places: entries.map(({ uri, chunks }) => [uri, chunks.map(({ line, heading }) => [line, heading])])
    })
  ]
}

function forgetting(entries: readonly Pick<IndexEntry, 'uri'>[], sql: readonly string[]): readonly SqlStatement[] {
  const uris = JSON.stringify(entries.map(({ uri }) => uri))
  return sql.map(each => ({ sql: each, parameters: { uris } }))
}

function statement(sql: string, values: Readonly<Record<string, readonly unknown[]>>): SqlStatement {
  return {
    sql,
    parameters: Object.fromEntries(Object.entries(values).map(([name, rows]) => [name, JSON.stringify(rows)]))
  }
}
