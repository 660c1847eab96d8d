import { databaseStore, publications } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { approve, approveCommand, revoke, revokeCommand } from './cli/commands.ts'
import { waitingForApproval } from './inbox.ts'
import { inboxOperation, OPERATIONS } from './operations/declare.ts'
import { implementOperations } from './operations/handlers.ts'
import { Records } from './records.ts'
import { type Settings, settings } from './settings.ts'
import { PUBLICATION_TOPIC } from './topic.ts'

export default definePlugin({
  name: 'publication',
  summary: 'Publications with approvals, checks and a gate that two people open',
  config: settings,
  optional: { store: databaseStore },
  provides: [publications],
  operations: OPERATIONS,
  commands: [approveCommand, revokeCommand],
  permissions: { fsRead: ['*'] },
  activate(ctx, { store }) {
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
  }
})
