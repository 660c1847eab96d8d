import { type HirParam, type HttpEndpoint, httpInputOf } from '@svc/contracts'
import { errorMessage, StrictJsonError } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import { isObject } from '../interpreter/json.ts'
import { type Caller, RequestContext } from '../interpreter/request.ts'
import type { Value } from '../interpreter/value.ts'
import type { Codec } from '../wire/codec.ts'
import { parseClientJson } from '../wire/json-text.ts'
import { inPart, mismatch, shownJson } from '../wire/mismatch.ts'
import type { WireTypes } from '../wire/wire-types.ts'
import type { Endpoint } from './endpoints.ts'
import type { RouteInput } from './messages.ts'

/** Arguments in parameter order; undefined means the default. */
export type Arguments = (Value | undefined)[]

export interface ReadInput {
  readonly args: Arguments
  readonly request: RequestContext
}

/** Reads the input of an endpoint from text. Throws a `Mismatch`, or `RUN_ARGUMENTS` for invalid JSON. */
export type ReadArguments = (text: string, caller: Caller) => ReadInput

export function argumentsOf(endpoint: Endpoint, types: WireTypes): ReadArguments {
  const { params } = endpoint
  const named = params.map(param => ({ param, codec: types.codec(param.type_ann) }))
  switch (endpoint.kind) {
    case 'query':
      return (query, caller) => ({
        args: queryArguments(query, named, endpoint.name),
        request: new RequestContext(caller, { query })
      })
    case 'route':
      return routeArguments(endpoint as HttpEndpoint, named)
    default:
      return (body, caller) => ({
        args: fromObject(body === '' ? {} : bodyObject(body), named, endpoint.name),
        request: new RequestContext(caller, { body })
      })
  }
}

interface Named {
  readonly param: HirParam
  readonly codec: Codec
}

function fromObject(json: Record<string, unknown>, params: readonly Named[], of: string): Arguments {
  const args: Arguments = []
  let unread = Object.keys(json).length
  for (const each of params) {
    const value = json[each.param.name]
    if (value !== undefined) unread--
    args.push(argument(value, each))
  }
  if (unread === 0) return args
  const unknown = Object.keys(json).find(name => !params.some(({ param }) => param.name === name))
  if (unknown !== undefined) refuseUnknown(unknown, json[unknown], of)
  return args
}

function refuseUnknown(name: string, json: unknown, of: string): never {
  try {
    return mismatch(`nothing, since ${of} has no such parameter`, shownJson(json))
  } catch (thrown) {
    throw inPart(thrown, name)
  }
}

function argument(json: unknown, { param, codec }: Named): Value | undefined {
  if (json === undefined && param.hasDefault) return undefined
  try {
    return json === undefined && !codec.isOptional ? mismatch(codec.name, 'nothing') : codec.decode(json)
  } catch (thrown) {
    throw inPart(thrown, param.name)
  }
}

/** A query string that contains nothing to decode: printable ASCII without `%` and `+`. */
const PLAIN_QUERY = /^[!-$&-*,-~]*$/
/** An int that a number represents exactly. */
const SHORT_INT = /^(?:0|-?[1-9]\d{0,14})$/

/**
 * Reads arguments from a query string whose values are JSON. Values are placed by position: an object with any keys
 * would take as long as the rest of a lookup.
 */
function queryArguments(query: string, params: readonly Named[], of: string): Arguments {
  const given: unknown[] = []
  for (let at = 0; at < params.length; at++) given.push(undefined)
  const unknown = new Map<string, unknown>()
  eachPart(query, (name, text) => {
    const at = params.findIndex(({ param }) => param.name === name)
    if (at < 0 ? unknown.has(name) : given[at] !== undefined) {
      throw runErrors.create('RUN_ARGUMENTS', `${name} is passed twice`)
    }
    const value = SHORT_INT.test(text) ? Number(text) : queryValue(name, text)
    if (at < 0) unknown.set(name, value)
    else given[at] = value
  })
  const args: Arguments = []
  for (let at = 0; at < params.length; at++) args.push(argument(given[at], params[at] as Named))
  for (const [name, value] of unknown) refuseUnknown(name, value, of)
  return args
}

/** Calls `take` for each part of a query string, as `URLSearchParams` splits it. */
function eachPart(query: string, take: (name: string, text: string) => void): void {
  // Most queries have nothing to decode: splitting them takes a fifth of the time.
  if (!PLAIN_QUERY.test(query)) {
    for (const [name, text] of new URLSearchParams(query)) take(name, text)
    return
  }
  for (let from = 0; from < query.length; ) {
    const next = query.indexOf('&', from)
    const end = next < 0 ? query.length : next
    const equals = query.indexOf('=', from)
    if (end > from) {
      if (equals < 0 || equals > end) take(query.slice(from, end), '')
      else take(query.slice(from, equals), query.slice(equals + 1, end))
    }
    from = end + 1
  }
}

function queryValue(name: string, text: string): unknown {
  try {
    return parseClientJson(text)
  } catch (error) {
    if (!isSyntaxError(error)) throw rejected(name, name, text, error)
    throw runErrors.create('RUN_ARGUMENTS', `${name} is not JSON: found ${shownJson(text)}`, {
      hint: `quote a string: ${encodeURIComponent(name)}=%22…%22`,
      data: { path: name, expected: 'JSON', found: shownJson(text) }
    })
  }
}

function bodyObject(text: string): Record<string, unknown> {
  const json = bodyJson(text)
  return isObject(json) ? json : mismatch('an object with the parameters', shownJson(json))
}

function bodyJson(text: string): unknown {
  try {
    return parseClientJson(text)
  } catch (error) {
    throw rejected('the body', '', text, error)
  }
}

/** False for JSON that is rejected for another reason than its syntax, such as a duplicate key. */
function isSyntaxError(error: unknown): boolean {
  return !(error instanceof StrictJsonError) || error.reason === 'syntax'
}

function rejected(subject: string, path: string, text: string, error: unknown): Error {
  const problem = isSyntaxError(error) ? `is not JSON: ${errorMessage(error)}` : `is rejected: ${errorMessage(error)}`
  return runErrors.create('RUN_ARGUMENTS', `${subject} ${problem}`, {
    data: { path, expected: 'JSON', found: shownJson(text) }
  })
}

/**
 * Reads the arguments of a declared route. Path and query values are parsed by the type of their parameter. The body
 * is an object of parameters by name, or the value of a single structured parameter.
 */
function routeArguments(endpoint: HttpEndpoint, params: readonly Named[]): ReadArguments {
  const { route } = endpoint
  const { body: bodyInput } = httpInputOf(endpoint)
  return (text, caller) => {
    const input = JSON.parse(text) as RouteInput
    const request = new RequestContext(caller, { method: route.method, query: input.query, body: input.body })
    const query = new URLSearchParams(input.query)
    const body = bodyInput.kind === 'fields' && input.body !== '' ? bodyObject(input.body) : {}
    const args = params.map(each => {
      const { name } = each.param
      if (name === 'request') return request.value
      if (route.inPath.includes(name)) return argument(plainText(input.params[name], each), each)
      if (bodyInput.kind === 'whole' && each.param === bodyInput.param)
        return argument(input.body === '' ? undefined : bodyJson(input.body), each)
      if (Object.hasOwn(body, name)) return argument(body[name], each)
      if (query.getAll(name).length > 1) throw runErrors.create('RUN_ARGUMENTS', `${name} is passed twice`)
      return argument(plainText(query.get(name) ?? undefined, each), each)
    })
    return { args, request }
  }
}

/** Converts an unquoted value in a URL to JSON, by the type of its parameter. */
function plainText(text: string | undefined, { codec }: Named): unknown {
  if (text === undefined) return undefined
  const name = codec.name.replace(/^Option\[(\w+)\]$/, '$1')
  switch (name) {
    case 'str':
    case 'char':
    case 'dec':
      return text
    case 'int':
    case 'float':
      return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? parseClientJson(text.replace(/^(-?)0+(?=\d)/, '$1')) : text
    case 'bool':
      return text === 'true' ? true : text === 'false' ? false : text
    default:
      try {
        return parseClientJson(text)
      } catch (error) {
        return isSyntaxError(error) ? text : mismatch('JSON without duplicate keys', errorMessage(error))
      }
  }
}
