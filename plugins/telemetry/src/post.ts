import type { ClientRequest, IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { LinkedSignal } from '@svc/plugin-sdk'

export interface PostOptions {
  readonly url: URL
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Bytes of an answer that are read so that its connection can be used again. */
const MAX_ANSWER_BYTES = 65_536

/**
 * Posts a body over HTTPS, and returns the status. Follows no redirect, since that would send the token elsewhere.
 * Rejects with the system's error, or a `TimeoutError` if the whole exchange takes longer than the limit.
 */
export function post({ url, body, headers, timeoutMs, signal }: PostOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    const linked = new LinkedSignal()
      .with(signal)
      .after(timeoutMs, () => new DOMException('no answer in time', 'TimeoutError'))
    const { signal: ended } = linked
    const finish = (end: () => void): void => {
      linked.close()
      end()
    }
    const sent: ClientRequest = request(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      signal: ended
    })
    sent.on('error', error => finish(() => reject(ended.aborted ? ended.reason : error)))
    sent.on('response', (answer: IncomingMessage) => {
      const { statusCode = 0 } = answer
      let bytes = 0
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > MAX_ANSWER_BYTES) answer.destroy()
      })
      // The status decides, also if the rest of the answer is lost.
      answer.on('error', () => {})
      answer.on('close', () => finish(() => resolve(statusCode)))
    })
    sent.end(body)
  })
}
