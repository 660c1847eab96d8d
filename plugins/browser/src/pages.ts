import { randomUUID } from 'node:crypto'
import {
  type BrowserAutomation,
  type BrowserCallOptions,
  type BrowserContent,
  type BrowserOpenOptions,
  type BrowserPageId,
  browserErrors
} from '@svc/contracts'
import { MAX_TIMER_MS, raceAbort } from '@svc/plugin-sdk'
import type { BrowserContext, Locator, Page } from 'playwright-core'
import { allowedAddress } from './address.ts'
import type { Chromium } from './chromium.ts'
import { type Attempt, closed, failureOf } from './failures.ts'
import type { Settings } from './settings.ts'

interface OpenPage {
  readonly context: BrowserContext
  readonly page: Page
  /** Number of pending calls. */
  busy: number
  /** Fires after `idle_ms` without a call. */
  readonly idle: NodeJS.Timeout
}

/** The DOM properties of an element that are read. */
interface PageElement {
  readonly innerText?: string
  readonly outerHTML?: string
  readonly textContent: string | null
}

/** The open pages, in a browser without and one with a window. */
export class Pages implements BrowserAutomation {
  readonly #settings: () => Settings
  readonly #chromium: (headless: boolean) => Chromium
  readonly #pages = new Map<BrowserPageId, OpenPage>()
  #opening = 0
  #isClosed = false

  constructor(settings: () => Settings, chromium: (headless: boolean) => Chromium) {
    this.#settings = settings
    this.#chromium = chromium
  }

  get size(): number {
    return this.#pages.size
  }

  async open(url: string, { headless = true, signal }: BrowserOpenOptions = {}): Promise<BrowserPageId> {
    const { file_urls, max_pages, timeout_ms } = this.#settings()
    signal?.throwIfAborted()
    const address = allowedAddress(url, file_urls)
    if (this.#isClosed) throw closed()
    if (this.#pages.size + this.#opening >= max_pages) {
      throw browserErrors.create('BRW_PAGE_LIMIT', `${max_pages} pages are open`, {
        hint: 'close unused pages, or raise the setting plugins.browser.max_pages'
      })
    }
    this.#opening += 1
    try {
      return await raceAbort(signal, this.#load(address, headless, signal))
    } catch (error) {
      throw signal?.aborted ? signal.reason : failureOf(error, { kind: 'load', url, milliseconds: timeout_ms })
    } finally {
      this.#opening -= 1
    }
  }

  async goto(id: BrowserPageId, url: string, options?: BrowserCallOptions): Promise<void> {
    const { file_urls, timeout_ms } = this.#settings()
    const address = allowedAddress(url, file_urls)
    const attempt: Attempt = { kind: 'load', url, milliseconds: timeout_ms }
    await this.#use(id, attempt, options, page => page.goto(address, { timeout: timeout_ms }))
  }

  click(id: BrowserPageId, target: string, options?: BrowserCallOptions): Promise<void> {
    return this.#useTarget(id, target, options, (element, timeout) => element.click({ timeout }))
  }

  fill(id: BrowserPageId, target: string, text: string, options?: BrowserCallOptions): Promise<void> {
    return this.#useTarget(id, target, options, (element, timeout) => element.fill(text, { timeout }))
  }

  async waitFor(id: BrowserPageId, target: string, milliseconds: number, options?: BrowserCallOptions): Promise<void> {
    // Playwright takes 0 as no limit, and a timer beyond its maximum fires after 1 ms.
    const timeout = Math.min(Math.max(1, milliseconds), MAX_TIMER_MS)
    await this.#use(id, { kind: 'use', target, milliseconds: timeout }, options, page =>
      page.locator(target).first().waitFor({ state: 'visible', timeout })
    )
  }

  text(id: BrowserPageId, target?: string, options?: BrowserCallOptions): Promise<BrowserContent> {
    return this.#content(id, 'innerText', target ?? 'body', options)
  }

  html(id: BrowserPageId, target?: string, options?: BrowserCallOptions): Promise<BrowserContent> {
    return this.#content(id, 'outerHTML', target ?? ':root', options)
  }

  async screenshot(id: BrowserPageId, options?: BrowserCallOptions): Promise<Uint8Array> {
    const { timeout_ms } = this.#settings()
    const attempt: Attempt = { kind: 'picture', milliseconds: timeout_ms }
    return this.#use(id, attempt, options, page => page.screenshot({ type: 'png', timeout: timeout_ms }))
  }

  async close(id: BrowserPageId): Promise<void> {
    const { context } = this.#pageOf(id)
    this.#forget(id)
    await context.close().catch(() => undefined)
  }

  /** Closes all pages. Pending calls fail with `BRW_CLOSED`. */
  async closeAll(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#pages.keys()].map(id => this.close(id)))
  }

  async #content(
    id: BrowserPageId,
    property: 'innerText' | 'outerHTML',
    target: string,
    options: BrowserCallOptions | undefined
  ): Promise<BrowserContent> {
    const maxChars = this.#settings().context_chars
    const [content, length] = await this.#useTarget(id, target, options, (element, timeout) =>
      element.evaluate(
        // This function runs in the page, and can use only its arguments. SVG elements have no innerText.
        (node: PageElement, [name, count]) => {
          const all = node[name] ?? node.textContent ?? ''
          return [all.slice(0, count), all.length] as const
        },
        [property, maxChars] as const,
        { timeout }
      )
    )
    return { content, length }
  }

  #useTarget<A>(
    id: BrowserPageId,
    target: string,
    options: BrowserCallOptions | undefined,
    run: (element: Locator, timeout: number) => Promise<A>
  ): Promise<A> {
    const { timeout_ms: milliseconds } = this.#settings()
    const attempt: Attempt = { kind: 'use', target, milliseconds }
    return this.#use(id, attempt, options, page => run(page.locator(target).first(), milliseconds))
  }

  async #use<A>(
    id: BrowserPageId,
    attempt: Attempt,
    { signal }: BrowserCallOptions = {},
    run: (page: Page) => Promise<A>
  ): Promise<A> {
    signal?.throwIfAborted()
    const open = this.#pageOf(id)
    open.busy += 1
    try {
      return await raceAbort(signal, run(open.page))
    } catch (error) {
      throw signal?.aborted ? signal.reason : failureOf(error, attempt)
    } finally {
      open.busy -= 1
      open.idle.refresh()
    }
  }

  async #load(address: string, headless: boolean, signal: AbortSignal | undefined): Promise<BrowserPageId> {
    const context = await this.#chromium(headless).context()
    const stop = (): void => void context.close().catch(() => undefined)
    signal?.addEventListener('abort', stop, { once: true })
    try {
      if (signal?.aborted || this.#isClosed) throw closed()
      const page = await context.newPage()
      // Windows that a page opens are closed.
      context.on('page', other => void other.close().catch(() => undefined))
      await page.goto(address, { timeout: this.#settings().timeout_ms })
      if (signal?.aborted || this.#isClosed) throw closed()
      return this.#added(context, page)
    } catch (error) {
      stop()
      throw error
    } finally {
      signal?.removeEventListener('abort', stop)
    }
  }

  #added(context: BrowserContext, page: Page): BrowserPageId {
    const id = randomUUID()
    const idle = setTimeout(() => {
      if (open.busy > 0) open.idle.refresh()
      else void this.close(id)
    }, this.#settings().idle_ms)
    idle.unref()
    const open: OpenPage = { context, page, busy: 0, idle }
    this.#pages.set(id, open)
    context.on('close', () => this.#forget(id))
    page.on('crash', () => void context.close().catch(() => undefined))
    page.on('close', () => void context.close().catch(() => undefined))
    return id
  }

  #pageOf(id: BrowserPageId): OpenPage {
    const open = this.#pages.get(id)
    if (open !== undefined) return open
    throw browserErrors.create('BRW_PAGE_UNKNOWN', `no page with the id ${JSON.stringify(id).slice(0, 60)} is open`, {
      hint: `open a new one; a page is closed after ${this.#settings().idle_ms} ms without a call`
    })
  }

  #forget(id: BrowserPageId): void {
    const open = this.#pages.get(id)
    if (open === undefined) return
    clearTimeout(open.idle)
    this.#pages.delete(id)
  }
}
