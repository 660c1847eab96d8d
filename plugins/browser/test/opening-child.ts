import { Chromium, findExecutable } from '#root'

/** Opens a page, prints the page id, and waits. */
const chromium = new Chromium({
  headless: true,
  sandbox: process.getuid?.() !== 0,
  executable: () => findExecutable(undefined, '/'),
  startLimit: () => 60_000,
  idle: () => 600_000
})
const context = await chromium.context()
await context.newPage()
process.send?.('open')
