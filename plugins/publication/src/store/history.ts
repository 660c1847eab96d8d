import type { PublicationAttempt, PublicationLink, PublicationMedia } from '@svc/contracts'
import { required, type Tables, type Transaction } from './tables.ts'

export interface StoredAttempt extends PublicationAttempt {
  readonly id: number
}

export interface StatusEvent {
  readonly id: number
  readonly status: string
  readonly detail: Readonly<Record<string, unknown>>
  /** Unix milliseconds. */
  readonly created_at_ms: number
}

export interface StoredLink extends PublicationLink {
  readonly id: number
  readonly content_sha3_256: string
  /** Unix milliseconds. */
  readonly created_at_ms: number
}

export interface Revision {
  readonly version: number
  readonly content_sha3_256: string
  /** Unix milliseconds. */
  readonly created_at_ms: number
  /** Unix milliseconds; null if it never had two approvals. */
  readonly approved_at_ms: number | null
}

/** Records of publications: attempts, links to published works, former revisions, and status events. */
export class History {
  readonly #tables: Tables | null

  constructor(tables: Tables | null) {
    this.#tables = tables
  }

  async recordAttempt(attempt: PublicationAttempt): Promise<void> {
    const { publication_id, content_sha3_256, channel, outcome, attempted_at_ms } = attempt
    await required(this.#tables).write(tx =>
      tx.run(
        `INSERT INTO publication_attempts (publication_id, content_sha3_256, channel, outcome_json, attempted_at_ms)
         VALUES (?, ?, ?, ?, ?)`,
        [publication_id, content_sha3_256, channel, JSON.stringify(outcome), attempted_at_ms]
      )
    )
  }

  async addLink(publicationId: string, digest: string, { kind, value, source }: PublicationLink): Promise<void> {
    await required(this.#tables).write(tx =>
      tx.run(
        `INSERT INTO publication_external_links (publication_id, content_sha3_256, kind, value, source, created_at_ms)
         VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
        [publicationId, digest, kind, value, source, Date.now()]
      )
    )
  }

  /** Returns a text that differs after each change. */
  async position(): Promise<string> {
    const [row] = await required(this.#tables).rows(
      // toestub-ignore(scaling/sql-without-limit) - the aggregates are always one row
      `SELECT (SELECT max(id) FROM publication_status_events) AS event,
         (SELECT max(id) FROM publication_attempts) AS attempt,
         (SELECT count(*) FROM publication_external_links) AS links`
    )
    return JSON.stringify(row)
  }

  /** Returns the newest attempts first. */
  async attempts(publicationId: string, limit: number): Promise<StoredAttempt[]> {
    const rows = await required(this.#tables).rows(
      'SELECT * FROM publication_attempts WHERE publication_id = ? ORDER BY id DESC LIMIT ?',
      [publicationId, limit]
    )
    return rows.map(row => ({
      id: Number(row.id),
      publication_id: String(row.publication_id),
      content_sha3_256: String(row.content_sha3_256),
      channel: String(row.channel),
      outcome: objectOf(row.outcome_json),
      attempted_at_ms: Number(row.attempted_at_ms)
    }))
  }

  async links(publicationId: string, limit: number): Promise<StoredLink[]> {
    const rows = await required(this.#tables).rows(
      `SELECT rowid AS id, * FROM publication_external_links WHERE publication_id = ?
       ORDER BY created_at_ms, kind, value LIMIT ?`,
      [publicationId, limit]
    )
    return rows.map(row => ({
      id: Number(row.id),
      kind: String(row.kind),
      value: String(row.value),
      source: String(row.source),
      content_sha3_256: String(row.content_sha3_256),
      created_at_ms: Number(row.created_at_ms)
    }))
  }

  /** Returns the files that a content shows, by path. */
  async media(publicationId: string, digest: string): Promise<PublicationMedia[]> {
    const rows = await required(this.#tables).rows(
      `SELECT path, media_type, bytes, sha3_256 FROM publication_media_assets
       WHERE publication_id = ? AND content_sha3_256 = ? ORDER BY path`,
      [publicationId, digest]
    )
    return rows.map(row => ({
      path: String(row.path),
      media_type: String(row.media_type),
      bytes: Number(row.bytes),
      sha3_256: String(row.sha3_256)
    }))
  }

  /** Returns the newest events first. */
  async events(publicationId: string, limit: number): Promise<StatusEvent[]> {
    const rows = await required(this.#tables).rows(
      'SELECT * FROM publication_status_events WHERE publication_id = ? ORDER BY id DESC LIMIT ?',
      [publicationId, limit]
    )
    return rows.map(row => ({
      id: Number(row.id),
      status: String(row.status),
      detail: objectOf(row.detail_json),
      created_at_ms: Number(row.created_at_ms)
    }))
  }

  /** Returns the newest revisions first. */
  async revisions(publicationId: string, limit: number): Promise<Revision[]> {
    const rows = await required(this.#tables).rows(
      `SELECT version, content_sha3_256, created_at_ms, approved_at_ms FROM publication_external_revisions
       WHERE publication_id = ? ORDER BY version DESC LIMIT ?`,
      [publicationId, limit]
    )
    return rows.map(row => ({
      version: Number(row.version),
      content_sha3_256: String(row.content_sha3_256),
      created_at_ms: Number(row.created_at_ms),
      approved_at_ms: row.approved_at_ms === null ? null : Number(row.approved_at_ms)
    }))
  }
}

export async function appendEvent(
  tx: Transaction,
  publicationId: string,
  status: string,
  detail: Readonly<Record<string, unknown>>
): Promise<void> {
  await tx.run(
    'INSERT INTO publication_status_events (publication_id, status, detail_json, created_at_ms) VALUES (?, ?, ?, ?)',
    [publicationId, status, JSON.stringify(detail), Date.now()]
  )
}

function objectOf(json: unknown): Readonly<Record<string, unknown>> {
  if (typeof json !== 'string') return {}
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
  } catch {
    return {}
  }
}
