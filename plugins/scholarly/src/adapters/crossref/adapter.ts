import {
  type AdapterProblem,
  type DeclaredSecret,
  isRemoteFailure,
  type PublicationManifest,
  type RemoteClient,
  RemoteFailure,
  type ScholarlyAdapter,
  type StatusContext,
  type SubmissionContext,
  type SubmissionReceipt
} from '@svc/contracts'
import { fingerprint } from '../deposit/fingerprint.ts'
import { multipart } from '../multipart.ts'
import type { AdapterParts } from '../parts.ts'
import { workOf } from '../work.ts'
import { type Diagnostic, isReceived, parseDiagnostic, statusOf } from './diagnostic.ts'
import { type DepositParty, depositDocument, depositOf, SCHEMA_VERSION } from './document.ts'
import { nextTimestamp } from './timestamps.ts'

const NAME = 'crossref_deposit'

/** Credentials of Crossref, for the resolver. */
export const CROSSREF_SECRETS: readonly DeclaredSecret[] = [
  {
    id: 'crossref.login',
    env: 'SVC_CROSSREF_LOGIN',
    registry: 'crossref-login',
    policy: 'optional',
    class: 'integration',
    material: 'client_id',
    remediation: 'run: svc secrets set SVC_CROSSREF_LOGIN',
    description: 'Login at Crossref, for deposits of DOIs',
    capabilities: ['scholarly']
  },
  {
    id: 'crossref.password',
    env: 'SVC_CROSSREF_PASSWORD',
    registry: 'crossref',
    policy: 'optional',
    class: 'integration',
    material: 'password',
    remediation: 'run: svc secrets set SVC_CROSSREF_PASSWORD',
    description: 'Password at Crossref, for deposits of DOIs',
    capabilities: ['scholarly']
  }
]

export interface CrossrefOptions {
  readonly now?: () => number
}

/** State between steps. `sending`: the outcome is unknown. `refused`: nothing was received. */
interface Checkpoint {
  readonly step: 'prepared' | 'sending' | 'refused' | 'received'
  readonly timestamp: string
  /** See `depositOf`. */
  readonly generation: number
  readonly doi: string
  /** Unix milliseconds of the step. */
  readonly at_ms: number
}

/**
 * Registers DOIs at Crossref. A deposit is a document that Crossref queues. Its file name, its DOI and its timestamp
 * belong to the digest: a submission is found by its file name, and Crossref ignores a document whose timestamp is not
 * above the last one of the DOI, so that the same document never counts twice.
 */
export function crossrefDeposit(parts: AdapterParts, options: CrossrefOptions = {}): ScholarlyAdapter {
  const { now = Date.now } = options

  return {
    name: NAME,
    aliases: ['crossref'],
    summary: 'Registers a DOI at Crossref',
    live: true,
    preflight: 'metadata_complete',
    intermediateStatuses: ['submitted', 'queued', 'in_process', 'unknown_submission'],
    httpAttempts: () => parts.settings().crossref_http_max_attempts,
    problem,
    async checkAccess(context) {
      await lookUp('svc-access-check.xml', context)
      return { account: null }
    },
    plan,
    submit,
    async fetchStatus(id, context) {
      const { batch, submissionId, records } = await lookUp(`${id}.xml`, context)
      return {
        status: statusOf({ batch, submissionId, records }),
        detail_json: JSON.stringify({ batch_status: batch, submission_id: submissionId, records })
      }
    }
  }

  async function problem(): Promise<AdapterProblem | null> {
    const settings = parts.settings()
    if (!settings.enable_crossref)
      return {
        failureClass: 'disabled',
        message: 'Crossref: deposits are not enabled',
        hint: 'set SVC_SCHOLARLY_ENABLE_CROSSREF=1'
      }
    const missing = [
      [settings.crossref_doi_prefix, 'SVC_CROSSREF_DOI_PREFIX'],
      [settings.crossref_depositor_name, 'SVC_CROSSREF_DEPOSITOR_NAME'],
      [settings.crossref_depositor_email, 'SVC_CROSSREF_DEPOSITOR_EMAIL'],
      [await parts.secret(settings.crossref_login, 'SVC_CROSSREF_LOGIN'), 'SVC_CROSSREF_LOGIN'],
      [await parts.secret(settings.crossref_password, 'SVC_CROSSREF_PASSWORD'), 'SVC_CROSSREF_PASSWORD']
    ].flatMap(([value, variable]) => (value === undefined || value === null ? [variable] : []))
    if (missing.length === 0) return null
    return {
      failureClass: 'config',
      message: `Crossref: not set: ${missing.join(', ')}`,
      hint: 'set them, and store the credentials with svc secrets set VARIABLE'
    }
  }

  async function plan(manifest: PublicationManifest) {
    const work = workOf(manifest)
    const to = party()
    const { doi, fileName, resource } = depositOf(manifest, work, to)
    const content = depositDocument(manifest, work, to, stamp(now()))
    return {
      steps: [
        `Create a deposit document (schema ${SCHEMA_VERSION}) for the DOI ${doi}, which leads to ${resource}`,
        `Send it to ${base()}/servlet/deposit; the timestamp is set then`
      ],
      files: [
        {
          name: fileName,
          bytes: Buffer.byteLength(content),
          sha3_256: fingerprint(content)
        }
      ]
    }
  }

  async function submit(manifest: PublicationManifest, context: SubmissionContext): Promise<SubmissionReceipt> {
    const work = workOf(manifest)
    const to = party()
    const earlier = await continued(manifest, checkpointOf(context.checkpoint), context)
    const generation = earlier?.generation ?? 1
    const { batchId, fileName, doi, resource } = depositOf(manifest, work, to, generation)
    const receipt = (status: string, fingerprint?: string): SubmissionReceipt => ({
      adapter: NAME,
      external_submission_id: batchId,
      status,
      ...(fingerprint === undefined ? {} : { response_fingerprint: fingerprint }),
      metadata_json: JSON.stringify({ doi, url: `https://doi.org/${doi}`, resource, file_name: fileName })
    })
    if ((earlier?.step === 'sending' || earlier?.step === 'received') && earlier.doi !== doi)
      throw new RemoteFailure(
        `Crossref: this content was sent with the DOI ${earlier.doi}, and the settings now give it ${doi}; restore SVC_CROSSREF_DOI_PREFIX`,
        { failureClass: 'config', code: 'doi_changed' }
      )
    if (earlier?.step === 'received') return receipt('submitted')
    const known = earlier?.doi === doi ? earlier.timestamp : ''
    const timestamp = known || (await nextTimestamp(await parts.dataDirectory(), doi, now()))
    const save = (step: Checkpoint['step']): Promise<void> =>
      context.saveCheckpoint({ step, timestamp, generation, doi, at_ms: now() } satisfies Checkpoint)
    if (earlier?.timestamp !== timestamp) await save('prepared')
    if (earlier?.step === 'sending') {
      const found = await lookUp(fileName, context)
      if (isReceived(found)) {
        await save('received')
        return receipt(found.batch === 'completed' ? 'submitted' : found.batch)
      }
      const settleMs = parts.settings().crossref_settle_seconds * 1_000
      // After a step back of the clock the wait is not longer.
      const waitMs = Math.min(settleMs, earlier.at_ms + settleMs - now())
      if (waitMs > 0)
        throw new RemoteFailure('Crossref: it is unknown whether the last attempt arrived; it is looked up again', {
          failureClass: 'transient',
          code: 'outcome_pending',
          retryAfterMs: waitMs
        })
    }
    const form = multipart(
      { operation: 'doMDUpload', ...(await credentials(context.signal, 'login_id', 'login_passwd')) },
      { field: 'fname', fileName, contentType: 'application/xml' }
    )
    const content = Buffer.from(depositDocument(manifest, work, to, timestamp, generation), 'utf8')
    const body = Buffer.concat([form.before, content, form.after])
    await save('sending')
    try {
      const text = await post(context.http, form.contentType, body)
      await save('received')
      return receipt('submitted', fingerprint(text))
    } catch (error) {
      if (isRemoteFailure(error) && !error.outcomeUnknown) await save('refused')
      throw error
    }
  }

  /** Returns the state to continue from: a new generation if Crossref has rejected the last deposit. */
  async function continued(
    manifest: PublicationManifest,
    earlier: Checkpoint | null,
    context: SubmissionContext
  ): Promise<Checkpoint | null> {
    if (earlier?.step !== 'received') return earlier
    const { fileName } = depositOf(manifest, workOf(manifest), party(), earlier.generation)
    if (statusOf(await lookUp(fileName, context)) !== 'failed') return earlier
    return { ...earlier, step: 'prepared', timestamp: '', generation: earlier.generation + 1, at_ms: now() }
  }

  /** Sends a form. Crossref answers 200 also to what it refuses: the page says which. */
  async function post(http: RemoteClient, contentType: string, body: Uint8Array): Promise<string> {
    const { text } = await http.named('Crossref').send({
      method: 'POST',
      url: `${base()}/servlet/deposit`,
      headers: { 'content-type': contentType },
      body
    })
    if (/\bSUCCESS\b/.test(text)) return text
    if (!/\bFAILURE\b/.test(text))
      throw new RemoteFailure('Crossref: the answer says neither success nor failure; it is looked up later', {
        failureClass: 'transient',
        code: 'answer_invalid',
        outcomeUnknown: true
      })
    const isLogin = /login|password|credential|authori[sz]ed|\brole\b/i.test(text)
    throw new RemoteFailure(
      isLogin
        ? 'Crossref: the login was refused; check SVC_CROSSREF_LOGIN and SVC_CROSSREF_PASSWORD'
        : 'Crossref: the deposit was refused; see the submission log at Crossref',
      { failureClass: isLogin ? 'auth' : 'fatal', code: isLogin ? 'login_refused' : 'deposit_refused' }
    )
  }

  async function lookUp(fileName: string, { http, signal }: StatusContext): Promise<Diagnostic> {
    const query = new URLSearchParams({
      ...(await credentials(signal, 'usr', 'pwd')),
      file_name: fileName,
      type: 'result'
    })
    const { text } = await http
      .named('Crossref')
      .send({ method: 'GET', url: `${base()}/servlet/submissionDownload?${query}` })
    return parseDiagnostic(text)
  }

  async function credentials(signal: AbortSignal, user: string, password: string): Promise<Record<string, string>> {
    const { crossref_login, crossref_password } = parts.settings()
    const login = await parts.secret(crossref_login, 'SVC_CROSSREF_LOGIN', signal)
    const secret = await parts.secret(crossref_password, 'SVC_CROSSREF_PASSWORD', signal)
    if (login === null || secret === null) throw unset('SVC_CROSSREF_LOGIN and SVC_CROSSREF_PASSWORD')
    return { [user]: login, [password]: secret }
  }

  function party(): DepositParty {
    const settings = parts.settings()
    const { crossref_doi_prefix: doiPrefix, crossref_depositor_name: depositorName } = settings
    const { crossref_depositor_email: depositorEmail } = settings
    if (doiPrefix === undefined) throw unset('SVC_CROSSREF_DOI_PREFIX')
    if (depositorName === undefined) throw unset('SVC_CROSSREF_DEPOSITOR_NAME')
    if (depositorEmail === undefined) throw unset('SVC_CROSSREF_DEPOSITOR_EMAIL')
    const registrant = settings.crossref_registrant ?? depositorName
    return {
      doiPrefix,
      depositorName,
      depositorEmail,
      registrant,
      databaseTitle: settings.crossref_database_title ?? registrant,
      resourceBase: settings.crossref_resource_base ?? null
    }
  }

  function base(): string {
    const { crossref_api_base, crossref_sandbox } = parts.settings()
    const host = crossref_sandbox ? 'https://test.crossref.org' : 'https://doi.crossref.org'
    return (crossref_api_base ?? host).replace(/\/+$/, '')
  }
}

function stamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\D/g, '')
}

function unset(variables: string): RemoteFailure {
  return new RemoteFailure(`Crossref: ${variables} is not set`, { failureClass: 'config', code: 'not_configured' })
}

function checkpointOf(saved: SubmissionContext['checkpoint']): Checkpoint | null {
  if (saved === null || typeof saved.step !== 'string' || typeof saved.generation !== 'number') return null
  return saved as unknown as Checkpoint
}
