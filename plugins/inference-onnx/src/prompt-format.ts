import { defined } from '@svc/plugin-sdk'
import { ChatTemplate } from './chat-template.ts'
import type { ServedConfig } from './model-config.ts'
import type { RunDirectory } from './run-directory.ts'
import type { TemplateThreads } from './template-threads.ts'
import type { Tokenizer } from './tokenizer.ts'

/** Returns the chat template of a run directory; ChatML if it has none. Throws `INF_CHAT_TEMPLATE_FAILED`. */
export function chatTemplate(directory: RunDirectory, tokenizer: Tokenizer, threads?: TemplateThreads): ChatTemplate {
  const configuration = directory.tokenizerConfiguration ?? {}
  const variables = Object.entries(configuration).flatMap(([name, value]) => {
    const text = tokenText(value)
    return name.endsWith('_token') && text !== null ? [[name, text] as const] : []
  })
  const template = configuration.chat_template
  return new ChatTemplate({
    source: directory.chatTemplate ?? templateSource(template, 'default'),
    toolSource:
      directory.chatTemplate === null && Array.isArray(template) ? templateSource(template, 'tool_use') : null,
    variables: Object.fromEntries(variables),
    specialNames: tokenizer.specialNames,
    ...defined({ threads })
  })
}

/** Selects the only template or the one with this name; for `default`, else the first. */
function templateSource(value: unknown, name: 'default' | 'tool_use'): string | null {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return null
  const entry = value.find(entry => entry?.name === name) ?? (name === 'default' ? value[0] : null)
  return typeof entry?.template === 'string' ? entry.template : null
}

/** Returns the text of a special token, which is stored as a string or in an object. */
function tokenText(value: unknown): string | null {
  const text = typeof value === 'object' && value !== null ? (value as { content?: unknown }).content : value
  return typeof text === 'string' ? text : null
}

/** End-of-turn tokens of ChatML, Llama 3, Phi and Gemma, which configurations of fine-tuned checkpoints often omit. */
const turnEnds = ['<|im_end|>', '<|eot_id|>', '<|eom_id|>', '<|end|>', '<end_of_turn>']

/** Returns the tokens that end a sequence: those in the configurations, and end-of-turn tokens. */
export function endTokens(config: ServedConfig, directory: RunDirectory, tokenizer: Tokenizer): ReadonlySet<number> {
  const names = [...turnEnds, tokenText(directory.tokenizerConfiguration?.eos_token)]
  const ids = names.map(name => (name === null ? null : tokenizer.id(name)))
  return new Set([...config.endTokens, ...ids.filter(id => id !== null)])
}
