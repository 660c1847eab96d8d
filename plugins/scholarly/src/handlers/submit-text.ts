import type { GateCode } from '@svc/contracts'
import type { OutputOf } from '@svc/plugin-sdk'
import { problemText } from '../choice.ts'
import { gateText } from '../jobs/checks.ts'
import type { scholarlySubmit } from '../operations/submit.ts'

type Answer = Omit<OutputOf<typeof scholarlySubmit>, 'text'>

/** Returns the answer of a submission, or of its dry run, for people. */
export function submitText(answer: Answer, codes: readonly GateCode[]): string {
  const { adapter, live, publication_id, title, content_sha3_256, steps, files, approvers, preflight, problem } = answer
  const lines = [
    `${publication_id}: ${title}`,
    `digest:    ${content_sha3_256}`,
    `archive:   ${adapter}, ${live ? 'on another machine' : 'on this machine'}`,
    `approvals: ${approvers.length === 0 ? 'none' : approvers.join(', ')}`
  ]
  if (preflight !== null)
    lines.push(
      `preflight: ${preflight.profile}, ${preflight.ok ? 'passed' : 'not passed'}, readiness ${preflight.readiness_score}`
    )
  if (answer.dry_run) {
    if (steps.length > 0) lines.push('steps:', ...steps.map((step, at) => `  ${at + 1}. ${step}`))
    if (files.length > 0) lines.push('files:', ...files.map(({ name, bytes }) => `  ${name}, ${bytes} bytes`))
  }
  if (codes.length > 0) lines.push(`gate:      ${gateText(codes)}`)
  for (const { severity, code, message } of preflight?.findings ?? []) lines.push(`  ${severity}: ${message} (${code})`)
  if (problem !== null) lines.push(`problem:   ${problemText(problem)}`)
  lines.push(...jobLines(answer))
  return lines.join('\n')
}

function jobLines({ dry_run, ready, job }: Answer): string[] {
  if (job === null)
    return [`Dry run: nothing was sent. ${ready ? 'To submit, add --submit.' : 'Resolve what is listed above first.'}`]
  const { id, status, external_submission_id, last_error_class, last_error_message, attempt_count } = job
  const lines = [`job:       ${id}, ${status}, ${attempt_count} ${attempt_count === 1 ? 'attempt' : 'attempts'}`]
  if (external_submission_id !== null) lines.push(`receipt:   ${external_submission_id}`)
  if (status !== 'succeeded' && last_error_message !== null)
    lines.push(`error:     ${last_error_class}: ${last_error_message}`)
  if (dry_run && status === 'succeeded') lines.push('This content was submitted already; it is not submitted again.')
  if (status === 'retryable_failed') lines.push('It is tried again by svc serve, or by svc scholarly run.')
  if (status === 'failed') lines.push(`After the cause is removed: svc scholarly replay ${id}`)
  return lines
}
