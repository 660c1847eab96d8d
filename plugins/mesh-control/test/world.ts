import { setTimeout as delay } from 'node:timers/promises'
import {
  type Coordination,
  coordinationBackend,
  coordinationStore,
  type HttpServer,
  httpServer,
  MESH_PATH,
  type MeshSettings,
  meshSettings,
  metricsText,
  surfaces
} from '@svc/contracts'
import coordination from '@svc/plugin-coordination'
import database from '@svc/plugin-database'
import http from '@svc/plugin-http'
import mesh from '@svc/plugin-mesh'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { fake, type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import '../../database/test/built-worker.ts'
import control from '#plugin'

export const MESH_TOKEN = 'mesh-token-0123456789abcdef'
export const WORKER_TOKEN = 'worker-token-0123456789abcdef'
export const SUBMITTER_TOKEN = 'submitter-token-0123456789abcdef'
export const ADMIN_TOKEN = 'admin-token-0123456789abcdef'
export const TOKENS = {
  token: MESH_TOKEN,
  worker_token: WORKER_TOKEN,
  submitter_token: SUBMITTER_TOKEN,
  admin_token: ADMIN_TOKEN
}

export interface Reply {
  readonly status: number
  readonly text: string
  readonly headers: Headers
  /** Parsed body; undefined unless it is JSON. */
  readonly json: Record<string, any> | undefined
}

export interface CallOptions {
  readonly token?: string | null
  readonly headers?: Readonly<Record<string, string>>
  readonly base?: string
  readonly signal?: AbortSignal
}

export interface World {
  readonly kernel: TestKernel
  readonly port: number
  readonly store: Coordination
  readonly mesh: MeshSettings
  get(path: string, options?: CallOptions): Promise<Reply>
  post(path: string, body?: unknown, options?: CallOptions): Promise<Reply>
  /** Resolves when this many requests wait for a message. */
  waiting(count: number): Promise<void>
  /** Joins a node with these fields. */
  join(id: string, fields?: object): Promise<Reply>
}

export interface WorldOptions {
  readonly control?: object
  readonly mesh?: object
  readonly coordination?: object
  /** Replaces the store, for faults. */
  readonly wrap?: (store: Coordination) => Coordination
  readonly http?: object
  /** Store on a server, instead of the embedded one. */
  readonly backend?: Coordination
}

/** Opens a control plane on a free port, over the real store in a temporary folder. */
export async function openWorld(t: Test, options: WorldOptions = {}): Promise<World> {
  let server: { readonly current: HttpServer } | undefined
  let store: Coordination | undefined
  let settings: MeshSettings | undefined
  let metrics = async (): Promise<string> => ''
  const probe = definePlugin({
    name: 'probe',
    requires: { server: ref(httpServer), store: coordinationStore, mesh: meshSettings },
    activate(ctx, deps) {
      ctx.contribute(surfaces, {
        prepare(next) {
          const items = next.items(metricsText)
          return {
            commit() {
              metrics = async () => (await Promise.all(items.map(({ item }) => item.render()))).join('')
            },
            abort: () => undefined
          }
        }
      })
      server = deps.server
      store = deps.store
      settings = deps.mesh
    }
  })
  const { wrap } = options
  // The wrapped store takes the place of the real one, which it uses.
  const wrapped = definePlugin({
    ...coordination,
    activate(ctx, deps) {
      const provide: typeof ctx.provide = (token, value) =>
        ctx.provide(token, wrap === undefined ? value : (wrap(value as Coordination) as never))
      return coordination.activate(
        new Proxy(ctx, {
          get(on, key) {
            const value = Reflect.get(on, key)
            if (key === 'provide') return provide
            return typeof value === 'function' ? value.bind(on) : value
          }
        }),
        deps
      )
    }
  })
  const kernel = await testKernel(
    [http, database, wrapped, mesh, control, probe].map(each => definePlugin({ ...each }) as Plugin),
    {
      services: [fake(coordinationBackend, { store: options.backend ?? null })],
      settings: {
        http: { main: false, drain_ms: 500, ...options.http },
        mesh: { node_id: 'self', ...options.mesh },
        'mesh-control': {
          port: 0,
          drain_ms: 0,
          registry_path: '/nonexistent/r.json',
          ...options.control
        },
        coordination: { file: 'coordination.db', ...options.coordination }
      }
    }
  )
  t.teardown(() => kernel.close())
  const address = server?.current.addresses.find(({ listener }) => listener === 'mesh')
  if (address === undefined || store === undefined || settings === undefined) throw new Error('the world did not open')
  const call = async (method: string, path: string, body: string | undefined, given: CallOptions = {}) => {
    const { token, headers = {}, base = MESH_PATH, signal } = given
    const sent: Record<string, string> = {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers
    }
    if (token !== null && token !== undefined) sent.authorization = `Bearer ${token}`
    const response = await fetch(`http://127.0.0.1:${address.port}${base}${path}`, {
      method,
      headers: sent,
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal })
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true && text !== ''
    return { status: response.status, text, headers: response.headers, json: isJson ? JSON.parse(text) : undefined }
  }
  const world: World = {
    kernel,
    port: address.port,
    store,
    mesh: settings,
    get: (path, given) => call('GET', path, undefined, given),
    post: (path, body = {}, given = {}) =>
      call('POST', path, typeof body === 'string' ? body : JSON.stringify(body), given),
    async waiting(count) {
      while (!(await metrics()).includes(`svc_mesh_inbox_waiters ${count}\n`)) await delay(5)
    },
    join: (id, fields = {}) => world.post('/join', { ...nodeReport(id), ...fields }, { token: MESH_TOKEN })
  }
  return world
}

export function nodeReport(id: string): Record<string, unknown> {
  return { id, capabilities: { cpu_cores: 4 }, version: '1.0.0', last_seen_unix_ms: 1 }
}

export function message(receiver: string, fields: object = {}): Record<string, unknown> {
  return {
    sender_agent_id: '1',
    receiver_agent_id: receiver,
    message_type: 'job_submit',
    payload: '{"a":1}',
    ...fields
  }
}
