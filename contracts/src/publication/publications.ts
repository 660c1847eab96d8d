import { service } from '@svc/plugin-sdk'
import type { ManifestContent, PublicationManifest, PublicationState } from './manifest.ts'
import type { PreflightProfile, PreflightReport, WorthinessReport } from './review.ts'

/**
 * Publications of the project with their approvals, attempts and states, in the primary database. Archives and channels
 * ask it before they send anything, and report to it what became of each attempt.
 *
 * All methods throw `PUB_DATABASE_MISSING` without a database.
 */
export const publications = service<Publications>('publication.records@1')

/** Why a publication may not be sent. */
export const GATE_CODES = ['dry_run', 'missing_db', 'missing_dual_approval', 'publish_not_armed'] as const
export type GateCode = (typeof GATE_CODES)[number]

export interface GateRequest {
  readonly publicationId: string
  /** Digest of the content that is sent. Approvals of other digests do not count. */
  readonly digest: string
  /** True if the call, the item or the configuration requests a dry run. */
  readonly dryRun: boolean
}

export interface GateResult {
  /** True if nothing prevents sending. */
  readonly open: boolean
  /** All reasons against it, in the order of {@link GATE_CODES}. */
  readonly codes: readonly GateCode[]
  /** Distinct approvers of the digest. */
  readonly approvers: readonly string[]
}

export interface PublicationApproval {
  readonly publication_id: string
  readonly content_sha3_256: string
  readonly approver: string
  readonly approver_role: string
  /** Unix milliseconds. */
  readonly approved_at_ms: number
}

export interface PublicationAttempt {
  readonly publication_id: string
  readonly content_sha3_256: string
  /** Name of a channel of the news, or `scholarly:ADAPTER`. */
  readonly channel: string
  /** Outcome of the attempt, with `dry_run: true` if nothing was sent. Contains no credentials. */
  readonly outcome: Readonly<Record<string, unknown>>
  /** Unix milliseconds. */
  readonly attempted_at_ms: number
}

export interface PublicationLink {
  /** `doi`, `url` or another kind of identifier. */
  readonly kind: string
  readonly value: string
  /** Adapter or channel that created it. */
  readonly source: string
}

export interface Publications {
  /**
   * Stores content: creates the publication, or replaces its content. Another digest deletes the approvals and returns
   * the state to `draft`. The same digest changes nothing. Throws `PUB_CONTENT_INVALID`.
   */
  prepare(content: ManifestContent): Promise<PublicationManifest>
  /** Throws `PUB_UNKNOWN`. */
  get(publicationId: string): Promise<PublicationManifest>
  /** Returns the publication, or null. */
  find(publicationId: string): Promise<PublicationManifest | null>
  approvals(publicationId: string, digest: string): Promise<readonly PublicationApproval[]>
  /** Checks the gate that everything live passes. Never throws for a missing database: that is a code. */
  gate(request: GateRequest): Promise<GateResult>
  /** Checks a publication against a profile. */
  preflight(manifest: PublicationManifest, profile: PreflightProfile): PreflightReport
  /** Rates a publication from the evidence in its metadata. */
  worthiness(manifest: PublicationManifest): WorthinessReport
  recordAttempt(attempt: PublicationAttempt): Promise<void>
  /**
   * Sets the state of a publication whose content still has this digest, and appends a status event. Returns false, and
   * changes nothing, if the content has changed or the state may not follow the current one: only approvals lead to
   * `approved`, and what was published does not become `publish_failed`. A status of an archive that is named like a
   * local state needs a prefix, such as `zenodo:draft`.
   */
  setState(
    publicationId: string,
    digest: string,
    state: PublicationState,
    detail?: Readonly<Record<string, unknown>>
  ): Promise<boolean>
  /** Records an identifier of the published work. The same link is stored once. */
  addLink(publicationId: string, digest: string, link: PublicationLink): Promise<void>
}
