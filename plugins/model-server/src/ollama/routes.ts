import { t } from '@svc/plugin-sdk'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { bodyReader } from '../body-reader.ts'
import { errors } from '../errors.ts'
import { acceptJsonBodies } from '../json-body.ts'
import { replySignal, sendStream } from '../stream-reply.ts'
import { errorHandler } from '../wire-error.ts'
import type { WireServices } from '../wire-services.ts'
import { runningEntry, showReply, tagsEntry, versionReply } from './catalog.ts'
import { line, loadedReply, type ReplyKind, replyRows, singleReply } from './reply.ts'
import { type OllamaRequest, readChatRequest, readGenerateRequest } from './requests.ts'

const NDJSON = 'application/x-ndjson'

const readShowBody = bodyReader(
  t.object({ model: t.optional(t.string()), name: t.optional(t.string()) }, { additionalProperties: true })
)

/** Routes in the format of Ollama, with its error shape for everything below `/api`. */
export function ollamaRoutes(scope: FastifyInstance, services: WireServices): void {
  const { served } = services
  scope.setErrorHandler(errorHandler(({ message }) => ({ error: message }), services.log))
  acceptJsonBodies(scope, services.maxBodyBytes)

  scope.post('/api/chat', async (request, reply) => answer('chat', readChatRequest(request.body), reply, services))
  scope.post('/api/generate', async (request, reply) =>
    answer('generate', readGenerateRequest(request.body), reply, services)
  )

  scope.get('/api/tags', async () => ({ models: [tagsEntry(served.name, served.ready())] }))
  scope.get('/api/version', async () => versionReply(services.version, served))
  scope.get('/api/ps', async () => ({
    models: served.state.status === 'ready' ? [runningEntry(served.name, served.state)] : []
  }))
  scope.post('/api/show', async request => {
    const { model, name } = readShowBody(request.body)
    served.check(model ?? name)
    return showReply(served.ready())
  })

  for (const url of ['/api/embeddings', '/api/embed']) {
    scope.post(url, async () => {
      throw errors.create('MSV_EMBEDDINGS', 'this server makes no embeddings')
    })
  }
  for (const method of ['GET', 'POST', 'DELETE'] as const) {
    scope.route({ method, url: '/api/*', handler: unknownRoute })
  }
}

async function answer(
  kind: ReplyKind,
  request: OllamaRequest,
  reply: FastifyReply,
  services: WireServices
): Promise<FastifyReply | object> {
  const { served, completions, log } = services
  const head = { kind, model: served.name, startedNs: process.hrtime.bigint() }
  served.check(request.model)
  if (request.completion === null) {
    served.ready()
    return request.stream ? reply.type(NDJSON).send(line(loadedReply(head))) : loadedReply(head)
  }
  const events = await completions.start(request.completion, replySignal(reply))
  if (!request.stream) return singleReply(head, events)
  return sendStream(reply, NDJSON, replyRows(head, events, log), services.stallMs())
}

async function unknownRoute(request: { method: string; url: string }): Promise<never> {
  const path = request.url.split('?')[0]
  throw errors.create('MSV_ROUTE_UNKNOWN', `there is no ${request.method} ${path} on this server`)
}
