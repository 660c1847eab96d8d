import type { IncomingMessage } from 'node:http'
import { httpErrors } from './errors.ts'
import { readJson } from './json-body.ts'

/**
 * The JSON body of a request that has one; undefined when it turns out to be empty.
 *
 * A body past the limit is refused at once, and what is left of it is read and dropped within the request's time: a client
 * that is still writing would see a reset in place of the answer.
 * Throws `HTTP_MEDIA_TYPE` and `HTTP_BODY_TOO_LARGE` by the headers; rejects with the latter, `HTTP_BODY_NOT_UTF8`,
 * `HTTP_BODY_INVALID` or `HTTP_MALFORMED` by the body.
 */
export function readJsonBody(request: IncomingMessage, limit: number): Promise<unknown> {
  const { headers } = request
  const type = headers['content-type']
  if (type !== 'application/json' && !(type !== undefined && JSON_MEDIA_TYPE.test(type))) {
    const given = type === undefined ? 'no content type' : `the content type "${type}"`
    throw httpErrors.create('HTTP_MEDIA_TYPE', `the body has ${given}; this route reads JSON`, {
      hint: 'send it with content-type: application/json'
    })
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw httpErrors.create('HTTP_MEDIA_TYPE', `the body is encoded with ${encoding}; this route reads it plain`)
  }
  const announced = headers['content-length']
  if (announced !== undefined && Number(announced) > limit) throw tooLarge(limit, request)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const onData = (chunk: Buffer): void => {
      length += chunk.length
      chunks.push(chunk)
      if (length <= limit) return
      request.off('data', onData)
      request.off('end', onEnd)
      reject(tooLarge(limit, request))
    }
    const onEnd = (): void => {
      try {
        resolve(readJson(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length)))
      } catch (error) {
        reject(error)
      }
    }
    request.on('data', onData)
    request.on('end', onEnd)
    request.on('error', cause => {
      reject(httpErrors.create('HTTP_MALFORMED', 'the connection ended in the middle of the body', { cause }))
    })
  })
}

/** Whether a request carries a body: RFC 9112, section 6. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined
}

const JSON_MEDIA_TYPE = /^\s*application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i

function tooLarge(limit: number, request: IncomingMessage): Error {
  request.resume()
  return httpErrors.create('HTTP_BODY_TOO_LARGE', `the body is larger than the limit of ${limit} bytes`, {
    data: { limit },
    hint: 'send less, or raise body_limit_bytes in [plugins.http]'
  })
}
