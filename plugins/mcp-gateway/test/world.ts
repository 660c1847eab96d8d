import { EventEmitter } from 'node:events'
import {
  type AgentEvent,
  type HttpServer,
  httpServer,
  mcpTools,
  type Orchestrator,
  type OrchestratorStatus,
  orchestrator
} from '@svc/contracts'
import http from '@svc/plugin-http'
import mcp from '@svc/plugin-mcp'
import { defineOperation, definePlugin, type McpExposure, type Plugin, ref, t as s } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import WebSocket from 'ws'
import gateway from '#plugin'

export const WRITE = 'write-token-0123456789'
export const READ = 'read-token-0123456789'

const tool = (name: string, effect: 'read' | 'write', more: McpExposure = {}) =>
  defineOperation({
    id: `world.${name}`,
    summary: `Does ${name}`,
    input: s.object({
      text: s.optional(s.string({ maxLength: 300_000 })),
      count: s.optional(s.integer({ minimum: 1 }))
    }),
    output: s.object({ did: s.string(), by: s.string(), text: s.optional(s.string()) }),
    errors: { WORLD_REFUSED: { message: 'the tool failed', status: 409 } },
    effect,
    timeoutMs: 0,
    expose: { mcp: { name: `svc_${name}`, result: 'tool-result', lane: 'ai', ...more } }
  })

/** Tools of each kind: in the default list and for the read role, only in the list, with an alias, and in no list. */
export const OPERATIONS = [
  tool('orchestrator_status', 'read', { readRole: true }),
  tool('task_status', 'read', { readRole: true, aliases: ['task_status'] }),
  tool('cancel_task', 'write'),
  tool('rebalance', 'write', { aliases: ['svc_level'] }),
  tool('submit_task', 'write'),
  tool('repo_status', 'read', { readRole: true }),
  tool('plain', 'write', { result: 'plain' })
]

export interface ToolsOptions {
  readonly version?: string
  readonly gates?: EventEmitter
}

/** Plugin with the tools. The text `wait X` waits for a gate, `fail` fails, `big N` returns N characters. */
export function toolsPlugin({ version = 'first', gates = new EventEmitter() }: ToolsOptions = {}): Plugin {
  return definePlugin({
    name: 'world-tools',
    operations: OPERATIONS,
    activate(ctx) {
      for (const operation of OPERATIONS) {
        ctx.implement(operation, async ({ text = '' }, call) => {
          if (text === 'fail') call.fail('WORLD_REFUSED', 'not today')
          const [word, rest = ''] = text.split(' ')
          if (word === 'wait') {
            const opened = new Promise(resolve => gates.once(`open ${rest}`, resolve))
            call.signal.addEventListener('abort', () => gates.emit(`aborted ${rest}`))
            gates.emit(`entered ${rest}`)
            await opened
          }
          const did = operation.id.replace('world.', '')
          return word === 'big' ? { did, by: version, text: 'x'.repeat(Number(rest)) } : { did, by: version }
        })
      }
      ctx.contribute(mcpTools, {
        name: 'raw_picture',
        description: 'A tool without a structured result',
        input: { type: 'object', properties: { broken: { type: 'boolean' } } },
        call: ({ broken }) => ({ content: [{ type: 'text', text: 'a picture' }], ...(broken ? { isError: true } : {}) })
      })
    }
  }) as Plugin
}

/** Minimal orchestrator that emits events. */
export class EventSource {
  readonly listeners = new Set<(event: AgentEvent) => void>()
  #id = 0

  get plugin(): Plugin {
    const source = {
      status: () => ({}) as OrchestratorStatus,
      subscribe: (listener: (event: AgentEvent) => void) => {
        this.listeners.add(listener)
        return () => this.listeners.delete(listener)
      }
    } as unknown as Orchestrator
    return definePlugin({
      name: 'orchestrator',
      provides: [orchestrator],
      activate: ctx => ctx.provide(orchestrator, source)
    }) as Plugin
  }

  emit(description = 'something'): AgentEvent {
    this.#id += 1
    const event: AgentEvent = {
      id: this.#id,
      timestamp_ms: 1_700_000_000_000 + this.#id,
      kind: { type: 'task_submitted', task_id: this.#id, agent_id: 1, description }
    }
    for (const listener of this.listeners) listener(event)
    return event
  }
}

export interface World {
  readonly kernel: TestKernel
  readonly url: string
  readonly port: number
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Response>
  call(name: unknown, args?: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>
  connect(options?: ConnectOptions): Promise<Socket>
}

export interface ConnectOptions {
  readonly token?: string | null
  readonly origin?: string | null
  readonly headers?: Readonly<Record<string, string>>
}

export const bearer = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` })

/**
 * Starts the gateway on a free port, with both tokens, the tools above and the real plugins below. Closes it at the end
 * of the test.
 */
export async function openWorld(
  t: Test,
  settings: object = {},
  { plugins = [toolsPlugin()], tokens = true }: { plugins?: readonly Plugin[]; tokens?: boolean } = {}
): Promise<World> {
  let server: { readonly current: HttpServer } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { server: ref(httpServer) },
    activate(_ctx, deps) {
      server = deps.server
    }
  })
  const shown = tokens ? { bearer_token: WRITE, read_bearer_token: READ } : {}
  const kernel = await testKernel([http, mcp, gateway, probe, ...plugins] as Plugin[], {
    settings: {
      http: { port: 0, main: false, drain_ms: 2_000 },
      'mcp-gateway': { http_enabled: true, port: 0, rate_limit_per_minute: 100_000, ...shown, ...settings }
    }
  })
  const sockets = new Set<WebSocket>()
  t.teardown(async () => {
    for (const socket of sockets) socket.terminate()
    await kernel.close()
  })
  const address = server?.current.addresses.find(({ listener }) => listener === 'mcp-gateway')
  if (address === undefined) throw new Error('the gateway does not listen')
  const { url, port } = address
  return {
    kernel,
    url,
    port,
    get: (path, headers = bearer(WRITE)) => fetch(url + path, { headers }),
    call: (name, args, headers = bearer(WRITE)) =>
      fetch(`${url}/v1/tools/call`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ name, args })
      }),
    async connect({ token = WRITE, origin = null, headers = {} } = {}) {
      const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/ws`, {
        headers: {
          ...(token === null ? {} : bearer(token)),
          ...(origin === null ? {} : { origin }),
          ...headers
        }
      })
      sockets.add(socket)
      return Socket.open(socket)
    }
  }
}

type Message = Readonly<Record<string, unknown>>

/** Websocket with a queue of received messages. */
export class Socket {
  readonly socket: WebSocket
  readonly closed: Promise<{ code: number; reason: string }>
  readonly #messages: Message[] = []
  readonly #waiting: ((message: Message) => void)[] = []

  private constructor(socket: WebSocket) {
    this.socket = socket
    this.closed = new Promise(resolve =>
      socket.once('close', (code, reason) => resolve({ code, reason: String(reason) }))
    )
    socket.on('message', data => {
      const message = JSON.parse(String(data))
      const taker = this.#waiting.shift()
      if (taker === undefined) this.#messages.push(message)
      else taker(message)
    })
  }

  /** Resolves when the socket is open. Rejects with the HTTP status if the handshake is rejected. */
  static open(socket: WebSocket): Promise<Socket> {
    const opened = new Socket(socket)
    return new Promise((resolve, reject) => {
      socket.once('open', () => resolve(opened))
      socket.once('unexpected-response', (_request, response) => {
        let body = ''
        response.on('data', chunk => {
          body += chunk
        })
        response.on('end', () => reject(Object.assign(new Error(body), { status: response.statusCode, body })))
      })
      socket.on('error', reject)
    })
  }

  next(): Promise<Message> {
    const message = this.#messages.shift()
    return message === undefined ? new Promise(resolve => this.#waiting.push(resolve)) : Promise.resolve(message)
  }

  send(message: unknown): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message))
  }

  ask(message: unknown): Promise<Message> {
    this.send(message)
    return this.next()
  }
}
