import { type HttpServer, httpServer } from '@svc/contracts'
import http from '@svc/plugin-http'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import router from '#plugin'
import { modelServers } from '#root'
import type { FakeModelServer } from './model-servers.ts'

/** Long enough that facts do not become stale while the machine is busy, short enough for tests that wait for them. */
export const INTERVAL_MS = 300

export interface OpenRouter {
  readonly kernel: TestKernel
  readonly url: string
  post(path: string, body: unknown, init?: RequestInit): Promise<Response>
  get(path: string, headers?: Record<string, string>): Promise<Response>
  /** Returns the server that answered a chat. */
  chat(
    model: string,
    content: string,
    fields?: object
  ): Promise<{ status: number; server: string | null; text: string }>
  /** Rows of `svc model servers`. */
  servers(): Promise<Awaited<ReturnType<typeof rowsOf>>>
  /** Resolves when every server has reported facts that began after the call. */
  probed(): Promise<void>
}

const rowsOf = async (kernel: TestKernel) => (await kernel.call(modelServers, {})).servers

/** Starts the router on a real socket until the test ends. It has read the facts of all servers once, and reads them every {@link INTERVAL_MS}. */
export async function openRouter(
  t: Test,
  servers: Readonly<
    Record<string, FakeModelServer | { readonly url: string; readonly options: { readonly api: string } }>
  >,
  settings: Readonly<Record<string, unknown>> = {},
  { perServer = {}, plugins = [] }: { perServer?: object; plugins?: readonly Plugin[] } = {}
): Promise<OpenRouter> {
  let found: HttpServer | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { server: httpServer },
    activate: (_ctx, { server }) => {
      found = server
    }
  })
  const kernel = await testKernel([router, http, probe, ...plugins], {
    settings: {
      http: { main: false },
      'inference-router': {
        port: 0,
        probe_interval_ms: INTERVAL_MS,
        servers: Object.entries(servers).map(([name, { url, options }]) => ({
          name,
          url,
          api: options.api,
          ...perServer
        })),
        ...settings
      }
    }
  })
  t.teardown(() => kernel.close())
  const url = found?.addresses.find(({ listener }) => listener === 'inference-router')?.url ?? ''
  const post: OpenRouter['post'] = (path, body, init = {}) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...init
    })
  const probed = async (): Promise<void> => {
    const began = performance.now()
    for (;;) {
      const rows = await rowsOf(kernel)
      const isFresh = (age: number | undefined) => age !== undefined && performance.now() - age > began + 1
      if (rows.every(({ facts_age_ms }) => isFresh(facts_age_ms))) return
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  }
  await rowsOf(kernel)
  return {
    kernel,
    url,
    post,
    get: (path, headers = {}) => fetch(`${url}${path}`, { headers }),
    chat: async (model, content, fields = {}) => {
      const body = { model, messages: [{ role: 'user', content }], stream: true, ...fields }
      const response = await post('/v1/chat/completions', body)
      return { status: response.status, server: response.headers.get('x-svc-server'), text: await response.text() }
    },
    servers: () => rowsOf(kernel),
    probed
  }
}
