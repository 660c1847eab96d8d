import { isUtf8 } from 'node:buffer'
import type { LoadedModel } from '@svc/contracts'
import { t } from '@svc/plugin-sdk'
import type { FastifyInstance } from 'fastify'
import { bodyReader, invalid } from '../body-reader.ts'
import { contextExceeded, refuseHopelessLength } from '../prompt.ts'
import { replySignal } from '../stream-reply.ts'
import { emptyList, refuseUnsupported, type UnsupportedFields } from '../unsupported-fields.ts'
import type { WireServices } from '../wire-services.ts'

const open = { additionalProperties: true }

const readTokenizeBody = bodyReader(
  t.object(
    {
      model: t.optional(t.string()),
      content: t.optional(t.string()),
      add_special: t.optional(t.boolean()),
      parse_special: t.optional(t.boolean()),
      with_pieces: t.optional(t.boolean()),
      // vLLM
      prompt: t.optional(t.string()),
      add_special_tokens: t.optional(t.boolean()),
      return_token_strs: t.optional(t.boolean())
    },
    open
  )
)

const readDetokenizeBody = bodyReader(
  t.object(
    {
      model: t.optional(t.string()),
      tokens: t.array(t.integer({ minimum: 0 })),
      with_pieces: t.optional(t.boolean())
    },
    open
  )
)

const UNSUPPORTED: UnsupportedFields = { messages: emptyList }

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
    if (!isVllm) return { tokens: body.with_pieces === true ? piecesOf(model, tokens) : tokens }
    const texts = body.return_token_strs === true ? { token_strs: tokens.map(id => model.detokenize([id])) } : {}
    return { count: tokens.length, max_model_len: contextLength, tokens, ...texts }
  })

  scope.post('/detokenize', async (request, reply) => {
    const { tokens, model: name, with_pieces: withPieces = false } = readDetokenizeBody(request.body)
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
    return { content: text, prompt: text, ...(withPieces ? { tokens: piecesOf(model, tokens) } : {}) }
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

/** Returns each token with its text, or with its bytes if they are only a part of a character. */
function piecesOf(model: LoadedModel, tokens: readonly number[]): readonly object[] {
  return tokens.map(id => {
    const bytes = model.tokenBytes(id)
    return { id, piece: isUtf8(bytes) ? Buffer.from(bytes).toString('utf8') : [...bytes] }
  })
}
