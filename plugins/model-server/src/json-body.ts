import type { IncomingMessage } from 'node:http'
import { readJsonRequest } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
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
    try {
      return await readJsonRequest(payload, { maxBytes, mediaType: 'any', discard: DISCARD_LIMIT })
    } catch (error) {
      throw translate(error, maxBytes)
    }
  })
}

const DISCARD_LIMIT = 16

/** A page of another origin may send text without asking first; it may not send JSON. */
function refuseSimpleBrowserRequest(request: FastifyRequest): void {
  const type = request.headers['content-type'] ?? ''
  if (request.headers.origin === undefined || /^application\/(.*\+)?json\b/i.test(type)) return
  throw errors.create('MSV_MEDIA_TYPE', `the content type must be application/json, got '${type}'`)
}

function translate(error: unknown, maxBytes: number): unknown {
  if (isSvcError(error, 'HTTP_BODY_TOO_LARGE')) {
    const { length } = error.data as { readonly length: number }
    const message = `the request body has ${length} bytes or more, the limit is ${maxBytes}`
    return errors.create('MSV_BODY_TOO_LARGE', message, {
      hint: 'Send less, or raise the setting plugins.model-server.max_body_bytes.'
    })
  }
  return isSvcError(error) ? errors.create('MSV_REQUEST_INVALID', error.message, { cause: error }) : error
}
