import { relative, resolve } from 'node:path'
import type { HttpServer, KernelAdmin } from '@svc/contracts'
import type { PluginContext, Ref } from '@svc/plugin-sdk'
import { APP_LISTENER } from '../serving/addresses.ts'
import type { Settings } from '../settings.ts'
import { type AppEvent, activityLogState } from './activity.ts'
import { type AppCall, callLogState } from './call-log.ts'
import { type AppHandlers, appHandlers } from './handlers.ts'
import {
  appActivity,
  appDescribe,
  appFeed,
  appList,
  appRequest,
  appSearch,
  appTableDelete,
  appTableInsert,
  appTableRows,
  appTableUpdate
} from './operations.ts'
import { contributeAppPages } from './pages.ts'
import { RowLog, type RowLogState } from './row-log.ts'
import { appName, ServedApps } from './served-apps.ts'

export const appOperations = [
  appList,
  appDescribe,
  appFeed,
  appActivity,
  appRequest,
  appSearch,
  appTableRows,
  appTableUpdate,
  appTableInsert,
  appTableDelete
]

export interface AppParts {
  readonly admin: KernelAdmin | undefined
  readonly http: Ref<HttpServer> | undefined
}

/** Implements the operations on served programs and contributes their pages. Returns where a program is added once it is served. */
export async function implementApps(ctx: PluginContext<Settings>, { admin, http }: AppParts): Promise<ServedApps> {
  const calls = await ctx.keep<RowLogState<AppCall>>('calls of programs 2', callLogState, () => undefined)
  const events = await ctx.keep<RowLogState<AppEvent>>('activity of programs 1', activityLogState, () => undefined)
  const apps = new ServedApps(new RowLog(calls), new RowLog(events))
  const { program } = ctx.config
  if (program !== undefined && admin?.serves !== false) {
    const file = relative(ctx.projectRoot, resolve(ctx.projectRoot, program)).replaceAll('\\', '/')
    apps.expect(appName(file), file)
  }
  const handlers: AppHandlers = appHandlers({
    apps,
    address: () => http?.available?.addresses.find(({ listener }) => listener === APP_LISTENER),
    needsToken() {
      const token = admin?.settings('plugins.http').find(({ key }) => key === 'plugins.http.token')?.value
      return token !== undefined && token !== null && token !== ''
    }
  })
  ctx.implement(appList, handlers.list)
  ctx.implement(appDescribe, handlers.describe)
  ctx.implement(appFeed, handlers.feed)
  ctx.implement(appActivity, handlers.activity)
  ctx.implement(appRequest, handlers.request)
  ctx.implement(appSearch, handlers.search)
  ctx.implement(appTableRows, handlers.rows)
  ctx.implement(appTableUpdate, handlers.update)
  ctx.implement(appTableInsert, handlers.insert)
  ctx.implement(appTableDelete, handlers.delete)
  contributeAppPages(ctx, admin)
  return apps
}
