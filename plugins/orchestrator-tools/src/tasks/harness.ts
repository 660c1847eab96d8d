import { orchestrationErrors } from '@svc/contracts'

/** Throws `ORC_HARNESS_INVALID`, naming the field, for a text that is no agent harness of version 1. */
export function parseHarness(json: string): void {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (cause) {
    throw invalid(`it is not JSON: ${(cause as Error).message}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid('it is not an object')
  const harness = value as Readonly<Record<string, unknown>>
  if (harness.schema_version !== 1) throw invalid(`schema_version is ${JSON.stringify(harness.schema_version)}, not 1`)
  for (const field of ['harness_id', 'runtime_charter']) {
    if (typeof harness[field] !== 'string' || harness[field] === '') throw invalid(`${field} is missing`)
  }
  for (const field of ['subject', 'contracts', 'state']) {
    if (typeof harness[field] !== 'object' || harness[field] === null) throw invalid(`${field} is missing`)
  }
  for (const field of ['roles', 'stages', 'failure_taxonomy']) {
    if (!Array.isArray(harness[field])) throw invalid(`${field} is not a list`)
  }
}

function invalid(why: string): Error {
  return orchestrationErrors.create('ORC_HARNESS_INVALID', `Harness specification: ${why}`, {
    at: { path: 'harness_spec_json' },
    hint: 'see contracts/orchestration/agent-harness.v1.schema.json'
  })
}
