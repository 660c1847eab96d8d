import type { Step, Turn } from './conversation.ts'
import { parseNumber, parseSchema, parseTools, RANGES, type Settings } from './settings.ts'

/** Model that a column uses. */
export interface Choice {
  readonly model: string
  readonly server: 'own' | 'project'
  /** Base URL of the server. */
  readonly url?: string
  readonly keyRequired?: boolean
  /** Absent: unknown. */
  readonly tools?: boolean
  readonly thinking?: boolean
}

export const keyOf = ({ server, model }: Pick<Choice, 'server' | 'model'>): string => `${server}:${model}`

/** Body of an OpenAI chat request, without the fields of streaming. */
export type ChatBody = Readonly<Record<string, unknown>>

/** Number of alternatives to request for each token. */
const ALTERNATIVES = 5

/**
 * Returns the request whose answer is step `stepIndex` of `column` in the last of `turns`. Fields with invalid texts are
 * left out, so check them before.
 */
export function chatBody(
  settings: Settings,
  { model, server }: Choice,
  turns: readonly Turn[],
  column: number,
  stepIndex: number
): ChatBody {
  const number = (name: keyof typeof RANGES) => parsedValue(parseNumber(settings[name].value, RANGES[name]))
  const tools = settings.toolChoice.value === 'none' ? undefined : parsedValue(parseTools(settings.tools.value))
  const schema = parsedValue(parseSchema(settings.schema.value))
  const stop = settings.stop.value.split('\n').filter(line => line !== '')
  const thinking = settings.thinking.value
  const own = server === 'own'
  return withoutUndefined({
    model,
    messages: messagesOf(settings.system.value, turns, column, stepIndex),
    temperature: (column > 0 ? number('secondTemperature') : undefined) ?? number('temperature'),
    top_p: number('topP'),
    max_tokens: number('maxTokens'),
    seed: number('seed'),
    stop: stop.length === 0 ? undefined : stop,
    tools,
    tool_choice: own && tools !== undefined && settings.toolChoice.value === 'required' ? 'required' : undefined,
    response_format:
      schema === undefined ? undefined : { type: 'json_schema', json_schema: { name: 'answer', schema } },
    reasoning_effort: !own || thinking === 'default' ? undefined : thinking === 'on' ? 'medium' : 'none',
    logprobs: own && settings.logprobs.value ? true : undefined,
    top_logprobs: own && settings.logprobs.value ? ALTERNATIVES : undefined
  })
}

function messagesOf(system: string, turns: readonly Turn[], column: number, stepIndex: number): object[] {
  const messages: object[] = system.trim() === '' ? [] : [{ role: 'system', content: system }]
  for (const [index, { text, answers }] of turns.entries()) {
    messages.push({ role: 'user', content: text.value })
    // A column that was added later continues the conversation of the first.
    const steps = (answers.value[column] ?? answers.value[0])?.value ?? []
    const shown = index === turns.length - 1 ? steps.slice(0, stepIndex) : steps
    for (const step of shown) messages.push(...stepMessages(step))
  }
  return messages
}

function stepMessages({ content, thinking, calls }: Step): object[] {
  const made = calls.value
  const assistant = withoutUndefined({
    role: 'assistant',
    content: content.value,
    reasoning_content: thinking.value === '' ? undefined : thinking.value,
    tool_calls:
      made.length === 0
        ? undefined
        : made.map(call => ({
            id: call.id,
            type: 'function',
            function: { name: call.name, arguments: call.arguments }
          }))
  })
  return [assistant, ...made.map(call => ({ role: 'tool', tool_call_id: call.id, content: call.result }))]
}

/** Returns a command for a POSIX shell that sends the request to the server's OpenAI API. */
export function curlCommand(body: ChatBody, { url = 'http://127.0.0.1:11435', keyRequired = false }: Choice): string {
  const lines = [
    `curl -N ${quoted(`${url.replace(/\/$/, '')}/v1/chat/completions`)}`,
    `-H 'content-type: application/json'`,
    ...(keyRequired ? ['-H "authorization: Bearer $API_KEY"'] : []),
    `-d ${quoted(jsonText({ ...body, stream: true }))}`
  ]
  return lines.join(' \\\n  ')
}

export function jsonText(body: ChatBody): string {
  return JSON.stringify(body, null, 2)
}

/** Quotes a text for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

function parsedValue<A>(parsed: { ok: true; value: A | undefined } | { ok: false }): A | undefined {
  return parsed.ok ? parsed.value : undefined
}

function withoutUndefined(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined))
}
