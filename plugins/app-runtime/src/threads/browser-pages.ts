import { type BrowserAutomation, type BrowserPageId, browserErrors } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import type { BridgeAnswers, BridgeCall } from './bridge.ts'
import type { Provided } from './provided.ts'

/** Request for a page or an element of it. An empty target means the whole page. */
export interface BrowserQuestion {
  readonly page: BrowserPageId
  readonly target: string
}

/** Pages opened by one program. It cannot use the pages of others, and its pages are closed with it. */
export class BrowserPages {
  readonly #browser: Provided<BrowserAutomation>
  readonly #opened = new Map<BrowserPageId, BrowserAutomation>()
  #isClosed = false

  constructor(browser: Provided<BrowserAutomation>) {
    this.#browser = browser
  }

  /** Request handlers for the program's threads, by kind. */
  readonly answers: BridgeAnswers = {
    'browser.open': (request: { url: string; headless: boolean }, call: BridgeCall) =>
      cancellable(call, () => this.#open(request, call)),
    'browser.goto': ({ page, url }: BrowserQuestion & { url: string }, call: BridgeCall) =>
      cancellable(call, () => this.#browserOf(page).goto(page, url, call)),
    'browser.click': ({ page, target }: BrowserQuestion, call: BridgeCall) =>
      cancellable(call, () => this.#browserOf(page).click(page, target, call)),
    'browser.fill': ({ page, target, text }: BrowserQuestion & { text: string }, call: BridgeCall) =>
      cancellable(call, () => this.#browserOf(page).fill(page, target, text, call)),
    'browser.wait_for': (request: BrowserQuestion & { milliseconds: number }, call: BridgeCall) =>
      cancellable(call, () =>
        this.#browserOf(request.page).waitFor(request.page, request.target, request.milliseconds, call)
      ),
    'browser.text': ({ page, target }: BrowserQuestion, call: BridgeCall) =>
      cancellable(call, async () => (await this.#browserOf(page).text(page, target || undefined, call)).content),
    'browser.html': ({ page, target }: BrowserQuestion, call: BridgeCall) =>
      cancellable(call, async () => (await this.#browserOf(page).html(page, target || undefined, call)).content),
    'browser.screenshot': ({ page }: BrowserQuestion, call: BridgeCall) =>
      cancellable(call, () => this.#browserOf(page).screenshot(page, call)),
    'browser.close': async ({ page }: BrowserQuestion) => {
      const browser = this.#browserOf(page)
      this.#opened.delete(page)
      await browser.close(page)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const opened = [...this.#opened]
    this.#opened.clear()
    // Fails for a page that was closed after its idle timeout.
    await Promise.allSettled(opened.map(([page, browser]) => browser.close(page)))
  }

  async #open({ url, headless }: { url: string; headless: boolean }, { signal }: BridgeCall): Promise<BrowserPageId> {
    const browser = await this.#browser()
    const page = await browser.open(url, { headless, signal })
    // The program ended while the page was opened.
    if (this.#isClosed) await browser.close(page)
    else this.#opened.set(page, browser)
    return page
  }

  #browserOf(page: BrowserPageId): BrowserAutomation {
    const browser = this.#opened.get(page)
    if (browser !== undefined) return browser
    throw browserErrors.create('BRW_PAGE_UNKNOWN', `the program has no page ${JSON.stringify(page).slice(0, 60)}`)
  }
}

/** Runs a request. The error of a cancelled request becomes `BRW_CLOSED`, so it is not logged as a host failure. */
async function cancellable<A>({ signal }: BridgeCall, ask: () => Promise<A>): Promise<A> {
  try {
    return await ask()
  } catch (error) {
    if (!signal.aborted || isSvcError(error)) throw error
    throw browserErrors.create('BRW_CLOSED', 'the program no longer waits for the browser')
  }
}
