import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type DatabaseStore, protection, readListedFile, type SearchTier, type SqlStatement } from '@svc/contracts'
import { scoredLine } from '../result/lines.ts'
import { rankScore } from '../score/scores.ts'
import { matchAny } from '../store/library.ts'

const SCHEMA = `
CREATE TABLE IF NOT EXISTS files (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5 (path, body);
`
const MAX_FILES = 20_000
const MAX_FILE_BYTES = 1_048_576
const MAX_SNIPPET_CHARS = 400
/** Files that are read and written together. */
const BATCH = 50
/** Age from which the folder is looked at again. */
const FRESH_MS = 5_000

const MATCHED = `SELECT path, snippet(texts, 1, '', '', '…', 60) AS body FROM texts
  WHERE texts MATCH :query ORDER BY bm25(texts) LIMIT :limit`

export interface TextRootParts {
  /** Absolute path; undefined: off. */
  readonly root: () => string | undefined
  /** Opens the database of the index, which belongs to one root. */
  readonly open: (root: string) => Promise<DatabaseStore>
  /** Why there is no full-text search; null if there is. */
  readonly problem: () => string | null
}

/** Full-text index of the text files in the folder `docs` of a root, kept in a separate database. */
export class TextRoot {
  readonly #parts: TextRootParts
  #opened: { readonly root: string; readonly store: Promise<DatabaseStore> } | null = null
  #refreshing: Promise<void> | null = null
  #freshUntil = Number.NEGATIVE_INFINITY

  constructor(parts: TextRootParts) {
    this.#parts = parts
  }

  tier(): SearchTier {
    return {
      name: 'tantivy',
      corpus: 'document_chunks',
      backend: 'chunk_fts',
      unavailable: () => (this.#parts.root() === undefined ? 'tantivy_root is not set' : this.#parts.problem()),
      query: async ({ terms, limit }) => {
        const root = this.#parts.root()
        if (root === undefined || terms.length === 0) return []
        const store = await this.#store(root)
        await this.#refresh(root, store)
        const { rows } = await store.query(MATCHED, { query: matchAny(terms), limit })
        return rows.map(([path, body], rank) => {
          const [key, text] = [String(path), String(body).slice(0, MAX_SNIPPET_CHARS)]
          const score = rankScore(rank)
          return {
            key: `tantivy:${key}`,
            title: key,
            text,
            score,
            provenance: `docs/${key}`,
            factors: [`rank ${rank + 1}: 1/${rank + 1}`],
            textLine: scoredLine('tantivy', key, score, text)
          }
        })
      }
    }
  }

  async close(): Promise<void> {
    const opened = this.#opened
    this.#opened = null
    await this.#refreshing?.catch(() => {})
    await opened?.store.then(
      store => store.close(),
      () => {}
    )
  }

  #store(root: string): Promise<DatabaseStore> {
    if (this.#opened?.root === root) return this.#opened.store
    void this.close()
    this.#freshUntil = Number.NEGATIVE_INFINITY
    const store = this.#parts.open(root).then(async store => {
      await store.migrate(SCHEMA)
      return store
    })
    const opened = { root, store }
    this.#opened = opened
    store.catch(() => {
      if (this.#opened === opened) this.#opened = null
    })
    return store
  }

  /** Continues if the search that began it ends at its deadline. */
  #refresh(root: string, store: DatabaseStore): Promise<void> {
    if (performance.now() < this.#freshUntil) return Promise.resolve()
    this.#refreshing ??= this.#index(join(root, 'docs'), store).finally(() => {
      this.#refreshing = null
    })
    return this.#refreshing
  }

  async #index(folder: string, store: DatabaseStore): Promise<void> {
    const { rows } = await store.query('SELECT path, stamp, id FROM files LIMIT ?', [MAX_FILES])
    const known = new Map(rows.map(([path, stamp, id]) => [String(path), { stamp: String(stamp), id: Number(id) }]))
    const found = await textFiles(folder)
    const changed = found.filter(({ path, stamp }) => known.get(path)?.stamp !== stamp)
    const gone = new Map(known)
    for (const { path } of found) gone.delete(path)
    for (const { id } of gone.values()) await store.batch(removal(id))
    for (let at = 0; at < changed.length; at += BATCH) {
      const batch = changed.slice(at, at + BATCH)
      const texts = await Promise.all(batch.map(({ path }) => readListedFile(folder, path, MAX_FILE_BYTES)))
      await store.batch(
        batch.flatMap(({ path, stamp }, index): readonly SqlStatement[] => {
          const before = known.get(path)
          const text = texts[index] ?? null
          return [
            ...(before === undefined ? [] : removal(before.id)),
            { sql: 'INSERT INTO files (path, stamp) VALUES (?, ?)', parameters: [path, stamp] },
            ...(text === null
              ? []
              : [
                  {
                    sql: 'INSERT INTO texts (rowid, path, body) VALUES (last_insert_rowid(), ?, ?)',
                    parameters: [path, text.replaceAll('\0', ' ')]
                  }
                ])
          ]
        })
      )
    }
    this.#freshUntil = performance.now() + FRESH_MS
  }
}

function removal(id: number): readonly SqlStatement[] {
  return [
    { sql: 'DELETE FROM texts WHERE rowid = ?', parameters: [id] },
    { sql: 'DELETE FROM files WHERE id = ?', parameters: [id] }
  ]
}

/** Lists files below a folder, at most 20,000, without links and protected names. */
async function textFiles(root: string): Promise<{ readonly path: string; readonly stamp: string }[]> {
  const files: { path: string; stamp: string }[] = []
  const folders = ['']
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) folders.push(path)
      if (!entry.isFile() || protection(path) !== null) continue
      const info = await stat(join(root, path)).catch(() => null)
      if (info === null) continue
      if (files.length === MAX_FILES) return files
      files.push({ path, stamp: `${info.mtimeMs} ${info.size}` })
    }
  }
  return files
}
