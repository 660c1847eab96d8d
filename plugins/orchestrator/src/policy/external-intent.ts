import type { FileAffinity } from '@svc/contracts'

const WORDS = /deploy|production|publish |https?:\/\/|curl |terraform|kubectl|api key|secret /i

/** Returns evidence that a task reaches beyond the repository (a word or a path), or null. */
export function externalIntent(description: string, files: readonly FileAffinity[]): string | null {
  const word = WORDS.exec(description)
  if (word !== null) return `"${word[0].trim()}" in its description`
  for (const { path } of files) if (/deploy/i.test(path)) return `the path ${path}`
  return null
}

const MARKERS = ['[approval:confirm]', '[approval:reviewed]', '[human-approved]'] as const

/** Name of the check for a human review. */
const HUMAN_CHECK = 'human_review_approved'

/** Returns true if a human approved the task, by a marker in its description or by a check. */
export function hasHumanApproval(description: string, approvals: readonly string[]): boolean {
  if (approvals.some(check => check.trim().toLowerCase() === HUMAN_CHECK)) return true
  if (!description.includes('[')) return false
  const text = description.toLowerCase()
  return MARKERS.some(marker => text.includes(marker))
}
