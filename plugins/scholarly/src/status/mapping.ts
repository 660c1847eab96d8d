/** Meanings of an archive's status for a submission. */
export const STATUS_MEANINGS = ['accepted', 'rejected', 'pending', 'unknown'] as const
export type StatusMeaning = (typeof STATUS_MEANINGS)[number]

const ACCEPTED = new Set(['published', 'accepted', 'done'])
const REJECTED = new Set(['rejected', 'failed', 'withdrawn'])
const PENDING = new Set([
  'submitted',
  'recorded',
  'queued',
  'pending',
  'processing',
  'in_progress',
  'inprogress',
  'draft',
  'unsubmitted',
  'in_review',
  'under_review'
])

/**
 * Returns the meaning of a status. `intermediate`: further statuses of the archive between submission and decision.
 * Case and surrounding spaces do not matter; spaces and hyphens equal `_`.
 */
export function meaningOf(status: string, intermediate: readonly string[] = []): StatusMeaning {
  const word = status
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_')
  if (ACCEPTED.has(word)) return 'accepted'
  if (REJECTED.has(word)) return 'rejected'
  return PENDING.has(word) || intermediate.includes(word) ? 'pending' : 'unknown'
}
