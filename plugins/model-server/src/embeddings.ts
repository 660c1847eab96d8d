import { errors } from './errors.ts'

/** Handles every embeddings route by throwing `MSV_EMBEDDINGS`. */
export async function noEmbeddings(): Promise<never> {
  throw errors.create(
    'MSV_EMBEDDINGS',
    'this server does not compute embeddings: it serves one generative model; send embedding requests to a server with an embedding model'
  )
}
