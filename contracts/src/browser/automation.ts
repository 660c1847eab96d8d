import { service } from '@svc/plugin-sdk'

/** Opens pages of the web in a real browser, and uses them as a person would. */
export const browserAutomation = service<BrowserAutomation>('browser.automation@1')

/**
 * Each page is a separate browser: it shares cookies, storage and permissions with no other one. Pages are named by an id
 * that cannot be guessed. An idle one is closed after a while.
 *
 * A target is a CSS selector, or begins with `text=` or `xpath=`; where it fits several elements, the first one is meant.
 * Actions on an element wait until it exists, is visible and is enabled.
 *
 * Every function throws `BRW_TIMEOUT` when it takes longer than the settings of the implementation allow, `BRW_CLOSED` when
 * the browser ends meanwhile, and the signal's reason when it is aborted; all but `open` also throw `BRW_PAGE_UNKNOWN`.
 */
export interface BrowserAutomation {
  /**
   * Opens a page and waits until it is loaded. The browser is started for the first one. Addresses are those of HTTP, and
   * `about:blank`; what else is allowed is up to the implementation.
   *
   * Throws `BRW_ADDRESS`, `BRW_NAVIGATION`, `BRW_PAGE_LIMIT`, `BRW_NOT_INSTALLED` and `BRW_NOT_STARTED`; then nothing is left
   * open.
   */
  open(url: string, options?: BrowserOpenOptions): Promise<BrowserPageId>
  /** Loads another address into a page. Throws `BRW_ADDRESS` and `BRW_NAVIGATION`. */
  goto(page: BrowserPageId, url: string, options?: BrowserCallOptions): Promise<void>
  /** Clicks. Throws `BRW_TARGET`. Does not wait for what the click begins. */
  click(page: BrowserPageId, target: string, options?: BrowserCallOptions): Promise<void>
  /** Puts a text into a field in place of what is there. Throws `BRW_TARGET`, also for what is no field. */
  fill(page: BrowserPageId, target: string, text: string, options?: BrowserCallOptions): Promise<void>
  /** Waits until a target can be seen, for at most so many milliseconds. Throws `BRW_TARGET` and `BRW_TIMEOUT`. */
  waitFor(page: BrowserPageId, target: string, milliseconds: number, options?: BrowserCallOptions): Promise<void>
  /** Rendered text of a target; default: of the whole page. Throws `BRW_TARGET`. */
  text(page: BrowserPageId, target?: string, options?: BrowserCallOptions): Promise<BrowserContent>
  /** The markup of a target with the target itself, as it is now; default: of the whole page. Throws `BRW_TARGET`. */
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
  /** Without a window. Default true; a window needs a desktop. */
  readonly headless?: boolean
}

export interface BrowserContent {
  /** The beginning, where all of it is longer than the implementation gives: by default 24,000 characters. */
  readonly content: string
  /** Characters that all of it has, in units of UTF-16. */
  readonly length: number
}
