import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { PageModule, UnitPage } from '@svc/contracts'
import { errorMessage, isSvcError, type SvcError } from '@svc/plugin-sdk'
import type { Bundler } from '../loader/bundle.ts'
import { loaderErrors } from '../loader/errors.ts'
import { assertPageSize, type BundledPage, pageError } from '../loader/page-module.ts'
import { builtPage, type PluginPackage } from '../loader/plugin-package.ts'
import { isFresh, type Stamp, stamp } from './plugin-index.ts'

/** Problem of a page module that could not be loaded. */
export interface PageProblem {
  readonly plugin: string
  /** Package folder. */
  readonly location: string
  readonly error: SvcError
}

/** Called after a page was loaded, or failed to. `begun`: when its files were first read, Unix milliseconds. */
export type PageListener = (begun: number) => void

/** Page modules of all plugins of a host. None is read before a caller loads it. */
export class PluginPages {
  readonly #bundler: Bundler
  readonly #pages = new Set<Page>()
  #listener: PageListener = () => {}

  constructor(bundler: Bundler) {
    this.#bundler = bundler
  }

  /** Returns the pages of a package, by name. `release` them when the package is closed. */
  open(found: PluginPackage, plugin: string, fromSource: boolean): ReadonlyMap<string, UnitPage> {
    const listener: PageListener = begun => this.#listener(begun)
    const pages = Object.entries(found.pages).map(([name, source]) => {
      const file = fromSource ? source : builtPage(found, name)
      const read = (): Promise<BundledPage> =>
        fromSource ? this.#bundler.page({ root: found.root, name, source, debug: true }) : readBuilt(name, file)
      return new Page({ name, plugin, location: found.root, file, read, listener })
    })
    for (const page of pages) this.#pages.add(page)
    return new Map(pages.map(page => [page.name, page]))
  }

  release(pages: ReadonlyMap<string, UnitPage>): void {
    for (const page of pages.values()) this.#pages.delete(page as Page)
  }

  /** Sets the listener; there is only one. */
  follow(listener: PageListener): void {
    this.#listener = listener
  }

  /** Returns the problems of pages whose last load failed. */
  problems(): readonly PageProblem[] {
    return [...this.#pages].flatMap(({ plugin, location, problem }) =>
      problem === null ? [] : [{ plugin, location, error: problem }]
    )
  }

  /** Returns absolute paths of files whose change may change a loaded page, or repair one that failed. */
  files(): readonly string[] {
    return [...new Set([...this.#pages].flatMap(({ files }) => files))]
  }
}

async function readBuilt(name: string, file: string): Promise<BundledPage> {
  try {
    assertPageSize(file, (await stat(file)).size)
    return { text: await readFile(file, 'utf8'), inputs: [file] }
  } catch (cause) {
    if (isSvcError(cause)) throw pageError(name, cause)
    throw loaderErrors.create('LDR_ENTRY_INVALID', `page ${name}: cannot read ${file}: ${errorMessage(cause)}`, {
      at: { file },
      hint: 'build the plugin',
      cause
    })
  }
}

interface PageOptions {
  readonly name: string
  readonly plugin: string
  /** Package folder. */
  readonly location: string
  /** Source, or for a built plugin the compiled file. */
  readonly file: string
  readonly read: () => Promise<BundledPage>
  readonly listener: PageListener
}

class Page implements UnitPage {
  readonly name: string
  readonly plugin: string
  readonly location: string
  /** Error of the last load; null if it succeeded. */
  problem: SvcError | null = null
  /** Files to watch; empty before the first load. */
  files: readonly string[] = []
  readonly #options: PageOptions
  #current: { readonly stamps: readonly Stamp[]; readonly module: PageModule } | null = null
  #loading: Promise<PageModule> | undefined

  constructor(options: PageOptions) {
    this.name = options.name
    this.plugin = options.plugin
    this.location = options.location
    this.#options = options
  }

  load(): Promise<PageModule> {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async #load(): Promise<PageModule> {
    if (this.#current !== null && isFresh(this.#current.stamps)) return this.#current.module
    const begun = Date.now()
    try {
      const { text, inputs } = await this.#options.read()
      const module = { text, hash: createHash('sha256').update(text).digest('hex') }
      this.#current = { stamps: stamp(inputs, begun), module }
      this.problem = null
      this.files = inputs
      return module
    } catch (error) {
      this.#current = null
      if (isSvcError(error)) {
        this.problem = error
        this.files = [...new Set([this.#options.file, ...this.files, ...filesOf(error)])]
      }
      throw error
    } finally {
      this.#options.listener(begun)
    }
  }
}

/** Returns the files that may repair a failed page: the one that the error names, and one that it imports in vain. */
function filesOf({ at, message }: SvcError): string[] {
  if (at?.file === undefined) return []
  const [, missing] = /Could not resolve "(\.[^"]+)"/.exec(message) ?? []
  return [at.file, ...(missing === undefined ? [] : [resolve(dirname(at.file), missing)])]
}
