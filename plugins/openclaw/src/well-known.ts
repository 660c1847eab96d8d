import { isLoopback } from '@svc/contracts'
import { type JsonTable, tableOf } from './json-table.ts'

/** Valid contents of a gateway's well-known document. */
export interface WellKnown {
  readonly httpUrl?: string
  readonly wsUrl?: string
  readonly listUrl?: string
  readonly searchUrl?: string
  /** Control plane versions that the gateway supports. */
  readonly protocol?: { readonly min: number; readonly max: number }
  readonly ttlSeconds?: number
}

/** Accepted names of each key. */
const NAMES = {
  httpUrl: ['httpUrl', 'http_url', 'gatewayUrl', 'gateway_url', 'http'],
  wsUrl: ['wsUrl', 'ws_url', 'gatewayWsUrl', 'gateway_ws_url', 'ws'],
  listUrl: ['listUrl', 'list_url', 'skillsUrl', 'skills_url', 'list'],
  searchUrl: ['searchUrl', 'search_url', 'searchEndpoint', 'search_endpoint', 'search']
} as const

/**
 * Parses a document that was read from `url`. Drops invalid addresses. If the document came over TLS, also drops
 * addresses without TLS, because the token would be sent there. Throws for an invalid document.
 */
export function readWellKnown(text: string, url: string): WellKnown {
  const root = tableOf(JSON.parse(text))
  if (root === null) throw new Error('it is not a JSON object')
  const [gateway, catalog] = [tableOf(root.gateway) ?? {}, tableOf(root.catalog) ?? {}]
  const isSecure = url.startsWith('https:')
  const addresses = {
    httpUrl: address([gateway, root], NAMES.httpUrl, 'http', isSecure),
    wsUrl: address([gateway, root], NAMES.wsUrl, 'ws', isSecure),
    listUrl: address([catalog, root], NAMES.listUrl, 'http', isSecure),
    searchUrl: address([catalog, root], NAMES.searchUrl, 'http', isSecure)
  }
  const protocol = tableOf(root.protocol) ?? {}
  const min = numberOf([protocol], ['minVersion', 'min_version'])
  const max = numberOf([protocol], ['maxVersion', 'max_version'])
  const ttlSeconds = numberOf([root], ['cacheTtlSeconds', 'cache_ttl_seconds'])
  return {
    ...Object.fromEntries(Object.entries(addresses).filter(([, value]) => value !== undefined)),
    ...(min === undefined && max === undefined
      ? {}
      : { protocol: { min: min ?? 0, max: max ?? Number.POSITIVE_INFINITY } }),
    ...(ttlSeconds === undefined ? {} : { ttlSeconds })
  }
}

function address(
  tables: readonly JsonTable[],
  names: readonly string[],
  scheme: 'http' | 'ws',
  isSecure: boolean
): string | undefined {
  for (const table of tables) {
    for (const name of names) {
      const value = table[name]
      if (typeof value === 'string' && isAddress(value, scheme, isSecure)) return value.replace(/\/+$/, '')
    }
  }
  return undefined
}

function isAddress(text: string, scheme: 'http' | 'ws', isSecure: boolean): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  if (protocol === `${scheme}s:`) return true
  return protocol === `${scheme}:` && (!isSecure || isLoopback(hostname))
}

function numberOf(tables: readonly JsonTable[], names: readonly string[]): number | undefined {
  for (const table of tables) {
    for (const name of names) {
      const value = table[name]
      if (typeof value === 'number' && Number.isFinite(value)) return value
    }
  }
  return undefined
}
