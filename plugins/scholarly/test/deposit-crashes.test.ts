import t from 'tap'
import { Attempts } from './deposit-kit.ts'
import { ARCHIVES } from './deposit-worlds.ts'

for (const { name, open } of ARCHIVES) {
  t.test(`${name}: one entry is published, whatever step the process ends at`, async t => {
    const first = await open(t, { publish_now: true })
    const counted = new Attempts()
    await first.adapter.submit(first.manifest, counted.context())
    t.ok(counted.steps >= 8, `${counted.steps} steps`)
    for (let step = 1; step <= counted.steps; step++) {
      for (const when of ['before', 'after'] as const) {
        const world = await open(t, { publish_now: true })
        const attempts = new Attempts()
        attempts.crashAt = { step, when }
        await t.rejects(world.adapter.submit(world.manifest, attempts.context()), { message: when })
        attempts.crashAt = null
        await world.adapter.submit(world.manifest, attempts.context())
        t.same([world.entries(), world.published(), world.files().length], [1, 1, 1], `${when} step ${step}`)
      }
    }
  })

  t.test(`${name}: a process that ends twice, at any two steps, publishes one entry`, async t => {
    for (let first = 1; first <= 9; first += 2) {
      for (let second = 1; second <= 7; second += 2) {
        const world = await open(t, { publish_now: true })
        const attempts = new Attempts()
        for (const step of [first, second]) {
          attempts.steps = 0
          attempts.crashAt = { step, when: 'after' }
          await world.adapter.submit(world.manifest, attempts.context()).catch(() => null)
        }
        attempts.crashAt = null
        await world.adapter.submit(world.manifest, attempts.context())
        t.same([world.entries(), world.published()], [1, 1], `steps ${first} and ${second}`)
      }
    }
  })
}
