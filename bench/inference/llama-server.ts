import { startChild } from './child.ts'
import type { LlamaOptions } from './llama.ts'
import type { MeasuredServer } from './model-server.ts'

/**
 * Starts a minimal server: bare node:http that streams completions of llama.cpp in the OpenAI format. All sequences are
 * computed in one batch.
 */
export async function startLlamaServer(options: LlamaOptions): Promise<MeasuredServer> {
  const child = await startChild<number>('llama-server-program', 'the server with llama.cpp', options)
  const port = await child.ask({})
  return { url: `http://127.0.0.1:${port}`, processId: child.processId, stop: child.stop }
}
