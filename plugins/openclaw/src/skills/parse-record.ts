import { SKILL_KINDS, type SkillRecord } from './record.ts'

const APPROVALS = ['pending', 'approved', 'denied']
const TRUSTS = ['community', 'untrusted']

/** Returns the record of a file; null if the text is not a valid record. */
export function parseRecord(text: string): SkillRecord | null {
  let value: Partial<SkillRecord> | null
  try {
    value = JSON.parse(text) as Partial<SkillRecord> | null
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  const { slug, namespace, name, version, description, approval_id, source, sha256, secrets } = value
  const texts = [slug, namespace, name, version, description, approval_id, source]
  const isValid =
    texts.every(each => typeof each === 'string') &&
    /^[0-9a-f]{64}$/.test(String(sha256)) &&
    Array.isArray(secrets) &&
    secrets.every(each => typeof each === 'string') &&
    SKILL_KINDS.some(each => each === value.kind) &&
    TRUSTS.includes(String(value.trust)) &&
    APPROVALS.includes(String(value.approval)) &&
    isTextOrNull(value.author) &&
    isTextOrNull(value.content_hash) &&
    Number.isFinite(value.bytes) &&
    Number.isFinite(value.installed_at) &&
    (value.decided_at === null || Number.isFinite(value.decided_at))
  return isValid ? (value as SkillRecord) : null
}

function isTextOrNull(value: unknown): boolean {
  return value === null || typeof value === 'string'
}
