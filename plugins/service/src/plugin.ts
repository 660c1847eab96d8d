import { type CommandHandler, type CommandIo, definePlugin, type Infer } from '@svc/plugin-sdk'
import { installCommand, type installInput, statusCommand, uninstallCommand, type uninstallInput } from './commands.ts'
import { serviceErrors } from './errors.ts'

export default definePlugin({
  name: 'service',
  summary: 'Starts svc with the machine, by systemd or launchd',
  commands: [installCommand, uninstallCommand, statusCommand],
  activate(ctx) {
    const run =
      (name: 'install' | 'uninstall' | 'status'): CommandHandler =>
      async (input, io) => {
        const [handlers, { thisSystem }] = await Promise.all([import('./handlers.ts'), import('./system.ts')])
        const services = {
          system: thisSystem(process.env, io.signal),
          project: ctx.projectRoot,
          node: process.execPath,
          program: programOf(process.argv)
        }
        if (name === 'install') return handlers.install(services, input as unknown as Infer<typeof installInput>, io)
        return handlers[name](services, input as unknown as Infer<typeof uninstallInput>, io satisfies CommandIo)
      }
    ctx.command(installCommand.command, run('install'))
    ctx.command(uninstallCommand.command, run('uninstall'))
    ctx.command(statusCommand.command, run('status'))
  }
})

/** Returns the path with which this process was started. A link to the current version stays a link after an update. */
function programOf([, program]: readonly string[]): string {
  if (program !== undefined) return program
  throw serviceErrors.create('SRV_UNSUPPORTED', 'svc service: this process was not started from a file; run svc itself')
}
