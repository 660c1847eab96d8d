import type { InferenceServer, InferenceServerSource } from '@svc/contracts'
import { defined, errorMessage } from '@svc/plugin-sdk'
import { routerErrors } from './errors.ts'
import { checkedServer } from './server-address.ts'
import type { ServerEntries, ServerPool } from './server-pool.ts'
import type { Settings } from './settings.ts'

const SETTING = 'inference_router.servers'

/** Returns the servers of the settings. Throws `IRT_SERVER_INVALID`, also for two servers with one name or address. */
export function configuredServers(servers: Settings['servers']): readonly InferenceServer[] {
  const seen = new Map<string, number>()
  return servers.map(({ name, url, api, slots, weight, api_key }, index) => {
    const at = `${SETTING}.${index}`
    const shown = name ?? (URL.canParse(url) ? new URL(url).host : 'server')
    const server = checkedServer({ name: shown, url, api, weight, ...defined({ slots, apiKey: api_key }) }, at)
    for (const [what, key] of [
      ['name', `name ${server.name}`],
      ['url', `url ${server.url}`]
    ] as const) {
      const other = seen.get(key)
      if (other !== undefined) {
        throw routerErrors.create(
          'IRT_SERVER_INVALID',
          `${at}: server '${server.name}' has the same ${what} as ${SETTING}.${other}`,
          { at: { path: at }, hint: what === 'name' ? 'set name to another one' : 'remove one of the two' }
        )
      }
      seen.set(key, index)
    }
    return server
  })
}

/** Keeps a pool up to date with the settings and the contributed sources. */
export class PoolFeed {
  readonly #pool: ServerPool
  readonly #warn: (message: string, fields: Record<string, unknown>) => void
  #configured: readonly InferenceServer[] = []
  #sources: readonly InferenceServerSource[] = []
  /** Problems that were already logged. */
  #warned = new Set<string>()

  constructor(pool: ServerPool, warn: (message: string, fields: Record<string, unknown>) => void) {
    this.#pool = pool
    this.#warn = warn
  }

  configure(servers: readonly InferenceServer[]): void {
    this.#configured = servers
    this.refresh()
  }

  follow(sources: readonly InferenceServerSource[]): void {
    this.#sources = sources
    this.refresh()
  }

  /** Asks the sources for their servers. A problem with a source is logged once, and its server is left out. */
  refresh(): void {
    const problems = new Set<string>()
    const note = (source: string, problem: string): void => {
      const key = `${source} ${problem}`
      problems.add(key)
      if (!this.#warned.has(key)) this.#warn('a contributed model server cannot be used', { source, problem })
    }
    const entries: ServerEntries[] = [{ source: 'settings', servers: this.#configured }]
    for (const item of this.#sources) entries.push({ source: item.source, servers: listed(item, note) })
    for (const { source, server } of this.#pool.replace(entries)) {
      note(source, `another server has the name '${server.name}' or the address ${server.url}`)
    }
    this.#warned = problems
  }
}

function listed({ source, list }: InferenceServerSource, note: (source: string, problem: string) => void) {
  const servers: InferenceServer[] = []
  try {
    for (const server of list()) {
      try {
        servers.push(checkedServer(server, source))
      } catch (error) {
        note(source, errorMessage(error))
      }
    }
  } catch (error) {
    note(source, errorMessage(error))
  }
  return servers
}
