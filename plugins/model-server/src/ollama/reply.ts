import type { AnswerEnd, AnswerEvent } from '../answer/answer.ts'
import type { ToolCall } from '../answer/tool-call-reader.ts'
import type { ChatAnswer } from '../chat-answer.ts'
import { type LogprobEntry, logprobEntries } from '../token-logprobs.ts'
import { type RequestContext, toWireError } from '../wire-error.ts'

/** Route of the response. The routes differ in the field that holds the text. */
export type ReplyKind = 'chat' | 'generate'

export interface ReplyHead {
  readonly kind: ReplyKind
  readonly model: string
  /** `process.hrtime.bigint()` when the request arrived. */
  readonly startedNs: bigint
  /** Nanoseconds that the request waited for the model to load. */
  readonly loadNs: number
  /** Whether the last row contains the tokens of prompt and answer, so that a later request can continue them. */
  readonly context: boolean
}

/** Content of a row. */
interface ReplyContent {
  readonly text: string
  readonly thinking?: string
  readonly calls?: readonly object[]
}

const NOTHING: ReplyContent = { text: '' }

/** Returns the reply to a request that only loads or unloads the model. */
export function emptyReply(head: Pick<ReplyHead, 'kind' | 'model'>, reason: 'load' | 'unload'): object {
  return { ...row(head, NOTHING), done: true, done_reason: reason }
}

/** Resolves to the complete response as one object. */
export async function singleReply(head: ReplyHead, answer: ChatAnswer): Promise<object> {
  let text = ''
  let thinking = ''
  const calls: object[] = []
  const logprobs: LogprobEntry[] = []
  let end: object = {}
  for await (const event of answer.events) {
    if (event.type === 'done') end = endOf(head, event, answer)
    else {
      const content = contentOf(event)
      text += content.text
      thinking += content.thinking ?? ''
      calls.push(...(content.calls ?? []))
      if (event.type === 'text') logprobs.push(...(logprobEntries(event) ?? []))
    }
  }
  const content = { text, ...(thinking === '' ? {} : { thinking }), ...(calls.length === 0 ? {} : { calls }) }
  return { ...row(head, content), ...(logprobs.length === 0 ? {} : { logprobs }), ...end }
}

/** Yields the response as JSON lines; the last one has the token counts. An error after the start is the last line. */
export async function* replyRows(
  head: ReplyHead,
  answer: ChatAnswer,
  context: RequestContext
): AsyncGenerator<string, void> {
  try {
    for await (const event of answer.events) {
      if (event.type === 'done') {
        yield line({ ...row(head, NOTHING), ...endOf(head, event, answer) })
        continue
      }
      const content = contentOf(event)
      if (content === NOTHING) continue
      const logprobs = event.type === 'text' ? logprobEntries(event) : undefined
      yield line({ ...row(head, content), done: false, ...(logprobs === undefined ? {} : { logprobs }) })
    }
  } catch (error) {
    yield line({ error: toWireError(error, context).message })
  }
}

export function line(value: object): string {
  return `${JSON.stringify(value)}\n`
}

/** Converts an event. A call is emitted when it is complete, as an object; an incomplete call becomes text. */
function contentOf(event: Exclude<AnswerEvent, AnswerEnd>): ReplyContent {
  if (event.type === 'text') return { text: event.text }
  if (event.type === 'thinking') return { text: '', thinking: event.text }
  if (event.type !== 'called') return NOTHING
  const call = event.complete ? wholeCall(event.call) : undefined
  return call === undefined ? { text: event.raw } : { text: '', calls: [call] }
}

function wholeCall({ index, id, name, arguments: text }: ToolCall): object | undefined {
  try {
    return { id, function: { index, name, arguments: JSON.parse(text) } }
  } catch {
    return undefined
  }
}

function row({ kind, model }: Pick<ReplyHead, 'kind' | 'model'>, { text, thinking, calls }: ReplyContent): object {
  const created_at = new Date().toISOString()
  const thought = thinking === undefined ? {} : { thinking }
  const called = calls === undefined ? {} : { tool_calls: calls }
  return kind === 'chat'
    ? { model, created_at, message: { role: 'assistant', content: text, ...thought, ...called } }
    : { model, created_at, response: text, ...thought, ...called }
}

/** Returns the fields of the last row. Durations are nanoseconds. */
function endOf(head: ReplyHead, { finishReason, usage }: AnswerEnd, answer: ChatAnswer): object {
  return {
    done: true,
    done_reason: finishReason === 'tool_calls' ? 'stop' : finishReason,
    ...(head.context ? { context: [...answer.promptTokens, ...answer.answerTokens] } : {}),
    total_duration: Number(process.hrtime.bigint() - head.startedNs),
    load_duration: head.loadNs,
    prompt_eval_count: usage.promptTokens,
    prompt_eval_duration: Math.round(usage.promptNs),
    eval_count: usage.completionTokens,
    eval_duration: Math.round(usage.completionNs)
  }
}
