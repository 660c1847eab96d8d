import { type HttpRoutes, isLoopback } from '@svc/contracts'
import type { FastifyInstance } from 'fastify'
import { anthropicRoutes } from './anthropic/routes.ts'
import { requireBearer, requireLoopbackHost } from './guard.ts'
import { ROUTES_ELSEWHERE } from './ollama/elsewhere.ts'
import { ollamaRoutes } from './ollama/routes.ts'
import { openAiRoutes } from './openai/routes.ts'
import { errorHandler } from './wire-error.ts'
import type { WireServices } from './wire-services.ts'

/** Routes that {@link modelServerRoutes} adds. */
export const MODEL_SERVER_ROUTES: HttpRoutes['routes'] = [
  { method: 'GET', path: '/', summary: 'Report that the model server runs' },
  { method: 'POST', path: '/v1/chat/completions', summary: 'Chat in the OpenAI format' },
  { method: 'POST', path: '/v1/responses', summary: 'Response in the OpenAI format' },
  { method: 'GET', path: '/v1/responses/:id', summary: 'A stored response' },
  { method: 'DELETE', path: '/v1/responses/:id', summary: 'Delete a stored response' },
  { method: 'GET', path: '/v1/responses/:id/input_items', summary: 'Input of a stored response' },
  { method: 'POST', path: '/v1/messages', summary: 'Message in the Anthropic format' },
  { method: 'POST', path: '/v1/messages/count_tokens', summary: 'Tokens of a prompt in the Anthropic format' },
  { method: 'POST', path: '/v1/completions', summary: 'Completion in the OpenAI format' },
  { method: 'POST', path: '/v1/embeddings', summary: 'Vectors of texts in the OpenAI format' },
  { method: 'POST', path: '/v1/rerank', summary: 'Relevance of documents for a query' },
  { method: 'POST', path: '/rerank', summary: 'Relevance of documents for a query' },
  { method: 'GET', path: '/v1/models', summary: 'The models in the OpenAI format' },
  { method: 'GET', path: '/v1/models/*', summary: 'One model in the OpenAI format' },
  { method: 'POST', path: '/infill', summary: 'Text of a gap in the llama.cpp format' },
  { method: 'POST', path: '/tokenize', summary: 'Tokens of a text in the formats of llama.cpp and vLLM' },
  { method: 'POST', path: '/detokenize', summary: 'Text of tokens in the formats of llama.cpp and vLLM' },
  { method: 'GET', path: '/tokenizer_info', summary: 'Properties of the tokenizer in the vLLM format' },
  { method: 'GET', path: '/props', summary: 'Properties of the model in the llama.cpp format' },
  { method: 'GET', path: '/v1/*', summary: 'Return 404 for an unknown route' },
  { method: 'POST', path: '/v1/*', summary: 'Return 404 for an unknown route' },
  { method: 'DELETE', path: '/v1/*', summary: 'Return 404 for an unknown route' },
  { method: 'POST', path: '/api/chat', summary: 'Chat in the Ollama format' },
  { method: 'POST', path: '/api/generate', summary: 'Completion in the Ollama format' },
  { method: 'GET', path: '/api/tags', summary: 'The models in the Ollama format' },
  { method: 'GET', path: '/api/version', summary: 'Version and device' },
  { method: 'GET', path: '/api/ps', summary: 'The loaded models in the Ollama format' },
  { method: 'POST', path: '/api/show', summary: 'Details of a model in the Ollama format' },
  { method: 'POST', path: '/api/embeddings', summary: 'Vector of a text in the older Ollama format' },
  { method: 'POST', path: '/api/embed', summary: 'Vectors of texts in the Ollama format' },
  { method: 'POST', path: '/api/pull', summary: 'Download a model' },
  { method: 'POST', path: '/api/copy', summary: 'Give a model another name' },
  { method: 'POST', path: '/api/create', summary: 'Give a model another name with other defaults' },
  { method: 'DELETE', path: '/api/delete', summary: 'Remove a model' },
  ...ROUTES_ELSEWHERE.map(route => ({ ...route, summary: 'Return 501' })),
  { method: 'GET', path: '/api/*', summary: 'Return 404 for an unknown route' },
  { method: 'POST', path: '/api/*', summary: 'Return 404 for an unknown route' },
  { method: 'DELETE', path: '/api/*', summary: 'Return 404 for an unknown route' }
]

/** Adds all routes. Each API has its own scope and its own error format. */
export async function modelServerRoutes(app: FastifyInstance, services: WireServices): Promise<void> {
  if (isLoopback(services.host)) app.addHook('onRequest', requireLoopbackHost)
  app.setErrorHandler(errorHandler(({ message }) => ({ error: message }), services))
  app.get('/', async (_request, reply) => reply.type('text/plain; charset=utf-8').send('svc model server is running'))
  const requireKey = services.apiKey === undefined ? null : requireBearer(services.apiKey)
  for (const routes of [openAiRoutes, anthropicRoutes, ollamaRoutes]) {
    await app.register(async scope => {
      if (requireKey !== null) scope.addHook('onRequest', requireKey)
      routes(scope, services)
    })
  }
}
