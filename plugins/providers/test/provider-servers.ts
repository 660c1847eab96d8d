import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { Test } from 'tap'

export interface Seen {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: Record<string, any>
}

export type Reply = (body: Record<string, any>, response: ServerResponse) => void | Promise<void>

export interface ProviderServer {
  readonly url: string
  readonly seen: Seen[]
  /** Replaces the reply of later requests. */
  reply: Reply
  /** Requests whose client disconnected before the end. */
  readonly left: number
  /** Number of requests whose answer or connection has ended. */
  ended(): number
}

/** Starts a server on a real socket that answers every request with `reply`. */
export async function providerServer(t: Test, reply: Reply): Promise<ProviderServer> {
  const seen: Seen[] = []
  const state = { reply, left: 0, ended: 0 }
  const server = createServer(async (request, response) => {
    const body = request.method === 'POST' ? ((await json(request)) as Record<string, any>) : {}
    seen.push({ path: request.url ?? '', headers: request.headers, body })
    response.on('close', () => {
      state.ended += 1
      if (!response.writableEnded) state.left += 1
    })
    await state.reply(body, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    return new Promise(resolve => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    get reply() {
      return state.reply
    },
    set reply(next) {
      state.reply = next
    },
    get left() {
      return state.left
    },
    ended: () => state.ended
  }
}

function stream(response: ServerResponse, events: readonly object[], named = false): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of events) {
    const name = named ? `event: ${(event as { type: string }).type}\n` : ''
    response.write(`${name}data: ${JSON.stringify(event)}\n\n`)
  }
  return response
}

/** Answers in OpenAI's format. `cost`: US dollars, as OpenRouter reports them. */
export function openAi(
  text: string,
  { cost, end = true }: { readonly cost?: number; readonly end?: boolean } = {}
): Reply {
  return (body, response) => {
    const chunk = (choices: object[], rest: object = {}) => ({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      model: body.model,
      choices,
      ...rest
    })
    const parts = text.match(/.{1,4}/gs) ?? []
    const usage = { prompt_tokens: 1_000, completion_tokens: 100, ...(cost === undefined ? {} : { cost }) }
    const events = [
      ...parts.map(content => chunk([{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }])),
      ...(end ? [chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]), chunk([], { usage })] : [])
    ]
    stream(response, events)
    if (end) response.end('data: [DONE]\n\n')
  }
}

/** Answers as Anthropic's Messages API does. */
export function anthropic(blocks: readonly object[], stopReason = 'end_turn'): Reply {
  return (body, response) => {
    const content = blocks.flatMap((block: any, index) => {
      const delta = (delta: object) => ({ type: 'content_block_delta', index, delta })
      const tool = block.type === 'tool_use'
      const json = JSON.stringify(block.input ?? {})
      return [
        {
          type: 'content_block_start',
          index,
          content_block: tool ? { ...block, input: {} } : { type: block.type, text: '', thinking: '' }
        },
        { type: 'ping' },
        ...(block.type === 'text' ? [delta({ type: 'text_delta', text: block.text })] : []),
        ...(block.type === 'thinking' ? [delta({ type: 'thinking_delta', thinking: block.thinking })] : []),
        ...(tool
          ? [json.slice(0, 5), json.slice(5)].map(partial_json => delta({ type: 'input_json_delta', partial_json }))
          : []),
        { type: 'content_block_stop', index }
      ]
    })
    const usage = { input_tokens: 900, cache_read_input_tokens: 100, output_tokens: 1 }
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: body.model, content: [], usage }
    const events = [
      { type: 'message_start', message },
      ...content,
      { type: 'future_event', value: 1 },
      { type: 'message_delta', delta: { stop_reason: stopReason }, usage: { output_tokens: 100 } },
      { type: 'message_stop' }
    ]
    stream(response, events, true).end()
  }
}

/** Answers as Google's `streamGenerateContent` with `alt=sse` does. */
export function gemini(parts: readonly object[], finishReason = 'STOP'): Reply {
  return (_, response) => {
    const chunk = (each: object[], rest: object = {}) => ({
      candidates: [{ content: { role: 'model', parts: each }, ...rest, index: 0 }],
      usageMetadata: { promptTokenCount: 1_000, candidatesTokenCount: 60, thoughtsTokenCount: 40 },
      modelVersion: 'gemini-2.5-flash-001',
      responseId: 'resp-1'
    })
    stream(response, [...parts.map(part => chunk([part])), chunk([], { finishReason })]).end()
  }
}

export function failing(status: number, error: unknown, headers: Record<string, string> = {}): Reply {
  return (_, response) => void response.writeHead(status, headers).end(JSON.stringify({ error }))
}

/** Accepts the request, and sends nothing. */
export const silent: Reply = () => {}
