import { type BrowserAutomation, type BrowserPageId, browserErrors } from '@svc/contracts'
import type { BridgeAnswers, BridgeCall } from './bridge.ts'
import type { Provided } from './provided.ts'

/** What the thread of a program asks. A target that is empty is the whole page. */
export interface BrowserQuestion {
  readonly page: BrowserPageId
  readonly target: string
}

/** Pages that one program has opened. It cannot use those of others, and they are closed with it. */
export class BrowserPages {
  readonly #browser: Provided<BrowserAutomation>
  readonly #opened = new Map<BrowserPageId, BrowserAutomation>()
  #isClosed = false

  constructor(browser: Provided<BrowserAutomation>) {
    this.#browser = browser
  }

  /** Questions of the threads of the program, by kind. */
  readonly answers: BridgeAnswers = {
    'browser.open': async ({ url, headless }: { url: string; headless: boolean }, { signal }: BridgeCall) => {
      const browser = await this.#browser()
      const page = await browser.open(url, { headless, signal })
      // The program ended while it was opened.
      if (this.#isClosed) await browser.close(page)
      else this.#opened.set(page, browser)
      return page
    },
    'browser.goto': ({ page, url }: BrowserQuestion & { url: string }, { signal }: BridgeCall) =>
      this.#of(page).goto(page, url, { signal }),
    'browser.click': ({ page, target }: BrowserQuestion, { signal }: BridgeCall) =>
      this.#of(page).click(page, target, { signal }),
    'browser.fill': ({ page, target, text }: BrowserQuestion & { text: string }, { signal }: BridgeCall) =>
      this.#of(page).fill(page, target, text, { signal }),
    'browser.wait_for': (
      { page, target, milliseconds }: BrowserQuestion & { milliseconds: number },
      { signal }: BridgeCall
    ) => this.#of(page).waitFor(page, target, milliseconds, { signal }),
    'browser.text': async ({ page, target }: BrowserQuestion, { signal }: BridgeCall) =>
      (await this.#of(page).text(page, target === '' ? undefined : target, { signal })).content,
    'browser.html': async ({ page, target }: BrowserQuestion, { signal }: BridgeCall) =>
      (await this.#of(page).html(page, target === '' ? undefined : target, { signal })).content,
    'browser.screenshot': ({ page }: BrowserQuestion, { signal }: BridgeCall) =>
      this.#of(page).screenshot(page, { signal }),
    'browser.close': async ({ page }: BrowserQuestion) => {
      const browser = this.#of(page)
      this.#opened.delete(page)
      await browser.close(page)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const opened = [...this.#opened]
    this.#opened.clear()
    // One that was idle for too long is closed already.
    await Promise.allSettled(opened.map(([page, browser]) => browser.close(page)))
  }

  #of(page: BrowserPageId): BrowserAutomation {
    const browser = this.#opened.get(page)
    if (browser !== undefined) return browser
    throw browserErrors.create('BRW_PAGE_UNKNOWN', `the program has no page ${JSON.stringify(page).slice(0, 60)}`)
  }
}
