import {
  isRemoteFailure,
  type ManifestContent,
  manifestDigest,
  type PublicationManifest,
  RemoteClient,
  type RemoteExchange,
  type RemoteFailure,
  type SubmissionContext,
  type UploadProgress
} from '@svc/contracts'
import type { AdapterParts, Settings } from '#root'

export const TOKEN = 'zt-4f9c1d-never-printed'

/** Returns a publication that passes the checks of all archives. */
export function publication(changes: Partial<ManifestContent> = {}): PublicationManifest {
  const content: ManifestContent = {
    publication_id: 'paper-1',
    content_type: 'article',
    source_ref: 'https://example.org/repository',
    title: 'Exactly once',
    author: 'Doe, Jane',
    abstract_text: 'Deposits & drafts.\n\nA second <paragraph>.',
    body_markdown: '# Exactly once\n\nText.\n',
    citations_json: JSON.stringify([{ id: 'a', type: 'article-journal', title: 'A', DOI: '10.1000/182' }]),
    metadata_json: JSON.stringify({
      license: 'CC-BY-4.0',
      keywords: ['archives', 'idempotence'],
      language: 'en',
      publication_date: '2026-03-01',
      version: '1.0',
      creators: [
        { name: 'Doe, Jane', affiliation: 'Institute A', orcid: '0000-0002-1825-0097' },
        { name: 'Roe, Richard' }
      ]
    }),
    ...changes
  }
  return {
    ...content,
    content_sha3_256: manifestDigest(content),
    version: 1,
    state: 'approved',
    created_at_ms: Date.UTC(2026, 1, 1),
    updated_at_ms: Date.UTC(2026, 1, 1)
  }
}

/** Returns what adapters receive; the settings are those of the schema's defaults and these changes. */
export function partsWith(settings: Partial<Settings>, projectRoot = process.cwd()): AdapterParts {
  const log = { debug() {}, info() {}, warn() {}, error() {} } as unknown as AdapterParts['log']
  return {
    settings: () => ({ ...DEFAULTS, ...settings }) as Settings,
    secret: async setting => (setting === undefined || setting === '' ? null : setting),
    dataDirectory: async () => projectRoot,
    projectRoot,
    log
  }
}

const DEFAULTS: Partial<Settings> = {
  upload_allowlist: [],
  verify_staging_checksums: false,
  require_metadata_parity: false,
  attach_manifest_body: false,
  publish_deposition: false,
  draft_only: false,
  publish_now: false,
  zenodo_sandbox: false,
  zenodo_http_max_attempts: 3,
  zenodo_settle_seconds: 0,
  osf_http_max_attempts: 3,
  osf_settle_seconds: 0
}

/** Simulated end of a process. */
export class Crash extends Error {}

/** State that the queue keeps between the attempts of a submission. */
export class Attempts {
  checkpoint: Readonly<Record<string, unknown>> | null = null
  readonly exchanges: RemoteExchange[] = []
  readonly progress: UploadProgress[] = []
  /** Steps so far: each checkpoint and each request. */
  steps = 0
  /** Step at which the process ends. `before`: without its effect; `after`: with it. */
  crashAt: { readonly step: number; readonly when: 'before' | 'after' } | null = null

  readonly #options: { readonly attempts?: number; readonly silenceMs?: number }

  constructor(options: { readonly attempts?: number; readonly silenceMs?: number } = {}) {
    this.#options = options
  }

  context(signal: AbortSignal = new AbortController().signal): SubmissionContext {
    return {
      signal,
      http: new RemoteClient({
        service: 'Archive',
        signal,
        firstDelayMs: 1,
        ...this.#options,
        beforeAttempt: () => this.#step('before'),
        record: exchange => {
          this.exchanges.push(exchange)
          this.#end()
        }
      }),
      checkpoint: this.checkpoint,
      saveCheckpoint: async checkpoint => {
        this.#step('before')
        this.checkpoint = JSON.parse(JSON.stringify(checkpoint))
        this.#end()
      },
      progress: event => void this.progress.push(event)
    }
  }

  #step(when: 'before'): void {
    this.steps++
    if (this.crashAt?.step === this.steps && this.crashAt.when === when) throw new Crash('before')
  }

  #end(): void {
    if (this.crashAt?.step === this.steps && this.crashAt.when === 'after') throw new Crash('after')
  }
}

/** Returns the failure of an archive that a promise rejects with. */
export async function failureOf(promise: Promise<unknown>): Promise<RemoteFailure> {
  try {
    await promise
  } catch (error) {
    if (isRemoteFailure(error)) return error
    throw error
  }
  throw new Error('expected a failure')
}
