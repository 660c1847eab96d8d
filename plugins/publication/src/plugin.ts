import { databaseStore, publications } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { Records } from './records.ts'
import { type Settings, settings } from './settings.ts'
import { PUBLICATION_TOPIC } from './topic.ts'

export default definePlugin({
  name: 'publication',
  summary: 'Publications with approvals, checks and a gate that two people open',
  config: settings,
  optional: { store: databaseStore },
  provides: [publications],
  activate(ctx, { store }) {
    const records = new Records({
      store,
      settings: () => ctx.config as Settings,
      log: ctx.log,
      changed: () => ctx.changed(PUBLICATION_TOPIC)
    })
    ctx.provide(publications, records)
  }
})
