import { existsSync } from 'node:fs'
import { defined, defineOperation, definePlugin, type Plugin } from '@svc/plugin-sdk'
import { type Browser, chromium } from 'playwright-core'
import tap, { type Test } from 'tap'
import { ownManifests } from '../../../tools/docs.ts'
import { sampleCalls } from './sample-calls.ts'
import { openWorld } from './world.ts'

const EXECUTABLE = process.env.CHROMIUM ?? '/usr/bin/chromium'
const missing = existsSync(EXECUTABLE) ? false : `${EXECUTABLE} is not installed`

/** Serves the declarations of all bundled HTTP operations. Their handlers throw. */
async function openBundled(tap: Test) {
  const operations = (await ownManifests())
    .flatMap(manifest => manifest.operations)
    .filter(({ expose }) => expose.http !== undefined)
    .map(({ id, summary, description, input, output, effect, expose: { http } }) =>
      defineOperation({ id, summary, input, output, effect, ...defined({ description }), expose: defined({ http }) })
    )
  const bundled = definePlugin({
    name: 'bundled',
    operations,
    activate(ctx) {
      for (const operation of operations)
        ctx.implement(operation, () => {
          throw new Error('the input is valid')
        })
    }
  })
  const world = await openWorld([bundled as Plugin])
  tap.teardown(() => world.close())
  return { world, operations }
}

tap.test('/docs suggests a valid input for every bundled operation', async tap => {
  const { world, operations } = await openBundled(tap)
  const calls = await sampleCalls(world.url(''))
  tap.equal(calls.length, operations.length)
  for (const { name, send } of calls) {
    const response = await send()
    tap.equal(response.status, 500, `${name}: ${await response.text()}`)
  }
})

tap.test('/docs is no wider than a phone, even with all operations open', { skip: missing }, async tap => {
  const { world } = await openBundled(tap)
  const browser: Browser = await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox'] })
  tap.teardown(() => browser.close())
  const page = await browser.newPage({ viewport: { width: 390, height: 844 } })
  await page.goto(world.url('/docs'))
  await page.locator('details.operation').first().waitFor()
  const open = (selector: string): Promise<void> =>
    page.evaluate(`for (const each of document.querySelectorAll('${selector}')) each.open = true`)
  const width = (): Promise<number> => page.evaluate('document.documentElement.scrollWidth')
  tap.equal(await width(), 390)
  await open('details.operation')
  await page.locator('form').last().waitFor()
  await open('details')
  tap.equal(await width(), 390)
})
