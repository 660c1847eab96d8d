import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpCaller, HttpRoutes } from '@svc/contracts'
import type { HttpEntry } from './http-entry.ts'

/** Type of the part of a Fastify scope that is used here. */
interface Scope {
  removeAllContentTypeParsers(): void
  addContentTypeParser(type: '*', parser: (request: unknown, body: unknown, done: (error: null) => void) => void): void
  route(options: { method: string[]; url: string; handler: (request: RawRequest, reply: RawReply) => void }): void
}

interface RawRequest {
  readonly raw: IncomingMessage
  readonly caller: HttpCaller
}

interface RawReply {
  readonly raw: ServerResponse
  hijack(): void
}

const METHODS = ['GET', 'POST', 'DELETE'] as const

/** Returns the routes of Streamable HTTP on one path. The SDK reads the body and writes the response itself. */
export function mcpRoutes(path: string, entry: HttpEntry): HttpRoutes {
  return {
    routes: METHODS.map(method => ({ method, path, summary: 'Model Context Protocol (Streamable HTTP)' })),
    register(app) {
      const scope = app as Scope
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', (_request, _body, done) => done(null))
      scope.route({
        method: [...METHODS],
        url: path,
        handler(request, reply) {
          reply.hijack()
          const { raw, caller } = request
          void entry.handle(raw, reply.raw, caller.principal, undefined, caller)
        }
      })
    }
  }
}
