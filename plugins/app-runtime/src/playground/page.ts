import { dashboardPages } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import { LIST_PAGE } from '../apps/pages.ts'

/** Contributes the page on which a program is checked and run. */
export function contributePlayground(ctx: Pick<PluginContext, 'contribute'>): void {
  ctx.contribute(dashboardPages, {
    path: 'app-runtime/playground',
    title: 'Program playground',
    summary: 'Check a program, and run it against a temporary database',
    icon: 'play',
    section: 'build',
    role: 'operator',
    under: LIST_PAGE,
    view: { kind: 'module', entry: 'playground', uses: ['compiler.check', 'app.playground'] }
  })
}
