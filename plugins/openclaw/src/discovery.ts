import type { SkillsEndpoints } from '@svc/contracts'
import { raceAbort } from '@svc/plugin-sdk'
import { conceal, shownAddress } from './conceal.ts'
import { assertAccepted, sendRequest } from './http-request.ts'
import type { Settings } from './settings.ts'
import { readWellKnown, type WellKnown } from './well-known.ts'

const DEFAULT_HTTP = 'http://127.0.0.1:3000'
const DEFAULT_WS = 'ws://127.0.0.1:18789'

/** Limits and default of the seconds for which a document is cached. */
const TTL = { default: 300, min: 30, max: 86_400 }

export interface DiscoveredGateway extends SkillsEndpoints {
  /** Declared control plane versions of the gateway; null if undeclared. */
  readonly protocol: { readonly min: number; readonly max: number } | null
  /** True if the settings or the document name the search URL; otherwise it is a guess. */
  readonly hasSearch: boolean
}

/**
 * Finds the addresses of a gateway: from the settings, else its well-known document, else the last valid document, else
 * the defaults. Caches them for the TTL of the document; after a failure, for 30 seconds.
 */
export class Discovery {
  readonly #settings: Settings
  readonly #now: () => number
  #found: DiscoveredGateway | null = null
  #lastGood: WellKnown | null = null
  #lookup: Promise<DiscoveredGateway> | null = null

  /** `now` returns milliseconds since 1970. */
  constructor(settings: Settings, now: () => number = Date.now) {
    this.#settings = settings
    this.#now = now
  }

  /** Returns the addresses. Concurrent calls share one lookup, which continues if a caller aborts. */
  async endpoints(signal?: AbortSignal): Promise<DiscoveredGateway> {
    if (this.#found !== null && this.#now() < this.#found.cache_expires_at_ms) return this.#found
    this.#lookup ??= this.#lookUp().finally(() => {
      this.#lookup = null
    })
    return raceAbort(signal, this.#lookup)
  }

  /** Makes the next call look up the addresses again, for example after the start of a gateway. */
  expire(): void {
    this.#found = null
  }

  async #lookUp(): Promise<DiscoveredGateway> {
    const { url = DEFAULT_HTTP, token, discovery_timeout_ms } = this.#settings
    const wellKnownUrl = this.#settings.well_known_url ?? `${withoutSlash(url)}/.well-known/openclaw.json`
    const shown = shownAddress(wellKnownUrl)
    try {
      // The document is public, and its host may not be the gateway: the token is not sent.
      const timeoutMs = discovery_timeout_ms
      const response = await sendRequest({ url: wellKnownUrl, token: undefined, timeoutMs, signal: undefined })
      assertAccepted(wellKnownUrl, response, token)
      const document = readWellKnown(response.text, wellKnownUrl)
      this.#lastGood = document
      this.#found = this.#mergeSettings(document, `well-known:${shown}`, document.ttlSeconds ?? TTL.default)
    } catch (error) {
      const message = conceal((error as Error).message, token)
      const reason = message.startsWith(shown) ? message : `${shown}: ${message}`
      const label = this.#lastGood === null ? `defaults (${reason})` : `cache-last-good (${reason})`
      this.#found = this.#mergeSettings(this.#lastGood ?? {}, label, TTL.min)
    }
    return this.#found
  }

  /** Combines a document with the settings, which override it. */
  #mergeSettings(document: WellKnown, source: string, ttlSeconds: number): DiscoveredGateway {
    const { url, ws_url, catalog_list_url, catalog_search_url } = this.#settings
    const http = withoutSlash(url ?? document.httpUrl ?? DEFAULT_HTTP)
    const seconds = Math.min(TTL.max, Math.max(TTL.min, ttlSeconds))
    return {
      http_gateway_url: http,
      ws_gateway_url: ws_url ?? document.wsUrl ?? DEFAULT_WS,
      catalog_list_url: catalog_list_url ?? document.listUrl ?? `${http}/v1/skills`,
      catalog_search_url: catalog_search_url ?? document.searchUrl ?? `${http}/v1/skills/search`,
      discovery_source: source,
      cache_expires_at_ms: this.#now() + Math.round(seconds * 1000),
      protocol: document.protocol ?? null,
      hasSearch: (catalog_search_url ?? document.searchUrl) !== undefined
    }
  }
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}
