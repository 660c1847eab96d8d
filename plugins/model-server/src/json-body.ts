import type { IncomingMessage } from 'node:http'
import { readJsonRequest } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { errors } from './errors.ts'

/**
 * Parses every body of a scope as JSON, whatever its content type: curl sends bodies for the Ollama API as forms.
 *
 * A body over the limit is read to its end and discarded, because a client that is still writing would see a connection
 * reset instead of the response. Beyond {@link DISCARD_LIMIT} times the limit, the response is sent immediately.
 */
export function acceptJsonBodies(scope: FastifyInstance, maxBytes: number): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    refuseSimpleBrowserRequest(request)
    try {
      return await readJsonRequest(payload, { maxBytes, mediaType: 'any', discard: DISCARD_LIMIT })
    } catch (error) {
      throw translate(error, maxBytes)
    }
  })
}

const DISCARD_LIMIT = 16

/** Throws `MSV_MEDIA_TYPE` for a body that a web page of another origin can send without a CORS preflight. */
function refuseSimpleBrowserRequest(request: FastifyRequest): void {
  const type = request.headers['content-type'] ?? ''
  if (request.headers.origin === undefined || /^application\/(.*\+)?json\b/i.test(type)) return
  throw errors.create('MSV_MEDIA_TYPE', `the content type must be application/json, got '${type}'`)
}

function translate(error: unknown, maxBytes: number): unknown {
  if (isSvcError(error, 'HTTP_BODY_TOO_LARGE')) {
    const { length } = error.data as { readonly length: number }
    const message = `the request body has ${length} bytes or more; the limit is ${maxBytes} bytes`
    return errors.create('MSV_BODY_TOO_LARGE', message, {
      hint: 'Send a smaller body, or raise the setting plugins.model-server.max_body_bytes.'
    })
  }
  return isSvcError(error) ? errors.create('MSV_REQUEST_INVALID', error.message, { cause: error }) : error
}
