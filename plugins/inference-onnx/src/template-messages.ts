import { createHash } from 'node:crypto'
import type { ChatMessage, ChatTool } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import { JinjaTemplate } from './jinja.ts'

/** Renders JSON with Python's spacing, as in the models' training data. */
const asPython = new JinjaTemplate('{{ tools | tojson }}')

/** Converts messages to the form that a template requires, which is detected from its source. */
export class TemplateMessages {
  /** True if the template requires call ids of nine letters and digits. */
  readonly #shortIds: boolean
  /** True if the template reads tools only as text in a field of the system message. */
  readonly #toolsInSystem: boolean

  constructor(source: string) {
    this.#shortIds = /\|\s*length\s*!=\s*9\b/.test(source)
    this.#toolsInSystem = /message(?:\.tools\b|\[\s*['"]tools['"]\s*\])/.test(source)
  }

  /** Converts messages to the field names that public templates use. `clean` is applied to every string. */
  convert(
    messages: readonly ChatMessage[],
    tools: readonly ChatTool[],
    clean: (text: string) => string
  ): Record<string, unknown>[] {
    const converted = messages.map(message => this.#message(message, clean))
    if (!this.#toolsInSystem || tools.length === 0) return converted
    const text = asPython.render({ tools }, new Date(0))
    const [first] = converted
    if (first?.role === 'system') return [{ ...first, tools: text }, ...converted.slice(1)]
    return [{ role: 'system', content: '', tools: text }, ...converted]
  }

  #message({ role, content, thinking, toolCalls, toolCallId, name }: ChatMessage, clean: (text: string) => string) {
    const thought = thinking === undefined ? undefined : clean(thinking)
    return {
      role,
      content: clean(content),
      ...defined({
        reasoning_content: thought,
        thinking: thought,
        tool_call_id: toolCallId === undefined ? undefined : this.#id(toolCallId),
        name,
        tool_calls: toolCalls?.map(({ id, name, arguments: values }) => ({
          id: this.#id(id),
          type: 'function',
          function: { name, arguments: values }
        }))
      })
    }
  }

  #id(id: string): string {
    if (!this.#shortIds || /^[A-Za-z0-9]{9}$/.test(id)) return id
    return createHash('sha256').update(id).digest('hex').slice(0, 9)
  }
}

export function toolForTemplate(tool: ChatTool): Record<string, unknown> {
  return { type: 'function', function: { ...tool } }
}
