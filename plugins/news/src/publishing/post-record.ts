import type { FailureClass } from '@svc/contracts'
import type { Row } from './tables.ts'

/**
 * - `ready`: nothing was sent, or what was sent failed for certain. May wait for `nextRetryAtMs`.
 * - `sending`: an attempt runs, or its process ended.
 * - `sent`: the channel confirmed it. Final.
 * - `unknown`: the channel cannot find out whether the post exists; a person decides.
 */
export const POST_STATES = ['ready', 'sending', 'sent', 'unknown'] as const
export type PostState = (typeof POST_STATES)[number]

/** Identifies one digest on one channel. */
export interface PostKey {
  readonly newsId: string
  readonly digest: string
  readonly channel: string
}

export interface PostFailure {
  readonly code: string
  readonly message: string
  readonly failure_class: FailureClass
  readonly retryable: boolean
}

export interface PostRecord extends PostKey {
  readonly attemptKey: string
  readonly state: PostState
  /** Whether an earlier attempt may have had its effect. */
  readonly mayExist: boolean
  readonly checkpoint: Readonly<Record<string, unknown>> | null
  /** Attempts since the last explicit request. */
  readonly attempts: number
  readonly nextRetryAtMs: number | null
  readonly failure: PostFailure | null
  readonly externalId: string | null
  readonly url: string | null
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** Right to send a post until the lease ends. Later claims have a higher fence. */
export interface Claim extends PostRecord {
  readonly fence: number
  readonly owner: string
}

export interface PostEvent {
  readonly news_id: string
  readonly content_sha3_256: string
  readonly channel: string
  readonly event: string
  readonly detail: Readonly<Record<string, unknown>>
  /** Unix milliseconds. */
  readonly at_ms: number
}

export function recordOf(row: Row): PostRecord {
  return {
    newsId: String(row.news_id),
    digest: String(row.content_sha3_256),
    channel: String(row.channel),
    attemptKey: String(row.attempt_key),
    state: POST_STATES.find(state => state === row.state) ?? 'unknown',
    mayExist: row.may_exist !== 0,
    checkpoint: jsonOf(row.checkpoint_json) as PostRecord['checkpoint'],
    attempts: Number(row.attempts),
    nextRetryAtMs: row.next_retry_at_ms === null ? null : Number(row.next_retry_at_ms),
    failure: jsonOf(row.failure_json) as PostFailure | null,
    externalId: row.external_id === null ? null : String(row.external_id),
    url: row.url === null ? null : String(row.url),
    createdAtMs: Number(row.created_at_ms),
    updatedAtMs: Number(row.updated_at_ms)
  }
}

function jsonOf(value: unknown): unknown {
  return typeof value === 'string' ? JSON.parse(value) : null
}
