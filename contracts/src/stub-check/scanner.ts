import { service } from '@svc/plugin-sdk'

/** Scanner for placeholders and hazards in source code. */
export const stubScanner = service<StubScanner>('stub-check.scanner@1')

/** Severities, ascending. */
export const STUB_SEVERITIES = ['info', 'warning', 'error', 'critical'] as const

export type StubSeverity = (typeof STUB_SEVERITIES)[number]

export interface StubFinding {
  /** Id of the rule, such as `stub/todo`. */
  readonly ruleId: string
  readonly ruleName: string
  readonly severity: StubSeverity
  /** Path as passed in. */
  readonly file: string
  /** From 1. */
  readonly line: number
  /** In characters, from 1. */
  readonly column: number
  readonly message: string
  readonly suggestion?: string
  /** The line of the finding without surrounding space, at most 120 characters; secrets are masked. */
  readonly context: string
}

/** Result for one text. */
export interface ScannedText {
  readonly path: string
  /**
   * `scanned`; `skipped`: the path is not source code of a known language; `too_large`: over the size limit; `timed_out`: over
   * the time limit per file, or the scanner failed on it.
   */
  readonly state: 'scanned' | 'skipped' | 'too_large' | 'timed_out'
  /** In the order of the text. Only `scanned` texts have findings. */
  readonly findings: readonly StubFinding[]
}

export interface StubScanner {
  /**
   * Scans texts in worker threads, each with the rules that look at a single file. Inline suppressions apply. The result has
   * the order of `texts`. Rejects with the reason of `signal` when it is aborted, and with `STB_CLOSED` when the plugin ends.
   */
  scanTexts(
    texts: readonly { readonly path: string; readonly text: string }[],
    signal?: AbortSignal
  ): Promise<readonly ScannedText[]>
}
