import { databaseStore, rewardEvents } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import type { Dependencies } from './dependencies.ts'
import { REWARD_TOPIC } from './dependencies.ts'
import { switchedOffBy } from './gate.ts'
import { implementOperations, operations } from './operations/index.ts'
import { Engine } from './pipeline/engine.ts'
import type { SessionCounts } from './pipeline/occurrences.ts'
import { programCheck } from './program-check.ts'
import { type Settings, settings } from './settings.ts'
import { RewardStore } from './store/reward-store.ts'

export default definePlugin({
  name: 'reward',
  summary: 'Counts and rewards work, with levels, quests and a weekly digest',
  config: settings,
  requires: { database: databaseStore },
  taps: [rewardEvents],
  operations,
  async activate(ctx, { database }) {
    const counts = await ctx.keep(
      'occurrences of events',
      (): SessionCounts => new Map(),
      () => undefined
    )
    const store = new RewardStore(database)
    const engine = new Engine({
      store,
      settings: () => ctx.config as Settings,
      counts,
      log: ctx.log,
      changed: () => ctx.changed(REWARD_TOPIC)
    })
    const dependencies: Dependencies = {
      settings: () => ctx.config as Settings,
      store,
      engine,
      log: ctx.log,
      now: Date.now,
      check: programCheck((id, input, signal) => ctx.callById(id, input, { signal })),
      changed: () => ctx.changed(REWARD_TOPIC)
    }
    implementOperations(ctx, dependencies)
    // Without a tap, an emitter does not even create its event.
    if (switchedOffBy(ctx.config as Settings) !== null) return
    ctx.on(rewardEvents, event => engine.accept(event), { label: 'queue' })
    ctx.onDrain('queued events', () => engine.flush())
  }
})
