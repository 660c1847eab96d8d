import type { Attestation, StubFinding, TaskView } from '@svc/contracts'
import type { FileEvidence } from './evidence.ts'
import { type Finding, type Gate, type GateContext, passed, skipped } from './gate.ts'
import { repositoryPath } from './repository-path.ts'

const MIN_SUMMARY_LENGTH = 24
const MARKERS = /\b(?:todo|tbd|placeholders?|stubs?|not implemented|coming soon)\b/i
/** Rules about the size of a file, which the task need not have caused. */
const SIZE_RULES: readonly string[] = ['arch/god_object', 'arch/organization']
const DELETES = /\b(?:delet|remov)/i

/** Gate: the attestation is complete, and the files contain no placeholders. */
export const stubcheckGate: Gate = {
  name: 'stubcheck',
  counter: 'stubcheck_iterations',
  heading: iteration => `[AUTO-DEBUG ITERATION ${iteration}]`,
  ask(context) {
    if (!context.settings.stubcheck_gate) return skipped('stubcheck_gate is off')
    const broken = brokenPolicy(context.task, context.attestation, context.evidence?.files ?? [])
    if (broken !== null) return { verdict: 'fail', detail: broken, atLimit: 'ORC_SCOPE_DENIED' }
    return scan(context)
  }
}

/** Returns the first fault of an attestation; null if it is complete. */
function brokenPolicy(
  task: Pick<TaskView, 'files'>,
  attestation: Attestation | null,
  files: readonly FileEvidence[]
): string | null {
  if (attestation === null) return 'the completion has no attestation: add one'
  const { force_risky, force_risky_reason, completion_summary = '' } = attestation
  const artifacts = (attestation.artifact_paths ?? []).map(repositoryPath)
  if (force_risky === true && (force_risky_reason ?? '').trim() === '')
    return 'force_risky requires a force_risky_reason'
  const outside = files.find(file => file.state === 'outside')
  if (outside !== undefined) return `the artifact ${outside.path} is outside the repository`
  const planned = task.files.filter(file => file.access === 'write').map(file => repositoryPath(file.path))
  const absent = planned.filter(path => !artifacts.includes(path))
  if (absent.length > 0)
    return `artifact_paths lacks files that the task should write: ${absent.slice(0, 5).join(', ')}`
  if (planned.length === 0 && attestation.declared_non_placeholder !== true)
    return 'declared_non_placeholder must be true for a task that writes no file'
  const summary = completion_summary.trim()
  if (summary.length < MIN_SUMMARY_LENGTH)
    return `completion_summary has ${summary.length} characters; the minimum is ${MIN_SUMMARY_LENGTH}`
  const marker = MARKERS.exec(summary)
  if (marker !== null) return `completion_summary mentions "${marker[0].toLowerCase()}"`
  if (artifacts.length === 0 && (attestation.checks_passed ?? []).length === 0)
    return 'artifact_paths and checks_passed are both empty; name an artifact or a passed check'
  return null
}

function scan({ attestation, evidence }: GateContext): Finding {
  const files = evidence?.files ?? []
  if (files.length === 0) return passed('the attestation is complete; there are no files to scan')
  const mayBeGone = DELETES.test(attestation?.completion_summary ?? '')
  const errors: string[] = []
  let warnings = 0
  for (const file of files) {
    if (file.state === 'missing' && !mayBeGone) errors.push(`${file.path} does not exist`)
    if (file.state === 'unreadable') errors.push(`${file.path} could not be read: ${file.reason}`)
    if (file.state === 'unseen') warnings += 1
    for (const finding of file.stubs ?? []) {
      if (!isError(finding)) warnings += 1
      else errors.push(`${file.path}:${finding.line} ${finding.message} [${finding.ruleId}]`)
    }
  }
  const data = { files: files.length, errors: errors.slice(0, 20), warnings }
  if (errors.length === 0) return { verdict: 'pass', detail: passedDetail(files.length, evidence?.hasScanner), data }
  const detail = `${errors.length} ${errors.length === 1 ? 'error' : 'errors'}: ${errors.slice(0, 5).join('; ')}`
  if (attestation?.force_risky !== true) return { verdict: 'fail', detail, atLimit: 'pass', data }
  return { verdict: 'shadow', detail: `${detail}; forced: ${attestation.force_risky_reason}`, data }
}

function passedDetail(files: number, hasScanner = true): string {
  return hasScanner
    ? `${files} files, no placeholders`
    : `the attestation is complete; ${files} files were not scanned, since the plugin stub-check is off`
}

function isError({ ruleId, severity }: StubFinding): boolean {
  return (severity === 'error' || severity === 'critical') && !SIZE_RULES.includes(ruleId)
}
