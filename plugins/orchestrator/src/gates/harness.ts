import { type Finding, type Gate, passed, skipped } from './gate.ts'
import { repositoryPath } from './repository-path.ts'

/** Gate: the harness's outputs are among the artifacts, and evidence is cited if its gates require it. */
export const harnessGate: Gate = {
  name: 'harness',
  counter: 'debug_iterations',
  heading: () => '[HARNESS COMPLETION GATE]',
  ask({ task, attestation, settings }) {
    const guard = settings.harness_completion_guard
    if (guard === 'off') return skipped('harness_completion_guard is off')
    if (task.harness_spec_json === undefined) return skipped('the task has no harness')
    const artifacts = (attestation?.artifact_paths ?? []).map(repositoryPath)
    const cited = (attestation?.evidence_citations ?? []).length > 0
    const missing = missingOf(task.harness_spec_json, artifacts, cited)
    if (missing.length === 0) return passed('all requirements of the harness are met')
    const detail = `harness requirements are not met: ${missing.join('; ')}`
    const isEnforced = guard === 'enforce' || guard === 'strict'
    const data = { missing }
    if (!isEnforced) return { verdict: 'shadow', detail, data }
    return { verdict: 'fail', detail, atLimit: 'ORC_SCOPE_DENIED', data } satisfies Finding
  }
}

interface Contracts {
  readonly required_outputs?: readonly { artifact_id?: unknown; path_hint?: unknown; required?: unknown }[]
  readonly completion_gates?: readonly { gate_id?: unknown; evidence_required?: unknown }[]
}

function missingOf(json: string, artifacts: readonly string[], cited: boolean): string[] {
  const contracts = contractsOf(json)
  if (contracts === null) return ['harness_spec_json is not valid JSON']
  const missing: string[] = []
  for (const { artifact_id, path_hint, required } of rows(contracts.required_outputs)) {
    if (required === false || typeof path_hint !== 'string') continue
    const hint = repositoryPath(path_hint)
    if (!artifacts.some(path => path === hint || path.endsWith(`/${hint.replace(/^\/+/, '')}`)))
      missing.push(`the output ${String(artifact_id)} at ${hint}`)
  }
  for (const { gate_id, evidence_required } of rows(contracts.completion_gates))
    if (requiresEvidence(evidence_required) && !cited) missing.push(`evidence for the gate ${String(gate_id)}`)
  return missing
}

/** Returns true if a gate requires evidence. `value` is a flag or a list of requirements. */
function requiresEvidence(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value === true
}

function rows<A extends object>(value: readonly A[] | undefined): readonly A[] {
  return Array.isArray(value) ? value.filter(row => typeof row === 'object' && row !== null) : []
}

function contractsOf(json: string): Contracts | null {
  try {
    const spec = JSON.parse(json) as { contracts?: Contracts } | null
    return spec?.contracts ?? {}
  } catch {
    return null
  }
}
