import { join } from 'node:path'
import {
  type Clarifications,
  clarifications as clarificationsToken,
  type KernelPort,
  kernelPort,
  type Orchestrator,
  orchestrator as orchestratorToken,
  type RewardEvent,
  rewardEvents
} from '@svc/contracts'
import database from '@svc/plugin-database'
import orchestrator from '@svc/plugin-orchestrator'
import questioning from '@svc/plugin-questioning'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import '../../database/test/built-worker.ts'
import plugin from '#plugin'
import { defaultSettings } from '../../orchestrator/test/default-settings.ts'

export interface WorldOptions {
  /** Folder of the database; default: a new one. */
  readonly folder?: string
  /** False: without the plugin under test; default true. */
  readonly resolves?: boolean
}

/** Opens the plugin with a real orchestrator, real questions and a real database. */
export async function openWorld(t: Test, options: WorldOptions = {}) {
  const { folder = t.testdir(), resolves = true } = options
  let agents: { readonly current: Orchestrator } | undefined
  let asked: { readonly current: Clarifications } | undefined
  let port: KernelPort | undefined
  const rewards: RewardEvent[] = []
  const probe = definePlugin({
    name: 'probe',
    requires: { agents: ref(orchestratorToken), asked: ref(clarificationsToken), kernel: kernelPort },
    activate(ctx, deps) {
      agents = deps.agents
      asked = deps.asked
      port = deps.kernel
      ctx.on(rewardEvents, event => void rewards.push(event), { filter: { type: 'task_resolved' } })
    }
  })
  const plugins = [database, orchestrator, questioning, probe, ...(resolves ? [plugin] : [])] as Plugin[]
  const kernel = await testKernel(plugins, {
    settings: { database: { path: join(folder, 'store.db') }, orchestrator: defaultSettings() }
  })
  let isOpen = true
  const close = async (): Promise<void> => {
    if (isOpen) await kernel.close()
    isOpen = false
  }
  t.teardown(close)
  return {
    close,
    rewards,
    get orchestrator() {
      return agents!.current
    },
    get clarifications() {
      return asked!.current
    },
    /** Runs an operation as the local user. */
    call: (operation: string, input: object) =>
      port!.invoke(operation, input, { surface: 'console', principal: { id: 'local', role: 'admin', scopes: ['*'] } }),
    /** Submits a task and doubts it. Returns its id. */
    async doubted(description: string, reason: string | null): Promise<number> {
      const { task_id } = await agents!.current.submit({ description, files: [] })
      await agents!.current.doubt(task_id, reason)
      return task_id
    }
  }
}

/** Repeats a check until its value is not null. */
export async function eventually<A>(check: () => Promise<A | null> | A | null): Promise<A> {
  for (let end = Date.now() + 120_000; ; ) {
    const value = await check()
    if (value !== null) return value
    if (Date.now() > end) throw new Error('it did not happen within two minutes')
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}
