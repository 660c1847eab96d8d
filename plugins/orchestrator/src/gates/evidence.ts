import type { BrokenLink } from './markdown-links.ts'
import type { StubFinding } from './stub-scan/scan.ts'

/** State of a file that a task claims to have created. */
export interface FileEvidence {
  /** As it was claimed. */
  readonly path: string
  /**
   * `outside`: its path or a link leaves the repository. `unseen`: it was not scanned, since it or the number of
   * files is over the limit.
   */
  readonly state: 'read' | 'missing' | 'outside' | 'unseen' | 'not_a_file' | 'unreadable'
  readonly why?: string
  /** Absent if it is no source code. */
  readonly stubs?: readonly StubFinding[]
  /** Whether it holds an object or an array in JSON; absent for other files. */
  readonly isJson?: boolean
}

export interface TestRun {
  readonly command: string
  readonly ok: boolean
  /** Why it is not. */
  readonly why: string
  /** The end of its output. */
  readonly output: string
}

/** Evidence gathered before the gates run, so that they do no I/O. */
export type GatheredEvidence = {
  readonly files: readonly FileEvidence[]
  readonly brokenLinks: readonly BrokenLink[]
  /** Text of the session's envelope, lower-case; null for none. */
  readonly envelope: string | null
  /** Absent if the tests were not run. */
  readonly tests?: TestRun
}
