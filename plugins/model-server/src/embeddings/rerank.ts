import { randomUUID } from 'node:crypto'
import { defined, t } from '@svc/plugin-sdk'
import type { FastifyInstance } from 'fastify'
import { bodyReader, invalid } from '../body-reader.ts'
import { replySignal } from '../stream-reply.ts'
import { refuseUnsupported } from '../unsupported-fields.ts'
import type { WireServices } from '../wire-services.ts'
import { noReranker } from './not-configured.ts'
import { MAX_INPUTS } from './openai.ts'

const document = t.union([t.string(), t.object({ text: t.string() }, { additionalProperties: true })], {
  description: 'a text, or an object with a text'
})

const readBody = bodyReader(
  t.object(
    {
      model: t.optional(t.string()),
      query: t.string({ minLength: 1 }),
      documents: t.array(document, { minItems: 1 }),
      top_n: t.optional(t.integer({ minimum: 1 })),
      return_documents: t.optional(t.boolean()),
      truncate: t.optional(t.boolean())
    },
    { additionalProperties: true }
  )
)

/** Adds `POST /v1/rerank` and `POST /rerank`, in the format that Jina, Cohere and vLLM share. */
export function rerankRoutes(scope: FastifyInstance, services: WireServices): void {
  const { reranker } = services
  for (const url of ['/v1/rerank', '/rerank']) {
    scope.post(url, async (request, reply) => {
      if (reranker === null) return noReranker(reply)
      const body = readBody(request.body)
      refuseUnsupported(body, { truncate_prompt_tokens: value => value === -1 })
      reranker.check(body.model)
      const texts = body.documents.map(each => (typeof each === 'string' ? each : each.text))
      if (texts.length > MAX_INPUTS) {
        throw invalid(`'documents' has ${texts.length} texts; the limit is ${MAX_INPUTS} in one request`, 'documents')
      }
      const { query, truncate, top_n: top = texts.length, return_documents: returns = false } = body
      const { scores, tokens } = await reranker.use(replySignal(reply), (model, signal) =>
        model.rank(query, texts, { signal, ...defined({ truncate }) })
      )
      const results = Array.from(scores, (score, index) => ({ index, relevance_score: score }))
        .sort((a, b) => b.relevance_score - a.relevance_score || a.index - b.index)
        .slice(0, top)
        .map(each => (returns ? { ...each, document: { text: texts[each.index] } } : each))
      return { id: `rerank-${randomUUID()}`, model: reranker.name, usage: { total_tokens: tokens }, results }
    })
  }
}
