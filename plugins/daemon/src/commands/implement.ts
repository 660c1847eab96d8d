import type { PluginContext } from '@svc/plugin-sdk'
import type { DaemonProject } from './daemon-project.ts'
import { LINES, START_WAIT_MS, STOP_WAIT_MS } from './declare.ts'
import { daemonLogs } from './logs.ts'
import { daemonStart } from './start.ts'
import { daemonStatus } from './status.ts'
import { daemonStop } from './stop.ts'

export function implementCommands(ctx: Pick<PluginContext<unknown>, 'command'>, place: DaemonProject): void {
  ctx.command('daemon start', ({ wait, foreground, only }, io) => {
    const chosen = typeof only === 'string' ? names(only) : place.only
    const input = { wait: (wait ?? START_WAIT_MS) as number, foreground: foreground === true, only: chosen }
    return daemonStart(place, input, io)
  })
  ctx.command('daemon status', (_input, io) => daemonStatus(place, io))
  ctx.command('daemon stop', ({ wait, force }, io) =>
    daemonStop(place, { wait: (wait ?? STOP_WAIT_MS) as number, force: force === true }, io)
  )
  ctx.command('daemon logs', ({ lines, follow }, io) =>
    daemonLogs(place, { lines: (lines ?? LINES) as number, follow: follow === true }, io)
  )
}

function names(list: string): string[] {
  return list
    .split(',')
    .map(name => name.trim())
    .filter(Boolean)
}
