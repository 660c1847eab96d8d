import type { IncomingMessage } from 'node:http'
import { readStrictJson, StrictJsonError } from '@svc/plugin-sdk'
import { httpBodyErrors } from './errors.ts'

export interface JsonRequestOptions {
  readonly maxBytes: number
  /** `json` rejects every other content type; `any` parses every body as JSON. */
  readonly mediaType: 'json' | 'any'
  /**
   * A body above the limit is read and discarded up to this multiple of the limit, then rejected. A client that is
   * still writing then would see a connection reset instead of the response. Default 1.
   */
  readonly discard?: number
}

/**
 * Reads the body of a request as strict JSON; undefined for an empty body.
 * Throws `HTTP_MEDIA_TYPE`, `HTTP_BODY_TOO_LARGE`, `HTTP_BODY_NOT_UTF8` or `HTTP_BODY_INVALID`.
 */
export async function readJsonRequest(request: IncomingMessage, options: JsonRequestOptions): Promise<unknown> {
  const type = request.headers['content-type']
  if (options.mediaType === 'json' && !isJsonMediaType(type)) {
    const actual = type === undefined ? 'no content type' : `the content type "${type}"`
    throw httpBodyErrors.create('HTTP_MEDIA_TYPE', `the body has ${actual}; this route reads JSON`, {
      hint: 'send it with content-type: application/json'
    })
  }
  return parseJsonBody(await readBytes(request, options))
}

/** Parses a body as strict JSON; undefined for an empty body. Throws `HTTP_BODY_NOT_UTF8` or `HTTP_BODY_INVALID`. */
export function parseJsonBody(bytes: Uint8Array): unknown {
  try {
    return readStrictJson(bytes)
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error
    if (error.reason === 'utf8') throw httpBodyErrors.create('HTTP_BODY_NOT_UTF8', 'the body is not UTF-8')
    throw httpBodyErrors.create('HTTP_BODY_INVALID', `the body is not valid JSON: ${error.message}`)
  }
}

export function isJsonMediaType(type: string | undefined): boolean {
  return type === 'application/json' || (type !== undefined && JSON_MEDIA_TYPE.test(type))
}

const JSON_MEDIA_TYPE = /^\s*application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i

async function readBytes(request: IncomingMessage, { maxBytes, discard = 1 }: JsonRequestOptions): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > maxBytes * discard) throw tooLarge(request, maxBytes, announced)
  const chunks: Buffer[] = []
  let length = 0
  // The default iterator destroys the socket when the loop ends early, before the response is written.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxBytes * discard) throw tooLarge(request, maxBytes, length)
    if (length > maxBytes) chunks.length = 0
    else chunks.push(chunk)
  }
  if (length > maxBytes) throw tooLarge(request, maxBytes, length)
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length)
}

function tooLarge(request: IncomingMessage, maxBytes: number, length: number): Error {
  request.resume()
  return httpBodyErrors.create('HTTP_BODY_TOO_LARGE', `the body is larger than the limit of ${maxBytes} bytes`, {
    data: { limit: maxBytes, length }
  })
}
