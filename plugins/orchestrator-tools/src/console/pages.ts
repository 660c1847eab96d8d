import { dashboardActions, dashboardCards, dashboardInbox, dashboardPages, dashboardSearch } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import { agentActions, agentPages } from './agent-pages.ts'
import { controlActions } from './control.ts'
import { locksPage } from './locks-page.ts'
import { taskActions, taskCards, taskPages } from './task-pages.ts'

/** Contributes everything that the console shows of the orchestrator. */
export function contributeConsole(ctx: Pick<PluginContext, 'contribute'>): void {
  for (const page of [...taskPages, ...agentPages, locksPage]) ctx.contribute(dashboardPages, page, `page ${page.path}`)
  for (const card of taskCards) ctx.contribute(dashboardCards, card, `card ${card.title}`)
  for (const action of [...taskActions, ...agentActions, ...controlActions]) {
    ctx.contribute(dashboardActions, action, `action ${action.label}`)
  }
  ctx.contribute(dashboardInbox, { operation: 'orchestrator.inbox' })
  ctx.contribute(dashboardSearch, { operation: 'orchestrator.search' })
}
