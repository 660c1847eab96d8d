import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { Test } from 'tap'

export interface Seen {
  readonly path: string
  readonly authorization: string | undefined
  readonly body: Record<string, unknown>
}

type Answer = (body: Record<string, unknown>, response: ServerResponse) => void | Promise<void>

export interface FakeOptions {
  readonly api?: 'ollama' | 'openai'
  models?: readonly string[]
  /** Further entries of both lists. */
  others?: readonly object[]
  readonly key?: string
  /** Rows of `/api/ps`; if undefined, the route does not exist. */
  readonly running?: readonly object[]
  /** Response of `/api/tags` on a server with the OpenAI format; if undefined, the route does not exist. */
  readonly tags?: object
  /** Response of `/api/show` for a model; if undefined, the route does not exist. */
  readonly show?: (model: string) => object
  /** Replaces the default chat handler. */
  readonly chat?: Answer
}

export interface FakeServer {
  readonly url: string
  readonly seen: Seen[]
  /** Chats whose client disconnected before the end. */
  readonly left: number
  close(): Promise<void>
}

/** Starts a model server on a real socket. Answers repeat the words of the question. */
export async function fakeServer(t: Test, options: FakeOptions = {}): Promise<FakeServer> {
  const { api = 'ollama', key, running, tags, show } = options
  const seen: Seen[] = []
  let left = 0
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? ''
    const { authorization } = request.headers
    const body = request.method === 'POST' ? ((await json(request)) as Record<string, unknown>) : {}
    seen.push({ path, authorization, body })
    if (key !== undefined && authorization !== `Bearer ${key}`) return refuse(response, 401, 'who are you?')
    const models = options.models ?? ['toy']
    const { others = [] } = options
    const answers: Record<string, Record<string, Answer>> = {
      ollama: {
        '/api/tags': (_, to) => void to.end(JSON.stringify({ models: [...models.map(tag), ...others] })),
        '/api/chat': options.chat ?? ollamaChat,
        '/api/generate': ollamaGenerate,
        ...(show === undefined
          ? {}
          : { '/api/show': (body, to) => void to.end(JSON.stringify(show(String(body.model ?? body.name)))) }),
        ...(running === undefined ? {} : { '/api/ps': (_, to) => void to.end(JSON.stringify({ models: running })) })
      },
      openai: {
        '/v1/models': (_, to) =>
          void to.end(JSON.stringify({ object: 'list', data: [...models.map(id => ({ id })), ...others] })),
        '/v1/chat/completions': options.chat ?? openaiChat,
        '/v1/completions': openaiCompletion,
        ...(tags === undefined ? {} : { '/api/tags': (_, to) => void to.end(JSON.stringify(tags)) })
      }
    }
    response.on('close', () => {
      if (!response.writableFinished) left += 1
    })
    const answer = answers[api]?.[path]
    if (answer === undefined) return refuse(response, 404, `nothing at ${path}`)
    await answer(body, response)
  }
  const server = createServer((request, response) => void serve(request, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const close = () =>
    new Promise<void>(resolve => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  t.teardown(close)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    get left() {
      return left
    },
    close
  }
}

export function refuse(response: ServerResponse, status: number, error: string, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify({ error }))
}

function tag(name: string) {
  const details = { family: 'llama', parameter_size: '3.8M', quantization_level: 'F16' }
  return { name, model: name, size: 1234, digest: 'abc', modified_at: '2026-01-02T03:04:05Z', details }
}

function words(body: Record<string, unknown>): string[] {
  const content = (body.messages as { content: string | { text?: string }[] }[]).at(-1)?.content ?? ''
  const text = typeof content === 'string' ? content : content.map(part => part.text ?? '').join('')
  return text.split(/(?<= )/)
}

const ollamaChat: Answer = (body, response) => {
  const row = (value: object) => void response.write(`${JSON.stringify({ model: body.model, ...value })}\n`)
  row({ message: { role: 'assistant', content: '', thinking: 'hm' }, done: false })
  for (const content of words(body)) row({ message: { role: 'assistant', content }, done: false })
  const counts = { prompt_eval_count: 7, eval_count: 3, prompt_eval_duration: 2e6, eval_duration: 6e6 }
  row({ message: { role: 'assistant', content: '' }, done: true, done_reason: 'stop', ...counts })
  response.end()
}

const ollamaGenerate: Answer = (body, response) => {
  const row = (value: object) => void response.write(`${JSON.stringify({ model: body.model, ...value })}\n`)
  for (const part of String(body.prompt).split(/(?<= )/)) row({ response: part, done: false })
  row({ response: '', done: true, done_reason: 'length', prompt_eval_count: 4, eval_count: 2 })
  response.end()
}

const openaiCompletion: Answer = (body, response) => {
  const event = (value: object) => void response.write(`data: ${JSON.stringify({ model: body.model, ...value })}\n\n`)
  for (const text of String(body.prompt).split(/(?<= )/)) event({ choices: [{ index: 0, text, finish_reason: null }] })
  event({ choices: [{ index: 0, text: '', finish_reason: 'length' }] })
  event({ choices: [], usage: { prompt_tokens: 4, completion_tokens: 2 } })
  response.end('data: [DONE]\n\n')
}

const openaiChat: Answer = (body, response) => {
  const event = (value: object) => void response.write(`data: ${JSON.stringify({ model: body.model, ...value })}\n\n`)
  for (const content of words(body)) event({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })
  if (body.tools !== undefined) {
    const call = (part: object) => event({ choices: [{ delta: { tool_calls: [{ index: 0, ...part }] } }] })
    call({ id: 'c1', function: { name: 'add', arguments: '{"a":' } })
    call({ function: { arguments: '1}' } })
  }
  event({ choices: [{ index: 0, delta: {}, finish_reason: 'length' }] })
  event({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } })
  response.end('data: [DONE]\n\n')
}
