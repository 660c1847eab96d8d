import type { DatabaseCapabilities, DatabaseStore, SqlParameters } from '@svc/contracts'
import { rowsByName, type SqlStatement, type SqlValue } from '@svc/contracts'
import { searchErrors } from '../errors.ts'
import { INDEX_TABLES } from '../indexing/index-sql.ts'

/** Tables of this plugin; they are not part of the baseline schema. */
const SCHEMA = `
CREATE TABLE IF NOT EXISTS memories (
  key TEXT PRIMARY KEY,
  title TEXT NOT NULL DEFAULT '',
  body TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'current',
  source TEXT NOT NULL DEFAULT '',
  words INTEGER NOT NULL DEFAULT 0,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS memories_updated ON memories (updated_at_ms);
`

const FULL_TEXT = `
CREATE VIRTUAL TABLE IF NOT EXISTS memories_fts USING fts5 (key UNINDEXED, title, body);
CREATE TRIGGER IF NOT EXISTS memories_fts_insert AFTER INSERT ON memories BEGIN
  INSERT INTO memories_fts (key, title, body) VALUES (new.key, new.title, new.body);
END;
CREATE TRIGGER IF NOT EXISTS memories_fts_delete AFTER DELETE ON memories BEGIN
  DELETE FROM memories_fts WHERE key = old.key;
END;
CREATE TRIGGER IF NOT EXISTS memories_fts_update AFTER UPDATE ON memories BEGIN
  DELETE FROM memories_fts WHERE key = old.key;
  INSERT INTO memories_fts (key, title, body) VALUES (new.key, new.title, new.body);
END;
`

// toestub-ignore(scaling/sql-without-limit) - returns one row with the counts
const COUNTS = `SELECT (SELECT COUNT(*) FROM memories) AS memories,
  (SELECT COUNT(*) FROM knowledge_nodes) AS knowledge_nodes,
  (SELECT COUNT(*) FROM search_documents) AS documents,
  (SELECT COUNT(*) FROM search_document_chunks) AS chunks,
  (SELECT COUNT(*) FROM embeddings) AS vectors,
  (SELECT MAX(ingested_at) FROM search_documents) AS last_indexed_at`

const PROJECT_FILES = `SELECT EXISTS (SELECT 1 FROM search_documents WHERE source_uri LIKE 'repo:%') AS indexed`

/** Age from which the index is looked at again. */
const FRESH_MS = 2_000

export interface LibraryCounts {
  readonly memories: number
  readonly knowledge_nodes: number
  readonly documents: number
  readonly chunks: number
  readonly vectors: number
  readonly last_indexed_at: string | null
}

/** The tables that are searched, in the primary database. */
export class Library {
  readonly #database: () => DatabaseStore | undefined
  #ready: { readonly store: DatabaseStore; readonly done: Promise<DatabaseCapabilities> } | null = null
  #capabilities: DatabaseCapabilities | null = null
  #problem: string | null = 'the database was not opened yet'
  #lookedAt = Number.NEGATIVE_INFINITY
  #isIndexed = false

  constructor(database: () => DatabaseStore | undefined) {
    this.#database = database
  }

  /** Capabilities of the database; null before {@link Library.open}, and without a database. */
  get capabilities(): DatabaseCapabilities | null {
    return this.#capabilities
  }

  /** Why the tables cannot be searched; null if they can. */
  get problem(): string | null {
    return this.#problem
  }

  /** Whether the index has files of the project, as of the last {@link Library.open}. */
  get isIndexed(): boolean {
    return this.#isIndexed
  }

  /** Opens the database and creates the tables, if there is one. Never rejects: see {@link Library.problem}. */
  async open(): Promise<DatabaseCapabilities | null> {
    try {
      const store = this.#database()
      this.#capabilities = store === undefined ? null : await this.#prepare(store)
      this.#problem = store === undefined ? 'there is no database' : null
      if (store !== undefined && performance.now() - this.#lookedAt > FRESH_MS) {
        const { rows } = await store.query(PROJECT_FILES)
        this.#isIndexed = rows[0]?.[0] === 1
        this.#lookedAt = performance.now()
      }
    } catch (error) {
      this.#capabilities = null
      this.#problem = error instanceof Error ? error.message : String(error)
    }
    return this.#capabilities
  }

  async rows(sql: string, parameters: SqlParameters = []): Promise<Record<string, SqlValue>[]> {
    return rowsByName(await (await this.#store()).query(sql, parameters))
  }

  /** Runs all statements in one transaction. Returns the number of changed rows. */
  async write(statements: readonly SqlStatement[]): Promise<number> {
    const results = await (await this.#store()).batch(statements)
    return results.reduce((sum, { changes }) => sum + changes, 0)
  }

  async counts(): Promise<LibraryCounts> {
    const [row = {}] = await this.rows(COUNTS)
    const number = (name: string): number => Number(row[name] ?? 0)
    return {
      memories: number('memories'),
      knowledge_nodes: number('knowledge_nodes'),
      documents: number('documents'),
      chunks: number('chunks'),
      vectors: number('vectors'),
      last_indexed_at: typeof row.last_indexed_at === 'string' ? row.last_indexed_at : null
    }
  }

  async #store(): Promise<DatabaseStore> {
    const store = this.#database()
    if (store === undefined)
      throw searchErrors.create(
        'SRH_DATABASE_MISSING',
        'memories and knowledge are kept in the database, which is off',
        {
          hint: 'enable the plugin database'
        }
      )
    await this.#prepare(store)
    return store
  }

  #prepare(store: DatabaseStore): Promise<DatabaseCapabilities> {
    if (this.#ready?.store === store) return this.#ready.done
    const done = this.#create(store)
    const ready = { store, done }
    this.#ready = ready
    done.catch(() => {
      if (this.#ready === ready) this.#ready = null
    })
    return done
  }

  async #create(store: DatabaseStore): Promise<DatabaseCapabilities> {
    const capabilities = await store.capabilities()
    await store.migrate(`${SCHEMA}${INDEX_TABLES}${capabilities.fts ? FULL_TEXT : ''}`)
    return capabilities
  }
}

/** FTS5 query for rows that contain any of the terms. */
export function matchAny(terms: readonly string[]): string {
  return terms.map(term => `"${term.replaceAll('"', '""')}"`).join(' OR ')
}

/** SQL that counts the terms `:t0`, `:t1`, … that a text contains; see {@link namedTerms}. */
export function countedTerms(text: string, terms: readonly string[]): string {
  return terms.map((_, index) => `(instr(lower(${text}), :t${index}) > 0)`).join(' + ')
}

export function namedTerms(terms: readonly string[]): Record<string, string> {
  return Object.fromEntries(terms.map((term, index) => [`t${index}`, term]))
}
