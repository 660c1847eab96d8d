import { ChatTemplate } from './chat-template.ts'
import type { DecoderConfig } from './model-config.ts'
import type { RunDirectory } from './run-directory.ts'
import type { Tokenizer } from './tokenizer.ts'

/** The chat template of a run directory; ChatML when it has none. Throws `INF_CHAT_TEMPLATE_FAILED`. */
export function chatTemplate(directory: RunDirectory, tokenizer: Tokenizer): ChatTemplate {
  const configuration = directory.tokenizerConfiguration ?? {}
  const variables = Object.entries(configuration).flatMap(([name, value]) => {
    const text = tokenText(value)
    return name.endsWith('_token') && text !== null ? [[name, text] as const] : []
  })
  return new ChatTemplate({
    source: directory.chatTemplate ?? templateSource(configuration.chat_template),
    variables: Object.fromEntries(variables),
    specialNames: tokenizer.specialNames
  })
}

/** One template, or several with names, of which `default` counts. */
function templateSource(value: unknown): string | null {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return null
  const entry = value.find(({ name }) => name === 'default') ?? value[0]
  return typeof entry?.template === 'string' ? entry.template : null
}

/** A special token is written as its text, or as an object with it. */
function tokenText(value: unknown): string | null {
  const text = typeof value === 'object' && value !== null ? (value as { content?: unknown }).content : value
  return typeof text === 'string' ? text : null
}

/** Tokens that end a sequence: what the configurations say, and the end of a ChatML turn. */
export function endTokens(config: DecoderConfig, directory: RunDirectory, tokenizer: Tokenizer): ReadonlySet<number> {
  const names = ['<|im_end|>', tokenText(directory.tokenizerConfiguration?.eos_token)]
  const ids = names.map(name => (name === null ? null : tokenizer.id(name)))
  return new Set([...config.endTokens, ...ids.filter(id => id !== null)])
}
