import t from 'tap'
import { eventsOperation, progressSnapshot } from '#root'
import { openReward, send } from './world.ts'

t.test('an event is rewarded once, with the explanation of its reward', async t => {
  const kernel = await openReward(t)
  await send(
    kernel,
    { type: 'task_completed', ludus_dedupe_id: 'a' } as never,
    { type: 'task_completed', ludus_dedupe_id: 'a' } as never
  )
  const { events } = await kernel.call(eventsOperation, {})
  t.equal(events.length, 2)
})
