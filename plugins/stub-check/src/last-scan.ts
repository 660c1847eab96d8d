import type { StubFinding } from '@svc/contracts'
import type { Comparison } from './policy/baseline.ts'
import { rankOf } from './policy/severity.ts'
import { type Envelope, envelopeOf, type WireFinding } from './report/envelope.ts'
import type { ProjectScan } from './scan/project-scan.ts'
import type { BaselineRuns, BaselineUse } from './store/baseline-runs.ts'
import type { StoredState } from './store/stored-state.ts'

/** Findings of the last scan that are kept. */
const MAX_KEPT = 1_000

/** `new`: the baseline does not have the finding. `raised`: it is more severe than in the baseline. */
export const STANDINGS = ['new', 'raised'] as const
export type Standing = (typeof STANDINGS)[number]

export type KeptFinding = WireFinding & { readonly standing?: Standing }

export interface KeptScan {
  readonly path: string
  /** ISO 8601. */
  readonly at: string
  readonly envelope: Pick<Envelope, 'files_scanned' | 'findings_total' | 'counts' | 'suppressions_applied'> & {
    readonly findings: readonly KeptFinding[]
    readonly baseline?: KeptBaseline
  }
}

interface KeptBaseline {
  readonly added: number
  readonly raised: number
}

/** The last scan: of any process if there is a database, else of this one. */
export class LastScan {
  readonly #state: StoredState | null
  readonly #runs: BaselineRuns
  readonly #version: string
  #own: KeptScan | null = null
  #seen: string | null = null

  constructor(state: StoredState | null, runs: BaselineRuns, version: string) {
    this.#state = state
    this.#runs = runs
    this.#version = version
  }

  /** Keeps the report of a scan, compared with a baseline: that of this scan, else the last one of the path. */
  async keep(path: string, scan: ProjectScan, use: BaselineUse | null): Promise<void> {
    const compared = await this.#runs.keep(path, scan.findings, use)
    const { findings, standings } = mostImportant(scan.findings, compared)
    const envelope: KeptScan['envelope'] = {
      ...envelopeOf(scan, findings, this.#version, MAX_KEPT),
      ...(compared === null
        ? {}
        : { baseline: { added: compared.added.length, raised: compared.raised.length } satisfies KeptBaseline })
    }
    const kept = {
      ...envelope,
      findings: envelope.findings.map((each, at) => {
        const standing = standings[at]
        return standing === undefined ? each : { ...each, standing }
      })
    }
    this.#own = { path, at: new Date().toISOString(), envelope: kept }
    await this.#state?.saveScan(path, JSON.stringify(kept))
  }

  async read(): Promise<KeptScan | null> {
    const stored = (await this.#state?.lastScan()) ?? null
    if (stored === null || (this.#own !== null && this.#own.at >= stored.at)) return this.#own
    return { path: stored.path, at: stored.at, envelope: JSON.parse(stored.envelope) as KeptScan['envelope'] }
  }

  /** Returns true if another process has kept a scan since the last call. */
  async hasChanged(): Promise<boolean> {
    const at = (await this.#state?.lastScanAt()) ?? null
    const before = this.#seen
    this.#seen = at
    return at !== before
  }
}

/** Sorts findings so that the limit drops the least important ones: new ones first, then by severity. */
function mostImportant(
  findings: readonly StubFinding[],
  compared: Comparison | null
): { readonly findings: readonly StubFinding[]; readonly standings: readonly (Standing | undefined)[] } {
  const standingOf = new Map<StubFinding, Standing>()
  for (const each of compared?.added ?? []) standingOf.set(each, 'new')
  for (const each of compared?.raised ?? []) standingOf.set(each, 'raised')
  const rank = (each: StubFinding): number => (standingOf.has(each) ? STANDING_RANK : 0) + rankOf(each.severity)
  const sorted = findings.toSorted((one, other) => rank(other) - rank(one))
  return { findings: sorted, standings: sorted.map(each => standingOf.get(each)) }
}

/** Above the rank of any severity. */
const STANDING_RANK = 100
