import { pageBundler, webProject } from '@svc/contracts'
import { definePlugin, t } from '@svc/plugin-sdk'
import { bundlePages } from './bundle-pages.ts'
import { PageRuntime } from './page-runtime.ts'

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
  summary: 'Bundles the pages of programs, and provides the page settings of a project: the table [web]',
  config: settings,
  provides: [webProject, pageBundler],
  activate(ctx) {
    ctx.provide(webProject, { tanstackStart: () => ctx.config.tanstack_start })
    const runtime = new PageRuntime(new URL('../runtime/', import.meta.url))
    ctx.provide(pageBundler, {
      bundle: sources => bundlePages(sources, runtime),
      file: path => runtime.file(path)
    })
  }
})
