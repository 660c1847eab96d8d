import { service } from '@svc/plugin-sdk'

/** Records the results of benchmarks in the primary database, if the user has switched that on. */
export const benchmarkRecorder = service<BenchmarkRecorder>('telemetry.benchmarks@1')

export interface BenchmarkRecorder {
  /** Returns whether a type is recorded now. */
  records(type: BenchmarkType): boolean
  /**
   * Writes all results in one transaction. Returns the number of rows: 0 if their types are not recorded. Throws
   * `TEL_METRIC_INVALID`, and the errors of the database.
   */
  record(results: readonly BenchmarkResult[]): Promise<number>
}

/** `syntax_k_event`: a result of a fixture of the language, such as the time to compile it. */
export type BenchmarkType = 'benchmark_event' | 'syntax_k_event'

export interface BenchmarkResult {
  readonly type: BenchmarkType
  /** Name of the measured quantity, such as `model.tokens_per_second`. */
  readonly name: string
  /** Null: it could not be measured, or has no single number. */
  readonly value: number | null
  /** Unit of the value. Only for `benchmark_event`. */
  readonly unit?: string
  /** Only for `syntax_k_event`, which requires it. */
  readonly fixtureId?: string
  readonly details?: Readonly<Record<string, unknown>>
}
