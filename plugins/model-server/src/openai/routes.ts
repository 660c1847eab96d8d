import type { FastifyInstance } from 'fastify'
import { errors } from '../errors.ts'
import { acceptJsonBodies } from '../json-body.ts'
import type { ReadyModel } from '../served-model.ts'
import { replySignal, sendStream } from '../stream-reply.ts'
import { errorHandler } from '../wire-error.ts'
import type { WireServices } from '../wire-services.ts'
import { chatCompletion, chatCompletionChunks, replyHead } from './chat-reply.ts'
import { readChatRequest } from './chat-request.ts'
import { openAiError } from './error-shape.ts'

/** Routes in the format of OpenAI's chat completions, with its error shape for everything below `/v1`. */
export function openAiRoutes(scope: FastifyInstance, services: WireServices): void {
  const { served, completions, log } = services
  scope.setErrorHandler(errorHandler(openAiError, log))
  acceptJsonBodies(scope, services.maxBodyBytes)

  scope.post('/v1/chat/completions', async (request, reply) => {
    const chat = readChatRequest(request.body)
    served.check(chat.model)
    const { model } = served.ready()
    const events = await completions.start(chat.completion, replySignal(reply))
    const head = replyHead(served.name, model.info.digest)
    if (!chat.stream) return chatCompletion(head, events)
    const chunks = chatCompletionChunks(head, events, chat.includeUsage, log)
    return sendStream(reply, 'text/event-stream; charset=utf-8', chunks, services.stallMs())
  })

  scope.get('/v1/models', async () => ({ object: 'list', data: [modelEntry(served.name, served.ready())] }))

  scope.get<{ Params: { id: string } }>('/v1/models/:id', async request => {
    served.check(request.params.id)
    return modelEntry(served.name, served.ready())
  })

  for (const method of ['GET', 'POST', 'DELETE'] as const) {
    scope.route({ method, url: '/v1/*', handler: unknownRoute })
  }
}

function modelEntry(name: string, { model, modifiedAt }: ReadyModel): object {
  return {
    id: name,
    object: 'model',
    created: Math.floor(modifiedAt.getTime() / 1000),
    owned_by: 'svc',
    // What other servers of the format tell, and clients use to fit their prompts.
    max_model_len: model.info.contextLength
  }
}

async function unknownRoute(request: { method: string; url: string }): Promise<never> {
  const path = request.url.split('?')[0]
  const hint = path?.startsWith('/v1/responses') === true ? ', this server speaks chat completions' : ''
  throw errors.create(
    'MSV_ROUTE_UNKNOWN',
    `there is no ${request.method} ${path}${hint}: use POST /v1/chat/completions or GET /v1/models`
  )
}
