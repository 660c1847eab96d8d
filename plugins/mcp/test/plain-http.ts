import { EventEmitter } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { httpRoutes, surfaces } from '@svc/contracts'
import { definePlugin, type Plugin, type Principal } from '@svc/plugin-sdk'
import { fastify } from 'fastify'

export interface PlainHttp {
  readonly plugin: Plugin
  readonly url: string
  /** Error codes that routes recorded for the access records. */
  readonly codes: string[]
  /** Principal of every request. */
  principal: Principal
  /** Resolves when `count` GET requests, which open notification streams, have received their response headers. */
  streams(count: number): Promise<void>
  close(): Promise<void>
}

/** Starts a minimal HTTP plugin for raw routes: one server, one Fastify per generation, requests counted by unit. */
export async function plainHttp(port = 0): Promise<PlainHttp> {
  let serve: ReturnType<typeof fastify>['routing'] | undefined
  let unit: { enter(): void; exit(): void } | undefined
  const gets: ServerResponse[] = []
  const codes: string[] = []
  const server: Server = createServer((request, response) => {
    const mine = unit
    mine?.enter()
    response.once('close', () => mine?.exit())
    serve?.(request, response)
    if (request.method === 'GET') gets.push(response)
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  const plugin = definePlugin({
    name: 'http',
    activate(ctx) {
      ctx.contribute(surfaces, {
        async prepare(next) {
          const app = fastify({ serverFactory: () => new EventEmitter() as Server })
          app.decorateRequest('caller', {
            getter(this: { readonly headers: Readonly<Record<string, unknown>> }) {
              const requestId = String(this.headers['x-request-id'] ?? 'none')
              return { principal: state.principal, requestId, recordError: (code: string) => codes.push(code) }
            }
          })
          const items = next.items(httpRoutes)
          for (const { item } of items) await app.register(async scope => item.register(scope))
          await app.ready()
          return {
            commit() {
              serve = app.routing
              unit = items[0]?.unit
            },
            abort: () => undefined
          }
        }
      })
    }
  })
  const state = {
    plugin,
    codes,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    principal: { id: 'local', role: 'owner', scopes: ['*'] } as Principal,
    async streams(count: number) {
      while (gets.filter(response => response.headersSent).length < count) {
        await new Promise(resolve => setTimeout(resolve, 5))
      }
    },
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    }
  }
  return state
}
