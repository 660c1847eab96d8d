import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { PAGE_FILES, type PageFile } from '@svc/contracts'
import { webErrors } from './errors.ts'

/** URL path of the prebuilt libraries. */
const BASE = `${PAGE_FILES}runtime/`

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8'
}

/** File name of each library by its module name, and of the script that reloads pages in development. */
interface Manifest {
  readonly development: Readonly<Record<string, string>>
  readonly production: Readonly<Record<string, string>>
  readonly client: string
}

/** React and other libraries of pages, prebuilt by tools/build-vendor.mjs. */
export class PageRuntime {
  readonly #folder: URL
  #manifest: Promise<Manifest> | null = null

  /** `folder`: URL of the folder `runtime`, with a trailing slash. */
  constructor(folder: URL) {
    this.#folder = folder
  }

  /** Returns the URL path of each library by its module name. Throws `WEB_RUNTIME_MISSING`. */
  async libraries(isDevelopment: boolean): Promise<ReadonlyMap<string, string>> {
    const { development, production } = await this.#read()
    const files = Object.entries(isDevelopment ? development : production)
    return new Map(files.map(([module, file]) => [module, BASE + file]))
  }

  /** Returns a file by its path below {@link PAGE_FILES}; `dev.js` is the script for development. */
  async file(path: string): Promise<PageFile | null> {
    const name = path === 'dev.js' ? (await this.#read()).client : /^runtime\/([\w.-]+)$/.exec(path)?.[1]
    const type = name === undefined ? undefined : TYPES[extname(name)]
    if (name === undefined || type === undefined) return null
    const body = await readFile(new URL(name, this.#folder)).catch(() => null)
    return body === null ? null : { type, body }
  }

  #read(): Promise<Manifest> {
    this.#manifest ??= this.#load()
    return this.#manifest
  }

  async #load(): Promise<Manifest> {
    const url = new URL('manifest.json', this.#folder)
    try {
      return JSON.parse(await readFile(url, 'utf8')) as Manifest
    } catch (cause) {
      this.#manifest = null
      throw webErrors.create('WEB_RUNTIME_MISSING', `${url.pathname} cannot be read`, {
        hint: 'in a checkout of the repository, run: npm run build; otherwise install @svc/plugin-web again',
        cause
      })
    }
  }
}
