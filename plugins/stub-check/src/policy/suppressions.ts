import { readFile } from 'node:fs/promises'
import type { StubFinding } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import picomatch from 'picomatch'
import { parse as parseToml } from 'smol-toml'
import { stubCheckErrors } from '../errors.ts'

/** Entry of a suppression file. */
export interface Suppression {
  readonly ruleIdPrefix: string
  readonly reason: string
  readonly owner: string
  readonly pathGlob: string | null
  readonly line: number | null
  /** Unix milliseconds of the end of the last day on which it applies; null for ever. */
  readonly expiresAt: number | null
}

const MAX_ENTRIES = 10_000
const DAY_MS = 86_400_000

/** Reads a suppression file. Returns an empty list for a file that does not exist. Throws `STB_SUPPRESSIONS_INVALID`. */
export async function readSuppressions(file: string, shown: string): Promise<readonly Suppression[]> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw invalid(shown, errorMessage(error))
  }
  return parseSuppressions(text, shown)
}

/** Parses `{version: 1, suppressions: […]}`. Throws `STB_SUPPRESSIONS_INVALID`. */
export function parseSuppressions(text: string, shown: string): readonly Suppression[] {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch (error) {
    throw invalid(shown, errorMessage(error))
  }
  if (!isRecord(document) || document.version !== 1) throw invalid(shown, 'version must be 1')
  const { suppressions } = document
  if (!Array.isArray(suppressions)) throw invalid(shown, 'suppressions must be an array')
  if (suppressions.length > MAX_ENTRIES) throw invalid(shown, `it has more than ${MAX_ENTRIES} suppressions`)
  return suppressions.map((entry: unknown, at) => suppressionOf(entry, `suppressions[${at}]`, shown))
}

const FIELDS = ['rule_id_prefix', 'reason', 'owner', 'path_glob', 'line', 'expires_after']

function suppressionOf(entry: unknown, at: string, shown: string): Suppression {
  if (!isRecord(entry)) throw invalid(shown, `${at} must be an object`)
  const unknown = Object.keys(entry).find(key => !FIELDS.includes(key))
  if (unknown !== undefined) throw invalid(shown, `${at} has the unknown field ${unknown}`)
  const text = (name: string): string => {
    const value = entry[name]
    if (typeof value !== 'string' || value.trim() === '') throw invalid(shown, `${at}.${name} must be a text`)
    return value
  }
  const { path_glob = null, line = null, expires_after = null } = entry
  if (path_glob !== null && typeof path_glob !== 'string') throw invalid(shown, `${at}.path_glob must be a text`)
  if (line !== null && !(Number.isInteger(line) && (line as number) > 0))
    throw invalid(shown, `${at}.line must be a whole number from 1`)
  let expiresAt: number | null = null
  if (expires_after !== null) {
    expiresAt =
      typeof expires_after === 'string' && /^\d{4}-\d\d-\d\d$/.test(expires_after)
        ? Date.parse(expires_after) + DAY_MS
        : Number.NaN
    if (Number.isNaN(expiresAt)) throw invalid(shown, `${at}.expires_after must be a date such as 2026-12-31`)
  }
  return {
    ruleIdPrefix: text('rule_id_prefix'),
    reason: text('reason'),
    owner: text('owner'),
    pathGlob: path_glob,
    line: line as number | null,
    expiresAt
  }
}

/** Entry of a `toestub.toml`, or a row of the table `toestub_suppressions`. */
export interface PlaceSuppression {
  readonly path: string
  /** Null: every line. */
  readonly line: number | null
  /** Id or prefix of rules; `all` for every rule. */
  readonly rule: string
  readonly reason: string
}

/** Parses the `[[suppress]]` tables of a `toestub.toml`. Throws `STB_SUPPRESSIONS_INVALID`. */
export function parsePlaceSuppressions(text: string, shown: string): readonly PlaceSuppression[] {
  let document: unknown
  try {
    document = parseToml(text)
  } catch (error) {
    throw invalid(shown, errorMessage(error).split('\n', 1)[0] ?? '')
  }
  const entries: unknown = isRecord(document) ? (document.suppress ?? []) : []
  if (!Array.isArray(entries) || entries.length > MAX_ENTRIES)
    throw invalid(shown, `suppress must be at most ${MAX_ENTRIES} tables`)
  return entries.map((entry: unknown, index) => {
    const at = `suppress[${index}]`
    if (!isRecord(entry)) throw invalid(shown, `${at} must be a table`)
    const { path, line = null, rule, reason } = entry
    if (typeof path !== 'string' || path === '') throw invalid(shown, `${at}.path must be a text`)
    if (typeof rule !== 'string' || rule === '') throw invalid(shown, `${at}.rule must be a text`)
    if (typeof reason !== 'string' || reason === '') throw invalid(shown, `${at}.reason must be a text`)
    const number = typeof line === 'bigint' ? Number(line) : line
    if (number !== null && !(Number.isInteger(number) && (number as number) > 0))
      throw invalid(shown, `${at}.line must be a whole number from 1`)
    return { path, line: number as number | null, rule, reason }
  })
}

export interface Suppressed {
  readonly kept: readonly StubFinding[]
  readonly suppressed: readonly StubFinding[]
  /** Suppressions whose date has passed. */
  readonly expired: number
}

/** Removes findings that a suppression covers. `now`: Unix milliseconds. */
export function applySuppressions(
  findings: readonly StubFinding[],
  suppressions: readonly Suppression[],
  places: readonly PlaceSuppression[],
  now: number
): Suppressed {
  const active = suppressions.filter(({ expiresAt }) => expiresAt === null || now < expiresAt)
  const expired = suppressions.length - active.length
  if (active.length === 0 && places.length === 0) return { kept: findings, suppressed: [], expired }
  const matchers = active.map(each => ({
    ...each,
    matches: each.pathGlob === null ? null : picomatch(each.pathGlob, { dot: true })
  }))
  const byPath = new Map<string, PlaceSuppression[]>()
  for (const each of places) {
    const own = byPath.get(each.path)
    if (own === undefined) byPath.set(each.path, [each])
    else own.push(each)
  }
  const isCovered = ({ ruleId, file, line }: StubFinding): boolean =>
    matchers.some(
      each =>
        ruleId.startsWith(each.ruleIdPrefix) &&
        (each.line === null || each.line === line) &&
        (each.matches?.(file) ?? true)
    ) ||
    (byPath
      .get(file)
      ?.some(
        each => (each.line === null || each.line === line) && (each.rule === 'all' || ruleId.startsWith(each.rule))
      ) ??
      false)
  const kept: StubFinding[] = []
  const suppressed: StubFinding[] = []
  for (const each of findings) (isCovered(each) ? suppressed : kept).push(each)
  return { kept, suppressed, expired }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalid(file: string, reason: string) {
  return stubCheckErrors.create('STB_SUPPRESSIONS_INVALID', `${file}: ${reason}`, {
    hint: 'correct the file; nothing was scanned'
  })
}
