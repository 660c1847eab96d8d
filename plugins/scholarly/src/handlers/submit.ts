import {
  isRemoteFailure,
  type PublicationManifest,
  type ScholarlyAdapter,
  type SubmissionPlan,
  type UploadProgress
} from '@svc/contracts'
import type { Handler } from '@svc/plugin-sdk'
import { scholarlyErrors } from '../errors.ts'
import { errorOfClass } from '../failures.ts'
import { checkSubmission, gateText, preflightText, type SubmissionChecks } from '../jobs/checks.ts'
import { idempotencyKey, type Job } from '../jobs/job.ts'
import type { scholarlyPreflight, scholarlySubmit } from '../operations/submit.ts'
import { type HandlerParts, jobFields, publicationOf } from './parts.ts'
import { submitText } from './submit-text.ts'

/** Why an archive cannot be used now, as one value for the plan and the error. */
export interface PlanProblem {
  readonly error_class: 'disabled' | 'config' | 'auth' | 'rate_limit' | 'transient' | 'fatal' | 'preflight'
  readonly code: string
  readonly message: string
  readonly hint: string
}

export function submitHandler(parts: HandlerParts): Handler<typeof scholarlySubmit> {
  return async ({ publication_id, adapter: name, submit, wait }, call) => {
    const { publications, choice } = parts
    const queue = parts.queue()
    const adapter = choice.find(name)
    const manifest = await publicationOf(parts, publication_id)
    const checks = await checkSubmission(publications, manifest, adapter)
    const key = idempotencyKey(adapter.name, publication_id, manifest.content_sha3_256, 'submit')
    const existing = await queue.store.findByKey(key)
    const { plan, problem } = await planOf(parts, adapter, manifest, call.signal)
    const ready = problem === null && checks.codes.length === 0 && checks.preflight?.ok !== false
    let job = existing
    if (submit && existing === null) {
      checkReady(manifest, adapter, checks, problem)
      job = (
        await queue.store.enqueue({
          publication_id,
          content_sha3_256: manifest.content_sha3_256,
          adapter: adapter.name,
          operation: 'submit',
          idempotency_key: key,
          files: plan.files
        })
      ).job
      parts.changed()
    }
    if (submit && job !== null && wait && job.status !== 'succeeded' && job.status !== 'failed') {
      if (problem?.error_class === 'disabled') checkReady(manifest, adapter, checks, problem)
      job = await queue.runner.run(job.id, { signal: call.signal, onProgress: progressReporter(call) })
    }
    if (submit && job?.status === 'queued' && !wait) parts.queued()
    const answer = {
      ok: !submit || isGood(job, wait),
      dry_run: !submit,
      ready,
      adapter: adapter.name,
      live: adapter.live,
      publication_id,
      title: manifest.title,
      content_sha3_256: manifest.content_sha3_256,
      steps: [...plan.steps],
      files: plan.files.map(({ name: file, bytes, sha3_256 }) => ({ name: file, bytes, sha3_256 })),
      gate_codes: [...checks.codes],
      approvers: [...checks.gate.approvers],
      preflight:
        checks.preflight === null
          ? null
          : { ...checks.preflight, findings: checks.preflight.findings.map(each => ({ ...each })) },
      problem,
      job: job === null ? null : jobFields(job)
    }
    return { ...answer, text: submitText(answer, checks.codes) }
  }
}

export function preflightHandler(parts: HandlerParts): Handler<typeof scholarlyPreflight> {
  return async ({ publication_id, adapter: name }) => {
    const adapter = parts.choice.find(name)
    const manifest = await publicationOf(parts, publication_id)
    const { ok, profile, readiness_score, findings } = parts.publications.preflight(
      manifest,
      adapter.preflight ?? 'default'
    )
    return {
      ok,
      adapter: adapter.name,
      profile,
      readiness_score,
      findings: findings.map(each => ({ ...each })),
      note: `${adapter.name}, profile ${profile}: ${ok ? 'passed' : 'not passed'}, readiness ${readiness_score} of 100`
    }
  }
}

/** Returns what would be done, and why it cannot be done now. */
async function planOf(
  { choice, mask }: HandlerParts,
  adapter: ScholarlyAdapter,
  manifest: PublicationManifest,
  signal: AbortSignal
): Promise<{ readonly plan: SubmissionPlan; readonly problem: PlanProblem | null }> {
  const none: SubmissionPlan = { steps: [], files: [] }
  const failure = async <A>(work: () => Promise<A>): Promise<{ value?: A; problem: PlanProblem | null }> => {
    try {
      return { value: await work(), problem: null }
    } catch (error) {
      if (!isRemoteFailure(error)) throw error
      const { failureClass, code, message } = error
      return { problem: { error_class: failureClass, code, message: mask(message), hint: '' } }
    }
  }
  const planned = await failure(() => adapter.plan(manifest, signal))
  const plan = planned.value ?? none
  const setting = choice.disabledBy(adapter)
  if (setting !== null) {
    const message = `${adapter.name} is disabled by the setting plugins.scholarly.${setting}`
    return { plan, problem: { error_class: 'disabled', code: 'disabled', message, hint: 'change the setting' } }
  }
  const found = await failure(() => adapter.problem())
  if (found.problem !== null) return { plan, problem: found.problem }
  if (found.value === null || found.value === undefined) return { plan, problem: planned.problem }
  const { failureClass, message, hint } = found.value
  return { plan, problem: { error_class: failureClass, code: 'problem', message: mask(message), hint } }
}

/** Throws why a submission may not be queued. */
function checkReady(
  { publication_id }: PublicationManifest,
  { name }: ScholarlyAdapter,
  { codes, preflight }: SubmissionChecks,
  problem: PlanProblem | null
): void {
  if (problem?.error_class === 'disabled')
    throw errorOfClass('disabled', `${name}: ${problem.message}`, {}, problem.hint)
  if (codes.length > 0)
    throw scholarlyErrors.create('SCH_GATE_CLOSED', `${publication_id}: ${gateText(codes)}`, {
      data: { codes },
      hint: codes.includes('missing_dual_approval')
        ? `let two people approve it: svc scholarly approve ${publication_id}`
        : 'see the settings armed and dry_run of plugins.publication'
    })
  if (preflight?.ok === false)
    throw errorOfClass('preflight', `${publication_id}: ${preflightText(preflight)}`, { findings: preflight.findings })
  if (problem === null) return
  const { error_class, code, message, hint } = problem
  throw errorOfClass(error_class, `${name}: ${message}`, { code }, hint === '' ? undefined : hint)
}

/** Returns a listener that reports the progress of an upload when its percentage changes. */
function progressReporter(call: {
  emit(event: { file: string; sent_bytes: number; total_bytes: number }): void
  progress(done: number, total?: number, message?: string): void
}): (event: UploadProgress) => void {
  let last = ''
  return ({ file, sentBytes, totalBytes }) => {
    const step = `${file} ${totalBytes === 0 ? 100 : Math.floor((sentBytes / totalBytes) * 100)}`
    if (step === last) return
    last = step
    call.emit({ file, sent_bytes: sentBytes, total_bytes: totalBytes })
    call.progress(sentBytes, totalBytes, file)
  }
}

function isGood(job: Job | null, wait: boolean): boolean {
  return job !== null && (job.status === 'succeeded' || (!wait && job.status !== 'failed'))
}
