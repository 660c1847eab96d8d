import { errorMessage } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import { isObject } from '../interpreter/json.ts'
import { parseClientJson, printJson } from '../wire/json-text.ts'
import type { QueryAnswer } from './watched-query.ts'

/** Maximum characters of the id that a client gives a watched query. */
const MAX_ID_CHARACTERS = 64

/** Id that a client gives a watched query: all messages about the query contain it. */
export type WatchId = string | number

/** A message of a client. */
export type ClientMessage =
  | { readonly kind: 'auth'; readonly bearer: string }
  | { readonly kind: 'subscribe'; readonly topic: string; readonly after: number | null }
  | { readonly kind: 'unsubscribe'; readonly topic: string }
  | { readonly kind: 'watch'; readonly id: WatchId; readonly name: string; readonly query: string }
  | { readonly kind: 'unwatch'; readonly id: WatchId }

/** Parses a client message. Throws `RUN_ARGUMENTS`. */
export function readMessage(text: string): ClientMessage {
  const message = parsed(text)
  const { auth, subscribe, unsubscribe, after_id: after = null, watch, unwatch, query, args = {} } = message
  if (typeof auth === 'string') return { kind: 'auth', bearer: auth }
  if (typeof unsubscribe === 'string') return { kind: 'unsubscribe', topic: unsubscribe }
  if (isId(unwatch)) return { kind: 'unwatch', id: unwatch }
  if (isId(watch) && typeof query === 'string' && isObject(args))
    return { kind: 'watch', id: watch, name: query, query: queryText(args) }
  if (typeof subscribe === 'string' && isPosition(after)) return { kind: 'subscribe', topic: subscribe, after }
  throw runErrors.create(
    'RUN_ARGUMENTS',
    'a message must be {"watch": id, "query": name, "args": {…}}, {"unwatch": id}, {"auth": token}, {"subscribe": topic, "after_id": number} or {"unsubscribe": topic}'
  )
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return (parseClientJson(text) ?? {}) as Readonly<Record<string, unknown>>
  } catch (error) {
    throw runErrors.create('RUN_ARGUMENTS', `the message is not accepted as JSON: ${errorMessage(error)}`)
  }
}

function isId(value: unknown): value is WatchId {
  return typeof value === 'string' ? value.length <= MAX_ID_CHARACTERS : Number.isSafeInteger(value)
}

function isPosition(value: unknown): value is number | null {
  return value === null || (Number.isSafeInteger(value) && Number(value) >= 0)
}

/** Returns the query string of a call, as the TypeScript client writes it: JSON values, sorted by name. */
function queryText(args: Readonly<Record<string, unknown>>): string {
  return Object.keys(args)
    .sort()
    .map(name => `${encodeURIComponent(name)}=${encodeURIComponent(printJson(args[name]))}`)
    .join('&')
}

/** Messages with an answer, by watch id: clients usually give equal ids, and then share one message. */
const messages = new WeakMap<QueryAnswer, Map<WatchId, Buffer>>()

/** Returns the message with an answer: its value, or its error with the status. */
export function answerMessage(id: WatchId, answer: QueryAnswer): Buffer {
  const known = messages.get(answer) ?? new Map<WatchId, Buffer>()
  messages.set(answer, known)
  const found = known.get(id)
  if (found !== undefined) return found
  const { status, body } = answer
  const message =
    status === 200 ? Buffer.from(`{"watch":${JSON.stringify(id)},"value":${body}}`) : errorMessageOf(id, answer, false)
  known.set(id, message)
  return message
}

/** Returns the message with an error. `isEnded`: the query is not watched any longer. */
export function errorMessageOf(id: WatchId, { status, body }: QueryAnswer, isEnded: boolean): Buffer {
  const ended = isEnded ? '"ended":true,' : ''
  return Buffer.from(`{"watch":${JSON.stringify(id)},"status":${status},${ended}${body.slice(1)}`)
}
