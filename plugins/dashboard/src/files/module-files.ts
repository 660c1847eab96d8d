import type { HttpExchange, KernelPort, PageModule } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { type BrokenEntry, type Entries, moduleOf } from '../registry/entries.ts'
import { frameDocument } from './frame.ts'
import { HTML_TYPE, IMMUTABLE, SCRIPT_TYPE, unknownFile } from './page-files.ts'

/** Where the page loads the code of a module page from: a script, or a document for a sandboxed frame. */
export interface ModuleSource {
  readonly kind: 'script' | 'frame'
  readonly url: string
}

interface Superseded {
  readonly module: PageModule
  /** Milliseconds of the monotonic clock. */
  readonly until: number
}

/** How long the previous version of a module is still served. */
const GRACE_MS = 60_000

export interface ModuleFilesParts {
  readonly kernel: Pick<KernelPort, 'current'>
  readonly entries: () => Entries
  /** Returns whether a plugin runs in a worker or process. */
  readonly isIsolated: (plugin: string) => boolean
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number
}

/** Code of module pages. Only the versions of the serving generation are served, and the previous ones for a minute. */
export class ModuleFiles {
  readonly #parts: ModuleFilesParts
  readonly #now: () => number
  /** Last loaded module by `plugin/name`. */
  readonly #current = new Map<string, PageModule>()
  readonly #superseded = new Map<string, Superseded[]>()

  constructor(parts: ModuleFilesParts) {
    this.#parts = parts
    this.#now = parts.now ?? (() => performance.now())
  }

  /**
   * Returns the source of each module page by the page's path, and the pages whose code cannot be built or has no `mount`.
   */
  async sources(): Promise<{ readonly sources: ReadonlyMap<string, ModuleSource>; readonly broken: BrokenEntry[] }> {
    const sources = new Map<string, ModuleSource>()
    const broken: BrokenEntry[] = []
    await Promise.all(
      this.#parts.entries().pages.map(async ({ item, unit }) => {
        const view = moduleOf(item)
        if (view === null) return
        try {
          const module = await this.#load(unit.name, view.entry)
          if (module === null) throw new Error(`the plugin ${unit.name} has no page file ${view.entry}`)
          sources.set(item.path, this.#sourceOf(unit.name, view.entry, module))
        } catch (error) {
          broken.push({ plugin: unit.name, point: 'dashboard.pages', entry: item.path, reason: errorMessage(error) })
        }
      })
    )
    this.#forget()
    return { sources, broken }
  }

  /** Handles `GET /ui/ext/:plugin/:hash/:file`. Throws `DSH_FILE_UNKNOWN`. */
  async sendScript(exchange: HttpExchange): Promise<void> {
    const { plugin = '', hash = '', file = '' } = exchange.params
    const found = file.endsWith('.js') ? await this.#find(plugin, hash, file.slice(0, -'.js'.length)) : null
    // As a script of this origin, the code of an isolated plugin could run in the page.
    if (found === null || this.#parts.isIsolated(plugin)) throw unknownFile(`${plugin}/${file}`)
    exchange.send(200, SCRIPT_TYPE, found.text, { 'cache-control': IMMUTABLE })
  }

  /** Handles `GET /ui/frame/:plugin/:hash/:file`. Throws `DSH_FILE_UNKNOWN`. */
  async sendFrame(exchange: HttpExchange): Promise<void> {
    const { plugin = '', hash = '', file = '' } = exchange.params
    const found = await this.#find(plugin, hash, file)
    if (found === null || !this.#parts.isIsolated(plugin)) throw unknownFile(`${plugin}/${file}`)
    const { html, policy } = frameDocument(found.text)
    // The frame has no origin, so a document for the same origin only would not load in it.
    exchange.response.removeHeader('cross-origin-opener-policy')
    exchange.send(200, HTML_TYPE, html, { 'cache-control': IMMUTABLE, 'content-security-policy': policy })
  }

  async #find(plugin: string, hash: string, name: string): Promise<PageModule | null> {
    const isContributed = this.#parts
      .entries()
      .pages.some(({ item, unit }) => unit.name === plugin && moduleOf(item)?.entry === name)
    if (!isContributed) return null
    const module = await this.#load(plugin, name)
    if (module?.hash === hash) return module
    const earlier = this.#superseded.get(`${plugin}/${name}`) ?? []
    return earlier.find(each => each.module.hash === hash && each.until > this.#now())?.module ?? null
  }

  async #load(plugin: string, name: string): Promise<PageModule | null> {
    const module = (await this.#parts.kernel.current.units.get(plugin)?.pages.get(name)?.load()) ?? null
    if (module === null) return null
    const key = `${plugin}/${name}`
    const before = this.#current.get(key)
    this.#current.set(key, module)
    if (before !== undefined && before.hash !== module.hash) {
      const earlier = (this.#superseded.get(key) ?? []).filter(each => each.module.hash !== module.hash)
      this.#superseded.set(key, [...earlier.slice(-1), { module: before, until: this.#now() + GRACE_MS }])
    }
    return module
  }

  #sourceOf(plugin: string, name: string, { hash, text }: PageModule): ModuleSource {
    if (!this.#parts.isIsolated(plugin)) return { kind: 'script', url: `/ui/ext/${plugin}/${hash}/${name}.js` }
    // Throws if the module has no `mount`.
    frameDocument(text)
    return { kind: 'frame', url: `/ui/frame/${plugin}/${hash}/${name}` }
  }

  /** Drops modules of pages that no plugin contributes any more, and superseded ones whose time is over. */
  #forget(): void {
    const entries = this.#parts.entries().pages
    const contributed = new Set(entries.map(({ item, unit }) => `${unit.name}/${moduleOf(item)?.entry}`))
    for (const key of this.#current.keys()) if (!contributed.has(key)) this.#current.delete(key)
    for (const [key, earlier] of this.#superseded) {
      const kept = earlier.filter(({ until }) => until > this.#now())
      if (kept.length === 0) this.#superseded.delete(key)
      else this.#superseded.set(key, kept)
    }
  }
}
