import type { Attestation } from '@svc/contracts'
import { type Infer, t, toJsonSchema } from '@svc/plugin-sdk'
import { schemaCheck } from '@svc/plugin-sdk/check'

const strings = (description: string) => t.array(t.string(), { default: [], description })

const verdict = t.object({
  outcome: t.enum(['complete', 'doubt', 'fail'], { description: 'Outcome of the task.' }),
  summary: t.string({ minLength: 1, description: 'Work that was done, or the reason why none was.' }),
  reason: t.string({ default: '', description: 'Reason for doubt or failure.' }),
  checks_passed: strings('Checks that were made and passed.'),
  evidence_citations: strings('References that support the result.'),
  artifact_paths: strings('Files that were written.'),
  complete_and_real: t.boolean({ default: false, description: 'Whether the result contains no placeholders.' })
})

export type Verdict = Infer<typeof verdict>

/** Schema of the model's reply. Every field is required, because some servers support no optional ones. */
export const verdictSchema = {
  ...toJsonSchema(verdict),
  required: Object.keys((toJsonSchema(verdict).properties ?? {}) as object),
  additionalProperties: false
}

const check = schemaCheck(() => toJsonSchema(verdict), { defaults: true })

/** Parses the verdict in a model's reply, which may contain other text. Returns `problem` for a reply without a valid one. */
export function readVerdict(text: string): Verdict | { readonly problem: string } {
  const [from, to] = [text.indexOf('{'), text.lastIndexOf('}')]
  if (from === -1 || to < from) return { problem: 'the reply contains no JSON object' }
  let value: unknown
  try {
    value = JSON.parse(text.slice(from, to + 1))
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) }
  }
  const checked = check(value)
  if (checked.ok) return checked.value as Verdict
  const [problem] = checked.errors
  return { problem: `${problem?.instancePath.slice(1) || 'the object'} ${problem?.message}` }
}

/** Names of checks that only a user may claim, never a model. */
const USER_ONLY_CHECKS = new Set(['human_review_approved', 'peer_review_approved', 'approval_reviewed'])

/** Returns the attestation of a verdict, without checks that only a user may claim. */
export function attestationOf(decided: Verdict, observation: string): Attestation {
  const { summary, checks_passed, evidence_citations, artifact_paths, complete_and_real } = decided
  return {
    completion_summary: summary,
    checks_passed: checks_passed.filter(check => !USER_ONLY_CHECKS.has(check.trim().toLowerCase())),
    evidence_citations,
    artifact_paths,
    declared_non_placeholder: complete_and_real,
    observation_summary: observation
  }
}
