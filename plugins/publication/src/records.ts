import type {
  DatabaseStore,
  GateRequest,
  GateResult,
  ManifestContent,
  PreflightProfile,
  PreflightReport,
  PublicationApproval,
  PublicationAttempt,
  PublicationLink,
  PublicationManifest,
  PublicationState,
  Publications,
  WorthinessReport
} from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import { checkGate } from './gate.ts'
import { preflight } from './review/preflight.ts'
import { worthiness } from './review/worthiness.ts'
import type { Settings } from './settings.ts'
import { type ApprovalResult, Approvals, type Approver } from './store/approvals.ts'
import { History } from './store/history.ts'
import { Manifests } from './store/manifests.ts'
import { Tables } from './store/tables.ts'

export interface RecordsOptions {
  readonly store: DatabaseStore | undefined
  readonly settings: () => Pick<Settings, 'armed' | 'dry_run'>
  readonly log: Pick<Logger, 'warn'>
  /** Called after each committed change. */
  readonly changed: () => void
}

/** Publications in the primary database, for this plugin's operations and for other plugins. */
export class Records implements Publications {
  readonly manifests: Manifests
  readonly history: History
  readonly #approvals: Approvals
  readonly #options: RecordsOptions

  constructor(options: RecordsOptions) {
    const tables = options.store === undefined ? null : new Tables(options.store)
    this.manifests = new Manifests(tables)
    this.history = new History(tables)
    this.#approvals = new Approvals(tables)
    this.#options = options
  }

  async prepare(content: ManifestContent): Promise<PublicationManifest> {
    return this.#announced(await this.manifests.prepare(content))
  }

  get(publicationId: string): Promise<PublicationManifest> {
    return this.manifests.get(publicationId)
  }

  find(publicationId: string): Promise<PublicationManifest | null> {
    return this.manifests.find(publicationId)
  }

  approvals(publicationId: string, digest: string): Promise<readonly PublicationApproval[]> {
    return this.#approvals.list(publicationId, digest)
  }

  async approve(publicationId: string, digest: string, approver: Approver): Promise<ApprovalResult> {
    return this.#announced(await this.#approvals.approve(publicationId, digest, approver))
  }

  async revoke(publicationId: string, digest: string, name: string): Promise<boolean> {
    return this.#announced(await this.#approvals.revoke(publicationId, digest, name))
  }

  async gate(request: GateRequest): Promise<GateResult> {
    const { armed, dry_run } = this.#options.settings()
    return checkGate(request, { armed, dryRun: dry_run, approvals: await this.#readApprovals(request) })
  }

  preflight(manifest: PublicationManifest, profile: PreflightProfile): PreflightReport {
    return preflight(manifest, profile)
  }

  worthiness(manifest: PublicationManifest): WorthinessReport {
    return worthiness(manifest)
  }

  async recordAttempt(attempt: PublicationAttempt): Promise<void> {
    this.#announced(await this.history.recordAttempt(attempt))
  }

  async setState(
    publicationId: string,
    digest: string,
    state: PublicationState,
    detail?: Readonly<Record<string, unknown>>
  ): Promise<boolean> {
    return this.#announced(await this.manifests.setState(publicationId, digest, state, detail))
  }

  async addLink(publicationId: string, digest: string, link: PublicationLink): Promise<void> {
    this.#announced(await this.history.addLink(publicationId, digest, link))
  }

  /** Returns null if there is no database, or if it cannot be read. */
  async #readApprovals({ publicationId, digest }: GateRequest): Promise<readonly PublicationApproval[] | null> {
    const { store, log } = this.#options
    if (store === undefined) return null
    try {
      return await this.#approvals.counted(publicationId, digest)
    } catch (error) {
      log.warn('the gate is closed: approvals cannot be read', { reason: errorMessage(error) })
      return null
    }
  }

  #announced<A>(result: A): A {
    this.#options.changed()
    return result
  }
}
