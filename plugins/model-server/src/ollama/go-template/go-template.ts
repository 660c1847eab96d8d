import type { ChatMessage, ChatTool } from '@svc/contracts'
import type { Value } from './functions.ts'
import { fieldsOf, type Node } from './nodes.ts'
import { parseTemplate } from './parse.ts'
import { RenderBudget, render } from './render.ts'

/** Input of a template. */
export interface TemplateInput {
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly ChatTool[]
  readonly thinking?: boolean
}

/** True for a template of Go's text/template, in which fields begin with a dot; false for Jinja. */
export function isGoTemplate(template: string): boolean {
  if (template.includes('{%')) return false
  for (let start = template.indexOf('{{'); start !== -1; ) {
    const close = template.indexOf('}}', start + 2)
    if (close === -1) return false
    if (/\.[A-Z]/.test(template.slice(start + 2, close).split(/[}%]/, 1)[0] as string)) return true
    start = template.indexOf('{{', close + 2)
  }
  return false
}

/**
 * Template of Ollama: Go's text/template over `.Messages` and `.Tools`, or over `.System`, `.Prompt` and `.Response`,
 * which is rendered for each question with its answer.
 */
export class GoTemplate {
  readonly text: string
  readonly #nodes: readonly Node[]
  readonly #fields: ReadonlySet<string>

  /** Throws `MSV_UNSUPPORTED`, quoting the first action that is not supported. */
  constructor(text: string) {
    this.text = text
    this.#nodes = parseTemplate(text)
    this.#fields = new Set(fieldsOf(this.#nodes))
  }

  /** True if it shows tools to the model. */
  get hasTools(): boolean {
    return this.#fields.has('Tools') && this.#fields.has('Messages')
  }

  /** True if it can enable and disable thoughts. */
  get hasThinking(): boolean {
    return this.#fields.has('Think')
  }

  /**
   * Renders a conversation, up to the beginning of the answer. Throws `MSV_REQUEST_INVALID` if the template fails or
   * exceeds a limit.
   */
  render({ messages, tools = [], thinking }: TemplateInput): string {
    const { system, turns } = collated(messages)
    const budget = new RenderBudget()
    const common = { Think: thinking ?? false, IsThinkSet: thinking !== undefined, ThinkLevel: '' }
    if (this.#fields.has('Messages')) {
      const Tools = tools.map(each => ({ type: 'function', function: each }))
      const data = { ...common, System: system, Messages: turns.map(wireMessage), Tools, Response: '' }
      return render(this.#nodes, data, { untilResponse: false, budget })
    }
    return roundsOf(turns)
      .map((round, at, rounds) => this.#renderRound({ ...common, ...round }, at === rounds.length - 1, budget))
      .join('')
  }

  #renderRound(data: Readonly<Record<string, Value>>, isLast: boolean, budget: RenderBudget): string {
    const text = render(this.#nodes, data, { untilResponse: isLast, budget })
    // Like Ollama: the answer follows a template that does not place it.
    return this.#fields.has('Response') ? text : text + String(data.Response)
  }
}

/** Joins successive messages of a role, and all system messages. */
function collated(messages: readonly ChatMessage[]): { readonly system: string; readonly turns: ChatMessage[] } {
  const turns: ChatMessage[] = []
  for (const message of messages) {
    const last = turns.at(-1)
    const joins = last?.role === message.role && message.role !== 'tool'
    if (!joins || last.toolCalls !== undefined || message.toolCalls !== undefined) turns.push(message)
    else if (message.content !== '') turns.splice(-1, 1, { ...last, content: `${last.content}\n\n${message.content}` })
  }
  const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content)
  return { system: system.join('\n\n'), turns }
}

function wireMessage({ role, content, thinking = '', toolCalls = [], toolCallId = '', name = '' }: ChatMessage) {
  const calls = toolCalls.map((call, index) => ({ function: { index, name: call.name, arguments: call.arguments } }))
  return { role, content, thinking, tool_calls: calls, tool_name: name, tool_call_id: toolCallId }
}

/** Splits a conversation into questions with their answers, without tool messages. The last one may have no answer. */
function roundsOf(
  turns: readonly ChatMessage[]
): readonly Readonly<Record<'System' | 'Prompt' | 'Response', string>>[] {
  const rounds: Record<'System' | 'Prompt' | 'Response', string>[] = []
  let round = { System: '', Prompt: '', Response: '' }
  const next = (): void => {
    rounds.push(round)
    round = { System: '', Prompt: '', Response: '' }
  }
  for (const { role, content } of turns) {
    // toestub-ignore(stringly-typed-enum) - the type is a union of these texts
    if (role === 'system') {
      if (round.Prompt !== '' || round.Response !== '') next()
      round.System = content
    } else if (role === 'assistant') round.Response = content
    else if (role === 'user') {
      if (round.Response !== '') next()
      round.Prompt = content
    }
  }
  return [...rounds, round]
}
