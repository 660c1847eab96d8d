import { createHash } from 'node:crypto'
import { type GatewaySkill, skillsGatewayErrors } from '@svc/contracts'
import { openclawErrors } from '../errors.ts'

export const SKILL_KINDS = ['document', 'tool', 'shell'] as const
export type SkillKind = (typeof SKILL_KINDS)[number]

/**
 * - `trusted`: part of svc or of a plugin; runs without an approval. Never a stored skill.
 * - `community`: of the configured gateway; runs after an approval.
 * - `untrusted`: of another gateway; does not run until it is promoted to `community` and approved.
 */
export type SkillTrust = 'trusted' | 'community' | 'untrusted'
export type SkillApproval = 'pending' | 'approved' | 'denied'

/** Installed skill, without its text. */
export interface SkillRecord {
  readonly slug: string
  readonly namespace: string
  readonly name: string
  readonly version: string
  readonly description: string
  readonly author: string | null
  readonly kind: SkillKind
  /** Environment variables of declared secrets that the skill requests. */
  readonly secrets: readonly string[]
  readonly trust: Exclude<SkillTrust, 'trusted'>
  readonly approval: SkillApproval
  /** Identifies exactly this content. An approval of other content has another id. */
  readonly approval_id: string
  /** Of the text, in hexadecimal. */
  readonly sha256: string
  readonly bytes: number
  /** Hash as the gateway reports it. */
  readonly content_hash: string | null
  /** Base URL of the gateway. */
  readonly source: string
  /** Unix milliseconds. */
  readonly installed_at: number
  /** Unix milliseconds of the approval or denial. */
  readonly decided_at: number | null
}

/** Maximum size of a skill's text. */
export const MAX_SKILL_BYTES = 262_144
/** Maximum secrets that a skill may request. */
const MAX_SECRETS = 16
const MAX_SLUG_CHARS = 128
const MAX_TEXT_CHARS = 1_000

const SLUG = /^[A-Za-z0-9][A-Za-z0-9._-]*(?:\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/
const VARIABLE = /^[A-Z][A-Z0-9_]{0,127}$/

/**
 * Checks a skill of a gateway and returns its record, with a pending approval. Kind and secrets come from its metadata:
 * `kind` and `secrets`. Throws `SKG_SKILL_INVALID` and `SKG_SKILL_TOO_LARGE`.
 */
export function newRecord(
  slug: string,
  skill: GatewaySkill,
  text: string,
  origin: { readonly source: string; readonly trust: SkillRecord['trust']; readonly now: number }
): SkillRecord {
  assertInstallable(slug)
  const bytes = Buffer.byteLength(text)
  if (bytes > MAX_SKILL_BYTES)
    throw openclawErrors.create('SKG_SKILL_TOO_LARGE', `${slug} has ${bytes} bytes, the limit is ${MAX_SKILL_BYTES}`, {
      hint: 'ask the author for a smaller skill'
    })
  const content = {
    slug,
    namespace: short(skill.namespace),
    name: short(skill.name),
    version: short(skill.version),
    description: short(skill.description),
    author: skill.author === null ? null : short(skill.author),
    kind: kindOf(slug, skill.metadata.kind),
    secrets: secretsOf(slug, skill.metadata.secrets),
    sha256: sha256(text),
    source: origin.source
  }
  return {
    ...content,
    trust: origin.trust,
    approval: 'pending',
    approval_id: sha256(JSON.stringify(content)).slice(0, 16),
    bytes,
    content_hash: skill.contentHash === null ? null : short(skill.contentHash),
    installed_at: origin.now,
    decided_at: null
  }
}

/** Throws `SKG_SKILL_INVALID` for a name that cannot be the name of a folder. */
export function assertInstallable(slug: string): void {
  if (SLUG.test(slug) && slug.length <= MAX_SLUG_CHARS) return
  throw invalid(
    slug.slice(0, MAX_SLUG_CHARS),
    `an installed skill has a name of at most ${MAX_SLUG_CHARS} letters, digits, ".", "_", "-" and "/"`
  )
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function kindOf(slug: string, kind: unknown): SkillKind {
  const known = SKILL_KINDS.find(each => each === (kind ?? 'document'))
  if (known === undefined) throw invalid(slug, `its kind is none of ${SKILL_KINDS.join(', ')}`)
  return known
}

function secretsOf(slug: string, secrets: unknown): readonly string[] {
  const list = secrets ?? []
  if (!Array.isArray(list) || list.length > MAX_SECRETS || list.some(each => !VARIABLE.test(String(each))))
    throw invalid(slug, `its secrets are not a list of at most ${MAX_SECRETS} environment variables`)
  return [...new Set(list.map(String))].sort()
}

function invalid(slug: string, reason: string): Error {
  return skillsGatewayErrors.create('SKG_SKILL_INVALID', `${slug} cannot be installed: ${reason}`)
}

/** Returns text for a list or a message: one line without control characters, shortened. */
function short(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim()
  return line.length > MAX_TEXT_CHARS ? `${line.slice(0, MAX_TEXT_CHARS)}…` : line
}
