import type { ChatMessage, ChatTool, LoadedModel } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import type { AnswerReading } from './answer/answer-reader.ts'
import { thinkingMarks } from './answer/thinking-reader.ts'
import { forcedCall, type ToolFormat, toolFormat } from './answer/tool-format.ts'
import { invalid } from './body-reader.ts'
import type { FieldConstraint } from './completions.ts'
import { type CompiledTemplate, type RequestTemplate, renderContinuation, renderConversation } from './conversation.ts'
import type { Prompt } from './prompt.ts'
import { beyondModel, unsupported } from './unsupported-fields.ts'

/** Chat request, independent of the wire format. */
export interface ChatIntent {
  readonly messages: readonly ChatMessage[]
  /** Functions that the model may or must call. */
  readonly tools?: ToolIntent
  /** Whether the model writes thoughts before the answer; default: as its template decides. */
  readonly thinking?: boolean
  /** Request field that enables thoughts, for errors. */
  readonly thinkingField: string
  readonly template?: RequestTemplate
  /** Source of the template that the request contains, for taps. */
  readonly templateText?: string
  readonly constraint?: FieldConstraint
  /** Tokens of an earlier prompt and its answer; the messages continue them. */
  readonly context?: readonly number[]
}

export interface ToolIntent {
  readonly functions: readonly ChatTool[]
  /** The model must call one of these functions; empty if it may choose text instead. */
  readonly forced: readonly ChatTool[]
  /** True if one answer may contain several calls. */
  readonly several: boolean
  /** Names of functions whose arguments must follow their schema. */
  readonly strict: ReadonlySet<string>
}

export interface ChatPlan {
  readonly prompt: Prompt
  readonly constraint?: FieldConstraint
  readonly reading: AnswerReading
}

/**
 * Turns a conversation into a prompt, and returns it with the constraint and the instructions to parse the answer.
 *
 * Throws `MSV_UNSUPPORTED` if the model's template cannot express the request, or its fields exclude each other.
 * Throws `MSV_CONTEXT_EXCEEDED` and `MSV_REQUEST_INVALID` like {@link renderConversation}.
 */
export async function planChat(
  model: LoadedModel,
  name: string,
  intent: ChatIntent,
  { contextLimit, client }: { readonly contextLimit?: number; readonly client?: string } = {}
): Promise<ChatPlan> {
  const { tools, constraint } = intent
  refuseInability(model, name, intent)
  const own = model.info.chatTemplate ?? ''
  const template = sourceOf(intent.template) ?? own
  const format = toolFormat(template)
  const call =
    tools === undefined || tools.forced.length === 0 ? undefined : forcedCall(format, tools.forced, tools.several)
  // If the model chooses between a call and text, the constraint applies only to text.
  const bound = tools === undefined ? constraint : undefined
  const rule = call === undefined ? bound : { field: 'tools', value: call.constraint }
  const marks = thinkingMarks(template) ?? thinkingMarks(own)
  // A constrained answer has thoughts only if the request enables them.
  const thinks = marks !== null && (rule === undefined || intent.thinking === true)
  const { text, tokens } = await renderPrompt(
    model,
    { ...intent, ...(rule && !thinks ? NO_THOUGHTS : {}) },
    contextLimit,
    client
  )
  const inside = marks !== null && text.trimEnd().endsWith(marks.open)
  const prefill = call?.prefill ?? ''
  const begun = thinks ? '' : `${inside ? `\n${marks.close}\n\n` : ''}${prefill}`
  return {
    prompt: promptOf(model, text + begun, tokens, intent.template),
    reading: {
      thinking: thinks ? { marks, inside } : null,
      ...(thinks && rule !== undefined ? { afterThought: { prefill, constraint: rule } } : {}),
      ...(tools === undefined || constraint === undefined ? {} : { textRule: constraint }),
      tools: tools === undefined ? null : toolReading(tools, format, prefill !== '')
    },
    ...(rule === undefined || thinks ? {} : { constraint: rule })
  }
}

const NO_THOUGHTS = { thinking: false }

function toolReading(tools: ToolIntent, format: ToolFormat, forced: boolean): AnswerReading['tools'] {
  const strict = tools.functions
    .filter(({ name }) => tools.strict.has(name))
    .map(({ name, parameters }): [string, FieldConstraint] => {
      return [name, { field: 'tools', value: { type: 'json-schema', schema: parameters } }]
    })
  const names = tools.functions.map(each => each.name)
  return { format, names, forced, several: tools.several, strict: new Map(strict) }
}

function refuseInability(model: LoadedModel, name: string, intent: ChatIntent): void {
  const { tools, thinking, thinkingField, template } = intent
  // A Jinja template from the request may support tools even if the model's template does not.
  if (typeof template === 'string') return
  const able = template === undefined ? model.chatCapabilities : capabilitiesOf(template)
  if (tools !== undefined && !able.tools) throw beyondModel('tools', name, 'tools')
  if (thinking === true && !able.thinking) throw beyondModel(thinkingField, name, 'thinking')
}

/** Renders the new turns, and adds the tokens of an earlier answer if the request has them. */
async function renderPrompt(
  model: LoadedModel,
  intent: ChatIntent,
  contextLimit: number | undefined,
  client: string | undefined
): Promise<{ readonly text: string; readonly tokens: readonly number[] }> {
  const { messages, tools, template, context = [] } = intent
  const limit = Math.min(model.info.contextLength, contextLimit ?? Number.POSITIVE_INFINITY)
  const thinking = intent.thinking
  const conversation = {
    messages,
    ...(tools === undefined ? {} : { tools: tools.functions }),
    ...defined({ thinking, template, client })
  }
  if (context.length === 0) return { text: await renderConversation(model, conversation, limit), tokens: [] }
  const unknown = context.find(token => token >= model.info.vocabularySize)
  if (unknown !== undefined)
    throw invalid(`'context' contains ${unknown}, which is not a token of this model`, 'context')
  const text = await renderContinuation(model, conversation, limit)
  if (text === null) throw unsupported('context', `the model's chat template does not show where an answer ends`)
  return { text, tokens: context }
}

function capabilitiesOf({ hasTools, hasThinking }: CompiledTemplate): LoadedModel['chatCapabilities'] {
  return { tools: hasTools, thinking: hasThinking }
}

/** Returns the source of a template. */
export function sourceOf(template: RequestTemplate | undefined): string | undefined {
  return typeof template === 'object' ? template.text : template
}

function promptOf(
  model: LoadedModel,
  text: string,
  tokens: readonly number[],
  template: RequestTemplate | undefined
): Prompt {
  // Templates of Ollama leave the begin-of-text token to the tokenizer.
  if (tokens.length === 0) return { kind: 'text', text, ...(typeof template === 'object' ? { begin: true } : {}) }
  return { kind: 'tokens', tokens: [...tokens, ...model.tokenize(text, { special: true })] }
}
