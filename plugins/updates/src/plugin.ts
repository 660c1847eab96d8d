import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { kernelAdmin, kernelPort } from '@svc/contracts'
import { definePlugin, errorMessage, type Logger } from '@svc/plugin-sdk'
import { readLastCheck } from './check.ts'
import { contributeConsole } from './console.ts'
import { check, checkHandler, type Dependencies, ignoreHandler, inboxHandler, statusHandler } from './handlers.ts'
import { operations, UPDATES_TOPIC, updatesCheck, updatesIgnore, updatesInbox, updatesStatus } from './operations.ts'
import { settings } from './settings.ts'
import { Toolchain } from './toolchain.ts'
import { runUpgrade, upgradeCommand } from './upgrade-command.ts'

const HOUR_MS = 3_600_000
/** Interval in which the time of the last check is compared with the clock, which may be set or stand still. */
const LOOK_MS = 600_000

export default definePlugin({
  name: 'updates',
  summary: 'Reports new versions of svc, installs them beside the running one, and goes back',
  config: settings,
  requires: { kernel: kernelPort },
  optional: { admin: kernelAdmin },
  operations,
  commands: [upgradeCommand],
  activate(ctx, { kernel, admin }) {
    const toolchain = new Toolchain(folderOf(ctx.config.home, ctx.projectRoot))
    const dependencies: Dependencies = {
      settings: () => ctx.config,
      toolchain,
      current: kernel.version,
      changed: () => ctx.changed(UPDATES_TOPIC)
    }
    ctx.implement(updatesStatus, statusHandler(dependencies))
    ctx.implement(updatesCheck, checkHandler(dependencies))
    ctx.implement(updatesIgnore, ignoreHandler(dependencies))
    ctx.implement(updatesInbox, inboxHandler(dependencies))
    ctx.command(
      upgradeCommand.command,
      runUpgrade({
        settings: () => ctx.config,
        toolchain,
        current: kernel.version,
        log: ctx.log
      })
    )
    contributeConsole(ctx)
    const { check_hours } = ctx.config
    if (check_hours > 0 && admin?.serves === true)
      ctx.onServe('checks', () =>
        ctx.background('checks for new versions', signal => checkRepeatedly(dependencies, check_hours, ctx.log, signal))
      )
  }
})

async function checkRepeatedly(
  dependencies: Dependencies,
  hours: number,
  log: Pick<Logger, 'info' | 'warn'>,
  signal: AbortSignal
): Promise<void> {
  let triedAt = 0
  while (!signal.aborted) {
    const last = await readLastCheck(dependencies.toolchain.home)
    const due = Math.max(last?.checked_at ?? 0, triedAt) + hours * HOUR_MS
    if (Date.now() >= due) {
      triedAt = Date.now()
      await check(dependencies, signal).catch(error => {
        if (!signal.aborted) log.warn('cannot check for a new version', { reason: errorMessage(error) })
      })
    }
    await new Promise<void>(done => {
      const timer = setTimeout(done, LOOK_MS)
      signal.addEventListener('abort', () => {
        clearTimeout(timer)
        done()
      })
    })
  }
}

function folderOf(path: string, projectRoot: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : resolve(projectRoot, path)
}
