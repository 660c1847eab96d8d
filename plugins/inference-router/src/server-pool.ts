import type { InferenceServer } from '@svc/contracts'
import { ModelServer, type ServerContext } from './model-server.ts'

/** Entries of one source. */
export interface ServerEntries {
  readonly source: string
  readonly servers: readonly InferenceServer[]
}

/** The servers of all sources. Servers keep their facts and measurements while their entry stays the same. */
export class ServerPool implements Iterable<ModelServer> {
  readonly #context: ServerContext
  #servers = new Map<string, ModelServer>()

  constructor(context: ServerContext) {
    this.#context = context
  }

  get size(): number {
    return this.#servers.size
  }

  [Symbol.iterator](): Iterator<ModelServer> {
    return this.#servers.values()
  }

  /**
   * Takes the servers of all sources, the most important source first. A later server with a known name or URL is
   * skipped, and returned.
   */
  replace(all: readonly ServerEntries[]): readonly { readonly source: string; readonly server: InferenceServer }[] {
    const next = new Map<string, ModelServer>()
    const urls = new Set<string>()
    const skipped: { source: string; server: InferenceServer }[] = []
    for (const { source, servers } of all) {
      for (const server of servers) {
        if (next.has(server.name) || urls.has(server.url)) {
          skipped.push({ source, server })
          continue
        }
        urls.add(server.url)
        next.set(server.name, this.#kept(server, source))
      }
    }
    for (const server of this.#servers.values()) if (next.get(server.name) !== server) server.close()
    this.#servers = next
    return skipped
  }

  close(): void {
    for (const server of this.#servers.values()) server.close()
  }

  #kept(entry: InferenceServer, source: string): ModelServer {
    const known = this.#servers.get(entry.name)
    if (known?.is(entry, source)) {
      known.update(entry)
      return known
    }
    return new ModelServer(entry, source, this.#context)
  }
}
