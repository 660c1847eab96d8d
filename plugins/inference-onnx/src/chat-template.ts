import { Template } from '@huggingface/jinja'
import type { ChatAbilities, ChatMessage, ChatTool, RenderChatOptions } from '@svc/contracts'
import { inferenceErrors } from './errors.ts'

const START = '<|im_start|>'
const END = '<|im_end|>'

export interface ChatTemplateOptions {
  /** Jinja source; null for ChatML. */
  readonly source: string | null
  /** `bos_token` and its like, offered to the template. */
  readonly variables: Readonly<Record<string, string>>
  /** Names of the tokenizer's special tokens, which no message may smuggle in. */
  readonly specialNames: readonly string[]
}

/** Renders conversations into prompts that end where the assistant's answer begins. */
export class ChatTemplate {
  readonly source: string | null
  /** Told by the names that the source reads: a template says nothing else of itself. */
  readonly abilities: ChatAbilities
  readonly #template: Template | null
  readonly #variables: Readonly<Record<string, string>>
  readonly #markers: readonly string[]

  /** Throws `INF_CHAT_TEMPLATE_FAILED` when the source is not a template. */
  constructor(options: ChatTemplateOptions) {
    this.source = options.source
    this.abilities = {
      tools: /\btools\b/.test(options.source ?? ''),
      thinking: /\benable_thinking\b/.test(options.source ?? '')
    }
    this.#variables = options.variables
    this.#markers = [...new Set([START, END, ...options.specialNames])].filter(name => /^<\|.*\|>$/.test(name))
    this.#template = options.source === null ? null : guard(() => new Template(options.source as string))
  }

  /**
   * The prompt of a conversation. Special tokens that a message spells out are neutralised: `<|im_end|>` becomes
   * `[im_end]`. A single user message that is ChatML already is taken as it is.
   *
   * Throws `INF_CHAT_TEMPLATE_FAILED` with the template's own words, for example about the order of roles.
   */
  render(messages: readonly ChatMessage[], options: RenderChatOptions = {}): string {
    const [only] = messages
    if (messages.length === 1 && only?.role === 'user' && isChatMl(only.content)) return openTurn(only.content)
    const { tools = [], thinking } = options
    const template = options.template === undefined ? this.#template : guard(() => new Template(`${options.template}`))
    if (template === null) {
      return openTurn(messages.map(({ role, content }) => turn(role, this.#neutralise(content))).join(''))
    }
    return guard(() =>
      template.render({
        ...this.#variables,
        messages: messages.map(message => this.#forTemplate(message)),
        add_generation_prompt: true,
        ...(tools.length === 0 ? {} : { tools: tools.map(toolForTemplate) }),
        ...(thinking === undefined ? {} : { enable_thinking: thinking })
      })
    )
  }

  /** A message with the field names that templates of public models read. */
  #forTemplate({ role, content, thinking, toolCalls, toolCallId, name }: ChatMessage): Record<string, unknown> {
    return {
      role,
      content: this.#neutralise(content),
      ...(thinking === undefined ? {} : { reasoning_content: this.#neutralise(thinking) }),
      ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
      ...(name === undefined ? {} : { name }),
      ...(toolCalls === undefined
        ? {}
        : { tool_calls: toolCalls.map(call => ({ id: call.id, type: 'function', function: { ...call } })) })
    }
  }

  #neutralise(content: string): string {
    let text = content
    for (const marker of this.#markers) text = text.replaceAll(marker, `[${marker.slice(2, -2)}]`)
    return text
  }
}

function toolForTemplate(tool: ChatTool): Record<string, unknown> {
  return { type: 'function', function: { ...tool } }
}

function isChatMl(text: string): boolean {
  return text.trimStart().startsWith(START) && text.includes(END)
}

function turn(role: string, content: string): string {
  return `${START}${role}\n${content}${END}\n`
}

/** Adds the assistant's header, unless a turn is open already. */
function openTurn(text: string): string {
  const trimmed = text.trimEnd()
  if (trimmed !== '' && !trimmed.endsWith(END)) return text
  return `${trimmed}${trimmed === '' ? '' : '\n'}${START}assistant\n`
}

function guard<A>(render: () => A): A {
  try {
    return render()
  } catch (cause) {
    throw inferenceErrors.create(
      'INF_CHAT_TEMPLATE_FAILED',
      `The model's chat template failed: ${(cause as Error).message}`,
      { cause, hint: 'Check that the roles alternate as the template wants, or remove the template to use ChatML.' }
    )
  }
}
