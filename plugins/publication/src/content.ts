import type { ManifestContent } from '@svc/contracts'
import { publicationErrors } from './errors.ts'

/** Limits in bytes of UTF-8. */
export const MAX_BYTES = {
  source_ref: 2_048,
  author: 4_096,
  abstract_text: 65_536,
  body_markdown: 4_194_304,
  citations_json: 1_048_576,
  metadata_json: 262_144
} as const
export const MAX_TITLE_CHARACTERS = 1_000

const ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/
const CONTENT_TYPE = /^[a-z][a-z0-9_]{0,63}$/
const CREDENTIAL =
  /^(?:(?:access|refresh|bearer|auth|api|app|private|client)[_-]?(?:token|key|secret|password)|token|secret|password|passwd|authorization|credentials?)$/i
const LONE_SURROGATE = /\p{Cs}/u
/** Levels of nested metadata that are searched for credentials. Deeper ones are refused. */
const MAX_DEPTH = 32

/** Checks ids, sizes and texts. Throws `PUB_CONTENT_INVALID` with the name of the field. */
export function checkContent(content: ManifestContent): void {
  const { publication_id, content_type, title } = content
  if (!ID.test(publication_id))
    throw invalid(
      'publication_id',
      'it must consist of 1 to 200 characters of A-Z, a-z, 0-9, ".", "_", ":" and "-", and begin with a letter or digit'
    )
  if (!CONTENT_TYPE.test(content_type))
    throw invalid(
      'content_type',
      'it must consist of 1 to 64 characters of a-z, 0-9 and "_", and begin with a letter, such as article'
    )
  if ([...title].length > MAX_TITLE_CHARACTERS)
    throw invalid('title', `it is longer than ${MAX_TITLE_CHARACTERS} characters`)
  checkText('title', title)
  for (const [field, max] of Object.entries(MAX_BYTES)) {
    const text = content[field as keyof typeof MAX_BYTES]
    if (text === null) continue
    const bytes = Buffer.byteLength(text)
    if (bytes > max) throw invalid(field, `it has ${bytes} bytes; the limit is ${max}`)
    checkText(field, text)
  }
  if (content.metadata_json !== null) checkMetadata(content.metadata_json)
}

function checkText(field: string, text: string): void {
  if (text.includes('\u0000') || LONE_SURROGATE.test(text))
    throw invalid(field, 'it contains U+0000 or half of a surrogate pair')
}

/** Refuses names of credentials. Text that is no JSON is stored, and reported by every preflight. */
function checkMetadata(text: string): void {
  let metadata: unknown
  try {
    metadata = JSON.parse(text)
  } catch {
    return
  }
  const stack: [unknown, number][] = [[metadata, 0]]
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const [value, depth] = next
    if (typeof value !== 'object' || value === null) continue
    if (depth >= MAX_DEPTH) throw invalid('metadata_json', `it is nested deeper than ${MAX_DEPTH} levels`)
    for (const [key, each] of Object.entries(value)) {
      if (!Array.isArray(value) && CREDENTIAL.test(key))
        throw invalid('metadata_json', `it has the field ${key}, and publications must not contain credentials`)
      stack.push([each, depth + 1])
    }
  }
}

export function invalid(field: string, problem: string): Error {
  return publicationErrors.create('PUB_CONTENT_INVALID', `${field} of the publication: ${problem}`, {
    at: { path: field }
  })
}
