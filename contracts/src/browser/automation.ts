import { service } from '@svc/plugin-sdk'

/** Browser automation: opens web pages in a real browser, clicks, fills and reads them. */
export const browserAutomation = service<BrowserAutomation>('browser.automation@1')

/**
 * Each page is isolated: it shares no cookies, storage or permissions with others. Page ids cannot be guessed. An idle
 * page is closed after a while.
 *
 * A target is a CSS selector, or begins with `text=` or `xpath=`. If several elements match, the first is used.
 * Actions on an element wait until it exists, is visible and is enabled.
 *
 * Every function throws `BRW_TIMEOUT` if it exceeds the implementation's time limit. It throws `BRW_CLOSED` if the
 * browser ends meanwhile, and the signal's reason if the signal is aborted. All except `open` throw `BRW_PAGE_UNKNOWN`.
 */
export interface BrowserAutomation {
  /**
   * Opens a page and waits until it is loaded. The browser is started for the first one. Accepts HTTP URLs and
   * `about:blank`; an implementation may accept others.
   *
   * Throws `BRW_ADDRESS`, `BRW_NAVIGATION`, `BRW_PAGE_LIMIT`, `BRW_NOT_INSTALLED` and `BRW_NOT_STARTED`. After an error
   * no new page stays open.
   */
  open(url: string, options?: BrowserOpenOptions): Promise<BrowserPageId>
  /** Loads another address into a page. Throws `BRW_ADDRESS` and `BRW_NAVIGATION`. */
  goto(page: BrowserPageId, url: string, options?: BrowserCallOptions): Promise<void>
  /** Clicks. Throws `BRW_TARGET`. Does not wait for the effects of the click. */
  click(page: BrowserPageId, target: string, options?: BrowserCallOptions): Promise<void>
  /** Replaces the text of a field. Throws `BRW_TARGET` if the target does not exist or is not a field. */
  fill(page: BrowserPageId, target: string, text: string, options?: BrowserCallOptions): Promise<void>
  /** Waits until a target is visible, for at most this many milliseconds. Throws `BRW_TARGET` and `BRW_TIMEOUT`. */
  waitFor(page: BrowserPageId, target: string, milliseconds: number, options?: BrowserCallOptions): Promise<void>
  /** Returns the rendered text of a target; default: the whole page. Throws `BRW_TARGET`. */
  text(page: BrowserPageId, target?: string, options?: BrowserCallOptions): Promise<BrowserContent>
  /** Returns the current outer HTML of a target; default: the whole page. Throws `BRW_TARGET`. */
  html(page: BrowserPageId, target?: string, options?: BrowserCallOptions): Promise<BrowserContent>
  /** Takes a screenshot of the viewport, as PNG. */
  screenshot(page: BrowserPageId, options?: BrowserCallOptions): Promise<Uint8Array>
  /** Closes a page. */
  close(page: BrowserPageId): Promise<void>
}

export type BrowserPageId = string

export interface BrowserCallOptions {
  readonly signal?: AbortSignal
}

export interface BrowserOpenOptions extends BrowserCallOptions {
  /** Whether the browser runs without a window. Default true; a window needs a desktop. */
  readonly headless?: boolean
}

export interface BrowserContent {
  /** The content, cut at the implementation's limit: by default 24,000 characters. */
  readonly content: string
  /** Length of the whole text in UTF-16 code units. */
  readonly length: number
}
