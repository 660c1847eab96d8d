import { defined } from '@svc/plugin-sdk'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { AnswerEvent } from '../answer/answer.ts'
import { type ChatRequest, startChat, startText } from '../chat-answer.ts'
import { clientOf } from '../client.ts'
import { type Job, runConcurrently } from '../concurrent-jobs.ts'
import { embeddingsRoute } from '../embeddings/openai.ts'
import { rerankRoutes } from '../embeddings/rerank.ts'
import { errors } from '../errors.ts'
import { infillRoute } from '../infill/route.ts'
import { acceptJsonBodies } from '../json-body.ts'
import { describeEmbedder, describeModel, embedderOf, type ListedModel, listModels } from '../listed-models.ts'
import { promptLogprobs, scorePrompts } from '../prompt-scores.ts'
import { responsesRoutes } from '../responses/routes.ts'
import { adapterOf } from '../served-model.ts'
import { replySignal, sendStream } from '../stream-reply.ts'
import { promptOf, textOf } from '../text-prompt.ts'
import { contextOf, errorHandler } from '../wire-error.ts'
import type { WireServices } from '../wire-services.ts'
import { chatCompletion, chatCompletionChunks } from './chat-reply.ts'
import { readChatRequest } from './chat-request.ts'
import { textCompletion, textCompletionChunks } from './completion-reply.ts'
import { readCompletionRequest } from './completion-request.ts'
import { openAiError } from './error-shape.ts'
import { replyHead } from './reply-head.ts'
import { tokenRoutes } from './token-routes.ts'

/** Adds routes of the OpenAI completions APIs, with their error format for everything below `/v1`. */
export function openAiRoutes(scope: FastifyInstance, services: WireServices): void {
  const { models, log } = services
  scope.setErrorHandler(errorHandler(openAiError, services))
  acceptJsonBodies(scope, services.maxBodyBytes)

  scope.post('/v1/chat/completions', async (request, reply) => {
    const chat = readChatRequest(request.body, services.grammars)
    const client = clientOf(request)
    const startedAt = performance.now()
    const gone = replySignal(reply)
    const { served, completions, weights } = await models.choose(chat.model, gone)
    const variant = served.find(chat.model)
    await weights.use(gone)
    const taps = services.taps(request.headers, variant)
    const job = (choice: ChatRequest): Job<AnswerEvent> => {
      return async (admitted, signal) => {
        const options = { ...choice.options, ...adapterOf(variant), admitted, client, startedAt }
        return (await startChat(served, completions, { ...choice, options }, signal, taps)).events
      }
    }
    const [first, ...others] = chat.choices
    const events = await runConcurrently([job(first), ...others.map(job)], completions.slots, gone)
    const head = replyHead('chatcmpl', variant)
    const count = chat.choices.length
    if (!chat.stream) return chatCompletion(head, events, count, first.options.logprobs !== undefined)
    return sendEvents(reply, chatCompletionChunks(head, events, count, chat.includeUsage, contextOf(request, log)))
  })

  scope.post('/v1/completions', async (request, reply) => {
    const body = readCompletionRequest(request.body, services.grammars)
    const gone = replySignal(reply)
    const { served, completions, weights } = await models.choose(body.model, gone)
    const variant = served.find(body.model)
    const { model } = await weights.use(gone)
    const { n, bestOf } = body
    const client = clientOf(request)
    const startedAt = performance.now()
    const taps = services.taps(request.headers, variant)
    const texts = await Promise.all(body.prompts.map(prompt => taps.prompt(model, prompt)))
    const prompts = texts.map(text => promptOf(model, served.name, text))
    const asksEcho = body.echo && body.logprobs !== undefined
    const scores =
      asksEcho || body.promptLogprobs !== undefined
        ? await scorePrompts(
            completions,
            model,
            prompts,
            {
              ...adapterOf(variant),
              top: Math.max(asksEcho ? (body.logprobs ?? 0) : 0, body.promptLogprobs ?? 0),
              client,
              startedAt
            },
            gone
          )
        : []
    const [first, ...others] = prompts.flatMap(prompt =>
      Array.from({ length: bestOf }, (_, choice): Job<AnswerEvent> => {
        return async (admitted, signal) => {
          const options = { ...body.options(choice), ...adapterOf(variant), prompt, admitted, client, startedAt }
          return (await startText(served, completions, options, signal, taps)).events
        }
      })
    )
    const jobs = [first as Job<AnswerEvent>, ...others] as const
    const events = await runConcurrently(jobs, completions.slots, gone)
    const head = replyHead('cmpl', variant)
    const echoes = texts.map(({ prompt }) => (body.echo ? textOf(model, prompt) : ''))
    const shape = {
      prompts: echoes.map((echo, at) => ({
        echo,
        ...(asksEcho ? { logprobs: { tokens: scores[at] ?? [], top: body.logprobs ?? 0 } } : {}),
        ...(body.promptLogprobs === undefined ? {} : { report: promptLogprobs(scores[at] ?? [], body.promptLogprobs) })
      })),
      n,
      bestOf,
      logprobs: body.logprobs !== undefined
    }
    if (!body.stream) return textCompletion(head, events, shape)
    return sendEvents(reply, textCompletionChunks(head, events, shape, body.includeUsage, contextOf(request, log)))
  })

  responsesRoutes(scope, services)
  tokenRoutes(scope, services)
  infillRoute(scope, services)

  scope.get('/v1/models', async () => ({ object: 'list', data: (await listModels(services)).map(modelEntry) }))

  // The id of a model may contain slashes, as the names of Hugging Face.
  scope.get<{ Params: { '*': string } }>('/v1/models/*', async request => {
    const name = request.params['*']
    const embedder = models.has(name) ? null : embedderOf(services, name)
    return modelEntry(await (embedder === null ? describeModel(models, name) : describeEmbedder(embedder)))
  })

  const sendEvents = (reply: FastifyReply, chunks: AsyncIterable<string>) =>
    sendStream(reply, 'text/event-stream; charset=utf-8', chunks, services.stallMs())

  embeddingsRoute(scope, services)
  rerankRoutes(scope, services)
  for (const method of ['GET', 'POST', 'DELETE'] as const) {
    scope.route({ method, url: '/v1/*', handler: unknownRoute })
  }
}

function modelEntry({ name, modifiedAt, contextLength, parent, kind, dimensions }: ListedModel): object {
  return {
    id: name,
    object: 'model',
    created: Math.floor(modifiedAt.getTime() / 1000),
    owned_by: 'svc',
    // Common extension: clients use it to size their prompts.
    ...(contextLength === undefined ? {} : { max_model_len: contextLength }),
    ...(parent === null ? {} : { parent }),
    // Keeps clients of this server from chatting with a model that computes vectors or scores.
    ...defined({ kind, dimensions })
  }
}

async function unknownRoute(request: { method: string; url: string }): Promise<never> {
  const path = request.url.split('?')[0]
  throw errors.create(
    'MSV_ROUTE_UNKNOWN',
    `there is no ${request.method} ${path}: use POST /v1/chat/completions, POST /v1/responses, POST /v1/completions or GET /v1/models`
  )
}
