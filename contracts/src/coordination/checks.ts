import { coordinationErrors } from './errors.ts'
import {
  type AckToken,
  type ClaimOptions,
  type ItemPage,
  type ItemToken,
  MAX_COORDINATION_BATCH,
  MAX_COORDINATION_KEY,
  MAX_COORDINATION_NAME,
  MAX_COORDINATION_PAGE_BYTES,
  MAX_ITEM_BODY_BYTES,
  type NewItem,
  type NodeFlags,
  type NodeVersion
} from './store.ts'

/** Default priority of an item. */
export const DEFAULT_PRIORITY = 128
/** Maximum length of a lease in milliseconds: 31 days. */
export const MAX_LEASE_MS = 31 * 24 * 60 * 60 * 1_000
/** Maximum delay of an item in milliseconds: 10 years. */
export const MAX_DELAY_MS = 10 * 366 * 24 * 60 * 60 * 1_000
/** Maximum of `maxAttempts` and of `privacy`. */
const MAX_INT32 = 2 ** 31 - 1
/** Maximum numbers in `privacy` of a claim. */
const MAX_PRIVACY = 256
/** Maximum length of an error text of `nack`, in characters. */
export const MAX_ITEM_ERROR = 65_536

/** Control characters. Names are part of hashed keys, in which U+001F separates them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are refused.
const CONTROL = /[\u0000-\u001f\u007f]/

const LONE_SURROGATE = /\p{Surrogate}/u

/**
 * Checks of the parameters of a coordination store; every implementation uses them. `where` is the path of the
 * parameter, such as `put: items[3].queue`. They throw `CRD_VALUE_INVALID` and `CRD_TOO_LARGE`.
 */
export const coordinationChecks = {
  items(items: readonly NewItem[]): void {
    batch('put: items', items)
    let bytes = 0
    for (const [index, item] of items.entries()) bytes += checkItem(`put: items[${index}]`, item)
    total('put: items', bytes)
  },

  /** Checks tokens of `extend`, `nack` and `park`. */
  tokens(where: string, tokens: readonly ItemToken[]): void {
    batch(where, tokens)
    for (const [index, token] of tokens.entries()) checkToken(`${where}[${index}]`, token)
  },

  ackTokens(tokens: readonly AckToken[]): void {
    coordinationChecks.tokens('ack: tokens', tokens)
    let bytes = 0
    for (const [index, { result, freeKey, queue }] of tokens.entries()) {
      if (queue !== undefined) name(`ack: tokens[${index}].queue`, queue)
      if (result !== undefined) bytes += text(`ack: tokens[${index}].result`, result, MAX_ITEM_BODY_BYTES)
      if (freeKey !== undefined && typeof freeKey !== 'boolean')
        throw invalid(`ack: tokens[${index}].freeKey`, 'true or false', freeKey)
    }
    total('ack: tokens', bytes)
  },

  claim(queue: string, holder: string, options: ClaimOptions): void {
    name('claim: queue', queue)
    name('claim: holder', holder)
    object('claim: options', options)
    integer('claim: options.max', options.max, 1, MAX_COORDINATION_BATCH)
    integer('claim: options.leaseMs', options.leaseMs, 1, MAX_LEASE_MS)
    const { privacy, own } = options
    if (privacy !== undefined) {
      if (!Array.isArray(privacy)) throw invalid('claim: options.privacy', 'an array', privacy)
      if (privacy.length > MAX_PRIVACY)
        throw tooLarge(`claim: options.privacy has ${privacy.length} numbers; the limit is ${MAX_PRIVACY}`)
      for (const [index, each] of privacy.entries()) integer(`claim: options.privacy[${index}]`, each, 0, MAX_INT32)
    }
    if (own !== undefined && typeof own !== 'boolean') throw invalid('claim: options.own', 'true or false', own)
  },

  node(where: string, node: NodeVersion): void {
    object(where, node)
    name(`${where}.scope`, node.scope)
    name(`${where}.id`, node.id)
    integer(`${where}.version`, node.version, 0, Number.MAX_SAFE_INTEGER)
  },

  nack(tokens: readonly ItemToken[], options: { readonly delayMs: number; readonly error?: string }): void {
    coordinationChecks.tokens('nack: tokens', tokens)
    object('nack: options', options)
    integer('nack: options.delayMs', options.delayMs, 0, MAX_DELAY_MS)
    if (options.error !== undefined) text('nack: options.error', options.error, MAX_ITEM_ERROR * 4)
  },

  keys(where: string, keys: readonly string[]): void {
    batch(where, keys)
    for (const [index, each] of keys.entries()) key(`${where}[${index}]`, each)
  },

  ids(where: string, ids: readonly number[]): void {
    batch(where, ids)
    for (const [index, each] of ids.entries()) id(`${where}[${index}]`, each)
  },

  page(method: string, page: ItemPage): void {
    object(`${method}: page`, page)
    integer(`${method}: page.limit`, page.limit, 1, MAX_COORDINATION_BATCH)
    if (page.before !== undefined) id(`${method}: page.before`, page.before)
  },

  /** Checks values of `useOnce`. */
  onceValues(values: readonly { readonly value: string; readonly expiresAt: number }[]): void {
    batch('useOnce: values', values)
    for (const [index, each] of values.entries()) {
      object(`useOnce: values[${index}]`, each)
      key(`useOnce: values[${index}].value`, each.value)
      integer(`useOnce: values[${index}].expiresAt`, each.expiresAt, 0, Number.MAX_SAFE_INTEGER)
    }
  },

  bucket(bucket: string, limit: { readonly perSecond: number; readonly burst: number; readonly wanted: number }): void {
    name('takeTokens: bucket', bucket)
    object('takeTokens: limit', limit)
    number('takeTokens: limit.perSecond', limit.perSecond, 0, 1e9)
    number('takeTokens: limit.burst', limit.burst, 0, 1e9)
    integer('takeTokens: limit.wanted', limit.wanted, 1, 1e9)
  },

  flags(where: string, flags: NodeFlags): void {
    object(where, flags)
    for (const flag of ['quarantined', 'maintenance'] as const)
      if (flags[flag] !== undefined && typeof flags[flag] !== 'boolean')
        throw invalid(`${where}.${flag}`, 'true or false', flags[flag])
    const { maintenanceUntil } = flags
    if (maintenanceUntil !== undefined && maintenanceUntil !== null)
      integer(`${where}.maintenanceUntil`, maintenanceUntil, 0, Number.MAX_SAFE_INTEGER)
  },

  /** Checks a queue, holder, lane, scope, bucket, node id or name of a shared text. */
  name,
  /** Checks a prefix of queue names, which may be empty. */
  prefix(where: string, value: unknown): void {
    if (value !== '') name(where, value)
  },
  /** Checks the key of an item or of a named lease. */
  key,
  id,
  fence(where: string, value: unknown): void {
    integer(where, value, 0, Number.MAX_SAFE_INTEGER)
  },
  leaseMs(where: string, value: unknown): void {
    integer(where, value, 1, MAX_LEASE_MS)
  },
  integer,
  /** Checks a text. Returns its size in bytes of UTF-8. */
  text,
  batch
}

function checkItem(where: string, item: NewItem): number {
  object(where, item)
  name(`${where}.queue`, item.queue)
  if (item.key !== undefined) key(`${where}.key`, item.key)
  if (item.priority !== undefined) integer(`${where}.priority`, item.priority, 0, 255)
  if (item.delayMs !== undefined) integer(`${where}.delayMs`, item.delayMs, 0, MAX_DELAY_MS)
  if (item.maxAttempts !== undefined) integer(`${where}.maxAttempts`, item.maxAttempts, 1, MAX_INT32)
  if (item.lane !== undefined) name(`${where}.lane`, item.lane)
  if (item.privacy !== undefined) integer(`${where}.privacy`, item.privacy, 0, MAX_INT32)
  return text(`${where}.body`, item.body, MAX_ITEM_BODY_BYTES)
}

function checkToken(where: string, token: ItemToken): void {
  object(where, token)
  id(`${where}.id`, token.id)
  integer(`${where}.fence`, token.fence, 0, Number.MAX_SAFE_INTEGER)
}

function batch(where: string, values: unknown): void {
  if (!Array.isArray(values)) throw invalid(where, 'an array', values)
  if (values.length > MAX_COORDINATION_BATCH)
    throw tooLarge(`${where} has ${values.length} elements; the limit is ${MAX_COORDINATION_BATCH}`)
}

function total(where: string, bytes: number): void {
  if (bytes > MAX_COORDINATION_PAGE_BYTES)
    throw tooLarge(`${where} has ${bytes} bytes in total; the limit is ${MAX_COORDINATION_PAGE_BYTES}`)
}

function name(where: string, value: unknown): void {
  plainText(where, value, MAX_COORDINATION_NAME)
  if (CONTROL.test(value as string)) throw invalid(where, 'text without control characters', value)
}

function key(where: string, value: unknown): void {
  plainText(where, value, MAX_COORDINATION_KEY)
}

/** Checks a text of 1 to `limit` characters. */
function plainText(where: string, value: unknown, limit: number): void {
  if (typeof value !== 'string' || value === '') throw invalid(where, 'text that is not empty', value)
  if (value.length > limit) throw tooLarge(`${where} has ${value.length} characters; the limit is ${limit}`)
  storable(where, value)
}

function text(where: string, value: unknown, limitBytes: number): number {
  if (typeof value !== 'string') throw invalid(where, 'text', value)
  const bytes = Buffer.byteLength(value)
  if (bytes > limitBytes) throw tooLarge(`${where} has ${bytes} bytes; the limit is ${limitBytes}`)
  storable(where, value)
  return bytes
}

/** Databases store neither U+0000 nor half of a surrogate pair. JSON writes both as escapes. */
function storable(where: string, value: string): void {
  if (value.includes('\u0000') || LONE_SURROGATE.test(value))
    throw invalid(where, 'text without U+0000 and without lone surrogates', value)
}

function id(where: string, value: unknown): void {
  integer(where, value, 1, Number.MAX_SAFE_INTEGER)
}

function integer(where: string, value: unknown, from: number, to: number): void {
  if (!Number.isSafeInteger(value) || (value as number) < from || (value as number) > to)
    throw invalid(where, `a whole number from ${from} to ${to}`, value)
}

/** Checks a number above `above`, up to `to`. */
function number(where: string, value: unknown, above: number, to: number): void {
  if (typeof value !== 'number' || !(value > above && value <= to))
    throw invalid(where, `a number above ${above}, up to ${to}`, value)
}

function object(where: string, value: unknown): void {
  if (typeof value !== 'object' || value === null) throw invalid(where, 'an object', value)
}

/** The message shows numbers only: other values may be private. */
function invalid(where: string, expected: string, value: unknown): Error {
  const found = typeof value === 'number' ? String(value) : value === null ? 'null' : typeof value
  return coordinationErrors.create('CRD_VALUE_INVALID', `${where} must be ${expected}; it is ${found}`, {
    hint: 'correct the parameter; nothing was changed'
  })
}

function tooLarge(message: string): Error {
  return coordinationErrors.create('CRD_TOO_LARGE', message, { hint: 'divide the call; nothing was changed' })
}
