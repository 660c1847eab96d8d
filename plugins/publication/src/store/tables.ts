import {
  type DatabaseStore,
  type DatabaseTransaction,
  rowsByName,
  type SqlParameters,
  type SqlValue
} from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { publicationErrors } from '../errors.ts'

export type Row = Record<string, SqlValue>

/** Tables of this plugin that are not part of the baseline schema, and the approvals of news as a view. */
const SCHEMA = `
CREATE TABLE IF NOT EXISTS publication_external_links (
  publication_id TEXT NOT NULL,
  content_sha3_256 TEXT NOT NULL,
  kind TEXT NOT NULL,
  value TEXT NOT NULL,
  source TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  PRIMARY KEY (publication_id, content_sha3_256, kind, value, source)
);
CREATE TABLE IF NOT EXISTS publication_external_revisions (
  publication_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  content_sha3_256 TEXT NOT NULL,
  content_json TEXT,
  created_at_ms INTEGER NOT NULL,
  approved_at_ms INTEGER,
  PRIMARY KEY (publication_id, version)
);
CREATE TABLE IF NOT EXISTS publication_media_assets (
  publication_id TEXT NOT NULL,
  content_sha3_256 TEXT NOT NULL,
  path TEXT NOT NULL,
  media_type TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  sha3_256 TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  PRIMARY KEY (publication_id, content_sha3_256, path)
);
CREATE VIEW IF NOT EXISTS news_publish_approvals AS
  SELECT a.publication_id, a.content_sha3_256, a.approver, a.approver_role, a.approved_at_ms
  FROM publication_approvals AS a
  JOIN publication_manifests AS m ON m.publication_id = a.publication_id
  WHERE m.content_type = 'news_item';
`

/** The tables of publications in the primary database. This plugin's own ones are created at the first use. */
export class Tables {
  readonly #store: DatabaseStore
  #ready: Promise<void> | null = null

  constructor(store: DatabaseStore) {
    this.#store = store
  }

  rows(sql: string, parameters: SqlParameters = []): Promise<Row[]> {
    return this.#prepared(async () => rowsByName(await this.#store.query(sql, parameters)))
  }

  write<A>(run: (tx: Transaction) => Promise<A>): Promise<A> {
    return this.#prepared(() => this.#store.transaction(tx => run(new Transaction(tx))))
  }

  async #prepared<A>(run: () => Promise<A>): Promise<A> {
    await this.#prepare()
    try {
      return await run()
    } catch (error) {
      if (!lacksTable(error)) throw error
      // The database was restored from a backup that has no such tables. The failed call changed nothing.
      this.#ready = null
      await this.#prepare()
      return run()
    }
  }

  async #prepare(): Promise<void> {
    this.#ready ??= this.#store.migrate(SCHEMA)
    try {
      await this.#ready
    } catch (error) {
      this.#ready = null
      throw error
    }
  }
}

/** Transaction whose rows are objects. */
export class Transaction {
  readonly #tx: DatabaseTransaction

  constructor(tx: DatabaseTransaction) {
    this.#tx = tx
  }

  async rows(sql: string, parameters: SqlParameters = []): Promise<Row[]> {
    return rowsByName(await this.#tx.query(sql, parameters))
  }

  async run(sql: string, parameters: SqlParameters = []): Promise<number> {
    return (await this.#tx.execute(sql, parameters)).changes
  }
}

function lacksTable(error: unknown): boolean {
  return isSvcError(error, 'DBS_SYNTAX') && /no such table/i.test(error.message)
}

/** Returns the tables. Throws `PUB_DATABASE_MISSING` without a database. */
export function required(tables: Tables | null): Tables {
  if (tables === null)
    throw publicationErrors.create('PUB_DATABASE_MISSING', 'publications: the plugin database is off', {
      hint: 'svc plugins enable database'
    })
  return tables
}
