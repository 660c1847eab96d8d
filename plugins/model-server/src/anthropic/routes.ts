import type { FastifyInstance, FastifyRequest } from 'fastify'
import { invalid } from '../body-reader.ts'
import { startChat } from '../chat-answer.ts'
import { planChat } from '../chat-plan.ts'
import { clientOf } from '../client.ts'
import { withDefaultMessages } from '../defaults/model-defaults.ts'
import { acceptJsonBodies } from '../json-body.ts'
import { promptTokens } from '../prompt.ts'
import { adapterOf } from '../served-model.ts'
import { replySignal, sendStream } from '../stream-reply.ts'
import { contextOf, errorHandler } from '../wire-error.ts'
import type { WireServices } from '../wire-services.ts'
import { anthropicError } from './error-shape.ts'
import { messageEvents, messageHead, wholeMessage } from './reply.ts'
import { readCountRequest, readMessagesRequest } from './request.ts'

const VERSIONS: readonly unknown[] = ['2023-06-01', '2026-10-21']

/** Adds routes of the Anthropic Messages API, with their error format. */
export function anthropicRoutes(scope: FastifyInstance, services: WireServices): void {
  const { models, log } = services
  scope.setErrorHandler(errorHandler(anthropicError, services))
  acceptJsonBodies(scope, services.maxBodyBytes)
  scope.addHook('onRequest', checkVersion)

  scope.post('/v1/messages', async (request, reply) => {
    const body = readMessagesRequest(request.body, services.grammars)
    const client = clientOf(request)
    const startedAt = performance.now()
    const gone = replySignal(reply)
    const { served, completions, weights } = await models.choose(body.model, gone)
    const variant = served.find(body.model)
    await weights.use(gone)
    const options = { ...body.options, ...adapterOf(variant), client, startedAt }
    const taps = services.taps(request.headers, variant)
    const answer = await startChat(served, completions, { intent: body.intent, options }, gone, taps)
    const head = messageHead(variant.name)
    if (!body.stream) return wholeMessage(head, answer.events)
    const pieces = messageEvents(head, answer.events, answer.promptTokens.length, contextOf(request, log))
    return sendStream(reply, 'text/event-stream; charset=utf-8', pieces, services.stallMs())
  })

  scope.post('/v1/messages/count_tokens', async (request, reply) => {
    const body = readCountRequest(request.body, services.grammars)
    const gone = replySignal(reply)
    const { served, weights } = await models.choose(body.model, gone)
    served.find(body.model)
    const { model } = await weights.use(gone)
    const { prompt } = await planChat(model, served.name, withDefaultMessages(body.intent, served.defaults), {
      client: clientOf(request)
    })
    return { input_tokens: promptTokens(model, prompt, model.info.contextLength).length }
  })
}

/** Throws `MSV_REQUEST_INVALID` for an unknown version of the API. */
async function checkVersion({ headers }: FastifyRequest): Promise<void> {
  const version = headers['anthropic-version']
  if (version === undefined || VERSIONS.includes(version)) return
  throw invalid(`the header 'anthropic-version' must be one of '${VERSIONS.join("', '")}'`, 'anthropic-version')
}
