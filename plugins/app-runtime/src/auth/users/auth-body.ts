import { type HttpExchange, type HttpHandlerRoute, isJsonMediaType, parseJsonBody } from '@svc/contracts'
import { runErrors } from '../../errors.ts'

/** Maximum bytes of a body. */
const MAX_BODY = 65_536

export type Fields = Readonly<Record<string, unknown>>
export type Run = (exchange: HttpExchange, fields: Fields) => Promise<void>

/** Returns a route below `/api/auth`, whose body is a JSON object. */
export function authRoute(method: 'GET' | 'POST', name: string, summary: string, run: Run): HttpHandlerRoute {
  return {
    method,
    path: `/api/auth/${name}`,
    summary,
    handle(exchange) {
      exchange.response.setHeader('cache-control', 'no-store')
      const failed = (error: unknown): void => exchange.fail(error)
      if (method === 'GET') run(exchange, {}).catch(failed)
      else withFields(exchange, fields => void run(exchange, fields).catch(failed))
    }
  }
}

export function wrongArgument(name: string, expected: string): Error {
  return runErrors.create('RUN_ARGUMENTS', `${name}: it must be ${expected}`)
}

function withFields(exchange: HttpExchange, take: (fields: Fields) => void): void {
  const type = exchange.request.headers['content-type']
  exchange.body(bytes => {
    try {
      // A form of another site cannot send this content type without asking first.
      if (bytes.length > 0 && !isJsonMediaType(type)) {
        const message = `the body has the content type "${type ?? ''}"; this route accepts JSON`
        throw runErrors.create('RUN_MEDIA_TYPE', message, { hint: 'send it with content-type: application/json' })
      }
      const body = bytes.length === 0 ? {} : parseJsonBody(bytes)
      if (typeof body !== 'object' || body === null || Array.isArray(body)) throw wrongArgument('body', 'an object')
      take(body as Fields)
    } catch (error) {
      exchange.fail(error)
    }
  }, MAX_BODY)
}
