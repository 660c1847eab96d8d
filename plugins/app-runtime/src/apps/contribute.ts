import { join, relative, resolve } from 'node:path'
import type { HttpServer, KernelAdmin } from '@svc/contracts'
import type { Call, Handler, Operation, OutputOf, PluginContext, Ref } from '@svc/plugin-sdk'
import { appErrors } from '../errors.ts'
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
import { askAllServers, askServers, runningServers } from './running-servers.ts'
import { appName, ServedApps } from './served-apps.ts'
import { openServingSocket } from './serving-socket.ts'

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

/** Surfaces of commands: of this process, and through a daemon. */
const COMMANDS: ReadonlySet<string> = new Set(['cli', 'rpc'])

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
  const folder = async (): Promise<string> => join(await ctx.dataDirectory(), 'serving')
  const looked = `looked for a daemon, and for svc dev and svc run of ${ctx.projectRoot}`
  /** A command of another process asks the process that serves. */
  const isElsewhere = ({ surface }: Call): boolean => COMMANDS.has(surface) && apps.list().length === 0
  const implement = <Op extends Operation>(operation: Op, handler: Handler<Op>): void => {
    ctx.implement(operation, (async (input: never, call) => {
      const found = isElsewhere(call) ? await askServers(await folder(), operation.id, input, call.signal) : null
      if (found !== null) return found.result
      if (isElsewhere(call) && 'APP_NO_SERVER' in operation.errors)
        throw appErrors.create('APP_NO_SERVER', `no running process serves a program (${looked})`, {
          hint: 'svc dev FILE serves one and shows the same in its output'
        })
      return handler(input, call)
    }) as Handler<Op>)
  }
  ctx.implement(appList, async (input, call) => {
    const own = await handlers.list(input, call)
    if (!isElsewhere(call)) return own
    const all = (await askAllServers(await folder(), appList.id, input, call.signal)) as OutputOf<typeof appList>[]
    const found = all.flatMap(each => each.apps)
    return { apps: found, note: found.length === 0 ? `${own.note} (${looked})` : '' }
  })
  implement(appDescribe, handlers.describe)
  implement(appFeed, handlers.feed)
  implement(appActivity, handlers.activity)
  implement(appRequest, handlers.request)
  implement(appSearch, handlers.search)
  implement(appTableRows, handlers.rows)
  implement(appTableUpdate, handlers.update)
  implement(appTableInsert, handlers.insert)
  implement(appTableDelete, handlers.delete)
  if (apps.list().length > 0) await answerCommands(ctx, await folder())
  contributeAppPages(ctx, admin)
  return apps
}

/** Answers commands of other processes about the programs of this one. A program is served without them, too. */
async function answerCommands(ctx: PluginContext<Settings>, folder: string): Promise<void> {
  const known = new Set<string>(appOperations.map(({ id }) => id))
  const perform = (operation: string, input: unknown, signal: AbortSignal): Promise<unknown> => {
    if (known.has(operation)) return ctx.callById(operation, input, { signal })
    throw appErrors.create('APP_REQUEST_INVALID', `${operation} is no operation on served programs`)
  }
  try {
    // Removes what killed processes left.
    await runningServers(folder)
    const close = await openServingSocket({ folder, log: ctx.log, perform })
    ctx.effect('socket for commands', close)
  } catch (error) {
    ctx.log.warn('svc app commands of other processes cannot reach the programs of this one', { error })
  }
}
