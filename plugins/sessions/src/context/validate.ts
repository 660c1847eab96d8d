import type { ContextEnvelope } from '@svc/contracts'
import { isOboToken } from './obo-token.ts'

export interface Expected {
  readonly repository_id: string
  readonly session_id?: string | undefined
  /** Unix milliseconds. */
  readonly now: number
}

const MAX_AUTHORITY = 10_000

/** Returns one message for each violated rule of the context lifecycle. Each begins with the name of the field. */
export function violationsOf(envelope: ContextEnvelope, expected: Expected): string[] {
  const { provenance, trust, subject, created_at_unix_ms: created } = envelope
  const { expires_at_unix_ms: expires, stale_after_ms: staleAfter, obo_token: token } = envelope
  const found: string[] = []
  const rule = (isKept: boolean, violation: string): void => {
    if (!isKept) found.push(violation)
  }
  rule(envelope.schema_version === 1, `schema_version is ${envelope.schema_version}, but must be 1`)
  rule(envelope.envelope_id.trim() !== '', 'envelope_id is empty')
  rule(provenance.source_system.trim() !== '', 'provenance.source_system is empty')
  if (subject.repository_id.trim() === '') found.push('subject.repository_id is empty')
  else
    rule(
      subject.repository_id === expected.repository_id,
      `subject.repository_id is ${JSON.stringify(subject.repository_id)}, but this repository is ${JSON.stringify(expected.repository_id)}`
    )
  rule(created > 0, 'created_at_unix_ms is not positive')
  rule(expires === undefined || expires >= expected.now, 'expires_at_unix_ms is in the past')
  rule(
    staleAfter === undefined || created + staleAfter >= expected.now,
    'stale_after_ms has passed since created_at_unix_ms'
  )
  rule(trust.authority_rank <= MAX_AUTHORITY, `trust.authority_rank is above ${MAX_AUTHORITY}`)
  rule(
    subject.session_id === undefined || expected.session_id === undefined || subject.session_id === expected.session_id,
    'subject.session_id differs from the session of the request'
  )
  rule(token === undefined || isOboToken(token, envelope), 'obo_token does not match session, task, thread and time')
  return found
}
