import type { LoadedModel } from '@svc/contracts'
import { defined, t } from '@svc/plugin-sdk'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { bodyReader } from '../body-reader.ts'
import { type ChatAnswer, startChat, startText } from '../chat-answer.ts'
import { clientOf } from '../client.ts'
import type { CompletionRequest } from '../completions.ts'
import { ollamaEmbeddingRoutes } from '../embeddings/ollama.ts'
import { errors } from '../errors.ts'
import { acceptJsonBodies } from '../json-body.ts'
import { describeEmbedder, embedderOf, listModels } from '../listed-models.ts'
import type { RequestTaps } from '../request-taps.ts'
import { adapterOf } from '../served-model.ts'
import { replySignal, sendStream } from '../stream-reply.ts'
import { promptOf, type TextPrompt } from '../text-prompt.ts'
import { contextOf, errorHandler } from '../wire-error.ts'
import type { ModelChoice, WireServices } from '../wire-services.ts'
import { runningEntry, showEmbedder, showReply, tagsEntry, versionReply } from './catalog.ts'
import { routesElsewhere } from './elsewhere.ts'
import { emptyReply, line, type ReplyHead, type ReplyKind, replyRows, singleReply } from './reply.ts'
import { type OllamaQuestion, type OllamaRequest, readChatRequest, readGenerateRequest } from './requests.ts'
import { storeRoutes } from './store-routes.ts'

const NDJSON = 'application/x-ndjson'

const readShowBody = bodyReader(
  t.object({ model: t.optional(t.string()), name: t.optional(t.string()) }, { additionalProperties: true })
)

/** Adds routes of the Ollama API, with its error format for everything below `/api`. */
export function ollamaRoutes(scope: FastifyInstance, services: WireServices): void {
  const { models } = services
  scope.setErrorHandler(errorHandler(({ message }) => ({ error: message }), services))
  acceptJsonBodies(scope, services.maxBodyBytes)

  scope.post('/api/chat', async (request, reply) =>
    answer('chat', readChatRequest(request.body, services.grammars), request, reply, services)
  )
  scope.post('/api/generate', async (request, reply) =>
    answer('generate', readGenerateRequest(request.body, services.grammars), request, reply, services)
  )

  scope.get('/api/tags', async () => ({ models: (await listModels(services)).map(tagsEntry) }))
  scope.get('/api/version', async () => versionReply(services.version, models.primary.served))
  scope.get('/api/ps', async () => ({
    models: (await models.slots()).flatMap(({ served, weights }) =>
      served.state.status === 'ready' ? served.variants().map(variant => runningEntry(variant, weights.expiresAt)) : []
    )
  }))
  scope.post('/api/show', async (request, reply) => {
    const { model, name } = readShowBody(request.body)
    const asked = model ?? name
    const embedder = asked === undefined || models.has(asked) ? null : embedderOf(services, asked)
    if (embedder !== null) {
      const info = await embedder.use(replySignal(reply), async loaded => loaded.info)
      return showEmbedder(await describeEmbedder(embedder), info)
    }
    const { served, completions } = await models.choose(asked, replySignal(reply))
    return showReply(served.find(asked), completions.limits, served.defaults)
  })

  storeRoutes(scope, services)
  ollamaEmbeddingRoutes(scope, services)
  routesElsewhere(scope)
  for (const method of ['GET', 'POST', 'DELETE'] as const) {
    scope.route({ method, url: '/api/*', handler: unknownRoute })
  }
}

async function answer(
  kind: ReplyKind,
  body: OllamaRequest,
  request: FastifyRequest,
  reply: FastifyReply,
  services: WireServices
): Promise<FastifyReply | object> {
  const { models, log } = services
  const { question, keepMs } = body
  const startedNs = process.hrtime.bigint()
  const startedAt = performance.now()
  const signal = replySignal(reply)
  const unloads = question === null && keepMs === 0
  const { loadNs, ...choice } = unloads
    ? { ...(await models.slot(body.model)), loadNs: 0 }
    : await models.choose(body.model, signal)
  const { served, weights } = choice
  if (unloads && served.known === undefined && served !== models.primary.served) {
    return empty(body, { kind, model: served.name }, 'unload', reply)
  }
  const variant = served.find(body.model)
  const named = { kind, model: variant.name }
  if (question === null) {
    if (unloads) await weights.unload()
    else await weights.use(signal, keepMs)
    return empty(body, named, unloads ? 'unload' : 'load', reply)
  }
  const use = await weights.use(signal, keepMs)
  const context = kind === 'generate' && question.kind === 'chat'
  const head = { ...named, startedNs, context, loadNs: loadNs + use.loadNs }
  const commonFields = { ...adapterOf(variant), client: clientOf(request), startedAt }
  const taps = services.taps(request.headers, variant)
  const started = await start(question, use.model, named.model, commonFields, signal, choice, taps)
  if (!body.stream) return singleReply(head, started)
  return sendStream(reply, NDJSON, replyRows(head, started, contextOf(request, log)), services.stallMs())
}

function empty(
  { stream }: OllamaRequest,
  named: Pick<ReplyHead, 'kind' | 'model'>,
  reason: 'load' | 'unload',
  reply: FastifyReply
): FastifyReply | object {
  const only = emptyReply(named, reason)
  return stream ? reply.type(NDJSON).send(line(only)) : only
}

/** Starts an answer. `commonFields`: fields that all kinds of requests share; `name`: model name for errors. */
async function start(
  question: OllamaQuestion,
  model: LoadedModel,
  name: string,
  commonFields: Pick<CompletionRequest, 'adapter' | 'client' | 'startedAt'>,
  signal: AbortSignal,
  { served, completions }: ModelChoice,
  taps: RequestTaps
): Promise<ChatAnswer> {
  if (question.kind === 'chat') {
    const { intent, options } = question.chat
    return startChat(served, completions, { intent, options: { ...options, ...commonFields } }, signal, taps)
  }
  const { options, constraint } = question
  const text: TextPrompt =
    question.kind === 'raw' ? { prompt: question.text } : { prompt: question.prefix, suffix: question.suffix }
  const prompt = promptOf(model, name, await taps.prompt(model, text))
  const request = { ...options, ...commonFields, prompt, ...defined({ constraint }) }
  return startText(served, completions, request, signal, taps)
}

async function unknownRoute(request: { method: string; url: string }): Promise<never> {
  const path = request.url.split('?')[0]
  throw errors.create('MSV_ROUTE_UNKNOWN', `there is no ${request.method} ${path} on this server`)
}
