import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { isSmoke } from '../smoke-mode.ts'

/** Measurements of a completion over HTTP. */
export interface Completion {
  readonly tokens: number
  /** Milliseconds from the request to the first piece of text. */
  readonly firstMs: number
  /** Milliseconds per token after the first. */
  readonly tokenMs: number
  /** CPU time of the server per token after the first, in milliseconds; NaN without `cpuTimeMs`. */
  readonly tokenCpuMs: number
}

export interface CompletionRequest {
  readonly prompt: readonly number[]
  readonly maxTokens: number
  /** Returns the CPU time of the server so far, in milliseconds. */
  readonly cpuTimeMs?: () => number
}

/**
 * Streams a completion in the OpenAI format. Parses only the event with the usage, because the client shares the cores
 * with the server. Throws unless the answer has `maxTokens` tokens.
 */
export async function complete(url: string, completion: CompletionRequest): Promise<Completion> {
  const { prompt, maxTokens, cpuTimeMs = () => Number.NaN } = completion
  const sent = request(`${url}/v1/completions`, { method: 'POST', headers: { 'content-type': 'application/json' } })
  const fields = { model: 'bench', temperature: 0, stream: true, stream_options: { include_usage: true } }
  const start = performance.now()
  sent.end(JSON.stringify({ ...fields, prompt, max_tokens: maxTokens }))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`${url}: ${response.statusCode} ${await text(response)}`)
  let first: { readonly at: number; readonly cpuMs: number } | null = null
  let last = ''
  for await (const bytes of response as AsyncIterable<Buffer>) {
    first ??= { at: performance.now(), cpuMs: cpuTimeMs() }
    last = (last + bytes.toString('latin1')).slice(-1000)
  }
  const end = { at: performance.now(), cpuMs: cpuTimeMs() }
  const tokens = Number(/"completion_tokens":\s*(\d+)/.exec(last)?.[1])
  // The small model of a smoke run ends its answers early.
  if (first === null || (tokens !== maxTokens && !isSmoke))
    throw new Error(`${url}: the answer has ${tokens} tokens, not ${maxTokens}: ${last}`)
  return {
    tokens,
    firstMs: first.at - start,
    tokenMs: (end.at - first.at) / (tokens - 1),
    tokenCpuMs: (end.cpuMs - first.cpuMs) / (tokens - 1)
  }
}
