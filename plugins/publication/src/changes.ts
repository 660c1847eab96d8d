import type { ManifestContent } from '@svc/contracts'
import { createTwoFilesPatch } from 'diff'

/** Milliseconds for all texts, after which they are reported as different without their lines. */
const TIMEOUT_MS = 500
const MAX_PATCH_CHARACTERS = 200_000
/** Larger texts are not compared by line. */
const MAX_COMPARED_CHARACTERS = 1_000_000

const FIELDS = [
  'title',
  'author',
  'content_type',
  'source_ref',
  'abstract_text',
  'citations_json',
  'metadata_json',
  'body_markdown'
] as const

export interface FieldChange {
  readonly field: (typeof FIELDS)[number]
  /** Lines that differ, as a unified diff. A sentence if the texts are too large to compare. */
  readonly patch: string
}

/** Returns the fields that differ. */
export function changesBetween(before: ManifestContent, after: ManifestContent): readonly FieldChange[] {
  const deadline = performance.now() + TIMEOUT_MS
  return FIELDS.filter(field => before[field] !== after[field]).map(field => ({
    field,
    patch: patchOf(field, before[field] ?? '', after[field] ?? '', deadline - performance.now())
  }))
}

function patchOf(field: string, before: string, after: string, timeout: number): string {
  if (timeout <= 0 || before.length + after.length > MAX_COMPARED_CHARACTERS) return different(before, after)
  const patch = createTwoFilesPatch(`former ${field}`, field, before, after, '', '', {
    context: 2,
    timeout
  })
  return patch === undefined || patch.length > MAX_PATCH_CHARACTERS ? different(before, after) : patch
}

function different(before: string, after: string): string {
  return `The texts differ: ${before.length} characters before, ${after.length} now. They are too large to compare here.`
}
