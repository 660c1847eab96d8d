import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Plugin } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import mcp from '#plugin'
import conformance from '../../../test/fixtures/plugins/mcp-conformance/src/plugin.ts'
import { type PlainHttp, plainHttp } from './plain-http.ts'

export const ERAS = ['2026', '2025'] as const
export type Era = (typeof ERAS)[number]

export interface RunningMcp {
  readonly kernel: TestKernel
  readonly http: PlainHttp
  readonly url: string
  connect(era: Era, options?: ClientOptions): Promise<Client>
  /** Sends one raw request, which may be one that a correct client would not send. */
  post(body: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>
  reload(): Promise<void>
}

/** Starts the MCP plugin over HTTP, with the conformance fixture and `plugins`. Closes it at the end of the test. */
export async function startMcp(t: Test, plugins: readonly Plugin[] = [], settings: object = {}): Promise<RunningMcp> {
  const http = await plainHttp()
  const kernel = await testKernel([http.plugin, mcp, conformance, ...plugins], { settings: { mcp: settings } })
  const clients: Client[] = []
  t.teardown(async () => {
    await Promise.allSettled(clients.map(client => client.close()))
    await http.close()
    await kernel.close()
  })
  const url = `${http.url}/mcp`
  return {
    kernel,
    http,
    url,
    async connect(era, options = {}) {
      const client = newClient(era, options)
      await client.connect(new StreamableHTTPClientTransport(new URL(url)))
      clients.push(client)
      return client
    },
    post: (body, headers = {}) =>
      fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body)
      }),
    reload: () => kernel.replace(mcp)
  }
}

export function newClient(era: Era, options: ClientOptions = {}): Client {
  return new Client(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode: era === '2026' ? { pin: '2026-07-28' } : 'legacy' }, ...options }
  )
}

/** Returns the text of a result's first content block. */
export function textOf(result: unknown): string {
  const [first] = (result as { content: { type: string; text?: string }[] }).content
  return first?.text ?? `(${first?.type})`
}
