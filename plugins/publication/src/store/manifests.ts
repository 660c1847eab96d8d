import {
  type ManifestContent,
  manifestDigest,
  type PublicationManifest,
  type PublicationState,
  publicationMedia
} from '@svc/contracts'
import { checkContent, invalid } from '../content.ts'
import { publicationErrors } from '../errors.ts'
import { mayFollow, storedState } from '../states.ts'
import { appendEvent } from './history.ts'
import { type Row, required, type Tables, type Transaction } from './tables.ts'

/** Former digests that `revision_history_json` lists. All of them are rows of `publication_external_revisions`. */
const MAX_HISTORY = 200
/** Newest revisions that keep their content, next to approved ones. */
const KEPT_REVISIONS = 10

const SELECT = 'SELECT * FROM publication_manifests WHERE publication_id = ?'

interface FormerDigest {
  readonly version: number
  readonly content_sha3_256: string
  /** Unix milliseconds. */
  readonly replaced_at_ms: number
}

export interface ListQuery {
  readonly state?: string
  readonly contentType?: string
  readonly limit: number
}

export type ListedManifest = Pick<
  PublicationManifest,
  | 'publication_id'
  | 'content_type'
  | 'title'
  | 'author'
  | 'state'
  | 'version'
  | 'content_sha3_256'
  | 'source_ref'
  | 'created_at_ms'
  | 'updated_at_ms'
> & {
  /** Distinct approvers of the content. */
  readonly approvals: number
  /** Their names, separated by commas. */
  readonly approvers: string
}

/** Contents of publications with their digests and states. */
export class Manifests {
  readonly #tables: Tables | null

  constructor(tables: Tables | null) {
    this.#tables = tables
  }

  /**
   * Creates a publication or replaces its content. Another digest deletes the approvals, which a status event lists, and
   * returns the state to `draft`. The same digest changes nothing. Throws `PUB_CONTENT_INVALID`.
   */
  prepare(content: ManifestContent): Promise<PublicationManifest> {
    checkContent(content)
    const digest = manifestDigest(content)
    return required(this.#tables).write(async tx => {
      const [row] = await tx.rows(SELECT, [content.publication_id])
      if (row === undefined) await create(tx, content, digest)
      else if (row.content_sha3_256 !== digest) await replace(tx, content, digest, row)
      return manifestOf(await only(tx, content.publication_id))
    })
  }

  /** Throws `PUB_UNKNOWN`. */
  async get(publicationId: string): Promise<PublicationManifest> {
    const found = await this.find(publicationId)
    if (found === null) throw unknown(publicationId)
    return found
  }

  async find(publicationId: string): Promise<PublicationManifest | null> {
    const [row] = await required(this.#tables).rows(SELECT, [publicationId])
    return row === undefined ? null : manifestOf(row)
  }

  /** Returns publications without their texts and with the approvers of their content, the last changed ones first. */
  async listWithApprovals({ state, contentType, limit }: ListQuery): Promise<readonly ListedManifest[]> {
    const rows = await required(this.#tables).rows(
      `SELECT m.publication_id, m.content_type, m.title, m.author, m.state, m.version, m.content_sha3_256,
         m.source_ref, m.created_at_ms, m.updated_at_ms, count(a.approver) AS approvals,
         coalesce(group_concat(a.approver, ', '), '') AS approvers
       FROM (SELECT * FROM publication_manifests
             WHERE (:state IS NULL OR state = :state) AND (:type IS NULL OR content_type = :type)
             ORDER BY updated_at_ms DESC, publication_id LIMIT :limit) AS m
       LEFT JOIN publication_approvals AS a
         ON a.publication_id = m.publication_id AND a.content_sha3_256 = m.content_sha3_256
       GROUP BY m.publication_id ORDER BY m.updated_at_ms DESC, m.publication_id`,
      { state: state ?? null, type: contentType ?? null, limit }
    )
    return rows.map(row => ({
      publication_id: String(row.publication_id),
      content_type: String(row.content_type),
      title: String(row.title),
      author: String(row.author),
      state: String(row.state),
      version: Number(row.version),
      content_sha3_256: String(row.content_sha3_256),
      source_ref: row.source_ref === null ? null : String(row.source_ref),
      created_at_ms: Number(row.created_at_ms),
      updated_at_ms: Number(row.updated_at_ms),
      approvals: Number(row.approvals),
      approvers: String(row.approvers)
    }))
  }

  /** Sets the state. Returns false, and changes nothing, for another digest and for a change that is not allowed. */
  async setState(
    publicationId: string,
    digest: string,
    state: PublicationState,
    detail: Readonly<Record<string, unknown>> = {}
  ): Promise<boolean> {
    const stored = storedState(state)
    if (stored === '') throw invalid('state', 'it is empty, or has control characters')
    // Only approvals lead to these states.
    if (stored === 'draft' || stored === 'approved') return false
    return required(this.#tables).write(tx => changeState(tx, publicationId, digest, stored, detail))
  }

  /** Returns the content of a revision; null if it is unknown, or too old to be kept. */
  async revision(publicationId: string, which: { digest: string } | 'approved'): Promise<ManifestContent | null> {
    const [row] =
      which === 'approved'
        ? await required(this.#tables).rows(
            `SELECT content_json FROM publication_external_revisions
             WHERE publication_id = ? AND approved_at_ms IS NOT NULL ORDER BY version DESC LIMIT 1`,
            [publicationId]
          )
        : await required(this.#tables).rows(
            `SELECT content_json FROM publication_external_revisions
             WHERE publication_id = ? AND content_sha3_256 = ? ORDER BY version DESC LIMIT 1`,
            [publicationId, which.digest]
          )
    return typeof row?.content_json === 'string' ? (JSON.parse(row.content_json) as ManifestContent) : null
  }
}

/** Sets the state in a transaction, and appends a status event if it changes. */
export async function changeState(
  tx: Transaction,
  publicationId: string,
  digest: string,
  state: PublicationState,
  detail: Readonly<Record<string, unknown>>
): Promise<boolean> {
  const [row] = await tx.rows(SELECT, [publicationId])
  if (row === undefined || row.content_sha3_256 !== digest) return false
  const current = String(row.state)
  if (!mayFollow(current, state)) return false
  if (current === state) return true
  if (state === 'publish_failed' && (await wasPublished(tx, publicationId, digest))) return false
  await tx.run('UPDATE publication_manifests SET state = ?, updated_at_ms = ? WHERE publication_id = ?', [
    state,
    Date.now(),
    publicationId
  ])
  await appendEvent(tx, publicationId, state, { from: current, content_sha3_256: digest, ...detail })
  return true
}

/** Returns whether this content was `published` before an archive reported its own status. */
async function wasPublished(tx: Transaction, publicationId: string, digest: string): Promise<boolean> {
  const rows = await tx.rows(
    `SELECT 1 FROM publication_status_events
     WHERE publication_id = ? AND status = 'published' AND detail_json ->> '$.content_sha3_256' = ? LIMIT 1`,
    [publicationId, digest]
  )
  return rows.length > 0
}

/** Returns the row of a publication in a transaction. Throws `PUB_UNKNOWN`. */
export async function only(tx: Transaction, publicationId: string): Promise<Row> {
  const [row] = await tx.rows(SELECT, [publicationId])
  if (row === undefined) throw unknown(publicationId)
  return row
}

export function unknown(publicationId: string): Error {
  return publicationErrors.create('PUB_UNKNOWN', `publication ${publicationId}: it does not exist`, {
    hint: 'svc publication list'
  })
}

async function create(tx: Transaction, content: ManifestContent, digest: string): Promise<void> {
  const now = Date.now()
  await tx.run(
    `INSERT INTO publication_manifests (publication_id, content_type, source_ref, title, author, abstract_text,
       body_markdown, citations_json, metadata_json, revision_history_json, content_sha3_256, version, state,
       created_at_ms, updated_at_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '[]', ?, 1, 'draft', ?, ?)`,
    [content.publication_id, ...fields(content), digest, now, now]
  )
  await keepRevision(tx, content, digest, 1, now)
  await appendEvent(tx, content.publication_id, 'draft', { content_sha3_256: digest, version: 1 })
}

async function replace(tx: Transaction, content: ManifestContent, digest: string, former: Row): Promise<void> {
  const now = Date.now()
  const id = content.publication_id
  const version = Number(former.version) + 1
  const replaced: FormerDigest = {
    version: version - 1,
    content_sha3_256: String(former.content_sha3_256),
    replaced_at_ms: now
  }
  const history = [...historyOf(former), replaced].slice(-MAX_HISTORY)
  const voided = await tx.rows(
    `SELECT content_sha3_256, approver, approver_role, approved_at_ms FROM publication_approvals
     WHERE publication_id = ? ORDER BY approved_at_ms, approver`,
    [id]
  )
  await tx.run('DELETE FROM publication_approvals WHERE publication_id = ?', [id])
  await tx.run(
    `UPDATE publication_manifests SET content_type = ?, source_ref = ?, title = ?, author = ?, abstract_text = ?,
       body_markdown = ?, citations_json = ?, metadata_json = ?, revision_history_json = ?, content_sha3_256 = ?,
       version = ?, state = 'draft', updated_at_ms = ? WHERE publication_id = ?`,
    [...fields(content), JSON.stringify(history), digest, version, now, id]
  )
  await keepRevision(tx, content, digest, version, now)
  await appendEvent(tx, id, 'draft', {
    from: String(former.state),
    ...{ content_sha3_256: digest, version, former_sha3_256: replaced.content_sha3_256, voided_approvals: voided }
  })
}

async function keepRevision(tx: Transaction, content: ManifestContent, digest: string, version: number, now: number) {
  await tx.run(
    `INSERT INTO publication_external_revisions (publication_id, version, content_sha3_256, content_json, created_at_ms)
     VALUES (?, ?, ?, ?, ?)`,
    [content.publication_id, version, digest, JSON.stringify(content), now]
  )
  for (const { path, media_type, bytes, sha3_256 } of publicationMedia(content))
    await tx.run(
      `INSERT INTO publication_media_assets (publication_id, content_sha3_256, path, media_type, bytes, sha3_256,
         created_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      [content.publication_id, digest, path, media_type, bytes, sha3_256, now]
    )
  await tx.run(
    `UPDATE publication_external_revisions SET content_json = NULL
     WHERE publication_id = ? AND version <= ? AND approved_at_ms IS NULL AND content_json IS NOT NULL`,
    [content.publication_id, version - KEPT_REVISIONS]
  )
}

function fields(content: ManifestContent): (string | null)[] {
  const { content_type, source_ref, title, author, abstract_text, body_markdown, citations_json, metadata_json } =
    content
  return [content_type, source_ref, title, author, abstract_text, body_markdown, citations_json, metadata_json]
}

function historyOf({ revision_history_json }: Row): FormerDigest[] {
  try {
    const history: unknown = JSON.parse(String(revision_history_json ?? '[]'))
    return Array.isArray(history) ? history : []
  } catch {
    // The rows of the revisions are complete without it.
    return []
  }
}

export function manifestOf(row: Row): PublicationManifest {
  const { revision_history_json: _, version, created_at_ms, updated_at_ms, ...texts } = row
  return {
    ...(texts as unknown as Omit<PublicationManifest, 'version' | 'created_at_ms' | 'updated_at_ms'>),
    version: Number(version),
    created_at_ms: Number(created_at_ms),
    updated_at_ms: Number(updated_at_ms)
  }
}
