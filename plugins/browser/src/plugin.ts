import { browserAutomation, mcpTools } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { Chromium } from './chromium.ts'
import { findExecutable } from './executable.ts'
import { browserOperations, implementOperations, screenshotTool } from './operations.ts'
import { Pages } from './pages.ts'
import { type Settings, settings } from './settings.ts'

export default definePlugin({
  name: 'browser',
  summary: 'Opens web pages in an installed Chromium',
  config: settings,
  provides: [browserAutomation],
  operations: browserOperations,
  activate(ctx) {
    const { sandbox, executable } = ctx.config
    const current = (): Settings => ctx.config
    const chromium = (headless: boolean): Chromium =>
      new Chromium({
        headless,
        sandbox,
        executable: () => findExecutable(executable, ctx.projectRoot),
        startLimit: () => current().timeout_ms,
        idle: () => current().idle_ms
      })
    const [without, withWindow] = [chromium(true), chromium(false)]
    const pages = new Pages(current, headless => (headless ? without : withWindow))
    ctx.effect('browsers', async () => {
      await Promise.all([without.close(), withWindow.close()])
    })
    ctx.effect('pages', () => pages.closeAll())
    ctx.provide(browserAutomation, pages)
    implementOperations(ctx, pages)
    ctx.contribute(mcpTools, screenshotTool(pages))
  }
})
