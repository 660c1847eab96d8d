import type { EmbedOptions, LoadedEmbedder, Vectors } from '@svc/contracts'
import { defined, t } from '@svc/plugin-sdk'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { bodyReader, invalid } from '../body-reader.ts'
import { keepAliveMs } from '../ollama/keep-alive.ts'
import { replySignal, sendStream } from '../stream-reply.ts'
import { unsupported } from '../unsupported-fields.ts'
import type { WireServices } from '../wire-services.ts'
import { notConfigured } from './not-configured.ts'
import { MAX_INPUTS } from './openai.ts'
import { jsonList, jsonRows, vectorAt } from './reply.ts'

/** LangChain sends null for every option that is not set. */
const contextLength = t.optional(t.nullable(t.integer({ minimum: 1 })))
const options = t.optional(t.object({ num_ctx: contextLength }, { additionalProperties: true }))
const common = { model: t.optional(t.string()), keep_alive: t.optional(t.unknown()), options }
const open = { additionalProperties: true }

const readEmbedBody = bodyReader(
  t.object(
    {
      ...common,
      input: t.optional(t.union([t.string(), t.array(t.string())], { description: 'a text or a list of texts' })),
      truncate: t.optional(t.boolean()),
      dimensions: t.optional(t.integer({ minimum: 0 }))
    },
    open
  )
)
const readPromptBody = bodyReader(t.object({ ...common, prompt: t.optional(t.string()) }, open))

type Common = Pick<ReturnType<typeof readPromptBody>, 'model' | 'keep_alive' | 'options'>

/** Adds `POST /api/embed` and the older `POST /api/embeddings`. */
export function ollamaEmbeddingRoutes(scope: FastifyInstance, services: WireServices): void {
  const { embedder } = services

  /** Computes vectors of length 1, as Ollama does for every model. */
  const embed = async (
    reply: FastifyReply,
    body: Common,
    texts: readonly string[],
    options: Pick<EmbedOptions, 'truncate' | 'dimensions'>
  ) => {
    if (embedder === null) return notConfigured(reply)
    embedder.check(body.model)
    const keepMs = keepAliveMs(body.keep_alive)
    const startedNs = process.hrtime.bigint()
    return embedder.use(
      replySignal(reply),
      async (model, signal) => {
        const loadedNs = process.hrtime.bigint()
        checkContext(model, body.options?.num_ctx)
        const dimensions = options.dimensions ?? model.info.dimensions
        const vectors = await model.embed(texts, { ...options, dimensions, signal })
        return { vectors, startedNs, loadedNs }
      },
      keepMs
    )
  }

  scope.post('/api/embed', async (request, reply) => {
    if (embedder === null) return notConfigured(reply)
    const body = readEmbedBody(request.body)
    const { input = [], truncate = true, dimensions } = body
    // Like Ollama: an empty text has no vector, and 0 dimensions are all.
    const texts = typeof input === 'string' ? [input].filter(text => text !== '') : input
    if (texts.length > MAX_INPUTS) {
      throw invalid(`'input' has ${texts.length} texts; the limit is ${MAX_INPUTS} in one request`, 'input')
    }
    const wanted = { truncate, ...defined({ dimensions: dimensions || undefined }) }
    const { vectors, startedNs, loadedNs } = await embed(reply, body, texts, wanted)
    const tail = {
      total_duration: Number(process.hrtime.bigint() - startedNs),
      load_duration: Number(loadedNs - startedNs),
      prompt_eval_count: vectors.tokens
    }
    const head = `{"model":${JSON.stringify(embedder.name)},"embeddings":[`
    return send(reply, vectors, [head, `],${JSON.stringify(tail).slice(1)}`])
  })

  scope.post('/api/embeddings', async (request, reply) => {
    if (embedder === null) return notConfigured(reply)
    const body = readPromptBody(request.body)
    const { prompt = '' } = body
    const { vectors } = await embed(reply, body, prompt === '' ? [] : [prompt], { truncate: true })
    const list = vectors.count === 0 ? '[]' : jsonList(vectorAt(vectors, 0))
    return reply.type('application/json; charset=utf-8').send(`{"embedding":${list}}`)
  })

  const send = (reply: FastifyReply, vectors: Vectors, frame: readonly [string, string]) =>
    sendStream(reply, 'application/json; charset=utf-8', jsonRows(vectors, frame, jsonList), services.stallMs())
}

/** Throws `MSV_UNSUPPORTED` for a context below the model's: this server does not shorten it. */
function checkContext({ info }: LoadedEmbedder, context: number | null | undefined): void {
  if (context == null || context >= info.contextLength) return
  throw unsupported(
    'options.num_ctx',
    `the context of the model has ${info.contextLength} tokens and cannot be shortened`
  )
}
