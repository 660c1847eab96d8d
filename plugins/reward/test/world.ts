import { rewardEvents } from '@svc/contracts'
import database from '@svc/plugin-database'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { type Fake, type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import '../../database/test/built-worker.ts'
import plugin from '#plugin'

/** Plugin that declares the hook, as those that send events do. */
const emitter = definePlugin({ name: 'emitter', hooks: [rewardEvents], activate() {} }) as Plugin

/** Opens the plugin with a database in the project folder of the test, or at an absolute path, for the user `ada`. */
export async function openReward(
  t: Test,
  settings: object = {},
  plugins: readonly Plugin[] = [],
  path = 'test.db',
  more: Readonly<Record<string, object>> = {},
  services: readonly Fake[] = []
): Promise<TestKernel> {
  const kernel = await testKernel([database as Plugin, emitter, ...plugins, plugin as Plugin], {
    services,
    settings: { ...more, database: { path }, reward: { user_id: 'ada', ...settings } }
  })
  t.teardown(() => kernel.close())
  return kernel
}

/** Sends events one after the other. */
export async function send(kernel: TestKernel, ...events: readonly { readonly type: string }[]): Promise<void> {
  for (const event of events) await kernel.trigger(rewardEvents, event)
}
