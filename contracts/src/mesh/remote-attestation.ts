import { t } from '@svc/plugin-sdk'
import type { Attestation } from '../orchestration/task.ts'

const MAX_ITEMS = 1_024
const MAX_ITEM_CHARS = 4_096
/** Characters of all items: with its result, an attestation fits into a message. */
const MAX_CHARS = 32_768

const list = (description: string) =>
  t.optional(t.array(t.string({ maxLength: MAX_ITEM_CHARS }), { maxItems: MAX_ITEMS, description }))

/**
 * Claims of a completion on the machine that ran the task, where its gates accepted it. The gates of the task's owner
 * read it. It has no `force_risky`: a worker cannot accept risks for the owner.
 */
export const remoteAttestation = t.object(
  {
    checks_passed: list('Names of passed checks.'),
    artifact_paths: list('Files that were written, relative to the repository.'),
    evidence_citations: list('References that support the result.'),
    declared_non_placeholder: t.optional(t.boolean({ description: 'Whether the work contains no placeholders.' }))
  },
  { additionalProperties: true, description: 'Claims of the completion on the machine that ran the task.' }
)

export type RemoteAttestation = Pick<
  Attestation,
  'checks_passed' | 'artifact_paths' | 'evidence_citations' | 'declared_non_placeholder'
>

/**
 * Returns the fields of an attestation that a result may have. Items beyond the limits are left out: the attestation
 * then claims less.
 */
export function remoteAttestationOf(claims: RemoteAttestation): RemoteAttestation {
  let left = MAX_CHARS
  const bounded = (items: readonly string[] = []): string[] => {
    return items.slice(0, MAX_ITEMS).filter(item => {
      if (item.length > Math.min(MAX_ITEM_CHARS, left)) return false
      left -= item.length
      return true
    })
  }
  const fields: { -readonly [K in keyof RemoteAttestation]: RemoteAttestation[K] } = {}
  for (const name of ['checks_passed', 'artifact_paths', 'evidence_citations'] as const) {
    const items = bounded(claims[name])
    if (items.length > 0) fields[name] = items
  }
  if (claims.declared_non_placeholder === true) fields.declared_non_placeholder = true
  return fields
}
