import type { FastifyReply } from 'fastify'
import { errors } from '../errors.ts'

/** Throws `MSV_EMBEDDINGS`, with the header that keeps official clients from repeating the request. */
export function notConfigured(reply: FastifyReply): never {
  reply.header('x-should-retry', 'false')
  throw errors.create(
    'MSV_EMBEDDINGS',
    'this server does not compute embeddings: it has no embedding model; set plugins.model-server.embedding_model to a folder with one'
  )
}

/** Like {@link notConfigured}, for a reranker. */
export function noReranker(reply: FastifyReply): never {
  reply.header('x-should-retry', 'false')
  throw errors.create(
    'MSV_EMBEDDINGS',
    'this server does not rank documents: it has no reranker; set plugins.model-server.reranker_model to a folder with one'
  )
}
