import { defined, t } from '@svc/plugin-sdk'
import type { FastifyInstance } from 'fastify'
import { bodyReader, invalid } from '../body-reader.ts'
import { replySignal, sendStream } from '../stream-reply.ts'
import { refuseUnsupported } from '../unsupported-fields.ts'
import type { WireServices } from '../wire-services.ts'
import { notConfigured } from './not-configured.ts'
import { jsonList, jsonRows } from './reply.ts'

/** Maximum texts of a request, as in the OpenAI API. */
export const MAX_INPUTS = 2_048

const readBody = bodyReader(
  t.object(
    {
      model: t.optional(t.string()),
      input: t.unknown({ description: 'a text, a list of texts, a list of token ids, or a list of such lists' }),
      encoding_format: t.optional(t.enum(['float', 'base64'])),
      dimensions: t.optional(t.integer({ minimum: 1 })),
      // Extensions of common servers.
      truncate: t.optional(t.boolean()),
      input_type: t.optional(t.enum(['query', 'document', 'passage']))
    },
    { additionalProperties: true }
  )
)

/** Adds `POST /v1/embeddings`. */
export function embeddingsRoute(scope: FastifyInstance, services: WireServices): void {
  const { embedder } = services
  scope.post('/v1/embeddings', async (request, reply) => {
    if (embedder === null) return notConfigured(reply)
    const body = readBody(request.body)
    refuseUnsupported(body, { truncate_prompt_tokens: value => value === -1 })
    embedder.check(body.model)
    const inputs = readInput(body.input)
    const { truncate, dimensions, input_type: type } = body
    const role = type === undefined ? undefined : type === 'query' ? 'query' : 'document'
    const vectors = await embedder.use(replySignal(reply), (model, signal) =>
      model.embed(inputs, { signal, ...defined({ truncate, dimensions, role } as const) })
    )
    const { tokens } = vectors
    const tail = { model: embedder.name, usage: { prompt_tokens: tokens, total_tokens: tokens } }
    const frame = ['{"object":"list","data":[', `],${JSON.stringify(tail).slice(1)}`] as const
    const encode = body.encoding_format === 'base64' ? base64 : jsonList
    const rows = jsonRows(
      vectors,
      frame,
      (vector, index) => `{"object":"embedding","index":${index},"embedding":${encode(vector)}}`
    )
    return sendStream(reply, 'application/json; charset=utf-8', rows, services.stallMs())
  })
}

/** Returns a vector as base64 of little-endian float32 numbers, in quotes. */
function base64({ buffer, byteOffset, byteLength }: Float32Array): string {
  return `"${Buffer.from(buffer, byteOffset, byteLength).toString('base64')}"`
}

/** Reads the field `input`. Throws `MSV_REQUEST_INVALID` for other values, empty texts and too many texts. */
export function readInput(input: unknown): readonly (string | readonly number[])[] {
  const isIds = (value: unknown): value is number[] =>
    Array.isArray(value) && value.length > 0 && value.every(Number.isSafeInteger)
  if (isIds(input)) return [input]
  const list = Array.isArray(input) ? (input as unknown[]) : [input]
  if (list.length === 0) throw invalid(`'input' is an empty list; send at least one text`, 'input')
  if (list.length > MAX_INPUTS) {
    throw invalid(`'input' has ${list.length} texts; the limit is ${MAX_INPUTS} in one request`, 'input')
  }
  for (const [index, value] of list.entries()) {
    if (value === '') throw invalid(`'input[${index}]' is an empty text`, 'input')
    if (typeof value === 'string' || isIds(value)) continue
    throw invalid(`'input[${index}]' must be a text or a list of token ids that is not empty`, 'input')
  }
  return list as (string | number[])[]
}
