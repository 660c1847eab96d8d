import type { Identity } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { parseClientJson } from '../wire/json-text.ts'
import { fail } from './failure.ts'
import { identityValue } from './identity.ts'
import { Json, NONE, Opaque, some, type Value } from './value.ts'

/** Parts of an HTTP request that a program may read. */
export interface RequestParts {
  readonly method: string
  readonly ip: string
  readonly id: string
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
}

/** Caller of a program. */
export interface Caller {
  /** null: anonymous. */
  readonly identity: Identity | null
  /** True for the program itself and its operator, whom every guard admits. */
  readonly isSystem: boolean
  /** null if the call is no HTTP request, or the function does not read it. */
  readonly parts: RequestParts | null
}

export const ANONYMOUS: Caller = { identity: null, isSystem: false, parts: null }

/** Identity of schedules, workflows, mailboxes and `main`. */
const SYSTEM_IDENTITY: Identity = { id: 'system', roles: [], scopes: ['*'], claims: {}, provider: 'system' }

export const SYSTEM: Caller = { identity: SYSTEM_IDENTITY, isSystem: true, parts: null }

/** Text form of {@link SYSTEM} in messages to threads. */
export const SYSTEM_TEXT = '*'
/** Text form of {@link ANONYMOUS} without a request. */
export const ANONYMOUS_TEXT = ''

/** Returns the text form of a caller. `identity`: an identity as JSON; null if anonymous. */
export function callerText(identity: string | null, parts: RequestParts | null): string {
  if (parts === null) return identity === null ? ANONYMOUS_TEXT : `{"identity":${identity}}`
  return `{"identity":${identity},"parts":${JSON.stringify(parts)}}`
}

let lastText = ''
let lastCaller: Caller = ANONYMOUS

/** Reads the text form of a caller. */
export function callerOfText(text: string): Caller {
  if (text === ANONYMOUS_TEXT) return ANONYMOUS
  if (text === SYSTEM_TEXT) return SYSTEM
  // Consecutive calls often have the same caller.
  if (text === lastText) return lastCaller
  const { identity, parts = null } = JSON.parse(text) as Pick<Caller, 'identity'> & { readonly parts?: RequestParts }
  lastText = text
  lastCaller = { identity, isSystem: false, parts }
  return lastCaller
}

/** The request that a program handles. Its values are made when they are first read. */
export class RequestContext {
  readonly caller: Caller
  readonly #method: string
  readonly #query: string
  readonly #body: string
  #value: Opaque | null = null
  #user: Value = null

  constructor(caller: Caller, { method = '', query = '', body = '' }: Partial<RequestText> = {}) {
    this.caller = caller
    this.#method = method
    this.#query = query
    this.#body = body
  }

  /** The identity of the caller as a record; null if anonymous. */
  get user(): Value {
    const { identity } = this.caller
    if (identity !== null) this.#user ??= identityValue(identity)
    return this.#user
  }

  /** The value of `request`. */
  get value(): Opaque {
    this.#value ??= this.#made()
    return this.#value
  }

  #made(): Opaque {
    const { parts } = this.caller
    return new Opaque(
      'Request',
      {
        /** Parses the body as JSON. Throws `RUN_BODY` for invalid JSON. */
        json: () => {
          try {
            return new Json(parseClientJson(this.#body), true)
          } catch (cause) {
            return fail('RUN_BODY', `the body of the request is not accepted as JSON: ${errorMessage(cause)}`)
          }
        },
        text: () => this.#body,
        header: args => optional(parts?.headers[nameArg(args, 'header').toLowerCase()]),
        cookie: args => optional(cookieOf(parts?.headers.cookie, nameArg(args, 'cookie'))),
        query: args => optional(new URLSearchParams(this.#query).get(nameArg(args, 'query'))),
        method: () => parts?.method ?? this.#method,
        ip: () => parts?.ip ?? '',
        id: () => parts?.id ?? ''
      },
      { user: () => optional(this.user) }
    )
  }
}

/** The request of calls by the program itself. */
export const SYSTEM_REQUEST = new RequestContext(SYSTEM)
/** The request of calls in tests. */
export const ANONYMOUS_REQUEST = new RequestContext(ANONYMOUS)

/** Texts of a request: the raw query without its question mark, and the body. */
export interface RequestText {
  readonly method: string
  readonly query: string
  readonly body: string
}

function optional(value: Value | undefined): Value {
  return value === null || value === undefined ? NONE : some(value)
}

function nameArg([name]: readonly Value[], method: string): string {
  return typeof name === 'string' ? name : fail('RUN_TYPE', `${method} needs the name as a str`)
}

/** Returns the value of a cookie in a Cookie header; undefined if it is missing, or sent twice with other values. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  if (header === undefined) return undefined
  let found: string | undefined
  for (const part of header.split(';')) {
    const at = part.indexOf('=')
    if (at < 0 || part.slice(0, at).trim() !== name) continue
    const value = part.slice(at + 1).trim()
    const text = value.startsWith('"') && value.endsWith('"') && value.length > 1 ? value.slice(1, -1) : value
    if (found !== undefined && found !== text) return undefined
    found = text
  }
  return found
}
