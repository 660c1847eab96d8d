import type { IncomingMessage } from 'node:http'
import { isJsonMediaType } from '@svc/contracts'
import { routerErrors } from './errors.ts'

/**
 * Reads a body of at most `maxBytes` and passes it to `done`. A larger body is read and discarded, because a client that
 * is still writing would see a reset instead of the response.
 *
 * Throws `IRT_BODY_TOO_LARGE` or `IRT_MEDIA_TYPE` by the headers. Calls neither function if the connection ends first.
 */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  done: (bytes: Buffer) => void,
  failed: (error: unknown) => void
): void {
  const { headers } = request
  const type = headers['content-type']
  // A web page of another origin can send other types without a CORS preflight.
  if (headers.origin !== undefined && !isJsonMediaType(type)) {
    request.resume()
    throw routerErrors.create('IRT_MEDIA_TYPE', `the content type must be application/json, got '${type ?? ''}'`)
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    request.resume()
    throw routerErrors.create('IRT_MEDIA_TYPE', `the body is encoded with '${encoding}'`, {
      hint: 'send it without content-encoding'
    })
  }
  if (Number(headers['content-length'] ?? 0) > maxBytes) {
    request.resume()
    throw tooLarge(maxBytes)
  }
  const chunks: Buffer[] = []
  let length = 0
  const onData = (chunk: Buffer): void => {
    length += chunk.length
    if (length <= maxBytes) {
      chunks.push(chunk)
      return
    }
    request.off('data', onData)
    request.off('end', onEnd)
    request.resume()
    failed(tooLarge(maxBytes))
  }
  const onEnd = (): void => done(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length))
  request.on('data', onData)
  request.on('end', onEnd)
}

function tooLarge(maxBytes: number): Error {
  return routerErrors.create('IRT_BODY_TOO_LARGE', `the request body is larger than the limit of ${maxBytes} bytes`, {
    data: { limit: maxBytes },
    hint: 'send a smaller body, or raise the setting inference_router.max_body_bytes'
  })
}
