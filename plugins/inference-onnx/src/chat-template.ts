import type { ChatCapabilities, ChatMessage, ChatTool, RenderChatOptions, RenderTemplateOptions } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import { inferenceErrors } from './errors.ts'
import { JinjaTemplate } from './jinja.ts'
import { TemplateMessages, toolForTemplate } from './template-messages.ts'
import { TemplateThreads } from './template-threads.ts'

const START = '<|im_start|>'
const END = '<|im_end|>'
const PROBE_TOOL: ChatTool = {
  name: 'probe_of_abilities',
  description: '',
  parameters: { type: 'object', properties: {}, required: [] }
}

interface Compiled {
  readonly template: JinjaTemplate
  readonly messages: TemplateMessages
}

export interface ChatTemplateOptions {
  /** Jinja source; null for ChatML. */
  readonly source: string | null
  /** Jinja source for conversations with tools, if the tokenizer has a separate one. */
  readonly toolSource?: string | null
  /** `bos_token` and similar, as template variables. */
  readonly variables: Readonly<Record<string, string>>
  /** Names of the tokenizer's special tokens, which are escaped in messages. */
  readonly specialNames: readonly string[]
  /** Renders templates that requests contain. */
  readonly threads?: TemplateThreads
  /** Clock for templates; default: the current time. */
  readonly now?: () => Date
}

/** Renders conversations into prompts that end where the assistant's answer begins. */
export class ChatTemplate {
  readonly source: string | null
  /** Detected by rendering the template with a tool, and with both thinking modes. */
  readonly capabilities: ChatCapabilities
  readonly #template: Compiled | null
  readonly #toolTemplate: Compiled | null
  readonly #variables: Readonly<Record<string, string>>
  readonly #markers: readonly string[]
  readonly #threads: TemplateThreads
  readonly #now: () => Date

  /** Throws `INF_CHAT_TEMPLATE_FAILED` when the source is not a template. */
  constructor(options: ChatTemplateOptions) {
    const { source, toolSource = null, variables, specialNames, threads, now = () => new Date() } = options
    this.source = source
    this.#variables = variables
    this.#markers = [...new Set([START, END, ...specialNames])].filter(name => /^<\|.*\|>$/.test(name))
    this.#threads = threads ?? new TemplateThreads()
    this.#now = now
    this.#template = source === null ? null : guard(() => compile(source))
    this.#toolTemplate = toolSource === null ? this.#template : guard(() => compile(toolSource))
    this.capabilities = {
      tools: this.#shows(PROBE_TOOL.name, { tools: [PROBE_TOOL] }),
      thinking: this.#differs({ thinking: true }, { thinking: false })
    }
  }

  /**
   * Renders the prompt of a conversation. Names of special tokens in messages are escaped: `<|im_end|>` becomes
   * `[im_end]`. A single user message that is already ChatML is used unchanged.
   *
   * Throws `INF_CHAT_TEMPLATE_FAILED` with the template's message, for example about the order of roles.
   */
  render(messages: readonly ChatMessage[], options: RenderChatOptions = {}): string {
    const [only] = messages
    if (messages.length === 1 && only?.role === 'user' && isChatMl(only.content)) return openTurn(only.content)
    const { tools = [], thinking } = options
    const own = tools.length > 0 ? this.#toolTemplate : this.#template
    if (own === null) {
      return openTurn(messages.map(({ role, content }) => turn(role, this.#neutralise(content))).join(''))
    }
    return guard(() => own.template.render(this.#variablesFor(own.messages, messages, tools, thinking), this.#now()))
  }

  /** Like `render`, with a template from the request. That template runs in a separate thread, and is not probed. */
  async renderTemplate(
    source: string,
    messages: readonly ChatMessage[],
    { tools = [], thinking, client }: RenderTemplateOptions = {}
  ): Promise<string> {
    const variables = this.#variablesFor(new TemplateMessages(source), messages, tools, thinking)
    return this.#threads.render(source, variables, this.#now(), client)
  }

  #variablesFor(
    converter: TemplateMessages,
    messages: readonly ChatMessage[],
    tools: readonly ChatTool[],
    thinking: boolean | undefined
  ): Record<string, unknown> {
    return {
      ...this.#variables,
      messages: converter.convert(messages, tools, text => this.#neutralise(text)),
      add_generation_prompt: true,
      tools: tools.length === 0 ? null : tools.map(toolForTemplate),
      documents: null,
      ...defined({ enable_thinking: thinking })
    }
  }

  #shows(text: string, options: RenderChatOptions): boolean {
    return this.#probe(options)?.includes(text) ?? false
  }

  #differs(one: RenderChatOptions, other: RenderChatOptions): boolean {
    return this.#probe(one) !== this.#probe(other)
  }

  /** Renders the shortest conversation; null if the template rejects it. */
  #probe(options: RenderChatOptions): string | null {
    try {
      return this.render([{ role: 'user', content: 'Hi' }], options)
    } catch {
      return null
    }
  }

  #neutralise(content: string): string {
    let text = content
    for (const marker of this.#markers) text = text.replaceAll(marker, `[${marker.slice(2, -2)}]`)
    return text
  }
}

function compile(source: string): Compiled {
  return { template: new JinjaTemplate(source), messages: new TemplateMessages(source) }
}

function isChatMl(text: string): boolean {
  return text.trimStart().startsWith(START) && text.includes(END)
}

function turn(role: string, content: string): string {
  return `${START}${role}\n${content}${END}\n`
}

/** Appends the assistant's header, unless a turn is already open. */
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
      { cause, hint: 'Check that the roles alternate as the template requires, or remove the template to use ChatML.' }
    )
  }
}
