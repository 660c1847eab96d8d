import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { type BrowserAutomation, browserAutomation } from '@svc/contracts'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import browser from '#plugin'
import { Chromium, findExecutable, Pages, type Settings } from '#root'

/** Reason why pages cannot be opened here; false if they can. */
export { missing } from './missing.ts'

/** The sandbox does not work as root. These pages are trusted. */
export const SANDBOX = process.getuid?.() !== 0

export interface World {
  readonly kernel: TestKernel
  readonly browser: BrowserAutomation
  close(): Promise<void>
}

/** Activates the plugin. */
export async function openWorld(t: Test, settings: object = {}): Promise<World> {
  let found: { readonly current: BrowserAutomation } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { browser: ref(browserAutomation) },
    activate(_ctx, deps) {
      found = deps.browser
    }
  })
  const kernel = await testKernel([browser as Plugin, probe as Plugin], {
    settings: { browser: { sandbox: SANDBOX, timeout_ms: 60_000, ...settings } }
  })
  let closed: Promise<void> | undefined
  const close = (): Promise<void> => (closed ??= kernel.close())
  t.teardown(close)
  return {
    kernel,
    get browser() {
      return found?.current as BrowserAutomation
    },
    close
  }
}

/** Creates pages of a separate browser with other settings. */
export function openPages(t: Test, given: Partial<Settings> = {}): { pages: Pages; settings: Settings } {
  const settings: Settings = {
    sandbox: SANDBOX,
    file_urls: false,
    max_pages: 8,
    timeout_ms: 60_000,
    idle_ms: 600_000,
    context_chars: 24_000,
    ...given
  }
  const chromium = new Chromium({
    headless: true,
    sandbox: SANDBOX,
    executable: () => findExecutable(undefined, '/'),
    startLimit: () => 60_000,
    idle: () => settings.idle_ms
  })
  t.teardown(() => chromium.close())
  const pages = new Pages(
    () => settings,
    () => chromium
  )
  return { pages, settings }
}

/** Starts a server for this test. Returns its URL, with a trailing slash. */
export async function serve(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** Starts a server that returns a page for each path. */
export function servePages(t: Test, pages: Readonly<Record<string, string>>): Promise<string> {
  return serve(t, (request, response) => {
    const page = pages[request.url ?? '/']
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' })
    response.end(page ?? 'nothing here')
  })
}

/** Returns the descendants of a process. Linux only. */
export function descendants(of: number): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc').filter(each => /^\d+$/.test(each))) {
    try {
      // The name in parentheses may contain any character.
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')
      if (fields[0] !== 'Z') parents.set(Number(name), Number(fields[1]))
    } catch {
      // The process has ended.
    }
  }
  const found = [of]
  for (const parent of found) for (const [pid, its] of parents) if (its === parent) found.push(pid)
  return found.slice(1)
}

export function isAlive(pid: number): boolean {
  try {
    return !/^\S+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Waits until a condition holds. */
export async function until(isSo: () => boolean): Promise<void> {
  const end = performance.now() + 120_000
  while (!isSo()) {
    if (performance.now() > end) throw new Error(`the condition was not met: ${isSo}`)
    await wait(20)
  }
}
