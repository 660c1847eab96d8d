import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { ChatToolCall, TaskPhase } from '@svc/contracts'
import type { Test } from 'tap'

/** Reply of the model to one request. */
export interface Reply {
  readonly text?: string
  readonly calls?: readonly Omit<ChatToolCall, 'id'>[]
  readonly prompt_tokens?: number
  readonly completion_tokens?: number
}

export interface ModelRequest {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  readonly phase: TaskPhase
  /** Number of requests in this phase, including this one. */
  readonly count: number
  /** All text of the request. */
  readonly prompt: string
}

export interface ScriptOptions {
  readonly api?: 'ollama' | 'openai'
  readonly models?: readonly string[]
  /** If false, the server is unreachable until `listen` is called. */
  readonly listening?: boolean
  /** Returns the reply, or a function that writes the response itself, for faults. */
  readonly respond?: (requests: ModelRequest) => Reply | ((response: ServerResponse) => void) | undefined
}

export interface ModelScript {
  readonly url: string
  readonly requests: readonly ModelRequest[]
  /** Number of requests that the client aborted. */
  readonly aborted: number
  listen(): Promise<void>
}

export const DONE = {
  outcome: 'complete',
  summary: 'The greeting was written and read again by its author.',
  reason: '',
  checks_passed: ['read it again'],
  evidence_citations: [],
  artifact_paths: [],
  complete_and_real: true
}

const PHASE = /\b(Inspect|Localize|Hypothesize|Act|Verify|Decide)\. /g

/** Starts a model server on a real socket that replies by a script, in the Ollama or OpenAI format. */
export async function modelScript(t: Test, options: ScriptOptions = {}): Promise<ModelScript> {
  const { api = 'ollama', models = ['toy'], respond } = options
  const requests: ModelRequest[] = []
  let aborted = 0
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? ''
    if (request.method === 'GET') return list(path, api, models, response)
    const body = (await json(request)) as Record<string, unknown>
    const prompt = promptOf(body)
    const phase = (prompt.match(PHASE)?.at(-1)?.replace('. ', '').toLowerCase() ?? 'inspect') as TaskPhase
    const received: ModelRequest = {
      path,
      body,
      phase,
      prompt,
      count: requests.filter(each => each.phase === phase).length + 1
    }
    requests.push(received)
    response.on('close', () => {
      if (!response.writableFinished) aborted += 1
    })
    const reply =
      respond?.(received) ?? (phase === 'decide' ? { text: JSON.stringify(DONE) } : { text: `${phase} is done` })
    if (typeof reply === 'function') reply(response)
    else write(path, reply, response)
  }
  const server = createServer((request, response) => void serve(request, response))
  const listen = (port: number) => new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  await listen(0)
  const { port } = server.address() as AddressInfo
  if (options.listening === false) await new Promise(resolve => server.close(resolve))
  t.teardown(
    () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  )
  return {
    url: `http://127.0.0.1:${port}`,
    listen: () => listen(port),
    requests,
    get aborted() {
      return aborted
    }
  }
}

function promptOf({ messages, prompt, system }: Record<string, unknown>): string {
  if (!Array.isArray(messages)) return `${String(system ?? '')}\n${String(prompt)}`
  return messages.map(({ content }) => String(content)).join('\n')
}

function list(path: string, api: string, models: readonly string[], response: ServerResponse): void {
  if (api === 'ollama' && path === '/api/tags')
    response.end(JSON.stringify({ models: models.map(name => ({ name, model: name })) }))
  else if (api === 'openai' && path === '/v1/models')
    response.end(JSON.stringify({ object: 'list', data: models.map(id => ({ id })) }))
  else response.writeHead(404).end('{"error":"not found"}')
}

function write(path: string, reply: Reply, response: ServerResponse): void {
  const { text = '', calls = [], prompt_tokens = 10, completion_tokens = 5 } = reply
  const pieces = text.match(/[\s\S]{1,16}/g) ?? []
  if (path.startsWith('/v1/')) {
    const event = (value: object) => void response.write(`data: ${JSON.stringify({ model: 'toy', ...value })}\n\n`)
    const delta = (value: object) => event({ choices: [{ index: 0, delta: value, finish_reason: null }] })
    for (const piece of pieces)
      path === '/v1/completions'
        ? event({ choices: [{ text: piece, finish_reason: null }] })
        : delta({ content: piece })
    for (const [index, call] of calls.entries())
      delta({
        tool_calls: [
          { index, id: `c${index}`, function: { name: call.name, arguments: JSON.stringify(call.arguments) } }
        ]
      })
    event({ choices: [{ index: 0, delta: {}, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }] })
    event({ choices: [], usage: { prompt_tokens, completion_tokens } })
    response.end('data: [DONE]\n\n')
    return
  }
  const row = (value: object) => void response.write(`${JSON.stringify({ model: 'toy', ...value })}\n`)
  const part = (content: string, more = {}) =>
    path === '/api/generate' ? { response: content } : { message: { role: 'assistant', content, ...more } }
  for (const piece of pieces) row({ ...part(piece), done: false })
  const tool_calls = calls.map(({ name, arguments: args }) => ({ function: { name, arguments: args } }))
  row({
    ...part('', calls.length > 0 ? { tool_calls } : {}),
    done: true,
    done_reason: 'stop',
    prompt_eval_count: prompt_tokens,
    eval_count: completion_tokens
  })
  response.end()
}
