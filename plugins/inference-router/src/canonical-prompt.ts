/** Fields of a request body; nothing about their types is known. */
export type Body = Readonly<Record<string, unknown>>

const FIELD_END = '\x1f'
const MESSAGE_END = '\x1e'

/**
 * Returns the prompt of a chat as one text, in the order in which chat templates render it: tools, then messages. The
 * same conversation gives the same text in OpenAI's and in Ollama's format, and a longer conversation continues it.
 */
export function chatPrompt({ messages, tools }: Body): string {
  const parts: string[] = []
  if (Array.isArray(tools) && tools.length > 0) parts.push(JSON.stringify(tools), MESSAGE_END)
  for (const message of Array.isArray(messages) ? messages : []) {
    if (typeof message !== 'object' || message === null) continue
    const { role, content, ...rest } = message as Record<string, unknown>
    parts.push(String(role), FIELD_END, textOf(content))
    for (const [key, value] of Object.entries(rest)) {
      if (value !== null && value !== undefined) parts.push(FIELD_END, key, FIELD_END, textOf(value))
    }
    parts.push(MESSAGE_END)
  }
  return parts.join('')
}

/** Returns the prompt of a text completion in either format. Token lists become JSON. */
export function textPrompt({ system, context, prompt, suffix }: Body): string {
  const fields = [system, context, prompt, suffix].filter(each => each !== undefined && each !== null && each !== '')
  return fields.map(textOf).join(MESSAGE_END)
}

/** Returns the text of an embedding request: `input`, or `prompt` of Ollama's older route. */
export function embeddingPrompt({ input, prompt }: Body): string {
  return textOf(input ?? prompt ?? '')
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return value === null || value === undefined ? '' : JSON.stringify(value)
}
