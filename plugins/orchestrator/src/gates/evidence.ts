import type { StubFinding } from '@svc/contracts'
import type { BrokenLink } from './markdown-links.ts'

/** State of a file that a task claims to have created. */
export interface FileEvidence {
  /** Path as the attestation or the task names it. */
  readonly path: string
  /**
   * `outside`: its path or a link leaves the repository. `unseen`: not scanned, since the file is too large, takes too
   * long or is one of too many.
   */
  readonly state: 'read' | 'missing' | 'outside' | 'unseen' | 'not_a_file' | 'unreadable'
  readonly reason?: string
  /** Placeholders found; absent if the file is not source code. */
  readonly stubs?: readonly StubFinding[]
  /** True if a `.json` file contains a JSON object or array; absent for other files. */
  readonly isJson?: boolean
}

export interface TestRun {
  readonly command: string
  readonly ok: boolean
  /** Reason of the failure; empty on success. */
  readonly reason: string
  /** End of the command's output. */
  readonly output: string
}

/** Evidence gathered before the gates run, so that they do no I/O. */
export type GatheredEvidence = {
  readonly files: readonly FileEvidence[]
  readonly brokenLinks: readonly BrokenLink[]
  /** False if no plugin provides a scanner, so that the files were not scanned. Default true. */
  readonly hasScanner?: boolean
  /** Text of the session's envelope, lower-case; null if there is none. */
  readonly envelope: string | null
  /** Absent if the tests were not run. */
  readonly tests?: TestRun
}
