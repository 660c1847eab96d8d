import { fail } from './failure.ts'
import { intArg, listArg, type Native, native, textArg } from './native.ts'
import { typeName } from './type-name.ts'
import { isInt, isRecord, Opaque, Tagged, type Value } from './value.ts'

/** Body of a response. `file`: a path below the public directory. */
export type ResponseContent =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'file'; readonly path: string }

export interface ResponseCookie {
  readonly name: string
  readonly value: string
  readonly path: string
  readonly domain: string | null
  /** Seconds until browsers remove it; null: at their end. */
  readonly maxAge: number | null
  readonly sameSite: 'Strict' | 'Lax' | 'None'
  readonly isHttpOnly: boolean
  /** null: true unless the server is reached at a loopback address. */
  readonly isSecure: boolean | null
}

/** Parts of a response without its value for `Response.json`. */
export interface ResponseParts {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly cookies: readonly ResponseCookie[]
  readonly content: ResponseContent | { readonly kind: 'json'; readonly value: Value }
}

/** Value of type `Response`: the whole answer of a route. */
export class ResponseValue extends Opaque {
  readonly parts: ResponseParts

  constructor(parts: ResponseParts) {
    const changed = (more: Partial<ResponseParts>): ResponseValue => new ResponseValue({ ...parts, ...more })
    super('Response', {
      with_status: args => changed({ status: statusArg(args, 0, 200) }),
      with_header: args => changed({ headers: [...parts.headers, headerOf(args)] }),
      with_cookie: args => changed({ cookies: [...parts.cookies, cookieFrom(args)] })
    })
    this.parts = parts
  }
}

const HTML = 'text/html; charset=utf-8'
const TEXT = 'text/plain; charset=utf-8'
const JSON_TYPE = 'application/json; charset=utf-8'
const BYTES = 'application/octet-stream'

function made(type: string | null, content: ResponseParts['content']): ResponseValue {
  const headers = type === null ? [] : [['content-type', type] as const]
  return new ResponseValue({ status: 200, headers, cookies: [], content })
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

export const RESPONSES: Readonly<Record<string, Native>> = {
  'Response.html': native(1, 1, args => made(HTML, { kind: 'text', text: textArg(args, 0) })),
  'Response.text': native(1, 1, args => made(TEXT, { kind: 'text', text: textArg(args, 0) })),
  'Response.json': native(1, 1, ([value = null]) => made(JSON_TYPE, { kind: 'json', value })),
  'Response.redirect': native(1, 2, args => {
    const status = args[1] === undefined ? 302 : intArg(args, 1)
    if (!REDIRECTS.has(status)) {
      fail('RUN_ARGUMENTS', `Response.redirect takes a status of ${[...REDIRECTS].join(', ')}, found ${status}`)
    }
    const { parts } = made(null, { kind: 'text', text: '' })
    return new ResponseValue({ ...parts, status, headers: [['location', locationOf(textArg(args, 0))]] })
  }),
  'Response.bytes': native(1, 2, (args, machine) => {
    const list = listArg(args, 0)
    machine.allocate(list.length)
    machine.charge(Math.ceil(list.length / 16))
    const type = args[1] === undefined ? BYTES : headerValue('content-type', textArg(args, 1))
    return made(type, { kind: 'bytes', bytes: Uint8Array.from(list, byteOf) })
  }),
  'Response.file': native(1, 1, args => made(null, { kind: 'file', path: textArg(args, 0) }))
}

function byteOf(value: Value): number {
  if (typeof value === 'number' && value >= 0 && value <= 255) return value
  return fail(
    'RUN_ARGUMENTS',
    `Response.bytes takes ints from 0 to 255, found ${isInt(value) ? value : typeName(value)}`
  )
}

function statusArg(args: readonly Value[], index: number, min: number): number {
  const status = intArg(args, index)
  if (status >= min && status <= 599) return status
  return fail('RUN_ARGUMENTS', `with_status takes a status from ${min} to 599, found ${status}`)
}

/** Escapes the characters that a header cannot contain. */
function locationOf(url: string): string {
  if (hasControl(url)) fail('RUN_ARGUMENTS', 'Response.redirect: the URL contains a control character')
  return url.replace(/[^\x21-\x7e]+/g, text => {
    return Array.from(Buffer.from(text), byte => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')
  })
}

/** Headers that the server sets itself, or that end the connection in another way than it expects. */
const OF_SERVER: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-request-id'
])

const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/

function headerOf(args: readonly Value[]): readonly [string, string] {
  const name = textArg(args, 0).toLowerCase()
  if (!TOKEN.test(name)) fail('RUN_ARGUMENTS', `with_header: ${JSON.stringify(name)} is not the name of a header`)
  if (OF_SERVER.has(name)) {
    const other = name === 'set-cookie' ? 'use with_cookie' : 'the server sets it'
    fail('RUN_ARGUMENTS', `with_header: ${name} cannot be set; ${other}`)
  }
  return [name, headerValue(name, textArg(args, 1))]
}

/** Header values are Latin-1 without control characters, so that no value can begin another header. */
function headerValue(name: string, value: string): string {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return value
  return fail('RUN_ARGUMENTS', `with_header: the value of ${name} contains a line break or another invalid character`)
}

function hasControl(text: string): boolean {
  return !/^[\x20-\x7e\x80-\uffff]*$/.test(text)
}

const COOKIE_OPTIONS: ReadonlySet<string> = new Set(['max_age', 'path', 'domain', 'same_site', 'http_only', 'secure'])

function cookieFrom(args: readonly Value[]): ResponseCookie {
  const [name, value] = [textArg(args, 0), textArg(args, 1)]
  if (!TOKEN.test(name)) fail('RUN_ARGUMENTS', `with_cookie: ${JSON.stringify(name)} is not the name of a cookie`)
  if (!/^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/.test(value)) {
    fail(
      'RUN_ARGUMENTS',
      `with_cookie: the value of ${name} contains a space, a comma, a quote or another character that cookies cannot contain; encode it`
    )
  }
  const option = optionsOf(args[2] ?? null)
  const sameSite = SAME_SITE[textOption(option('same_site'), 'same_site', 'lax').toLowerCase()]
  if (sameSite === undefined) fail('RUN_ARGUMENTS', 'with_cookie: same_site must be "strict", "lax" or "none"')
  const age = option('max_age')
  if (age !== null && !isInt(age))
    fail('RUN_TYPE', `with_cookie: max_age must be an int of seconds, found ${typeName(age)}`)
  const domain = option('domain')
  return {
    name,
    value,
    path: attribute(textOption(option('path'), 'path', '/'), 'path'),
    domain: domain === null ? null : attribute(textOption(domain, 'domain', ''), 'domain'),
    maxAge: age === null ? null : Number(age),
    sameSite: sameSite as ResponseCookie['sameSite'],
    isHttpOnly: flagOption(option('http_only'), 'http_only') ?? true,
    isSecure: sameSite === 'None' ? true : flagOption(option('secure'), 'secure')
  }
}

const SAME_SITE: Readonly<Record<string, ResponseCookie['sameSite']>> = { strict: 'Strict', lax: 'Lax', none: 'None' }

/** Returns a reader of the options; null stands for one that is missing or empty. */
function optionsOf(options: Value): (name: string) => Value {
  if (options === null) return () => null
  if (!isRecord(options))
    return fail('RUN_TYPE', `with_cookie: the options must be a record, found ${typeName(options)}`)
  for (const name of options.keys()) {
    if (COOKIE_OPTIONS.has(name)) continue
    fail('RUN_ARGUMENTS', `with_cookie: there is no option ${name}; the options are ${[...COOKIE_OPTIONS].join(', ')}`)
  }
  return name => {
    const value = options.get(name) ?? null
    if (!(value instanceof Tagged)) return value
    return value.tag === 'Some' ? (value.fields[0] ?? null) : null
  }
}

function textOption(value: Value, name: string, standard: string): string {
  if (value === null) return standard
  return typeof value === 'string'
    ? value
    : fail('RUN_TYPE', `with_cookie: ${name} must be a str, found ${typeName(value)}`)
}

function flagOption(value: Value, name: string): boolean | null {
  if (value === null || typeof value === 'boolean') return value
  return fail('RUN_TYPE', `with_cookie: ${name} must be a bool, found ${typeName(value)}`)
}

/** An attribute ends with a semicolon. */
function attribute(text: string, name: string): string {
  if (/^[\x20-\x3a\x3c-\x7e]*$/.test(text)) return text
  return fail('RUN_ARGUMENTS', `with_cookie: ${name} contains a semicolon, a line break or another invalid character`)
}
