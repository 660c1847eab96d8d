import type { ChatAbilities, ChatMessage, ChatTool, RenderChatOptions } from '@svc/contracts'
import { inferenceErrors } from './errors.ts'
import { JinjaTemplate } from './jinja.ts'
import { TemplateMessages, toolForTemplate } from './template-messages.ts'

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
  /** Jinja source for conversations with tools, where the tokenizer has one of its own for them. */
  readonly toolSource?: string | null
  /** `bos_token` and its like, offered to the template. */
  readonly variables: Readonly<Record<string, string>>
  /** Names of the tokenizer's special tokens, which no message may smuggle in. */
  readonly specialNames: readonly string[]
  /** The time that templates may show; default: the present. */
  readonly now?: () => Date
}

/** Renders conversations into prompts that end where the assistant's answer begins. */
export class ChatTemplate {
  readonly source: string | null
  /** Told by what the template makes of a tool, and of the two ways to think. */
  readonly abilities: ChatAbilities
  readonly #template: Compiled | null
  readonly #toolTemplate: Compiled | null
  readonly #variables: Readonly<Record<string, string>>
  readonly #markers: readonly string[]
  readonly #now: () => Date

  /** Throws `INF_CHAT_TEMPLATE_FAILED` when the source is not a template. */
  constructor({ source, toolSource = null, variables, specialNames, now = () => new Date() }: ChatTemplateOptions) {
    this.source = source
    this.#variables = variables
    this.#markers = [...new Set([START, END, ...specialNames])].filter(name => /^<\|.*\|>$/.test(name))
    this.#now = now
    this.#template = source === null ? null : compile(source)
    this.#toolTemplate = toolSource === null ? this.#template : compile(toolSource)
    this.abilities = {
      tools: this.#shows(PROBE_TOOL.name, { tools: [PROBE_TOOL] }),
      thinking: this.#differs({ thinking: true }, { thinking: false })
    }
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
    const own = tools.length > 0 ? this.#toolTemplate : this.#template
    const compiled = options.template === undefined ? own : compile(options.template)
    if (compiled === null) {
      return openTurn(messages.map(({ role, content }) => turn(role, this.#neutralise(content))).join(''))
    }
    const variables = {
      ...this.#variables,
      messages: compiled.messages.convert(messages, tools, text => this.#neutralise(text)),
      add_generation_prompt: true,
      tools: tools.length === 0 ? null : tools.map(toolForTemplate),
      documents: null,
      ...(thinking === undefined ? {} : { enable_thinking: thinking })
    }
    return guard(() => compiled.template.render(variables, this.#now()))
  }

  #shows(text: string, options: RenderChatOptions): boolean {
    return this.#probe(options)?.includes(text) ?? false
  }

  #differs(one: RenderChatOptions, other: RenderChatOptions): boolean {
    return this.#probe(one) !== this.#probe(other)
  }

  /** Null where the template refuses the shortest conversation. */
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
  return guard(() => ({ template: new JinjaTemplate(source), messages: new TemplateMessages(source) }))
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
