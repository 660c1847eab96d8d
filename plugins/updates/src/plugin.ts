import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { type KernelAdmin, kernelAdmin, kernelPort } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { upgradeCommand } from './command.ts'
import { contributeConsole } from './console.ts'
import type { Dependencies } from './handlers.ts'
import {
  operations,
  UPDATES_TOPIC,
  updatesCheck,
  updatesDismiss,
  updatesIgnore,
  updatesInbox,
  updatesStatus
} from './operations.ts'
import { settings } from './settings.ts'
import { Toolchain } from './toolchain.ts'

/** Interval in which changes of other processes are looked for. */
const LOOK_MS = 5_000

export default definePlugin({
  name: 'updates',
  summary: 'Reports new versions of svc, installs them, and goes back',
  config: settings,
  requires: { kernel: kernelPort },
  optional: { admin: kernelAdmin },
  operations,
  commands: [upgradeCommand],
  activate(ctx, { kernel, admin }) {
    const toolchain = new Toolchain(folderOf(ctx.config.home, ctx.projectRoot))
    const dependencies: Dependencies = {
      settings: () => ({ ...ctx.config, sidecar: ctx.config.sidecar && !isSidecarDisabled(admin) }),
      toolchain,
      current: kernel.version,
      changed: () => ctx.changed(UPDATES_TOPIC)
    }
    // Loaded on first use, since they need large libraries.
    const handlers = () => import('./handlers.ts')
    const inbox = () => import('./inbox.ts')
    ctx.implement(updatesStatus, async (input, call) => (await handlers()).statusHandler(dependencies)(input, call))
    ctx.implement(updatesCheck, async (input, call) => (await handlers()).checkHandler(dependencies)(input, call))
    ctx.implement(updatesIgnore, async (input, call) => (await handlers()).ignoreHandler(dependencies)(input, call))
    ctx.implement(updatesInbox, async (input, call) => (await inbox()).inboxHandler(dependencies)(input, call))
    ctx.implement(updatesDismiss, async (input, call) => (await inbox()).dismissHandler(dependencies)(input, call))
    // svc upgrade changes the folder: an open console notices it.
    let stamp = ''
    const timer = setInterval(async () => {
      if (!kernel.topics.watched(UPDATES_TOPIC)) return
      const { stampOf } = await import('./failure.ts')
      const before = stamp
      stamp = await stampOf(toolchain.home)
      if (stamp !== before) ctx.changed(UPDATES_TOPIC)
    }, LOOK_MS).unref()
    ctx.effect('changes of other processes', () => clearInterval(timer))
    ctx.command(upgradeCommand.command, async (input, io) => {
      const { runUpgrade } = await import('./upgrade.ts')
      return runUpgrade({ ...dependencies, log: ctx.log })(input, io)
    })
    contributeConsole(ctx)
    const { check_hours } = ctx.config
    if (check_hours > 0 && admin?.serves === true)
      ctx.onServe('checks', () =>
        ctx.background('checks for new versions', async signal => {
          const { checkRepeatedly } = await handlers()
          await checkRepeatedly(dependencies, check_hours, ctx.log, signal)
        })
      )
  }
})

/** Returns whether the plugin openclaw disables its sidecar, by `SVC_EXTGW_SIDECAR_DISABLE` or in its settings. */
function isSidecarDisabled(admin: Pick<KernelAdmin, 'settings'> | undefined): boolean {
  const settings = admin?.settings('plugins.openclaw') ?? []
  return settings.some(({ key, value }) => key === 'plugins.openclaw.sidecar_disabled' && value === true)
}

function folderOf(path: string, projectRoot: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : resolve(projectRoot, path)
}
