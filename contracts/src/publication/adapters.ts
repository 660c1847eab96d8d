import { point } from '@svc/plugin-sdk'
import type { PublicationManifest } from './manifest.ts'
import type { RemoteClient } from './remote-client.ts'
import type { PreflightProfile } from './review.ts'

/** Archives that publications can be submitted to. Two adapters with one name or alias are a conflict. */
export const scholarlyAdapters = point<ScholarlyAdapter>('scholarly.adapters', {
  keys: ({ name, aliases = [] }) => [name, ...aliases].map(each => `adapter ${each}`)
})

/**
 * An archive. The queue calls it, stores what it returns, and calls it again after failures and after the end of a
 * process. An adapter must never create two entries for one digest: see {@link SubmissionContext.saveCheckpoint}.
 */
export interface ScholarlyAdapter {
  /** Lower-case letters, digits and `_`. */
  readonly name: string
  readonly aliases?: readonly string[]
  readonly summary: string
  /** Whether it sends anything to another machine. Live adapters pass the gate, and a preflight. */
  readonly live: boolean
  /** Profile that a publication must pass before it is submitted. Absent: none. */
  readonly preflight?: PreflightProfile
  /** Statuses of this archive between submission and decision, in lower case. Statuses that svc does not know are quarantined. */
  readonly intermediateStatuses?: readonly string[]
  /** Returns the attempts of an HTTP request, 1 to 10. Absent: 3. */
  httpAttempts?(): number
  /** Returns why it cannot be used now, such as a missing token, or null. */
  problem(): Promise<AdapterProblem | null>
  /**
   * Asks the archive whether the credentials work, by requests that change nothing. Throws {@link RemoteFailure}. Absent:
   * the archive has no such request, or needs no credentials.
   */
  checkAccess?(context: StatusContext): Promise<AdapterAccess>
  /** Returns what `submit` would do, without network access. Throws {@link RemoteFailure} for content it cannot use. */
  plan(manifest: PublicationManifest, signal: AbortSignal): Promise<SubmissionPlan>
  /** Submits a publication. Throws {@link RemoteFailure}. */
  submit(manifest: PublicationManifest, context: SubmissionContext): Promise<SubmissionReceipt>
  /** Returns the state of an earlier submission. Throws {@link RemoteFailure}. */
  fetchStatus(externalSubmissionId: string, context: StatusContext): Promise<RemoteStatus>
}

export interface AdapterProblem {
  readonly failureClass: 'disabled' | 'config'
  readonly message: string
  /** Next step, as one sentence or one command. */
  readonly hint: string
}

export interface AdapterAccess {
  /** Name of the account; null if the archive does not say it. */
  readonly account: string | null
}

export interface SubmissionPlan {
  /** Steps in order, one short sentence each. */
  readonly steps: readonly string[]
  readonly files: readonly PlannedFile[]
}

export interface PlannedFile {
  readonly name: string
  readonly bytes: number
  readonly sha3_256: string
}

export interface StatusContext {
  readonly signal: AbortSignal
  /** Sends requests, with attempts, time limits and fingerprints. Live adapters use nothing else. */
  readonly http: RemoteClient
}

export interface SubmissionContext extends StatusContext {
  /** Facts that an earlier attempt of this submission saved; null at first. */
  readonly checkpoint: Readonly<Record<string, unknown>> | null
  /**
   * Makes a fact durable before the next step, such as "the deposition is being created" and then its id. An adapter
   * whose service cannot create something idempotently saves its intent first; if it later finds only the intent, it
   * looks for the entry by its marker before it creates another. Throws if another process has taken over the job: the
   * adapter must then stop.
   */
  saveCheckpoint(checkpoint: Readonly<Record<string, unknown>>): Promise<void>
  /** Files of the plan when the job was created. An adapter uploads no others. Absent: they are unknown. */
  readonly plannedFiles?: readonly PlannedFile[]
  /** Reports bytes of an upload. */
  progress(event: UploadProgress): void
}

export interface UploadProgress {
  readonly file: string
  readonly sentBytes: number
  readonly totalBytes: number
}

export interface SubmissionReceipt {
  readonly adapter: string
  readonly external_submission_id: string
  /** Status in the words of the archive. */
  readonly status: string
  /** SHA3-256 of the last response, as hex. */
  readonly response_fingerprint?: string
  /** JSON object, such as with the DOI and the URL. No credentials. */
  readonly metadata_json?: string
}

export interface RemoteStatus {
  /** Status in the words of the archive. */
  readonly status: string
  readonly detail_json?: string
}
