import { STUB_SEVERITIES, type StubFinding, type StubSeverity } from '@svc/contracts'
import { type Comparison, compare } from '../policy/baseline.ts'
import { isAtLeast } from '../policy/severity.ts'
import type { Baselines } from './baselines.ts'
import type { StoredState } from './stored-state.ts'

/** Baseline that a person chose for a path. */
export interface BaselineUse {
  /** Name in the database, or path of a file. */
  readonly name: string
  /** Least severity of the findings that are compared. */
  readonly severity: StubSeverity
}

/** Last comparison of a path with its baseline. */
export interface BaselineRun extends BaselineUse {
  readonly path: string
  /** Number of findings that the baseline does not have. */
  readonly added: number
  /** Number of findings that are more severe than in the baseline. */
  readonly raised: number
  /** The first of these findings, as `file:line: message`. */
  readonly places: readonly string[]
  /** Unix milliseconds. */
  readonly at: number
}

const MAX_PLACES = 5
const MAX_RUNS = 100

/** Compares each scan of a path with the baseline that was last used for it, in the database or in this process. */
export class BaselineRuns {
  readonly #baselines: Baselines
  readonly #state: StoredState | null
  /** Runs by path, if there is no database. */
  readonly #own = new Map<string, BaselineRun>()

  constructor(baselines: Baselines, state: StoredState | null) {
    this.#baselines = baselines
    this.#state = state
  }

  /**
   * Compares the findings of a scan and keeps the result. `use`: the baseline of this scan, else that of the last one is
   * used. Returns null if there is none, or if it no longer exists.
   */
  async keep(path: string, findings: readonly StubFinding[], use: BaselineUse | null): Promise<Comparison | null> {
    const { name, severity } = use ?? (await this.#of(path)) ?? {}
    if (name === undefined || severity === undefined) return null
    const accepted = await this.#baselines.read(name, path).catch(() => null)
    if (accepted === null) {
      await this.#remove(path)
      return null
    }
    const compared = compare(
      accepted,
      findings.filter(each => isAtLeast(each.severity, severity))
    )
    const { added, raised } = compared
    const places = [...added, ...raised].slice(0, MAX_PLACES)
    await this.#save({
      path,
      name,
      severity,
      added: added.length,
      raised: raised.length,
      places: places.map(({ file, line, message }) => `${file}:${line}: ${message}`),
      at: Date.now()
    })
    return compared
  }

  /** Returns the last comparison of each path, newest first. */
  async list(): Promise<readonly BaselineRun[]> {
    if (this.#state === null) return [...this.#own.values()].sort((one, other) => other.at - one.at)
    return (await this.#state.baselineRuns(MAX_RUNS)).flatMap(parseRun)
  }

  async #of(path: string): Promise<BaselineRun | undefined> {
    if (this.#state === null) return this.#own.get(path)
    const json = await this.#state.baselineRun(path)
    return json === null ? undefined : parseRun(json)[0]
  }

  async #save(run: BaselineRun): Promise<void> {
    if (this.#state !== null) return await this.#state.saveBaselineRun(run.path, run.at, JSON.stringify(run))
    this.#own.delete(run.path)
    this.#own.set(run.path, run)
    const [oldest] = this.#own.keys()
    if (this.#own.size > MAX_RUNS && oldest !== undefined) this.#own.delete(oldest)
  }

  async #remove(path: string): Promise<void> {
    this.#own.delete(path)
    await this.#state?.removeBaselineRun(path)
  }
}

/** Returns the stored run; nothing if another version wrote it in another form. */
function parseRun(json: string): [] | [BaselineRun] {
  const run = JSON.parse(json) as BaselineRun
  const isValid =
    [run.path, run.name].every(each => typeof each === 'string') &&
    [run.added, run.raised, run.at].every(each => typeof each === 'number') &&
    Array.isArray(run.places) &&
    STUB_SEVERITIES.includes(run.severity)
  return isValid ? [run] : []
}
