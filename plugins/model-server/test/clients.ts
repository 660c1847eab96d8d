import { Ollama } from 'ollama'
import OpenAI from 'openai'
import type { Test } from 'tap'
import { type ServeOptions, type Serving, serve } from './serve.ts'

/** Official clients of both APIs. */
export interface Clients {
  readonly openai: OpenAI
  readonly ollama: Ollama
}

export function clientsOf(url: string, apiKey = 'none'): Clients {
  return { openai: new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 }), ollama: new Ollama({ host: url }) }
}

/** Serves the routes with the toy engine, and opens both clients, until the test ends. */
export async function connect(t: Test, options: ServeOptions = {}): Promise<Serving & Clients> {
  const serving = await serve(t, options)
  return { ...serving, ...clientsOf(serving.url, options.apiKey) }
}

export const say = (content: string) => [{ role: 'user' as const, content }]

/** Returns the error of a rejected request; null if it succeeds. */
export const refusal = (request: Promise<unknown>): Promise<any> =>
  request.then(
    () => null,
    error => error
  )
