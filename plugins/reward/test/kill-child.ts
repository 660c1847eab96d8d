// Child process of the fault test: sends events until its parent kills it, and reports each that is committed.
import type { Test } from 'tap'
import { progressSnapshot } from '#root'
import { openReward, send } from './world.ts'

const [path = ''] = process.argv.slice(2)
const t = { teardown() {} } as unknown as Test

const kernel = await openReward(t, {}, [], path)
for (let id = 0; ; id++) {
  await send(kernel, { type: 'bug_fix', ludus_dedupe_id: String(id) } as never)
  // Some events are committed together.
  if (id % 3 === 0) continue
  await kernel.call(progressSnapshot, {})
  process.send?.(id)
}
