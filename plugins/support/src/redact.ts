/** Forms of secrets that no setting declares. Each is replaced as a whole. */
const PATTERNS: readonly RegExp[] = [
  /AGE-SECRET-KEY-1[0-9A-Z]+/g,
  /\b(?:sk|pk|rk|ghp|gho|ghu|ghs|github_pat|glpat|hf|xox[abprs]|npm|dop_v1|SG)[-_][A-Za-z0-9_-]{12,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g
]
/** A value behind a word that names a secret, as in headers, URLs and command lines. */
const NAMED =
  /\b((?:authorization|bearer|password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key)["']?\s*[:= ]\s*["']?(?:bearer |basic )?)([^\s"'&,;]{6,})/gi
const URL_USER = /([a-z][a-z0-9+.-]*:\/\/)[^\s/?#@]+@/gi
const SECRET_KEY = /pass(?:word|phrase|wd)?$|secret|token$|api_?key|access_?key|private_?key|credential|cookie/i
const MASK = '***'

export interface Redaction {
  /** Masks the secrets that this process knows. */
  readonly mask: (text: string) => string
  readonly home: string
}

/** Returns a value of JSON without secrets; paths below the home folder begin with `~`. */
export function redact(value: unknown, redaction: Redaction, key = ''): unknown {
  if (typeof value === 'string') return SECRET_KEY.test(key) && value !== '' ? MASK : redactText(value, redaction)
  if (Array.isArray(value)) return value.map(each => redact(each, redaction, key))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [redactText(name, redaction), redact(each, redaction, name)])
  )
}

function redactText(text: string, { mask, home }: Redaction): string {
  let result = mask(text)
  for (const pattern of PATTERNS) result = result.replace(pattern, MASK)
  result = result.replace(URL_USER, `$1${MASK}@`).replace(NAMED, `$1${MASK}`)
  return home.length > 1 ? result.replaceAll(home, '~') : result
}
