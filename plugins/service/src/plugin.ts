import { type CommandIo, definePlugin } from '@svc/plugin-sdk'
import { installCommand, statusCommand, uninstallCommand } from './commands.ts'
import { serviceErrors } from './errors.ts'
import type { Services } from './handlers.ts'
import { installOptions, serviceOptions } from './options.ts'

export default definePlugin({
  name: 'service',
  summary: 'Starts svc with the machine, by systemd or launchd',
  commands: [installCommand, uninstallCommand, statusCommand],
  activate(ctx) {
    const servicesOf = async ({ signal }: CommandIo): Promise<Services> => {
      const { thisSystem } = await import('./system.ts')
      const system = thisSystem(process.env, signal)
      return { system, project: ctx.projectRoot, node: process.execPath, program: programOf(process.argv) }
    }
    ctx.command(installCommand.command, async (input, io) => {
      const { install } = await import('./handlers.ts')
      return install(await servicesOf(io), installOptions(input), io)
    })
    ctx.command(uninstallCommand.command, async (input, io) => {
      const { uninstall } = await import('./handlers.ts')
      return uninstall(await servicesOf(io), serviceOptions(input), io)
    })
    ctx.command(statusCommand.command, async (input, io) => {
      const { status } = await import('./handlers.ts')
      return status(await servicesOf(io), serviceOptions(input), io)
    })
  }
})

/** Returns the path with which this process was started. A link to the current version stays a link after an update. */
function programOf([, program]: readonly string[]): string {
  if (program !== undefined) return program
  throw serviceErrors.create('SRV_UNSUPPORTED', 'svc service: this process was not started from a file; run svc itself')
}
