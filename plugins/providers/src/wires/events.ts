import { WireFailure } from '@svc/contracts'
import { createParser } from 'eventsource-parser'
import { failureOf } from './wire-failure.ts'

/** Maximum bytes of an answer. */
const MAX_ANSWER_BYTES = 67_108_864

export interface EventRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
  readonly signal: AbortSignal
}

/**
 * Sends a request and yields the JSON objects of the server-sent events. Throws `WireFailure` for an error response, an
 * event that is no JSON object, and an answer that is too long; else the errors of `fetch`.
 */
export async function* postForEvents({ url, headers, body, signal }: EventRequest): AsyncGenerator<object, void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
    body: JSON.stringify(body),
    // A redirect would send the key and the prompt to another server.
    redirect: 'error',
    signal
  })
  if (!response.ok) throw await failureOf(response)
  const waiting: string[] = []
  const parser = createParser({ onEvent: ({ data }) => void waiting.push(data) })
  const decoder = new TextDecoder()
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.byteLength
    if (bytes > MAX_ANSWER_BYTES) throw new WireFailure(502, `the answer is longer than ${MAX_ANSWER_BYTES} bytes`)
    parser.feed(decoder.decode(part, { stream: true }))
    for (const data of waiting.splice(0)) yield parseEvent(data)
  }
}

function parseEvent(data: string): object {
  try {
    const value: unknown = JSON.parse(data)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // Reported below, like a value that is no object.
  }
  throw new WireFailure(502, `an event of the answer is no JSON object: ${data.slice(0, 100)}`)
}

/** Returns the arguments of a tool call. Throws `WireFailure` if they are no JSON object. */
export function parseArguments(name: string, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text.trim() === '' ? '{}' : text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Reported below, like a value that is no object.
  }
  throw new WireFailure(502, `the model calls ${name} with arguments that are no JSON object: ${text.slice(0, 100)}`)
}
