import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DashboardRole, type HttpServer, httpServer, type KernelPort, kernelPort } from '@svc/contracts'
import http from '@svc/plugin-http'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import dashboard from '#plugin'
import { SignInCodes } from '#root'

/** The real kernel with the plugins http and dashboard on a free port, and a page of two files. */
export interface World {
  readonly kernel: TestKernel
  readonly port: KernelPort
  readonly codes: SignInCodes
  /** Data folder of the plugin. */
  readonly folder: string
  readonly origin: string
  url(path: string): string
  /** Replaces the dashboard by a new instance of itself. */
  reload(): Promise<void>
  signIn(role?: DashboardRole): Promise<Browser>
  close(): Promise<void>
}

export interface WorldOptions {
  readonly plugins?: readonly Plugin[]
  readonly settings?: object
  readonly http?: object
  /** False: the page is not built. */
  readonly page?: boolean
}

export async function openWorld({
  plugins = [],
  settings = {},
  http: httpSettings = {},
  page = true
}: WorldOptions = {}): Promise<World> {
  let server: { readonly current: HttpServer } | undefined
  let port: KernelPort | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { server: ref(httpServer), port: kernelPort },
    activate(_ctx, deps) {
      server = deps.server
      port = deps.port
    }
  })
  const packageRoot = mkdtempSync(join(tmpdir(), 'svc-console-'))
  if (page) {
    const files = join(packageRoot, 'page-dist')
    mkdirSync(files)
    writeFileSync(join(files, 'index.html'), '<!doctype html><title>console</title>')
    writeFileSync(join(files, 'main-ABC.js'), 'plain')
    writeFileSync(join(files, 'main-ABC.js.gz'), 'gzip')
    writeFileSync(join(files, 'main-ABC.js.br'), 'brotli')
    writeFileSync(join(files, 'meta.json'), '{}')
  }
  const kernel = await testKernel([http as Plugin, dashboard as Plugin, probe as Plugin, ...plugins], {
    settings: { http: { port: 0, drain_ms: 2_000, ...httpSettings }, dashboard: settings },
    packageRoots: { dashboard: packageRoot }
  })
  const address = (): string => {
    const main = (server as { readonly current: HttpServer }).current.addresses.find(each => each.listener === 'main')
    return main?.url.replace('0.0.0.0', '127.0.0.1') ?? ''
  }
  const folder = join(kernel.root, '.vox', 'plugins', 'dashboard')
  const codes = new SignInCodes(folder)
  const world: World = {
    kernel,
    port: port as unknown as KernelPort,
    codes,
    folder,
    get origin() {
      return address()
    },
    url: path => address() + path,
    reload: () => kernel.replace(definePlugin({ ...dashboard }) as Plugin),
    async signIn(role = 'owner') {
      const response = await fetch(`${address()}/ui/api/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: address() },
        body: JSON.stringify({ code: codes.create(role).code })
      })
      if (response.status !== 201) throw new Error(await response.text())
      const { token, session } = (await response.json()) as { token: string; session: { id: string } }
      const cookie = (response.headers.get('set-cookie') ?? '').split(';', 1)[0] as string
      return new Browser(address, cookie, token, session.id)
    },
    async close() {
      await kernel.close()
      rmSync(packageRoot, { recursive: true, force: true })
    }
  }
  return world
}

/** Requests as a signed-in page sends them. */
export class Browser {
  readonly #origin: () => string
  readonly cookie: string
  readonly token: string
  readonly session: string

  constructor(origin: () => string, cookie: string, token: string, session: string) {
    this.#origin = origin
    this.cookie = cookie
    this.token = token
    this.session = session
  }

  get headers(): Record<string, string> {
    return { cookie: this.cookie, 'x-svc-token': this.token, 'sec-fetch-site': 'same-origin' }
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(this.#origin() + path, { headers: { ...this.headers, ...headers }, redirect: 'manual' })
  }

  send(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {}
  ): Promise<Response> {
    return fetch(this.#origin() + path, {
      method,
      headers: { ...this.headers, origin: this.#origin(), 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) })
    })
  }

  call(operation: string, input: unknown = {}, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return this.send('POST', `/ui/api/call/${operation}`, input, headers)
  }
}

/** Returns the code of an error response. */
export async function codeOf(response: Response): Promise<string> {
  return ((await response.json()) as { error: { code: string } }).error.code
}
