import type { PublicationApproval } from '@svc/contracts'
import { publicationErrors } from '../errors.ts'
import { appendEvent } from './history.ts'
import { changeState, only } from './manifests.ts'
import { type Row, required, type Tables, type Transaction } from './tables.ts'

export type ApproverRole = 'human' | 'agent'

export interface Approver {
  /** Normalised name. */
  readonly name: string
  readonly role: ApproverRole
}

export interface ApprovalResult {
  readonly approvals: readonly PublicationApproval[]
  /** True if two distinct approvers, one of them a person, have approved the digest. */
  readonly complete: boolean
  /** False if the approver had approved this digest before. */
  readonly isNew: boolean
}

const SELECT = `SELECT publication_id, content_sha3_256, approver, approver_role, approved_at_ms
  FROM publication_approvals WHERE publication_id = ? AND content_sha3_256 = ? ORDER BY approved_at_ms, approver`

/** Approvals of digests. Each call is one transaction, so that concurrent approvals and new contents are in an order. */
export class Approvals {
  readonly #tables: Tables | null

  constructor(tables: Tables | null) {
    this.#tables = tables
  }

  async list(publicationId: string, digest: string): Promise<readonly PublicationApproval[]> {
    return (await required(this.#tables).rows(SELECT, [publicationId, digest])).map(approvalOf)
  }

  /**
   * Returns approvals that count: those of the digest, if it is that of the current content. Approvals of former
   * contents do not exist, since new content deletes them. Reads in a write transaction: it fails if the file of the
   * database was removed or cannot be written, so that nothing is sent that could not be recorded.
   */
  counted(publicationId: string, digest: string): Promise<readonly PublicationApproval[]> {
    return required(this.#tables).write(async tx => {
      const rows = await tx.rows(
        `SELECT a.publication_id, a.content_sha3_256, a.approver, a.approver_role, a.approved_at_ms
         FROM publication_approvals AS a JOIN publication_manifests AS m
           ON m.publication_id = a.publication_id AND m.content_sha3_256 = a.content_sha3_256
         WHERE a.publication_id = ? AND a.content_sha3_256 = ? ORDER BY a.approved_at_ms, a.approver`,
        [publicationId, digest]
      )
      return rows.map(approvalOf)
    })
  }

  /** Approves a digest. Throws `PUB_UNKNOWN`, and `PUB_DIGEST_CHANGED` if the content has another digest. */
  approve(publicationId: string, digest: string, { name, role }: Approver): Promise<ApprovalResult> {
    return required(this.#tables).write(async tx => {
      await checkDigest(tx, publicationId, digest)
      const inserted = await tx.run(
        `INSERT INTO publication_approvals (publication_id, content_sha3_256, approver, approver_role, approved_at_ms)
         VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
        [publicationId, digest, name, role, Date.now()]
      )
      const approvals = (await tx.rows(SELECT, [publicationId, digest])).map(approvalOf)
      const complete = isDual(approvals)
      if (inserted > 0) {
        await appendEvent(tx, publicationId, 'approval', {
          approver: name,
          approver_role: role,
          content_sha3_256: digest
        })
        await tx.run('UPDATE publication_manifests SET updated_at_ms = ? WHERE publication_id = ?', [
          Date.now(),
          publicationId
        ])
      }
      if (complete) await markApproved(tx, publicationId, digest, approvals)
      return { approvals, complete, isNew: inserted > 0 }
    })
  }

  /**
   * Revokes an approval. Returns false if there is none. Throws `PUB_UNKNOWN`, `PUB_DIGEST_CHANGED`, and
   * `PUB_REVOKE_REFUSED` if the content was sent, or a submission of it runs.
   */
  revoke(publicationId: string, digest: string, name: string): Promise<boolean> {
    return required(this.#tables).write(async tx => {
      const manifest = await checkDigest(tx, publicationId, digest)
      await checkUnsent(tx, publicationId, digest, String(manifest.state))
      const removed = await tx.run(
        'DELETE FROM publication_approvals WHERE publication_id = ? AND content_sha3_256 = ? AND approver = ?',
        [publicationId, digest, name]
      )
      if (removed === 0) return false
      await appendEvent(tx, publicationId, 'approval_revoked', { approver: name, content_sha3_256: digest })
      const left = (await tx.rows(SELECT, [publicationId, digest])).map(approvalOf)
      if (!isDual(left)) {
        await changeState(tx, publicationId, digest, 'draft', { revoked_by: name })
        await tx.run(
          `UPDATE publication_external_revisions SET approved_at_ms = NULL
           WHERE publication_id = ? AND content_sha3_256 = ?`,
          [publicationId, digest]
        )
      }
      return true
    })
  }
}

/** Returns whether two distinct approvers, at least one of them a person, have approved. */
export function isDual(approvals: readonly PublicationApproval[]): boolean {
  const names = new Set(approvals.map(({ approver }) => approver))
  return names.size >= 2 && approvals.some(({ approver_role }) => approver_role === 'human')
}

async function markApproved(
  tx: Transaction,
  publicationId: string,
  digest: string,
  approvals: readonly PublicationApproval[]
): Promise<void> {
  const { state } = await only(tx, publicationId)
  if (state === 'draft')
    await changeState(tx, publicationId, digest, 'approved', { approvers: approvals.map(({ approver }) => approver) })
  await tx.run(
    `UPDATE publication_external_revisions SET approved_at_ms = ?
     WHERE publication_id = ? AND content_sha3_256 = ? AND approved_at_ms IS NULL`,
    [Date.now(), publicationId, digest]
  )
}

async function checkDigest(tx: Transaction, publicationId: string, digest: string): Promise<Row> {
  const row = await only(tx, publicationId)
  if (row.content_sha3_256 !== digest)
    throw publicationErrors.create(
      'PUB_DIGEST_CHANGED',
      `publication ${publicationId}: its content has the digest ${row.content_sha3_256}, not ${digest}`,
      {
        hint: `read the new content: svc publication diff ${publicationId}`,
        data: { content_sha3_256: row.content_sha3_256 }
      }
    )
  return row
}

/** Throws `PUB_REVOKE_REFUSED` if the content was sent, or is being sent. */
async function checkUnsent(tx: Transaction, publicationId: string, digest: string, state: string): Promise<void> {
  const refuse = (reason: string) =>
    publicationErrors.create('PUB_REVOKE_REFUSED', `publication ${publicationId}: ${reason}`, {
      hint: 'prepare other content: that voids all approvals'
    })
  if (state !== 'draft' && state !== 'approved') throw refuse(`its state is ${state}`)
  const [attempt] = await tx.rows(
    `SELECT channel FROM publication_attempts
     WHERE publication_id = ? AND content_sha3_256 = ? AND coalesce(outcome_json ->> '$.dry_run', 0) <> 1 LIMIT 1`,
    [publicationId, digest]
  )
  if (attempt !== undefined) throw refuse(`an attempt to send it to ${attempt.channel} was made`)
  // The table of the plugin news, which exists after its first use. A post has a row before anything is sent.
  const [table] = await tx.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'published_news'")
  const [post] =
    table === undefined
      ? []
      : await tx.rows(
          `SELECT channel FROM published_news WHERE news_id = ? AND content_sha3_256 = ?
             AND (state <> 'ready' OR attempts > 0 OR lock_owner IS NOT NULL) LIMIT 1`,
          [publicationId, digest]
        )
  if (post !== undefined) throw refuse(`it is being sent to ${post.channel}, or was sent`)
  const [job] = await tx.rows(
    `SELECT adapter FROM external_submission_jobs
     WHERE publication_id = ? AND content_sha3_256 = ? AND status IN ('running', 'succeeded') LIMIT 1`,
    [publicationId, digest]
  )
  if (job !== undefined) throw refuse(`it is being submitted to ${job.adapter}, or was submitted`)
}

function approvalOf(row: Row): PublicationApproval {
  return {
    publication_id: String(row.publication_id),
    content_sha3_256: String(row.content_sha3_256),
    approver: String(row.approver),
    approver_role: String(row.approver_role),
    approved_at_ms: Number(row.approved_at_ms)
  }
}
