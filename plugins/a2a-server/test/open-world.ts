import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client'
import {
  type Coordination,
  coordinationBackend,
  coordinationStore,
  type HttpServer,
  httpServer,
  kernelPort,
  type Orchestrator,
  orchestrator as orchestratorToken
} from '@svc/contracts'
import coordination from '@svc/plugin-coordination'
import coordinationPostgres from '@svc/plugin-coordination-postgres'
import database from '@svc/plugin-database'
import http from '@svc/plugin-http'
import orchestrator from '@svc/plugin-orchestrator'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { fake, type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import '../../database/test/built-worker.ts'
import plugin from '#plugin'
import { Worker } from './worker.ts'

export interface WorldOptions {
  readonly settings?: object
  /** Settings of other plugins by name. */
  readonly others?: Readonly<Record<string, object>>
  /** Database file; worlds with the same file share their tasks. Default: a new file. */
  readonly file?: string
  readonly more?: readonly Plugin[]
  /** URL of a PostgreSQL server with the coordination store. */
  readonly postgres?: string
  readonly replaced?: { readonly coordination?: Plugin }
  /** False: this process has no orchestrator. */
  readonly orchestrator?: boolean
}

export interface World {
  readonly kernel: TestKernel
  readonly url: string
  readonly orchestrator: Orchestrator
  readonly store: Coordination
  /** Scope of the tasks in the store. */
  readonly scope: string
  readonly worker: Worker
  client(transport: Transport, fetchImpl?: typeof fetch): Promise<Client>
  /** Calls a JSON-RPC method, and returns status and body. */
  rpc(method: string, params: unknown, headers?: Readonly<Record<string, string>>): Promise<Rpc>
  rest(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Rpc>
  close(): Promise<void>
}

export interface Rpc {
  readonly status: number
  readonly headers: Headers
  readonly body: any
}

export type Transport = 'JSONRPC' | 'HTTP+JSON'
export const TRANSPORTS: readonly Transport[] = ['JSONRPC', 'HTTP+JSON']
export const VERSION = { 'a2a-version': '1.0' }

/** Returns the path of a database file that is removed at the end of the test. */
export function freshFile(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'a2a-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'store.db')
}

/** Opens the server with the real orchestrator, database and coordination store. Closes it at the end of the test. */
export async function openWorld(t: Test, options: WorldOptions = {}): Promise<World> {
  const { settings = {}, others = {}, file = freshFile(t), more = [], orchestrator: hasOrchestrator = true } = options
  let scope = ''
  let held: { server?: { readonly current: HttpServer }; store?: Coordination; tasks?: Orchestrator | undefined } = {}
  const probe = definePlugin({
    name: 'probe',
    requires: { server: ref(httpServer), store: coordinationStore, kernel: kernelPort },
    optional: { tasks: orchestratorToken },
    activate(_ctx, deps) {
      held = deps
      scope = deps.kernel.repositoryId
    }
  })
  const store = options.replaced?.coordination ?? coordination
  const { postgres } = options
  const backend = postgres === undefined ? [] : [coordinationPostgres]
  const plugins = [
    ...backend,
    http,
    database,
    store,
    plugin,
    probe,
    ...(hasOrchestrator ? [orchestrator] : []),
    ...more
  ]
  const kernel = await testKernel(plugins as Plugin[], {
    services: postgres === undefined ? [fake(coordinationBackend, { store: null })] : [],
    settings: {
      http: { port: 0, drain_ms: 2_000 },
      database: { path: file },
      ...(hasOrchestrator ? { orchestrator: { stubcheck_gate: false } } : null),
      ...(postgres === undefined ? null : { 'coordination-postgres': { url: postgres } }),
      'a2a-server': settings,
      ...others
    }
  })
  const { listener = 'main' } = settings as { readonly listener?: string }
  const address = held.server?.current.addresses.find(each => each.listener === listener)
  if (address === undefined || held.store === undefined)
    throw new Error(
      `the server does not listen: ${JSON.stringify([kernel.state('http'), kernel.state('coordination'), kernel.state('a2a-server'), kernel.state('probe'), held.server?.current.addresses])} ${JSON.stringify(kernel.log).slice(0, 3000)}`
    )
  const worker = new Worker(held.tasks)
  let isOpen = true
  const close = async (): Promise<void> => {
    if (!isOpen) return
    isOpen = false
    worker.stop()
    await kernel.close()
  }
  t.teardown(close)
  const { url } = address
  const call = async (method: string, path: string, body: unknown, headers: Readonly<Record<string, string>>) => {
    const response = await fetch(url + path, {
      method,
      headers: { ...VERSION, ...(body === undefined ? null : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? null : { body: typeof body === 'string' ? body : JSON.stringify(body) })
    })
    const text = await response.text()
    const isJson = /json/.test(response.headers.get('content-type') ?? '')
    return { status: response.status, headers: response.headers, body: isJson && text !== '' ? JSON.parse(text) : text }
  }
  return {
    kernel,
    url,
    orchestrator: held.tasks as Orchestrator,
    store: held.store,
    scope,
    worker,
    close,
    client(transport, fetchImpl = fetch) {
      const factory = new ClientFactory({
        preferredTransports: [transport],
        transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })]
      })
      return factory.createFromUrl(url)
    },
    rpc: (method, params, headers = {}) => call('POST', '/a2a/v1', { jsonrpc: '2.0', id: 1, method, params }, headers),
    rest: (method, path, body, headers = {}) => call(method, `/a2a/v1${path}`, body, headers)
  }
}
