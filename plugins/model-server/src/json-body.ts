import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { errors } from './errors.ts'

/**
 * Reads every body of a scope as JSON whatever its content type: command-line users of the Ollama API send forms.
 *
 * A body past the limit is read to its end and thrown away, since a client that is still writing would see a reset
 * instead of the answer; beyond {@link DISCARD_LIMIT} times the limit the answer comes at once.
 */
export function acceptJsonBodies(scope: FastifyInstance, maxBytes: number): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    refuseSimpleBrowserRequest(request)
    return parseJson(await readBytes(request, payload, maxBytes))
  })
}

const DISCARD_LIMIT = 16

/** A page of another origin may send text without asking first; it may not send JSON. */
function refuseSimpleBrowserRequest(request: FastifyRequest): void {
  const type = request.headers['content-type'] ?? ''
  if (request.headers.origin === undefined || /^application\/(.*\+)?json\b/i.test(type)) return
  throw errors.create('MSV_MEDIA_TYPE', `the content type must be application/json, got '${type}'`)
}

async function readBytes(request: FastifyRequest, payload: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > maxBytes * DISCARD_LIMIT) throw tooLarge(announced, maxBytes)
  const chunks: Buffer[] = []
  let length = 0
  // Leaving the loop must not destroy the request, or the socket dies before the answer is written.
  for await (const chunk of payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxBytes * DISCARD_LIMIT) throw tooLarge(length, maxBytes)
    if (length > maxBytes) chunks.length = 0
    else chunks.push(chunk)
  }
  if (length > maxBytes) throw tooLarge(length, maxBytes)
  return Buffer.concat(chunks, length)
}

function tooLarge(bytes: number, maxBytes: number): Error {
  return errors.create('MSV_BODY_TOO_LARGE', `the request body has ${bytes} bytes or more, the limit is ${maxBytes}`, {
    hint: 'Send less, or raise the setting plugins.model-server.max_body_bytes.'
  })
}

function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw errors.create('MSV_REQUEST_INVALID', 'the request body is not UTF-8')
  }
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw errors.create('MSV_REQUEST_INVALID', `the request body is not JSON: ${(cause as Error).message}`, { cause })
  }
}
