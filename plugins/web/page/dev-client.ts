/**
 * Script of pages in development: reloads the page after a save, keeps its scroll position, and shows problems in an
 * overlay. `svc dev` adds it to every document.
 */
import { Overlay, type Problem } from './overlay.ts'
import { keepScroll, restoreScroll } from './scroll.ts'

type Message =
  | { readonly type: 'state'; readonly build: string; readonly problem: Problem | null; readonly notice: string | null }
  | { readonly type: 'failure'; readonly failure: Problem }

/** Milliseconds before the first and the last attempt to connect again. */
const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 2_000
/** Failed requests of this page that are remembered. */
const MAX_REQUESTS = 50

const build = new URL(import.meta.url).searchParams.get('build')
const overlay = new Overlay()
/** Ids of this page's failed requests, for which the server may report a failure. */
const failedRequests = new Set<string>()
const failures = new Map<string, Problem>()

let retryMs = FIRST_RETRY_MS

function connect(): void {
  const { protocol, host } = location
  const socket = new WebSocket(`${protocol === 'https:' ? 'wss' : 'ws'}://${host}/@svc/dev`)
  socket.addEventListener('open', () => {
    retryMs = FIRST_RETRY_MS
  })
  socket.addEventListener('message', ({ data }) => receive(JSON.parse(String(data)) as Message))
  socket.addEventListener('close', () => {
    setTimeout(connect, retryMs)
    retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)
  })
}

function receive(message: Message): void {
  if (message.type === 'failure') {
    const { failure } = message
    if (failure.requestId === null) return
    failures.set(failure.requestId, failure)
    if (failedRequests.has(failure.requestId)) overlay.show('call', failure)
    return
  }
  if (message.problem === null && build !== null && message.build !== build) {
    keepScroll()
    location.reload()
    return
  }
  if (message.problem === null) overlay.hide('build')
  else overlay.show('build', message.problem)
  if (message.notice === null) overlay.hide('notice')
  else
    overlay.show('notice', {
      title: message.notice,
      text: 'The generated files of the pages are of another version of the program.',
      code: null,
      hint: null,
      calls: [],
      requestId: null
    })
}

/** Remembers failed requests, so that only the page that made a request shows its failure. */
const send = globalThis.fetch
globalThis.fetch = async (...args) => {
  const response = await send(...args)
  const id = response.headers.get('x-request-id')
  if (response.status >= 500 && id !== null) {
    failedRequests.add(id)
    const [oldest] = failedRequests
    if (failedRequests.size > MAX_REQUESTS && oldest !== undefined) failedRequests.delete(oldest)
    const failure = failures.get(id)
    if (failure !== undefined) overlay.show('call', failure)
  }
  return response
}

function uncaught(reason: unknown): void {
  const { name, message, stack = '', body } = Object(reason) as Partial<Error> & { readonly body?: unknown }
  const { request_id, code, hint } = Object(body) as Readonly<Record<string, unknown>>
  const requestId = typeof request_id === 'string' ? request_id : null
  // The server reports the same failure, with the call stack of the program.
  if (requestId !== null && failures.has(requestId)) return
  overlay.show(requestId === null ? 'page' : 'call', {
    title: requestId === null ? 'Uncaught error in the page' : 'The page does not handle an error of the program',
    text: message === undefined ? String(reason) : `${name ?? 'Error'}: ${message}`,
    code: typeof code === 'string' ? code : null,
    hint: typeof hint === 'string' ? hint : null,
    calls: stack
      .split('\n')
      .filter(line => /^\s*at |@/.test(line))
      .map(line => line.trim()),
    requestId
  })
}

addEventListener('error', event => {
  // Failed images and scripts have no error.
  if (event.error !== undefined && event.error !== null) uncaught(event.error)
})
addEventListener('unhandledrejection', event => uncaught(event.reason))

restoreScroll()
connect()
