import type { BrowserAutomation } from '@svc/contracts'
import { browserErrors, defineMcpTool, type McpTool } from '@svc/contracts'
import { defineOperation, type Handler, type Operation, type PluginContext, t } from '@svc/plugin-sdk'

const { specs } = browserErrors
const { BRW_CLOSED, BRW_PAGE_UNKNOWN, BRW_TIMEOUT, BRW_TARGET } = specs
const { BRW_ADDRESS, BRW_NAVIGATION, BRW_PAGE_LIMIT, BRW_NOT_INSTALLED, BRW_NOT_STARTED } = specs
const errors = { BRW_CLOSED, BRW_PAGE_UNKNOWN, BRW_TIMEOUT }

/** Scope of the tools: a page can reach everything that this machine can reach. */
const BROWSER_SCOPE = 'browser.use'
const TIMEOUT_MS = 660_000

const page = t.string({ minLength: 1, maxLength: 64, description: 'Id of a page that svc_browser_open returned.' })
const url = t.string({ minLength: 1, maxLength: 8_192, description: 'HTTP or HTTPS address.' })
const target = t.string({
  minLength: 1,
  maxLength: 4_096,
  description: 'CSS selector; or text=WORDS, or xpath=PATH. The first match is used.'
})
const done = t.object({ ok: t.boolean() })
const content = t.object({
  content: t.string(),
  length: t.integer({ description: 'Length of the whole text.' }),
  truncated: t.boolean({ description: 'Whether the text is cut off at the limit of the settings.' })
})

const tool = (name: string, use: string) => ({
  name: `svc_browser_${name}`,
  result: 'tool-result' as const,
  lane: 'interop' as const,
  toolsets: ['browser'],
  use
})
const common = { scopes: [BROWSER_SCOPE], timeoutMs: TIMEOUT_MS } as const

const open = defineOperation({
  id: 'browser.open',
  summary: 'Open a web page in a browser',
  input: t.object({
    url,
    headless: t.boolean({ default: true, description: 'Run without a window. A window needs a desktop.' })
  }),
  output: t.object({ page: t.string({ description: 'Id of the page, for the other tools.' }) }),
  errors: { BRW_ADDRESS, BRW_NAVIGATION, BRW_PAGE_LIMIT, BRW_NOT_INSTALLED, BRW_NOT_STARTED, BRW_CLOSED, BRW_TIMEOUT },
  ...common,
  expose: {
    mcp: tool(
      'open',
      'Begin here. Close the page with svc_browser_close. Another address in the same page: svc_browser_goto.'
    ),
    rpc: true
  }
})

const goto = defineOperation({
  id: 'browser.goto',
  summary: 'Load another address into an open page',
  input: t.object({ page, url }),
  output: done,
  errors: { ...errors, BRW_ADDRESS, BRW_NAVIGATION },
  ...common,
  expose: { mcp: tool('goto', 'Keeps the cookies of the page. A page without them: svc_browser_open.'), rpc: true }
})

const click = defineOperation({
  id: 'browser.click',
  summary: 'Click an element of an open page',
  input: t.object({ page, target }),
  output: done,
  errors: { ...errors, BRW_TARGET },
  ...common,
  expose: { mcp: tool('click', 'Does not wait for the effects: follow with svc_browser_wait_for.'), rpc: true }
})

const fill = defineOperation({
  id: 'browser.fill',
  summary: 'Replace the text of a field of an open page',
  input: t.object({ page, target, text: t.string({ maxLength: 1_000_000, description: 'New text of the field.' }) }),
  output: done,
  errors: { ...errors, BRW_TARGET },
  ...common,
  expose: { mcp: tool('fill', 'Does not submit the form: click its button with svc_browser_click.'), rpc: true }
})

const waitFor = defineOperation({
  id: 'browser.waitFor',
  summary: 'Wait until an element of an open page is visible',
  input: t.object({
    page,
    target,
    timeout_ms: t.integer({ default: 10_000, minimum: 1, maximum: 600_000, description: 'Maximum time to wait.' })
  }),
  output: done,
  errors: { ...errors, BRW_TARGET },
  effect: 'read',
  ...common,
  expose: {
    mcp: tool('wait_for', 'After a click or a load, before you read. It fails if the time is over.'),
    rpc: true
  }
})

const text = defineOperation({
  id: 'browser.text',
  summary: 'Read the visible text of an open page',
  input: t.object({ page, target: t.optional(target) }),
  output: content,
  errors: { ...errors, BRW_TARGET },
  effect: 'read',
  ...common,
  expose: {
    mcp: tool('text', 'Without a target, of the whole page. Attributes and links: svc_browser_html.'),
    rpc: true
  }
})

const html = defineOperation({
  id: 'browser.html',
  summary: 'Read the HTML of an open page',
  input: t.object({ page, target: t.optional(target) }),
  output: content,
  errors: { ...errors, BRW_TARGET },
  effect: 'read',
  ...common,
  expose: { mcp: tool('html', 'To find selectors for other tools. It is longer than svc_browser_text.'), rpc: true }
})

const close = defineOperation({
  id: 'browser.close',
  summary: 'Close an open page',
  input: t.object({ page }),
  output: done,
  errors: { BRW_PAGE_UNKNOWN },
  ...common,
  expose: { mcp: tool('close', 'When you have read what you need: few pages may be open at once.'), rpc: true }
})

export const browserOperations: readonly Operation[] = [open, goto, click, fill, waitFor, text, html, close]

/** Implements the operations. */
export function implementOperations(ctx: PluginContext, pages: BrowserAutomation): void {
  const on = <Op extends Operation>(operation: Op, handler: Handler<Op>): void => ctx.implement(operation, handler)
  const ok = { ok: true }
  on(open, async ({ url, headless }, { signal }) => ({ page: await pages.open(url, { headless, signal }) }))
  on(goto, ({ page, url }, { signal }) => pages.goto(page, url, { signal }).then(() => ok))
  on(click, ({ page, target }, { signal }) => pages.click(page, target, { signal }).then(() => ok))
  on(fill, ({ page, target, text }, { signal }) => pages.fill(page, target, text, { signal }).then(() => ok))
  on(waitFor, ({ page, target, timeout_ms }, { signal }) =>
    pages.waitFor(page, target, timeout_ms, { signal }).then(() => ok)
  )
  on(text, ({ page, target }, { signal }) => pages.text(page, target, { signal }).then(shown))
  on(html, ({ page, target }, { signal }) => pages.html(page, target, { signal }).then(shown))
  on(close, ({ page }) => pages.close(page).then(() => ok))
}

function shown({ content, length }: { readonly content: string; readonly length: number }) {
  return { content, length, truncated: content.length < length }
}

/** Returns the tool that takes a screenshot: only a raw tool can return an image. */
export function screenshotTool(pages: BrowserAutomation): McpTool {
  return defineMcpTool({
    name: 'svc_browser_screenshot',
    title: 'Take a screenshot',
    description:
      'Take a screenshot of an open page\n\nReturns the visible part as an image. What can be read as text is shorter with svc_browser_text.',
    input: t.object({ page }),
    hints: { readOnly: true, openWorld: true },
    toolsets: ['browser'],
    scopes: [BROWSER_SCOPE],
    async call({ page }, { signal }) {
      const image = await pages.screenshot(page, { signal })
      return { content: [{ type: 'image', data: Buffer.from(image).toString('base64'), mimeType: 'image/png' }] }
    }
  })
}
