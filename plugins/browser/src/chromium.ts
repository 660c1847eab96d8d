import { createRequire } from 'node:module'
import type { Browser, BrowserContext } from 'playwright-core'
import { closed, isGone, startFailure } from './failures.ts'

export interface ChromiumOptions {
  readonly headless: boolean
  readonly sandbox: boolean
  /** Returns the path of the browser. Throws `BRW_NOT_INSTALLED`. */
  executable(): Promise<string>
  /** Time limit of the start, in milliseconds. */
  startLimit(): number
  /** Time without a page after which the browser is closed, in milliseconds. */
  idle(): number
}

/**
 * A browser that starts with the first page and ends some time after the last one. It also ends when its pipe to this
 * process breaks, so it does not outlive a killed process.
 */
export class Chromium {
  readonly #options: ChromiumOptions
  #browser: Promise<Browser> | null = null
  #contexts = 0
  #timer: NodeJS.Timeout | null = null

  constructor(options: ChromiumOptions) {
    this.#options = options
  }

  /**
   * Opens a context for one page, with separate cookies and storage. Throws `BRW_NOT_INSTALLED`,
   * `BRW_NOT_STARTED` and `BRW_CLOSED`.
   */
  async context(): Promise<BrowserContext> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#contexts += 1
    try {
      const browser = await (this.#browser ?? this.#start())
      const context = await browser.newContext({ acceptDownloads: false })
      context.on('close', () => this.#onContextClosed())
      return context
    } catch (error) {
      this.#onContextClosed()
      throw isGone(error) ? closed() : error
    }
  }

  /** Ends the browser with all its pages, even while it starts. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    const browser = this.#browser
    this.#browser = null
    await (await browser?.catch(() => null))?.close()
  }

  #onContextClosed(): void {
    this.#contexts -= 1
    if (this.#contexts > 0 || this.#browser === null) return
    this.#timer = setTimeout(() => void this.close().catch(() => undefined), this.#options.idle())
    this.#timer.unref()
  }

  #start(): Promise<Browser> {
    const started = this.#launch()
    this.#browser = started
    const forget = (): void => {
      if (this.#browser === started) this.#browser = null
    }
    started.then(browser => browser.on('disconnected', forget), forget)
    return started
  }

  async #launch(): Promise<Browser> {
    const { headless, sandbox } = this.#options
    const executablePath = await this.#options.executable()
    // Loaded on first use, because it is large and most processes never need it.
    const { chromium } = createRequire(import.meta.url)('playwright-core') as typeof import('playwright-core')
    try {
      return await chromium.launch({
        executablePath,
        headless,
        chromiumSandbox: sandbox,
        timeout: this.#options.startLimit(),
        // The kernel handles signals and disposes this plugin.
        handleSIGINT: false,
        handleSIGTERM: false,
        handleSIGHUP: false
      })
    } catch (error) {
      throw startFailure(error, executablePath)
    }
  }
}
