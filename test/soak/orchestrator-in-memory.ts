import { type Orchestrator, orchestrator as orchestratorToken } from '@svc/contracts'
import orchestratorPlugin from '@svc/plugin-orchestrator'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import { SETTINGS } from '../e2e/orchestrator-faults/whole.ts'

/** Opens the real orchestrator without a database. */
export async function openInMemory(): Promise<{ readonly kernel: TestKernel; service(): Orchestrator }> {
  let held: { readonly current: Orchestrator } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { tasks: ref(orchestratorToken) },
    activate(_ctx, deps) {
      held = deps.tasks
    }
  })
  const kernel = await testKernel([orchestratorPlugin, probe] as Plugin[], { settings: { orchestrator: SETTINGS } })
  return {
    kernel,
    service() {
      if (held === undefined) throw new Error('nothing provides the orchestrator')
      return held.current
    }
  }
}
