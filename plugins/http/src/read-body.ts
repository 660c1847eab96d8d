import type { IncomingMessage } from 'node:http'
import { httpBodyErrors, isJsonMediaType, parseJsonBody } from '@svc/contracts'

/**
 * Reads the JSON body of a request; undefined for an empty body.
 *
 * An oversized body is rejected immediately. The rest of it is read and discarded within the request's time limit: else
 * a client that is still writing would see a reset instead of the response.
 *
 * Throws `HTTP_MEDIA_TYPE` and `HTTP_BODY_TOO_LARGE` if the headers are wrong. Calls `done` with `HTTP_BODY_TOO_LARGE`,
 * `HTTP_BODY_NOT_UTF8` or `HTTP_BODY_INVALID` if the body is. Does not call `done` if the connection ends first: Node
 * emits no error then, and the `close` listener of the socket handles it.
 */
export function readJsonBody(
  request: IncomingMessage,
  limit: number,
  done: (error: unknown, body?: unknown) => void
): void {
  const type = request.headers['content-type']
  if (!isJsonMediaType(type)) {
    const actual = type === undefined ? 'no content type' : `the content type "${type}"`
    throw httpBodyErrors.create('HTTP_MEDIA_TYPE', `the body has ${actual}; this route reads JSON`, {
      hint: 'send it with content-type: application/json'
    })
  }
  readBody(request, limit, outcome => {
    let body: unknown
    try {
      if (outcome instanceof Error) throw outcome
      body = parseJsonBody(outcome)
    } catch (invalid) {
      done(invalid)
      return
    }
    done(null, body)
  })
}

/** Reads a raw body, with the errors of {@link readJsonBody} except those about its content. */
export function readBody(request: IncomingMessage, limit: number, done: (outcome: Buffer | Error) => void): void {
  const { headers } = request
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw httpBodyErrors.create(
      'HTTP_MEDIA_TYPE',
      `the body is encoded with ${encoding}; this route does not decode bodies`
    )
  }
  const announced = headers['content-length']
  if (announced !== undefined && Number(announced) > limit) throw tooLarge(limit, request)
  let chunks: Buffer[] | undefined
  let length = 0
  const onData = (chunk: Buffer): void => {
    length += chunk.length
    // Nearly every body is one chunk. A literal avoids the seventeen slots that `push` to an empty array allocates.
    if (chunks === undefined) chunks = [chunk]
    else chunks.push(chunk)
    if (length <= limit) return
    request.off('data', onData)
    request.off('end', onEnd)
    done(tooLarge(limit, request))
  }
  const onEnd = (): void => {
    done(join(chunks, length))
  }
  request.on('data', onData)
  request.on('end', onEnd)
}

function join(chunks: readonly Buffer[] = [], length: number): Buffer {
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length)
}

/** Returns whether a request has a body (RFC 9112, section 6). */
export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined
}

function tooLarge(limit: number, request: IncomingMessage): Error {
  request.resume()
  return httpBodyErrors.create('HTTP_BODY_TOO_LARGE', `the body is larger than the limit of ${limit} bytes`, {
    data: { limit },
    hint: 'send less, or raise body_limit_bytes in [plugins.http]'
  })
}
