import { parseJsonBody } from '@svc/contracts'
import { type Infer, t } from '@svc/plugin-sdk'
import { schemaCheck } from '@svc/plugin-sdk/check'
import { errors } from './errors.ts'

const OUTPUT_MODES = ['strict_json', 'jsonl_records', 'tool_args_json'] as const
export type OutputMode = (typeof OUTPUT_MODES)[number]

const completionRequest = t.object({
  prompt: t.string({ minLength: 1, description: 'Text to continue. Names of special tokens become those tokens.' }),
  max_tokens: t.integer({ default: 256, minimum: 1, maximum: 1_000_000, description: 'Maximum of generated tokens.' }),
  temperature: t.number({
    default: 0.7,
    minimum: 0,
    maximum: 100,
    description: '0 always takes the most probable token.'
  }),
  model: t.optional(t.string({ minLength: 1, description: 'Name of the served model.' })),
  output_mode: t.optional(
    t.enum([...OUTPUT_MODES], {
      description:
        'strict_json: one JSON object. jsonl_records: JSON objects, one a line. tool_args_json: a JSON object that satisfies schema.'
    })
  ),
  max_retries: t.integer({
    default: 3,
    minimum: 0,
    maximum: 10,
    description: 'Further attempts if the output of an output_mode is cut off by max_tokens.'
  }),
  schema: t.optional(t.record(t.unknown(), { description: 'JSON Schema of the object, or of each record.' })),
  stream: t.boolean({ default: false, description: 'Whether the text is sent as server-sent events.' })
})

export type CompletionRequest = Infer<typeof completionRequest>

const check = schemaCheck(completionRequest, { defaults: true })

/** Returns the request in a body. Throws `EXE_REQUEST_INVALID`, which names the field. */
export function readRequest(bytes: Uint8Array): CompletionRequest {
  let value: unknown
  try {
    value = parseJsonBody(bytes)
  } catch (error) {
    throw invalid((error as Error).message)
  }
  const checked = check(value)
  if (!checked.ok) {
    const [problem] = checked.errors
    const extra = problem?.params.additionalProperty as string | undefined
    const field = extra ?? problem?.instancePath.slice(1).replaceAll('/', '.') ?? ''
    throw invalid(`${field === '' ? 'the body' : field}: ${problem?.message}`)
  }
  const request = value as CompletionRequest
  if (request.schema !== undefined && request.output_mode === undefined)
    throw invalid('schema: it needs an output_mode')
  if (request.output_mode === 'tool_args_json' && request.schema === undefined)
    throw invalid('schema: output_mode tool_args_json needs it')
  return request
}

function invalid(message: string): Error {
  return errors.create('EXE_REQUEST_INVALID', message, {
    hint: 'The README of the plugin execution-api lists the fields.'
  })
}
