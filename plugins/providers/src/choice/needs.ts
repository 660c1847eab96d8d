import { type InferenceChatRequest, imagesOf } from '@svc/contracts'
import { takesImageUrls } from '../provider-list.ts'
import type { ModelEntry } from '../registry/entry.ts'
import type { CategoryName } from './categories.ts'

/** Requirements of a request for its model. */
export interface Needs {
  readonly json: boolean
  readonly tools: boolean
  readonly vision: boolean
  /** Whether an image is an address, which the provider must load. */
  readonly imageUrls: boolean
  /** A grammar or a regular expression, which only svc's own model server supports. */
  readonly grammar: boolean
  /** Estimated tokens of the prompt. */
  readonly promptTokens: number
  /** Tokens of prompt and answer together. */
  readonly contextTokens: number
}

const CHARACTERS_PER_TOKEN = 4
/** Tokens that providers count for a large image, about. */
const TOKENS_PER_IMAGE = 1_600

type Asked = Pick<InferenceChatRequest, 'messages' | 'prompt' | 'format' | 'tools'>

/** Derives the needs from a request. `maxTokens`: tokens of the answer. */
export function needsOf(request: Asked, category: CategoryName, maxTokens: number): Needs {
  const { messages, prompt, format, tools } = request
  const texts = prompt === undefined ? messages.map(({ content }) => content) : [prompt.system ?? '', prompt.text]
  const schemas = tools === undefined ? 0 : JSON.stringify(tools).length
  const characters = texts.reduce((sum, each) => sum + each.length, schemas)
  const images = imagesOf(request)
  const promptTokens = Math.ceil(characters / CHARACTERS_PER_TOKEN) + images.length * TOKENS_PER_IMAGE
  return {
    json: format !== undefined,
    tools: prompt === undefined && tools !== undefined && tools.length > 0,
    vision: category === 'vision' || images.length > 0,
    imageUrls: images.some(image => 'url' in image),
    grammar: typeof format === 'object' && (format.type === 'grammar' || format.type === 'regex'),
    promptTokens,
    contextTokens: promptTokens + maxTokens
  }
}

/** Returns what a model lacks for a request; null if it supports everything. */
export function lackOf({ capabilities, provider }: ModelEntry, needs: Needs): string | null {
  const { maxContext } = capabilities
  if (needs.grammar && provider !== 'ollama') return 'it does not support grammars'
  if (needs.json && !capabilities.supportsJson) return 'it does not support JSON'
  if (needs.tools && !capabilities.supportsNativeTools) return 'it does not support tools'
  if (needs.vision && !capabilities.supportsVision) return 'it does not support images'
  if (needs.imageUrls && !takesImageUrls(provider)) return 'it takes images as data, not as addresses'
  if (maxContext > 0 && needs.promptTokens >= maxContext)
    return `its context holds ${maxContext} tokens, and the prompt has about ${needs.promptTokens}`
  return null
}
