import { createHmac, timingSafeEqual } from 'node:crypto'
import type { ContextEnvelope } from '@svc/contracts'

type Signed = Pick<ContextEnvelope, 'created_at_unix_ms' | 'subject'>

/**
 * Returns the token that proves that the author knew the session: HMAC-SHA256 over `task_id:thread_id:created_at`, as
 * base64url without padding. The key is the session's id, or `anonymous_session`.
 */
export function oboToken({ created_at_unix_ms, subject }: Signed): string {
  const { session_id, task_id, thread_id } = subject
  const task = typeof task_id === 'string' || typeof task_id === 'number' ? String(task_id) : ''
  return createHmac('sha256', session_id || 'anonymous_session')
    .update(`${task}:${thread_id ?? ''}:${created_at_unix_ms}`)
    .digest('base64url')
}

/** Returns whether a token is valid; compares in constant time. */
export function isOboToken(token: string, signed: Signed): boolean {
  const [given, expected] = [Buffer.from(token), Buffer.from(oboToken(signed))]
  return given.length === expected.length && timingSafeEqual(given, expected)
}
