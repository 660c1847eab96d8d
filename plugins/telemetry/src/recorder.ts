import {
  type BenchmarkRecorder,
  type BenchmarkResult,
  type BenchmarkType,
  type DatabaseStore,
  insertMetric,
  metricErrors
} from '@svc/contracts'
import { redact } from './redact.ts'
import type { Settings } from './settings.ts'

/** Prefix of the session of a row, by type. */
export const SESSION_PREFIX: Readonly<Record<BenchmarkType, string>> = {
  benchmark_event: 'bench',
  syntax_k_event: 'syntaxk'
}

const MAX_NAME = 256

export interface RecorderOptions {
  readonly database: Pick<DatabaseStore, 'batch'>
  readonly repositoryId: string
  readonly settings: () => Settings
  readonly mask: (text: string) => string
  /** Called after rows were written. */
  readonly changed: () => void
}

/** Writes results of benchmarks to research_metrics. */
export class MetricRecorder implements BenchmarkRecorder {
  readonly #options: RecorderOptions

  constructor(options: RecorderOptions) {
    this.#options = options
  }

  records(type: BenchmarkType): boolean {
    const { recording, benchmarks, syntax_k = benchmarks } = this.#options.settings()
    return recording && (type === 'benchmark_event' ? benchmarks : syntax_k)
  }

  async record(results: readonly BenchmarkResult[]): Promise<number> {
    const { database, changed } = this.#options
    const statements = results.map(each => this.#statement(each))
    const wanted = statements.filter((_, index) => this.records((results[index] as BenchmarkResult).type))
    if (wanted.length === 0) return 0
    await database.batch(wanted)
    changed()
    return wanted.length
  }

  #statement({ type, name, value, unit, fixtureId, details = {} }: BenchmarkResult) {
    const { repositoryId, mask } = this.#options
    if (name.length === 0 || name.length > MAX_NAME)
      throw invalid('name', `the name of a result has ${name.length} characters`, `use 1 to ${MAX_NAME} characters`)
    if (type === 'benchmark_event' && fixtureId !== undefined)
      throw invalid('fixture_id', `${name}: a benchmark_event has no fixture`, 'use syntax_k_event for fixtures')
    if (type === 'syntax_k_event' && fixtureId === undefined)
      throw invalid('fixture_id', `${name}: a syntax_k_event needs a fixture`, 'name the fixture that was measured')
    if (type === 'syntax_k_event' && unit !== undefined)
      throw invalid('unit', `${name}: a syntax_k_event has no unit`, 'put the unit into the details')
    const own = type === 'benchmark_event' ? { metric_value_unit: unit ?? null } : { fixture_id: fixtureId }
    const metadata = { name, repository_id: repositoryId, ...own, details }
    return insertMetric({
      session: `${SESSION_PREFIX[type]}:${repositoryId}`,
      type,
      value,
      metadata: redact(metadata, mask) as Record<string, unknown>
    })
  }
}

function invalid(field: string, problem: string, hint: string) {
  return metricErrors.create('TEL_METRIC_INVALID', problem, { data: { field }, hint })
}
