import { databaseStore, kernelAdmin, kernelPort, rewardEvents } from '@svc/contracts'
import { definePlugin, errorMessage } from '@svc/plugin-sdk'
import { contributeConsole } from './console.ts'
import { type Dependencies, REWARD_TOPIC } from './dependencies.ts'
import { switchedOffBy } from './gate.ts'
import { implementOperations, operations } from './operations/implement.ts'
import { submitCommand, submitHandler } from './operations/submit-command.ts'
import { Engine } from './pipeline/engine.ts'
import { EventSpool } from './pipeline/event-spool.ts'
import type { SessionCounts } from './pipeline/occurrences.ts'
import { programCheck } from './program-check.ts'
import { type Settings, settings } from './settings.ts'
import { RewardStore } from './store/reward-store.ts'

/** State of the process, which outlives a reload of the plugin. */
interface Session {
  readonly counts: SessionCounts
  /** Whether the stored configuration was last seen to switch rewards off. */
  isStoredOff: boolean
}

/** Milliseconds between a changed switch and the reload of the plugin. A single command has ended by then. */
const RELOAD_DELAY_MS = 200

export default definePlugin({
  name: 'reward',
  summary: 'Counts and rewards work, with levels, quests and a weekly digest',
  config: settings,
  requires: { kernel: kernelPort, database: databaseStore },
  optional: { admin: kernelAdmin },
  taps: [rewardEvents],
  operations,
  commands: [submitCommand],
  async activate(ctx, { kernel, database, admin }) {
    const session = await ctx.keep(
      'session 1',
      (): Session => ({ counts: new Map(), isStoredOff: false }),
      () => undefined
    )
    // A tap can only be added or removed by a reload. Until then, events are dropped before they are queued.
    let timer: NodeJS.Timeout | undefined
    const switched = (on: boolean): void => {
      if (session.isStoredOff === !on) return
      session.isStoredOff = !on
      if (admin === undefined) return
      timer ??= setTimeout(() => {
        admin.apply({ reload: [ctx.name] }).catch((error: unknown) => {
          ctx.log.warn('the plugin could not be reloaded after its switch was changed', { reason: errorMessage(error) })
        })
      }, RELOAD_DELAY_MS).unref()
    }
    ctx.effect('reload after a changed switch', () => clearTimeout(timer))
    const dependencies = {
      settings: () => ctx.config as Settings,
      store: new RewardStore(database),
      changed: () => ctx.changed(REWARD_TOPIC),
      switched
    }
    const engine = new Engine({
      ...dependencies,
      counts: session.counts,
      log: ctx.log,
      spool: new EventSpool(() => ctx.dataDirectory()),
      mask: text => kernel.mask(text)
    })
    implementOperations(ctx, {
      ...dependencies,
      engine,
      now: Date.now,
      check: programCheck((id, input, signal) => ctx.callById(id, input, { signal }))
    } satisfies Dependencies)
    ctx.command(submitCommand.command, submitHandler(ctx))
    contributeConsole(ctx)
    ctx.onDrain('queued events', () => engine.close())
    // Without a tap, an emitter does not even create its event.
    if (switchedOffBy(ctx.config as Settings) !== null || (session.isStoredOff && admin !== undefined)) return
    ctx.on(rewardEvents, event => {
      if (!session.isStoredOff) engine.accept(event)
    })
  }
})
