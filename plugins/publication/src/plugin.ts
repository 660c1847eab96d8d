import { databaseStore, kernelPort, publications } from '@svc/contracts'
import { definePlugin, errorMessage } from '@svc/plugin-sdk'
import { approve, approveCommand, revoke, revokeCommand } from './cli/commands.ts'
import { contributeConsole } from './console.ts'
import { waitingForApproval } from './inbox.ts'
import { inboxOperation, OPERATIONS } from './operations/declare.ts'
import { implementOperations } from './operations/handlers.ts'
import { Records } from './records.ts'
import { type Settings, settings } from './settings.ts'
import { PUBLICATION_TOPIC } from './topic.ts'

/** Interval in which changes of other processes are looked for. */
const LOOK_MS = 3_000

export default definePlugin({
  name: 'publication',
  summary: 'Publications with approvals, checks and a gate that two people open',
  config: settings,
  requires: { kernel: kernelPort },
  optional: { store: databaseStore },
  provides: [publications],
  operations: OPERATIONS,
  commands: [approveCommand, revokeCommand],
  permissions: { fsRead: ['*'] },
  activate(ctx, { kernel, store }) {
    const records = new Records({
      store,
      settings: () => ctx.config as Settings,
      log: ctx.log,
      changed: () => ctx.changed(PUBLICATION_TOPIC)
    })
    ctx.provide(publications, records)
    implementOperations(ctx, records)
    const parts = {
      records,
      token: () => (ctx.config as Settings).approver_token,
      call: (id: string, input: unknown, signal: AbortSignal) => ctx.callById(id, input, { signal })
    }
    ctx.command(approveCommand.command, approve(parts))
    ctx.command(revokeCommand.command, revoke(parts))
    ctx.implement(inboxOperation, async () => ({
      items: store === undefined ? [] : await waitingForApproval(records)
    }))
    contributeConsole(ctx)
    if (store === undefined) return
    // Changes of other processes, such as svc publication approve, are noticed while a page is open.
    let last: string | null = null
    const look = async (): Promise<void> => {
      const now = await records.history.position()
      if (last !== null && last !== now) ctx.changed(PUBLICATION_TOPIC)
      last = now
    }
    const timer = setInterval(() => {
      if (!kernel.topics.watched(PUBLICATION_TOPIC)) return
      look().catch(error => ctx.log.debug('changes could not be read', { reason: errorMessage(error) }))
    }, LOOK_MS).unref()
    ctx.effect('changes of other processes', () => clearInterval(timer))
  }
})
