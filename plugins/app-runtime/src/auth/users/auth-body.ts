import { type HttpExchange, type HttpHandlerRoute, isJsonMediaType, parseJsonBody } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { runErrors } from '../../errors.ts'
import { localPath } from '../local-path.ts'
import { mayUseCookies } from '../verifier.ts'

const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i

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
      else
        withFields(exchange, (answering, fields) => void run(answering, fields).catch(error => answering.fail(error)))
    }
  }
}

/** True if a page sent a form, and not a script. */
export function isForm({ request }: HttpExchange): boolean {
  return FORM.test(request.headers['content-type'] ?? '')
}

export function wrongArgument(name: string, expected: string): Error {
  return runErrors.create('RUN_ARGUMENTS', `${name}: it must be ${expected}`)
}

function withFields(exchange: HttpExchange, take: (exchange: HttpExchange, fields: Fields) => void): void {
  const type = exchange.request.headers['content-type']
  exchange.body(bytes => {
    try {
      if (isForm(exchange)) {
        const { next = null, ...fields } = Object.fromEntries(new URLSearchParams(bytes.toString('utf8')))
        assertOwnPage(exchange)
        take(forForm(exchange, localPath(next)), fields)
        return
      }
      // A form of another site cannot send this content type without asking first.
      if (bytes.length > 0 && !isJsonMediaType(type)) {
        const message = `the body has the content type "${type ?? ''}"; this route accepts JSON`
        throw runErrors.create('RUN_MEDIA_TYPE', message, { hint: 'send it with content-type: application/json' })
      }
      const body = bytes.length === 0 ? {} : parseJsonBody(bytes)
      if (typeof body !== 'object' || body === null || Array.isArray(body)) throw wrongArgument('body', 'an object')
      take(exchange, body as Fields)
    } catch (error) {
      exchange.fail(error)
    }
  }, MAX_BODY)
}

/** A form of another site could sign its visitor in as another user. Browsers name the origin of a form. */
function assertOwnPage({ request }: HttpExchange): void {
  const { method = 'POST', headers } = request
  if (mayUseCookies({ method, headers })) return
  throw runErrors.create('RUN_FORBIDDEN', 'the form is not on a page of this origin')
}

/** Answers a form: opens the next page, or the page of the form again with the problem in its address. */
function forForm(exchange: HttpExchange, next: string): HttpExchange {
  const back = (problem: string): void => redirect(exchange, withProblem(ownReferer(exchange), problem))
  return {
    request: exchange.request,
    response: exchange.response,
    caller: exchange.caller,
    params: exchange.params,
    query: exchange.query,
    body: (...args) => exchange.body(...args),
    send(status, type, body, headers) {
      if (headers?.location !== undefined) exchange.send(status, type, body, headers)
      else if (status < 400) redirect(exchange, next)
      else back(String((JSON.parse(String(body)) as { readonly error?: unknown }).error))
    },
    fail: error => (isSvcError(error) && error.status < 500 ? back(error.message) : exchange.fail(error)),
    stream: () => exchange.stream()
  }
}

/** Returns the path of the page with the form. */
function ownReferer({ request }: HttpExchange): string {
  const { referer, host } = request.headers
  if (referer === undefined || !URL.canParse(referer)) return '/'
  const url = new URL(referer)
  return url.host === host ? localPath(url.pathname + url.search) : '/'
}

function withProblem(path: string, problem: string): string {
  const url = new URL(path, 'http://page')
  url.searchParams.set('problem', problem)
  return url.pathname + url.search
}

/** Opens another page. */
export function redirect(exchange: HttpExchange, location: string): void {
  exchange.send(303, 'text/plain; charset=utf-8', '', { location })
}
