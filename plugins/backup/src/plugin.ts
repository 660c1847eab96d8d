import { resolve } from 'node:path'
import { backupParts, databaseStore, kernelAdmin, kernelPort, metricsText } from '@svc/contracts'
import { type CommandHandler, definePlugin } from '@svc/plugin-sdk'
import type { Backups, Dependencies } from './backups.ts'
import { commands, createCommand, keyCommand, listCommand, restoreCommand, verifyCommand } from './commands.ts'
import { contributeConsole } from './console.ts'
import { BACKUPS_TOPIC, backupDismiss, backupInbox, backupRun, backupStatus, operations } from './operations.ts'
import { settings } from './settings.ts'
import { StatusFile } from './status.ts'

export default definePlugin({
  name: 'backup',
  summary: 'Backs up settings, databases, programs and keys, and restores them',
  config: settings,
  requires: { kernel: kernelPort },
  optional: { admin: kernelAdmin, store: databaseStore },
  points: [backupParts],
  contributes: [backupParts],
  operations,
  commands,
  permissions: { fsRead: ['*'], fsWrite: ['*'] },
  activate(ctx, { kernel, admin, store }) {
    const dependencies: Dependencies = { kernel, admin, store, settings: () => ctx.config }
    const status = new StatusFile(resolve(kernel.stateRoot, 'plugins', 'backup'))
    ctx.contribute(backupParts, {
      name: 'backup',
      summary: 'earlier backups',
      kind: 'derived',
      paths: () => [resolve(ctx.projectRoot, ctx.config.folder), status.path]
    })
    ctx.contribute(backupParts, {
      name: 'backup-process-files',
      summary: 'files of a running server, logs and caches',
      kind: 'derived',
      paths: () => ['cache', 'logs', 'daemon.json', 'daemon.log', 'tmp'].map(name => resolve(kernel.stateRoot, name))
    })
    // Loaded on first use, since they need the library of tar archives.
    let opened: Promise<Backups> | null = null
    const backups = (): Promise<Backups> => {
      opened ??= import('./backups.ts').then(({ Backups }) => new Backups(dependencies))
      return opened
    }
    const changed = (): void => ctx.changed(BACKUPS_TOPIC)
    const handlers = () => import('./handlers.ts')
    ctx.implement(backupStatus, async (input, call) =>
      (await handlers()).statusHandler(await backups(), dependencies)(input, call)
    )
    ctx.implement(backupRun, async (input, call) =>
      (await handlers()).runHandler(await backups(), changed)(input, call)
    )
    ctx.implement(backupDismiss, async (input, call) =>
      (await handlers()).dismissHandler(await backups(), changed)(input, call)
    )
    ctx.implement(backupInbox, async (input, call) => (await handlers()).inboxHandler(await backups())(input, call))

    const run = () => import('./run-commands.ts')
    const command = (word: string, open: () => Promise<CommandHandler>): void =>
      ctx.command(word, async (input, io) => (await open())(input, io))
    command(createCommand.command, async () => (await run()).runCreate(await backups(), dependencies))
    command(verifyCommand.command, async () => (await run()).runVerify(await backups(), dependencies))
    command(listCommand.command, async () => (await run()).runList(await backups()))
    command(keyCommand.command, async () => (await run()).runKey)
    command(restoreCommand.command, async () => (await run()).runRestore(await backups(), dependencies))

    contributeConsole(ctx)
    ctx.contribute(metricsText, {
      render: async () => {
        const { success, failure } = await status.read()
        return [
          '# HELP svc_backup_last_success_seconds Unix time of the last backup.',
          '# TYPE svc_backup_last_success_seconds gauge',
          `svc_backup_last_success_seconds ${(success?.at ?? 0) / 1_000}`,
          '# HELP svc_backup_failed Whether the last backup failed.',
          '# TYPE svc_backup_failed gauge',
          `svc_backup_failed ${failure === null ? 0 : 1}`,
          ''
        ].join('\n')
      }
    })
    ctx.health('backups', async () => {
      const { failure } = await status.read()
      return failure === null
        ? { status: 'ok' }
        : { status: 'degraded', detail: `the last backup failed: ${failure.message}` }
    })
    if (admin?.isServer === true)
      ctx.onServe('schedule', () =>
        ctx.background('scheduled backups', async signal => {
          const { runSchedule } = await import('./schedule.ts')
          await runSchedule(await backups(), () => ctx.config, ctx.log, changed, signal)
        })
      )
  }
})
