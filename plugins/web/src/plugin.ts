import { webProject } from '@svc/contracts'
import { definePlugin, t } from '@svc/plugin-sdk'

const settings = t.object(
  {
    tanstack_start: t.optional(
      t.boolean({
        'x-reload': 'live',
        description:
          'Whether a TanStack Start server renders the pages. SVC_WEB_TANSTACK_START must agree if it is set.'
      })
    )
  },
  { 'x-section': 'web' }
)

export default definePlugin({
  name: 'web',
  summary: 'Settings of a project about its pages: the table [web]',
  config: settings,
  provides: [webProject],
  activate(ctx) {
    ctx.provide(webProject, { tanstackStart: () => ctx.config.tanstack_start })
  }
})
