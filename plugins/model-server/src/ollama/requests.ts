import type { ChatMessage } from '@svc/contracts'
import { defined, type Infer, t } from '@svc/plugin-sdk'
import { bodyReader, invalid } from '../body-reader.ts'
import type { ChatRequest } from '../chat-answer.ts'
import type { ChatIntent } from '../chat-plan.ts'
import type { FieldConstraint } from '../completions.ts'
import type { RequestTemplate } from '../conversation.ts'
import { MAX_TEMPLATE_LENGTH } from '../defaults/written-defaults.ts'
import { functionTool, functionTools, strictNames } from '../function-tools.ts'
import type { Grammars } from '../grammars.ts'
import { emptyList, refuseUnsupported, type UnsupportedFields, unsupported } from '../unsupported-fields.ts'
import { formatConstraint } from './format.ts'
import { GoTemplate, isGoTemplate } from './go-template/go-template.ts'
import { keepAliveMs } from './keep-alive.ts'
import { ollamaMessage, ollamaMessages } from './messages.ts'
import { readOptions } from './options.ts'

export interface OllamaRequest {
  readonly model: string | undefined
  readonly stream: boolean
  /** Milliseconds that the model stays loaded after the request; undefined if the request does not set it. */
  readonly keepMs: number | undefined
  /** Null if the request only loads or unloads the model. */
  readonly question: OllamaQuestion | null
}

type Options = ChatRequest['options']

/** Conversation, raw prompt, or prompt with a gap to fill. */
export type OllamaQuestion =
  | { readonly kind: 'chat'; readonly chat: ChatRequest }
  | { readonly kind: 'raw'; readonly text: string; readonly options: Options; readonly constraint?: FieldConstraint }
  | {
      readonly kind: 'insert'
      readonly prefix: string
      readonly suffix: string
      readonly options: Options
      readonly constraint?: FieldConstraint
    }

const MAX_TOP_LOGPROBS = 20
const open = { additionalProperties: true }

const common = {
  model: t.optional(t.string()),
  stream: t.optional(t.boolean()),
  options: t.optional(t.unknown()),
  format: t.optional(t.unknown()),
  keep_alive: t.optional(t.unknown()),
  think: t.optional(
    t.union([t.boolean(), t.enum(['low', 'medium', 'high'])], { description: `true, false, 'low', 'medium' or 'high'` })
  ),
  logprobs: t.optional(t.boolean()),
  top_logprobs: t.optional(t.integer({ minimum: 0, maximum: MAX_TOP_LOGPROBS }))
}

const generateBody = t.object(
  {
    ...common,
    prompt: t.optional(t.string()),
    suffix: t.optional(t.string()),
    system: t.optional(t.string()),
    template: t.optional(t.string()),
    raw: t.optional(t.boolean()),
    context: t.optional(t.array(t.integer({ minimum: 0 }), { description: 'a list of token ids' }))
  },
  open
)

const chatBody = t.object(
  { ...common, messages: t.optional(t.array(ollamaMessage)), tools: t.optional(t.array(functionTool)) },
  open
)

const UNSUPPORTED: UnsupportedFields = { images: emptyList }

const readGenerateBody = bodyReader(generateBody)
const readChatBody = bodyReader(chatBody)

/** Parses the body of `POST /api/generate`. Throws `MSV_REQUEST_INVALID` or `MSV_UNSUPPORTED`, naming the field. */
export function readGenerateRequest(raw: unknown, grammars: Grammars): OllamaRequest {
  const body = readGenerateBody(raw)
  refuseUnsupported(body, { ...UNSUPPORTED, tools: emptyList })
  const { prompt = '', suffix = '', system = '', template = '', context = [] } = body
  if (body.raw === true && (system !== '' || template !== '' || context.length > 0)) {
    throw invalid('raw mode does not support template, system, or context', 'raw')
  }
  if (template.length > MAX_TEMPLATE_LENGTH) {
    throw invalid(`'template' has more than ${MAX_TEMPLATE_LENGTH} characters`, 'template')
  }
  const { head, options, constraint } = commonOf(body, grammars)
  const bound = constraint === undefined ? {} : { constraint }
  if (prompt === '' && suffix === '') return { ...head, question: null }
  if (suffix !== '') {
    refuseBesideSuffix(body)
    return { ...head, question: { kind: 'insert', prefix: prompt, suffix, options, ...bound } }
  }
  if (body.raw === true && body.think !== undefined && body.think !== false) {
    throw unsupported('think', 'a raw prompt has no template that could enable thoughts')
  }
  if (body.raw === true) return { ...head, question: { kind: 'raw', text: prompt, options, ...bound } }
  const messages: ChatMessage[] = [{ role: 'user', content: prompt }]
  if (system !== '') messages.unshift({ role: 'system', content: system })
  const intent: ChatIntent = {
    messages,
    ...thinkingOf(body),
    ...bound,
    ...(template === '' ? {} : { template: templateOf(template, body.think), templateText: template }),
    ...(context.length === 0 ? {} : { context })
  }
  return { ...head, question: { kind: 'chat', chat: { intent, options } } }
}

/** Parses the body of `POST /api/chat`. Throws `MSV_REQUEST_INVALID` or `MSV_UNSUPPORTED`, naming the field. */
export function readChatRequest(raw: unknown, grammars: Grammars): OllamaRequest {
  const body = readChatBody(raw)
  refuseUnsupported(body, UNSUPPORTED)
  const messages = ollamaMessages(body.messages ?? [])
  const functions = functionTools(body.tools ?? [])
  const { head, options, constraint } = commonOf(body, grammars, functions.length > 0)
  if (messages.length === 0) return { ...head, question: null }
  const intent: ChatIntent = {
    messages,
    ...thinkingOf(body),
    ...defined({ constraint }),
    ...(functions.length === 0
      ? {}
      : { tools: { functions, forced: [], several: true, strict: strictNames(body.tools ?? []) } })
  }
  return { ...head, question: { kind: 'chat', chat: { intent, options } } }
}

const commonBody = t.object(common)
type Common = Infer<typeof commonBody>

/** Parses the fields that both requests share. The response is streamed by default. */
function commonOf(body: Common, grammars: Grammars, hasTools = false) {
  const { model, stream = true, format, top_logprobs } = body
  const keepMs = keepAliveMs(body.keep_alive)
  if (top_logprobs !== undefined && body.logprobs !== true) {
    throw invalid(`'top_logprobs' is only allowed when 'logprobs' is true`, 'top_logprobs')
  }
  const options: Options = {
    ...readOptions(body.options),
    ...(body.logprobs === true ? { logprobs: top_logprobs ?? 0 } : {})
  }
  const constraint = hasTools && format === undefined ? undefined : formatConstraint(format, grammars)
  return { head: { model, stream, keepMs }, options, constraint }
}

/** Parses `think`. Templates only enable or disable thoughts, so the level makes no difference. */
function thinkingOf({ think }: Common): Pick<ChatIntent, 'thinking' | 'thinkingField'> {
  return { thinkingField: 'think', ...(think === undefined ? {} : { thinking: think !== false }) }
}

function refuseBesideSuffix(body: Infer<typeof generateBody>): void {
  const { raw, system, template, context = [], think } = body
  const besides = { raw, system, template, context: context.length > 0, think }
  const field = Object.entries(besides).find(([, value]) => value)?.[0]
  if (field !== undefined) throw unsupported(field, `it cannot be combined with 'suffix', which uses no template`)
}

/** Parses `template`: Jinja, like the model's template, or a Go template. */
function templateOf(text: string, think: Common['think']): RequestTemplate {
  if (!isGoTemplate(text)) return text
  const template = new GoTemplate(text)
  if (think !== undefined && think !== false && !template.hasThinking) {
    throw unsupported('think', 'the template of the request has no switch for thoughts')
  }
  return template
}
