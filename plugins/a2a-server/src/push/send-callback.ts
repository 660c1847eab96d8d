import { request } from 'node:https'
import type { LookupFunction } from 'node:net'
import { LinkedSignal } from '@svc/plugin-sdk'
import { a2aServerErrors } from '../errors.ts'
import { type CallbackRules, callbackAddresses } from './callback-address.ts'

const TIMEOUT_MS = 10_000

export interface Callback {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface SendOptions extends CallbackRules {
  /** Certificate authorities in PEM, instead of those of Node.js. */
  readonly ca?: readonly string[] | undefined
  readonly signal: AbortSignal
}

/**
 * Posts a notification. Connects only to an address that was checked, follows no redirect, and reads no body. Throws
 * `A2S_CALLBACK_DENIED`, and `A2S_CALLBACK_FAILED` unless the status is 2xx.
 */
export async function sendCallback({ url: text, headers, body }: Callback, options: SendOptions): Promise<void> {
  const { url, addresses } = await callbackAddresses(text, options)
  // Node.js calls it once for each connection, with or without `all`.
  const toChecked: LookupFunction = (_host, { all }, callback) => {
    if (all === true) callback(null, [...addresses])
    else callback(null, addresses[0]?.address as string, addresses[0]?.family)
  }
  const ended = new LinkedSignal()
    .with(options.signal)
    .after(TIMEOUT_MS, () => new Error(`no response within ${TIMEOUT_MS} ms`))
  const status = await new Promise<number>((resolve, reject) => {
    const sent = request(
      url,
      {
        method: 'POST',
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        agent: false,
        lookup: toChecked,
        signal: ended.signal,
        ...(options.ca === undefined ? null : { ca: [...options.ca] })
      },
      response => {
        resolve(response.statusCode ?? 0)
        response.destroy()
      }
    )
    // After the response, the error of the destroyed connection has no effect.
    sent.on('error', reject)
    sent.end(body)
  })
    .catch((cause: Error) => {
      throw a2aServerErrors.create('A2S_CALLBACK_FAILED', `no response from ${url.host}: ${cause.message}`, { cause })
    })
    .finally(() => ended.close())
  if (status >= 200 && status < 300) return
  throw a2aServerErrors.create('A2S_CALLBACK_FAILED', `${url.host} answered with status ${status}`)
}
