import { join } from 'node:path'
import {
  databaseStore,
  declaredSecretResolver,
  declaredSecrets,
  inferenceClient,
  inferenceProviders,
  kernelAdmin,
  kernelPort,
  localInference,
  rewardEvents
} from '@svc/contracts'
import { definePlugin, errorMessage, ref } from '@svc/plugin-sdk'
import { contributeConsole } from './console.ts'
import { type Dependencies, REWARD_TOPIC } from './dependencies.ts'
import { switchedOffBy, userIdOf } from './gate.ts'
import { explainCommand, explainCommandHandler } from './operations/hint-explain.ts'
import { implementOperations, operations } from './operations/implement.ts'
import { submitCommand, submitHandler } from './operations/submit-command.ts'
import { Engine } from './pipeline/engine.ts'
import { EventSpool, userFolder } from './pipeline/event-spool.ts'
import type { SessionCounts } from './pipeline/occurrences.ts'
import { programCheck } from './program-check.ts'
import { type Settings, settings } from './settings.ts'
import { Retention } from './store/retention.ts'
import { RewardStore } from './store/reward-store.ts'
import { HintWatch } from './teaching/hint-watch.ts'
import { linksOf } from './teaching/links.ts'
import { POLLINATIONS_KEY } from './teaching/pollinations-key.ts'
import { Teacher } from './teaching/teacher.ts'

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
  optional: {
    admin: kernelAdmin,
    // By reference: a command whose events are counted does not need them.
    local: ref(localInference),
    client: ref(inferenceClient),
    providers: ref(inferenceProviders),
    secrets: ref(declaredSecretResolver)
  },
  taps: [rewardEvents],
  operations,
  commands: [submitCommand, explainCommand],
  async activate(ctx, { kernel, database, admin, local, client, providers, secrets }) {
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
    const current = (): Settings => ctx.config as Settings
    const isOn = (): boolean => switchedOffBy(current()) === null && !session.isStoredOff
    const dependencies = {
      settings: current,
      store: new RewardStore(database),
      changed: () => ctx.changed(REWARD_TOPIC),
      switched
    }
    const mask = (text: string): string => kernel.mask(text)
    const teacher = new Teacher({
      ...dependencies,
      links: linksOf(current, {
        local: () => local?.available,
        client: () => client?.available,
        providers: () => providers?.available,
        secrets: () => secrets?.available
      }),
      mask,
      isOn,
      start: run => ctx.background('text of a hint', run),
      log: ctx.log
    })
    ctx.contribute(declaredSecrets, POLLINATIONS_KEY)
    const engine = new Engine({
      ...dependencies,
      counts: session.counts,
      log: ctx.log,
      // Each user has a folder: a process commits only the events of its user.
      spool: new EventSpool(async () => join(await ctx.dataDirectory(), userFolder(userIdOf(current())))),
      mask,
      hinted: hints => {
        const last = hints.at(-1)
        // A single command ends before a model has answered.
        if (last !== undefined && admin?.serves === true) teacher.offer(last)
      }
    })
    implementOperations(ctx, {
      ...dependencies,
      engine,
      teacher,
      now: Date.now,
      check: programCheck((id, input, signal) => ctx.callById(id, input, { signal }))
    } satisfies Dependencies)
    ctx.command(submitCommand.command, submitHandler(ctx))
    ctx.command(explainCommand.command, explainCommandHandler(ctx))
    contributeConsole(ctx)
    const retention = new Retention({ ...dependencies, days: () => current().retention_days, log: ctx.log })
    const watch = new HintWatch({
      store: dependencies.store,
      user: () => (isOn() && current().teaching !== 'fixed' ? userIdOf(current()) : null),
      offer: hint => teacher.offer(hint),
      log: ctx.log
    })
    ctx.onServe('old events and new hints', () => {
      if (admin?.serves !== true || current().emergency_off) return
      ctx.background('old events', signal => retention.run(signal))
      ctx.background('hints of other processes', signal => watch.run(signal))
    })
    ctx.onDrain('queued events', () => engine.close())
    // Without a tap, an emitter does not even create its event.
    if (switchedOffBy(current()) !== null || (session.isStoredOff && admin !== undefined)) return
    ctx.on(rewardEvents, event => {
      if (!session.isStoredOff) engine.accept(event)
    })
  }
})
