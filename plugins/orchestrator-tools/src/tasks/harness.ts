import { orchestrationErrors } from '@svc/contracts'
import schema from '@svc/contracts/orchestration/agent-harness.v1.schema.json' with { type: 'json' }
import { type SchemaError, schemaCheck } from '@svc/plugin-sdk/check'

const check = schemaCheck(schema)

/** Throws `ORC_HARNESS_INVALID`, naming the field, if JSON is not an agent harness of version 1. */
export function checkHarness(json: string): void {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (cause) {
    throw invalid(`it is not valid JSON: ${(cause as Error).message}`)
  }
  const checked = check(value)
  if (!checked.ok) throw invalid(problem(checked.errors[0]))
}

function problem(error: SchemaError | undefined): string {
  if (error === undefined) return 'it is not valid'
  const { instancePath, keyword, message, params } = error
  const at = instancePath.slice(1).replaceAll('/', '.') || 'it'
  if (keyword === 'additionalProperties')
    return `${at} has the unknown field ${JSON.stringify(params.additionalProperty)}`
  if (keyword === 'const') return `${at} must be ${JSON.stringify(params.allowedValue)}`
  if (keyword === 'enum') return `${at} must be one of ${(params.allowedValues as readonly unknown[]).join(', ')}`
  return `${at} ${message}`
}

function invalid(problem: string): Error {
  return orchestrationErrors.create('ORC_HARNESS_INVALID', `Harness specification: ${problem}`, {
    at: { path: 'harness_spec_json' },
    hint: 'see contracts/orchestration/agent-harness.v1.schema.json'
  })
}
