import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { childArgument } from './child.ts'
import { type LlamaOptions, type LlamaSequence, llamaContext } from './llama.ts'

const options = childArgument<LlamaOptions>()
const context = await llamaContext(options)
const free: LlamaSequence[] = Array.from({ length: options.sequences }, () => context.getSequence())

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { prompt, max_tokens } = (await json(request)) as { prompt: number[]; max_tokens: number }
  const sequence = free.pop()
  if (sequence === undefined) throw new Error('more requests than sequences')
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (row: object) => response.write(`data: ${JSON.stringify(row)}\n\n`)
  await sequence.clearHistory()
  let count = 0
  for await (const token of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
    send({ choices: [{ index: 0, text: context.model.detokenize([token]), finish_reason: null }] })
    if (++count === max_tokens) break
  }
  free.push(sequence)
  send({ choices: [], usage: { prompt_tokens: prompt.length, completion_tokens: count } })
  response.end('data: [DONE]\n\n')
}

const server = createServer((request, response) => void answer(request, response))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.on('message', () => process.send?.((server.address() as AddressInfo).port))
process.send?.('ready')
