import { type Gate, passed, skipped } from './gate.ts'

const FENCED = /^\s*```(?:json)?[ \t]*\n([\s\S]*?)\n```\s*$/

/** Gate: a researcher's result is JSON, in its summary, its observation or a `.json` file. */
export const researchGate: Gate = {
  name: 'research',
  counter: 'debug_iterations',
  heading: () => '[SCHEMA COMPLIANCE GATE]',
  ask({ task, attestation, evidence }) {
    if (task.role !== 'researcher') return skipped('the role of the task is not researcher')
    const texts = [attestation?.completion_summary, attestation?.observation_summary]
    if (texts.some(text => text !== undefined && isJson(text))) return passed('the result is JSON')
    const file = evidence?.files.find(found => found.isJson === true)
    if (file !== undefined) return passed(`${file.path} is JSON`)
    return {
      verdict: 'fail',
      detail: 'the result of a researcher must be a JSON object or array, in the completion summary or in a .json file',
      atLimit: 'ORC_VALIDATION_FAILED'
    }
  }
}

/** Returns true if text is a JSON object or array, bare or in a Markdown code fence. */
export function isJson(text: string): boolean {
  const body = FENCED.exec(text)?.[1] ?? text
  // Skips the parser for plain sentences, as most summaries are.
  if (!/^\s*[[{]/.test(body)) return false
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null
  } catch {
    return false
  }
}
