import { defined } from '@svc/plugin-sdk'
import { bodyReader, invalid } from '../body-reader.ts'
import type { ToolIntent } from '../chat-plan.ts'
import type { CompletionRequest, FieldConstraint } from '../completions.ts'
import type { FunctionTool } from '../function-tools.ts'
import type { Grammars } from '../grammars.ts'
import { grammarName, regexPattern } from '../named-format.ts'
import { namedSchema } from '../openai/response-format.ts'
import { samplingOf } from '../openai/sampling.ts'
import { toolIntent } from '../openai/tool-choice.ts'
import { refuseUnsupported, unsupported } from '../unsupported-fields.ts'
import { INCLUDABLE, INCLUDE_LOGPROBS, type ResponsesBody, responsesBody, UNSUPPORTED } from './body.ts'

/** Request of the Responses API, apart from its conversation. */
export interface ResponsesRequest {
  readonly body: ResponsesBody
  readonly stream: boolean
  readonly tools: ToolIntent | undefined
  readonly constraint: FieldConstraint | undefined
  readonly thinking: boolean | undefined
  /** Whether thoughts are returned as the summary of a reasoning item instead of its content. */
  readonly summary: boolean
  readonly options: Omit<CompletionRequest, 'prompt' | 'constraint'>
}

const MAX_METADATA_PAIRS = 16
const MAX_METADATA_KEY = 64
const MAX_METADATA_VALUE = 512

const readBody = bodyReader(responsesBody)

/**
 * Parses the body of `POST /v1/responses`. Throws `MSV_REQUEST_INVALID` or `MSV_UNSUPPORTED`, both naming the field.
 */
export function readResponsesRequest(raw: unknown, grammars: Grammars): ResponsesRequest {
  const body = readBody(raw)
  refuseUnsupported(body, UNSUPPORTED)
  if (body.stream_options !== undefined && body.stream !== true) {
    throw invalid(`'stream_options' is only allowed when 'stream' is true`, 'stream_options')
  }
  for (const [at, value] of (body.include ?? []).entries()) {
    if (!INCLUDABLE.includes(value)) throw unsupported(`include[${at}]`, `'${value.slice(0, 64)}' is not supported`)
  }
  checkMetadata(body.metadata ?? {})
  const tools = toolIntent(chatTools(body))
  const { stop, max_output_tokens: maxTokens, reasoning } = body
  const effort = reasoning?.effort
  if (reasoning?.summary === 'concise') {
    throw unsupported(
      'reasoning.summary',
      `only 'auto' and 'detailed' are supported: the summary is the whole reasoning`
    )
  }
  return {
    body,
    stream: body.stream ?? false,
    tools,
    constraint: constraintOf(body, tools !== undefined, grammars),
    thinking: effort === undefined || effort === null ? undefined : effort !== 'none',
    summary: reasoning?.summary != null,
    options: {
      sampling: samplingOf(body),
      ...defined({ maxTokens }),
      ...(stop === undefined ? {} : { stop: [stop].flat() }),
      ...(wantsLogprobs(body) ? { logprobs: body.top_logprobs ?? 0 } : {})
    }
  }
}

function wantsLogprobs({ include = [], top_logprobs = 0 }: ResponsesBody): boolean {
  return include.includes(INCLUDE_LOGPROBS) || top_logprobs > 0
}

function checkMetadata(metadata: Readonly<Record<string, string>>): void {
  const pairs = Object.entries(metadata)
  const isValid = pairs.every(([key, value]) => key.length <= MAX_METADATA_KEY && value.length <= MAX_METADATA_VALUE)
  if (pairs.length <= MAX_METADATA_PAIRS && isValid) return
  throw invalid(
    `'metadata' must have at most ${MAX_METADATA_PAIRS} pairs, with keys of at most ${MAX_METADATA_KEY} and values of at most ${MAX_METADATA_VALUE} characters`,
    'metadata'
  )
}

/** Converts tools and their choice to the form of chat completions. */
function chatTools({ tools = [], tool_choice, parallel_tool_calls }: ResponsesBody) {
  const names = new Set<string>()
  const converted = tools.map(({ type, name, ...rest }, at): FunctionTool => {
    if (type !== 'function') {
      throw unsupported(`tools[${at}].type`, `tools of type '${type.slice(0, 64)}' are not supported, only functions`)
    }
    const place = `tools[${at}].name`
    if (!name) throw invalid(`'${place}' must be a string that is not empty, got nothing`, place)
    if (names.has(name)) throw invalid(`'${place}' is '${name}', the name of an earlier tool`, place)
    names.add(name)
    const { description, parameters, strict } = rest
    return { type, function: { name, ...defined({ description, parameters, strict }) } }
  })
  return { tools: converted, ...defined({ tool_choice: chatChoice(tool_choice), parallel_tool_calls }) }
}

function chatChoice(choice: ResponsesBody['tool_choice']) {
  if (choice === undefined || typeof choice === 'string') return choice
  const { type, name, mode, tools }: { readonly [field: string]: unknown } = choice
  if (type === 'function') return { type, function: { name } }
  if (type !== 'allowed_tools') return choice
  const place = 'tool_choice.tools'
  if (!Array.isArray(tools) || tools.length === 0) throw invalid(`'${place}' must be a list of functions`, place)
  const allowed = tools.map((tool: { type?: unknown; name?: unknown } | null, at) => {
    if (tool?.type !== 'function') throw unsupported(`${place}[${at}].type`, 'only functions are supported')
    return { type: 'function', function: { name: tool.name } }
  })
  return { type, allowed_tools: { mode, tools: allowed } }
}

const FIELD = 'text.format'

function constraintOf(body: ResponsesBody, hasTools: boolean, grammars: Grammars): FieldConstraint | undefined {
  const { format, verbosity = 'medium' } = body.text ?? {}
  if (verbosity !== 'medium' && verbosity !== null) throw unsupported('text.verbosity', `only 'medium' is supported`)
  if (format === undefined || format === null) return hasTools ? undefined : grammars.byDefault()
  switch (format.type) {
    case 'text':
      return undefined
    case 'json_object':
      return { field: FIELD, value: { type: 'json-object' } }
    case 'json_schema':
      return { field: FIELD, value: { type: 'json-schema', schema: namedSchema(format, FIELD) } }
    case 'regex':
      return { field: FIELD, value: { type: 'regex', pattern: regexPattern(format, FIELD) } }
    case 'grammar':
      return grammars.constraint(grammarName(format, FIELD), `${FIELD}.grammar.name`)
    default:
      throw invalid(
        `'${FIELD}.type' must be one of 'text', 'json_object', 'json_schema', 'regex', 'grammar', got '${format.type.slice(0, 64)}'`,
        `${FIELD}.type`
      )
  }
}
