import { t } from '@svc/plugin-sdk'
import type { FastifyInstance } from 'fastify'
import { bodyReader, invalid } from '../body-reader.ts'
import { contextExceeded, refuseHopelessLength } from '../prompt.ts'
import { replySignal } from '../stream-reply.ts'
import { only, refuseUnsupported, type UnsupportedFields } from '../unsupported-fields.ts'
import type { WireServices } from '../wire-services.ts'

const open = { additionalProperties: true }

const readTokenizeBody = bodyReader(
  t.object(
    {
      model: t.optional(t.string()),
      content: t.string(),
      add_special: t.optional(t.boolean()),
      parse_special: t.optional(t.boolean())
    },
    open
  )
)

const readDetokenizeBody = bodyReader(
  t.object({ model: t.optional(t.string()), tokens: t.array(t.integer({ minimum: 0 })) }, open)
)

/** The engine reports the text of a token, but not the bytes of one that is a part of a character. */
const UNSUPPORTED: UnsupportedFields = { with_pieces: only(false) }

/**
 * Adds `/tokenize`, `/detokenize` and `/props` in the format of llama.cpp. A text or a list of tokens must fit into the
 * context of the model, so that no request occupies the process.
 */
export function tokenRoutes(scope: FastifyInstance, { models, version }: WireServices): void {
  scope.post('/tokenize', async (request, reply) => {
    const body = readTokenizeBody(request.body)
    refuseUnsupported(body, UNSUPPORTED)
    const { content, add_special: begin = false, parse_special: special = true } = body
    const gone = replySignal(reply)
    const { served, weights } = await models.choose(body.model, gone)
    served.find(body.model)
    const { model } = await weights.use(gone)
    refuseHopelessLength(model, content, model.info.contextLength)
    const tokens = model.tokenize(content, { special, begin })
    if (tokens.length > model.info.contextLength) throw contextExceeded(tokens.length, model.info.contextLength)
    return { tokens }
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
    return { content: model.detokenize(tokens) }
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
