import type { Attestation } from '@svc/contracts'
import { type Infer, t, toJsonSchema } from '@svc/plugin-sdk'
import { schemaCheck } from '@svc/plugin-sdk/check'

const texts = (description: string) => t.array(t.string(), { default: [], description })

const verdict = t.object({
  outcome: t.enum(['complete', 'doubt', 'fail'], { description: 'What becomes of the task.' }),
  summary: t.string({ minLength: 1, description: 'What was done, or why nothing was.' }),
  reason: t.string({ default: '', description: 'Why it is doubted or has failed.' }),
  checks_passed: texts('Checks that were made and passed.'),
  evidence_citations: texts('References that support the result.'),
  artifact_paths: texts('Files that were written.'),
  complete_and_real: t.boolean({ default: false, description: 'Whether nothing of it is a placeholder.' })
})

export type Verdict = Infer<typeof verdict>

/** Schema for the model's answer: every field is required, since some servers have no optional ones. */
export const verdictSchema = {
  ...toJsonSchema(verdict),
  required: Object.keys((toJsonSchema(verdict).properties ?? {}) as object),
  additionalProperties: false
}

const check = schemaCheck(() => toJsonSchema(verdict), { defaults: true })

/** Extracts the verdict from a text, also with words or a fence around it; otherwise returns the error. */
export function readVerdict(text: string): Verdict | { readonly problem: string } {
  const [from, to] = [text.indexOf('{'), text.lastIndexOf('}')]
  if (from === -1 || to < from) return { problem: 'there is no JSON object in it' }
  let value: unknown
  try {
    value = JSON.parse(text.slice(from, to + 1))
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) }
  }
  const checked = check(value)
  if (checked.ok) return checked.value as Verdict
  const [problem] = checked.errors
  return { problem: `${problem?.instancePath.slice(1) || 'it'} ${problem?.message}` }
}

/** Checks that gates accept only from a person, never from a model. */
const OF_PERSONS = new Set(['human_review_approved', 'peer_review_approved', 'approval_reviewed'])

export function attestationOf(given: Verdict, observation: string): Attestation {
  const { summary, checks_passed, evidence_citations, artifact_paths, complete_and_real } = given
  return {
    completion_summary: summary,
    checks_passed: checks_passed.filter(check => !OF_PERSONS.has(check.trim().toLowerCase())),
    evidence_citations,
    artifact_paths,
    declared_non_placeholder: complete_and_real,
    observation_summary: observation
  }
}
