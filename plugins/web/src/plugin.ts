import { webProject } from '@svc/contracts'
import { definePlugin, t } from '@svc/plugin-sdk'

const settings = t.object(
  {
    tanstack_start: t.optional(
      t.boolean({
        'x-reload': 'live',
        description:
          'Whether a TanStack Start server renders the pages. If SVC_WEB_TANSTACK_START is set, it must have the same value.'
      })
    )
  },
  { 'x-section': 'web' }
)

export default definePlugin({
  name: 'web',
  summary: 'Provides the page settings of a project: the table [web]',
  config: settings,
  provides: [webProject],
  activate(ctx) {
    ctx.provide(webProject, { tanstackStart: () => ctx.config.tanstack_start })
  }
})
