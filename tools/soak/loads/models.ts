import { Unavailable } from '../ledger.ts'
import type { SvcNode } from '../svc-node.ts'
import type { Load, LoadContext } from './load.ts'
import { repeat } from './load.ts'

const NAME = 'model requests'
const MESSAGES = [{ role: 'user', content: 'count the books' }]

interface Case {
  readonly path: string
  readonly body: object
  /** Text that only a complete answer has. */
  readonly end: string
}

const CASES: readonly Case[] = [
  { path: '/v1/chat/completions', body: { messages: MESSAGES, max_tokens: 16, stream: true }, end: 'data: [DONE]' },
  { path: '/v1/chat/completions', body: { messages: MESSAGES, max_tokens: 16 }, end: '"usage"' },
  {
    path: '/v1/messages',
    body: { model: 'vox-tiny', messages: MESSAGES, max_tokens: 16, stream: true },
    end: 'message_stop'
  },
  {
    path: '/api/chat',
    body: { model: 'vox-tiny', messages: MESSAGES, options: { num_predict: 16 } },
    end: '"done":true'
  },
  {
    path: '/v1/responses',
    body: { model: 'vox-tiny', input: 'count the books', max_output_tokens: 16 },
    end: '"usage"'
  },
  { path: '/v1/embeddings', body: { input: ['a retry with a limit', 'the queue is full'] }, end: '"embedding"' }
]

/** Completions with and without streams in the formats of OpenAI, Anthropic and Ollama, and embeddings. */
export function models(context: LoadContext): Load {
  return {
    name: NAME,
    run: () =>
      repeat(context, 1_500, (node, count) => context.ledger.attempt(NAME, node.name, () => complete(node, count)))
  }
}

/** Sends one of the requests. Throws `Unavailable` if the answer has no end. */
export async function complete(node: SvcNode, count: number): Promise<void> {
  const { path, body, end } = CASES[count % CASES.length] as Case
  const { text } = await node.client.request(`${node.model}${path}`, {
    method: 'POST',
    body,
    isOllama: path.startsWith('/api/')
  })
  if (!text.includes(end)) throw new Unavailable(`${path}: the answer has no ${end}: ${text.slice(-300)}`)
}
