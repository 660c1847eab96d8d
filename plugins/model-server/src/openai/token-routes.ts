import { t } from '@svc/plugin-sdk'
import type { FastifyInstance } from 'fastify'
import { bodyReader, invalid } from '../body-reader.ts'
import { contextExceeded, refuseHopelessLength } from '../prompt.ts'
import { replySignal } from '../stream-reply.ts'
import { emptyList, only, refuseUnsupported, type UnsupportedFields } from '../unsupported-fields.ts'
import type { WireServices } from '../wire-services.ts'

const open = { additionalProperties: true }

const readTokenizeBody = bodyReader(
  t.object(
    {
      model: t.optional(t.string()),
      content: t.optional(t.string()),
      add_special: t.optional(t.boolean()),
      parse_special: t.optional(t.boolean()),
      // vLLM
      prompt: t.optional(t.string()),
      add_special_tokens: t.optional(t.boolean())
    },
    open
  )
)

const readDetokenizeBody = bodyReader(
  t.object({ model: t.optional(t.string()), tokens: t.array(t.integer({ minimum: 0 })) }, open)
)

/** The engine reports the text of a token, but not the bytes of one that is a part of a character. */
const UNSUPPORTED: UnsupportedFields = {
  with_pieces: only(false),
  messages: emptyList,
  return_token_strs: only(false)
}

/**
 * Adds `/tokenize` and `/detokenize` in the formats of llama.cpp and vLLM, `/props` of llama.cpp and `/tokenizer_info` of
 * vLLM. A text or a list of tokens must fit into the context of the model, so that no request occupies the process.
 */
export function tokenRoutes(scope: FastifyInstance, { models, version }: WireServices): void {
  scope.post('/tokenize', async (request, reply) => {
    const body = readTokenizeBody(request.body)
    refuseUnsupported(body, UNSUPPORTED)
    const { content, special, begin, isVllm } = readText(body)
    const gone = replySignal(reply)
    const { served, weights } = await models.choose(body.model, gone)
    served.find(body.model)
    const { model } = await weights.use(gone)
    refuseHopelessLength(model, content, model.info.contextLength)
    const tokens = model.tokenize(content, { special, begin })
    const { contextLength } = model.info
    if (tokens.length > contextLength) throw contextExceeded(tokens.length, contextLength)
    return isVllm ? { count: tokens.length, max_model_len: contextLength, tokens } : { tokens }
  })

  scope.post('/detokenize', async (request, reply) => {
    const { tokens, model: name } = readDetokenizeBody(request.body)
    const gone = replySignal(reply)
    const { served, weights } = await models.choose(name, gone)
    served.find(name)
    const { model } = await weights.use(gone)
    const { contextLength, vocabularySize } = model.info
    if (tokens.length > contextLength) {
      throw invalid(`'tokens' must have at most ${contextLength} items, the context of the model`, 'tokens')
    }
    const unknown = tokens.find(token => token >= vocabularySize)
    if (unknown !== undefined)
      throw invalid(`'tokens' contains ${unknown}, which is not a token of this model`, 'tokens')
    const text = model.detokenize(tokens)
    return { content: text, prompt: text }
  })

  scope.get('/tokenizer_info', async (_request, reply) => {
    const gone = replySignal(reply)
    const { weights } = await models.choose(undefined, gone)
    const { model } = await weights.use(gone)
    const { endTokens = [], chatTemplate, contextLength } = model.info
    const nameOf = (tokens: readonly number[]) => (tokens.length === 0 ? null : model.detokenize(tokens.slice(0, 1)))
    return {
      tokenizer_class: 'PreTrainedTokenizerFast',
      bos_token: nameOf(model.tokenize('', { begin: true })),
      eos_token: nameOf(endTokens),
      chat_template: chatTemplate,
      model_max_length: contextLength
    }
  })

  scope.get('/props', async (_request, reply) => {
    const gone = replySignal(reply)
    const { served, weights, completions } = await models.choose(undefined, gone)
    const { model } = await weights.use(gone)
    const { temperature, maxTokens } = completions.limits
    return {
      default_generation_settings: {
        n_ctx: model.info.contextLength,
        params: { temperature, n_predict: maxTokens }
      },
      total_slots: model.capacity().slots,
      model_alias: served.name,
      modalities: { vision: false, audio: false },
      chat_template: model.info.chatTemplate ?? '',
      build_info: `svc ${version}`
    }
  })
}

/** Reads `content` of llama.cpp, or `prompt` of vLLM, which adds the begin-of-text token by default. */
function readText({ content, prompt, ...body }: ReturnType<typeof readTokenizeBody>) {
  if (content !== undefined && prompt !== undefined)
    throw invalid(`'content' and 'prompt' exclude each other`, 'prompt')
  const special = body.parse_special ?? true
  if (content !== undefined) return { content, special, begin: body.add_special ?? false, isVllm: false }
  if (prompt === undefined) throw invalid(`'content' must be a string, got nothing`, 'content')
  return { content: prompt, special, begin: body.add_special_tokens ?? true, isVllm: true }
}
