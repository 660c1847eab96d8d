import { defined } from '@svc/plugin-sdk'
import { bodyReader, invalid } from '../body-reader.ts'
import type { ChatRequest } from '../chat-answer.ts'
import type { ChatIntent } from '../chat-plan.ts'
import type { FieldConstraint } from '../completions.ts'
import type { FunctionTool } from '../function-tools.ts'
import type { Grammars } from '../grammars.ts'
import { toolIntent } from '../openai/tool-choice.ts'
import { refuseUnsupported, unsupported } from '../unsupported-fields.ts'
import { type ConversationBody, countBody, messagesBody, UNSUPPORTED } from './body.ts'
import { chatMessages } from './messages.ts'

export interface MessagesRequest extends ChatRequest {
  readonly model: string | undefined
  readonly stream: boolean
}

export interface CountRequest {
  readonly model: string | undefined
  readonly intent: ChatIntent
}

const readMessagesBody = bodyReader(messagesBody)
const readCountBody = bodyReader(countBody)

/** Parses the body of `POST /v1/messages`. Throws `MSV_REQUEST_INVALID` or `MSV_UNSUPPORTED`, both naming the field. */
export function readMessagesRequest(raw: unknown, grammars: Grammars): MessagesRequest {
  const body = readMessagesBody(raw)
  const { model, stream = false, max_tokens: maxTokens, stop_sequences: stop, temperature, top_p, top_k } = body
  return {
    model,
    stream,
    intent: intentOf(body, grammars),
    options: {
      sampling: defined({ temperature, topP: top_p, topK: top_k }),
      ...defined({ maxTokens }),
      ...(stop === undefined || stop.length === 0 ? {} : { stop })
    }
  }
}

/** Parses the body of `POST /v1/messages/count_tokens`. Throws like {@link readMessagesRequest}. */
export function readCountRequest(raw: unknown, grammars: Grammars): CountRequest {
  const body = readCountBody(raw)
  return { model: body.model, intent: intentOf(body, grammars) }
}

function intentOf(body: ConversationBody, grammars: Grammars): ChatIntent {
  refuseUnsupported(body, UNSUPPORTED)
  const tools = toolIntent(chatTools(body))
  const constraint = constraintOf(body, tools !== undefined, grammars)
  return {
    messages: chatMessages(body),
    thinkingField: 'thinking',
    ...defined({ tools, constraint, thinking: thinkingOf(body) })
  }
}

/** Returns whether the model thinks; undefined for `adaptive`, so that its template decides. */
function thinkingOf({ thinking }: ConversationBody): boolean | undefined {
  const { type, display } = thinking ?? {}
  if (display !== undefined && display !== null && display !== 'summarized') {
    throw unsupported(
      'thinking.display',
      `only 'summarized' is supported: thoughts are returned as the model wrote them`
    )
  }
  return type === undefined || type === 'adaptive' ? undefined : type === 'enabled'
}

/** Converts tools and their choice to the form of chat completions. */
function chatTools({ tools = [], tool_choice: choice }: ConversationBody) {
  const names = new Set<string>()
  const converted = tools.map(({ type, name, description, input_schema: parameters, strict }, at): FunctionTool => {
    const field = `tools[${at}]`
    if (type !== undefined && type !== null && type !== 'custom') {
      throw unsupported(`${field}.type`, `tools of type '${type.slice(0, 64)}' are not supported, only 'custom'`)
    }
    if (name === undefined)
      throw invalid(`'${field}.name' must be a string that is not empty, got nothing`, `${field}.name`)
    if (parameters === undefined)
      throw invalid(`'${field}.input_schema' must be a JSON Schema, got nothing`, `${field}.input_schema`)
    if (names.has(name)) throw invalid(`'${field}.name' is '${name}', the name of an earlier tool`, `${field}.name`)
    names.add(name)
    return { type: 'function', function: { name, parameters, ...defined({ description, strict }) } }
  })
  const parallel = choice?.disable_parallel_tool_use !== true
  return { tools: converted, parallel_tool_calls: parallel, ...defined({ tool_choice: chatChoice(choice) }) }
}

function chatChoice(choice: ConversationBody['tool_choice']) {
  if (choice === undefined) return undefined
  if (choice.type === 'tool') return { type: 'function', function: { name: choice.name } }
  return choice.type === 'any' ? ('required' as const) : choice.type
}

function constraintOf(
  { output_config: config }: ConversationBody,
  hasTools: boolean,
  grammars: Grammars
): FieldConstraint | undefined {
  const field = 'output_config.format'
  const format: { readonly type: string; readonly schema?: unknown } | null | undefined = config?.format
  if (format === undefined || format === null) return hasTools ? undefined : grammars.byDefault()
  if (format.type !== 'json_schema') throw invalid(`'${field}.type' must be 'json_schema'`, `${field}.type`)
  const { schema } = format
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw invalid(`'${field}.schema' must be a JSON Schema`, `${field}.schema`)
  }
  return { field, value: { type: 'json-schema', schema: schema as Readonly<Record<string, unknown>> } }
}
