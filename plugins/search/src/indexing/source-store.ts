import type { DatabaseStore, SqlStatement } from '@svc/contracts'
import { FORMAT, INDEX_TABLES, type IndexEntry, removeStatements, writeStatements } from './index-sql.ts'

/** A document as the index has it. */
export interface KnownDocument {
  /** Empty if it must be read again. */
  readonly version: string
  readonly isNode: boolean
}

export interface NodeEntry {
  readonly uri: string
  readonly version: string
  readonly label: string
  readonly content: string
  /** Name of the source. */
  readonly source: string
}

/** Skipped documents with these reasons are read again in the next run, since the settings may have changed. */
const RETRIED = "('unreadable', 'timed_out', 'too_large')"
/** State of documents that are nodes of the knowledge graph. */
const NODE = 'node'

const KNOWN = `SELECT uri, state,
    CASE WHEN format = ${FORMAT} AND coalesce(reason, '') NOT IN ${RETRIED} THEN content_hash ELSE '' END
  FROM search_index_files WHERE uri >= :from AND uri < :to`
const NODES = `INSERT INTO knowledge_nodes (id, label, content, metadata)
  SELECT f.value ->> 'uri', f.value ->> 'label', f.value ->> 'content', json_object('source', f.value ->> 'source')
  FROM json_each(:nodes) AS f WHERE true ON CONFLICT (id) DO UPDATE SET
  label = excluded.label, content = excluded.content, metadata = excluded.metadata`
const NODE_ROWS = `INSERT OR REPLACE INTO search_index_files (uri, size, mtime_ms, content_hash, state, reason, format,
    has_symbols, read_at_ms)
  SELECT f.value ->> 'uri', length(f.value ->> 'content'), 0, f.value ->> 'version', '${NODE}', NULL, ${FORMAT}, 1, :now
  FROM json_each(:nodes) AS f`
const FORGET_NODES = 'DELETE FROM knowledge_nodes WHERE id IN (SELECT value FROM json_each(:uris))'
const COUNTS = `SELECT substr(uri, 1, instr(uri, ':') - 1) AS source, COUNT(*) FILTER (WHERE state != 'skipped')
  FROM search_index_files WHERE uri < 'repo:' OR uri >= 'repo;' GROUP BY source ORDER BY source`

/** Documents of sources in the index. A batch changes in one transaction. */
export class SourceStore {
  readonly #database: DatabaseStore
  #ready: Promise<void> | null = null

  constructor(database: DatabaseStore) {
    this.#database = database
  }

  /** Returns the documents of a source by their address. */
  async known(source: string): Promise<Map<string, KnownDocument>> {
    await this.#open()
    // `;` follows `:`.
    const { rows } = await this.#database.query(KNOWN, { from: `${source}:`, to: `${source};` })
    return new Map(
      rows.map(([uri, state, version]) => [String(uri), { version: String(version), isNode: state === NODE }])
    )
  }

  async write(entries: readonly IndexEntry[], nodes: readonly NodeEntry[], now: number): Promise<void> {
    await this.#open()
    const list = JSON.stringify(nodes)
    await this.#database.batch([
      // A document that was a node may be none now, and the other way round.
      ...(entries.length === 0 ? [] : [forgetNodes(entries.map(({ uri }) => uri)), ...writeStatements(entries, now)]),
      ...(nodes.length === 0
        ? []
        : [
            ...removeStatements(nodes.map(({ uri }) => uri)),
            { sql: NODES, parameters: { nodes: list } },
            { sql: NODE_ROWS, parameters: { nodes: list, now } }
          ])
    ])
  }

  /** Removes documents. Returns their number. */
  async remove(uris: readonly string[]): Promise<number> {
    await this.#open()
    if (uris.length === 0) return 0
    const results = await this.#database.batch([forgetNodes(uris), ...removeStatements(uris)])
    return results.at(-1)?.changes ?? 0
  }

  /** Returns the names of sources with the number of their documents. */
  async counts(): Promise<readonly { readonly name: string; readonly documents: number }[]> {
    await this.#open()
    const { rows } = await this.#database.query(COUNTS)
    return rows.map(([name, documents]) => ({ name: String(name), documents: Number(documents) }))
  }

  #open(): Promise<void> {
    this.#ready ??= this.#database.migrate(INDEX_TABLES).catch(error => {
      this.#ready = null
      throw error
    })
    return this.#ready
  }
}

function forgetNodes(uris: readonly string[]): SqlStatement {
  return { sql: FORGET_NODES, parameters: { uris: JSON.stringify(uris) } }
}
