// Child process of the fault test: a control plane, whose parent kills it.
import type { Test } from 'tap'
import { openWorld, TOKENS, type WorldOptions } from './world.ts'

const t = { teardown() {} } as unknown as Test

process.once('message', async (options: WorldOptions) => {
  const { port } = await openWorld(t, { ...options, mesh: TOKENS })
  process.send?.({ port })
})
