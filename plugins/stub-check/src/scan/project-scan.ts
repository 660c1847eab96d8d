import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { StubFinding, StubSeverity } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import { extensionOf } from '../engine/language.ts'
import type { ScanOptions } from '../engine/scan-file.ts'
import { coversRule } from '../engine/suppression.ts'
import { applySuppressions, type PlaceSuppression, type Suppression } from '../policy/suppressions.ts'
import { RULES } from '../rules/catalog.ts'
import { CODE_RULES } from '../rules/code-rules.ts'
import type { ScanItem, ScanResult } from '../worker/protocol.ts'
import type { ScanPool } from '../worker/scan-pool.ts'
import type { Listing } from './list-files.ts'
import { projectFindings } from './project-rules.ts'

/** Findings of a project scan with what it covered. */
export interface ProjectScan {
  /** By file and line. */
  readonly findings: readonly StubFinding[]
  readonly filesScanned: number
  /** Files that were not scanned, with the reason. */
  readonly notScanned: readonly { readonly path: string; readonly reason: string }[]
  readonly rulesApplied: number
  readonly rustParseFailures: number
  readonly suppressed: readonly StubFinding[]
  readonly expiredSuppressions: number
  /** Remarks for the person, such as a part that could not be checked. */
  readonly notes: readonly string[]
}

export interface ProjectScanOptions {
  readonly listing: Listing
  readonly scan: ScanOptions
  readonly suppressions: readonly Suppression[]
  readonly places: readonly PlaceSuppression[]
  readonly now: number
  readonly signal: AbortSignal
  readonly onProgress?: (done: number, total: number) => void
}

/** Result of an earlier scan of a file with the same rules. */
export interface KnownResult {
  /** SHA-256 of the content. */
  readonly digest: string
  /** The {@link ScanResult}, with an array of numbers as `windows`. */
  readonly json: string
}

/** Results of earlier scans, by path. */
export interface ScanCache {
  known(options: ScanOptions): Promise<ReadonlyMap<string, KnownResult>>
  store(results: readonly ScanResult[], options: ScanOptions): Promise<void>
}

/** Returns unresolved names in a program, or null if no compiler is available. */
export type CheckProgram = (
  source: string,
  signal: AbortSignal
) => Promise<readonly { line: number; column: number; message: string }[] | null>

const MAX_PROGRAM_BYTES = 512 * 1024

export async function scanProject(
  pool: Pick<ScanPool, 'scan'>,
  cache: ScanCache | null,
  check: CheckProgram,
  options: ProjectScanOptions
): Promise<ProjectScan> {
  const { listing, scan, signal } = options
  const known = (await cache?.known(scan)) ?? new Map<string, KnownResult>()
  const items: ScanItem[] = listing.paths.map(path => {
    const digest = known.get(path)?.digest
    return { path, at: join(listing.root, path), ...defined({ knownDigest: digest }) }
  })
  const scanned = await pool.scan(items, scan, signal, done => options.onProgress?.(done, listing.paths.length))
  const fresh = scanned.filter(({ state }) => state !== 'unchanged')
  if (cache !== null && fresh.length > 0) await cache.store(fresh, scan)
  const results = scanned.map(result =>
    result.state === 'unchanged' ? revived(known.get(result.path), result) : result
  )
  const isEnabled = (rule: string): boolean =>
    (scan.rules?.some(each => coversRule(each, rule)) ?? true) &&
    !scan.withoutRules.some(each => coversRule(each, rule))
  const notes: string[] = []
  const programs = isEnabled(CODE_RULES.unresolved.id) ? await programFindings(listing, check, signal, notes) : []
  const all = [
    ...results.flatMap(({ findings }) => findings),
    ...projectFindings(results, id => isEnabled(id) && (listing.isWhole || id !== CODE_RULES.unwired.id)),
    ...programs
  ].sort((one, other) =>
    one.file < other.file ? -1 : one.file > other.file ? 1 : one.line - other.line || one.column - other.column
  )
  const { kept, suppressed, expired } = applySuppressions(all, options.suppressions, options.places, options.now)
  if (expired > 0) notes.push(`${expired} suppressions have expired and no longer apply`)
  return {
    findings: kept,
    filesScanned: results.filter(({ state }) => state === 'scanned' || state === 'timed_out').length,
    notScanned: results.flatMap(({ path, state, reason }) =>
      state === 'scanned' ? [] : [{ path, reason: reason ?? REASONS[state] }]
    ),
    rulesApplied: RULES.filter(({ id }) => isEnabled(id)).length,
    rustParseFailures: results.filter(({ path, hasParseError }) => hasParseError && extensionOf(path) === 'rs').length,
    suppressed: [...results.flatMap(result => result.suppressed), ...suppressed],
    expiredSuppressions: expired,
    notes
  }
}

function revived(known: KnownResult | undefined, unchanged: ScanResult): ScanResult {
  if (known === undefined) return unchanged
  const result = JSON.parse(known.json) as ScanResult & { windows: readonly number[] }
  return { ...result, windows: Float64Array.from(result.windows) }
}

const REASONS: Readonly<Record<ScanResult['state'], string>> = {
  scanned: '',
  unchanged: '',
  skipped: 'not a source file',
  timed_out: 'over the time limit per file',
  too_large: 'over the size limit per file',
  unreadable: 'cannot be read'
}

/** Unresolved names in programs of the project's own language, as its compiler reports them. */
async function programFindings(
  listing: Listing,
  check: CheckProgram,
  signal: AbortSignal,
  notes: string[]
): Promise<StubFinding[]> {
  const findings: StubFinding[] = []
  const { id: ruleId, name: ruleName, severity, suggestion } = CODE_RULES.unresolved
  for (const path of listing.paths) {
    if (extensionOf(path) !== 'vox') continue
    signal.throwIfAborted()
    const source = await readFile(join(listing.root, path), 'utf8').catch(() => null)
    if (source === null || source.length > MAX_PROGRAM_BYTES) continue
    const unresolved = await check(source, signal)
    if (unresolved === null) {
      notes.push('names in .vox files were not resolved, since the plugin compiler is off')
      return findings
    }
    const lines = source.split('\n')
    for (const { line, column, message } of unresolved)
      findings.push({
        ruleId,
        ruleName,
        severity: severity as StubSeverity,
        file: path,
        line,
        column,
        message,
        ...(suggestion === undefined ? {} : { suggestion }),
        context: (lines[line - 1] ?? '').trim().slice(0, 120)
      })
  }
  return findings
}
