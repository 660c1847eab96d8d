import type { KernelAdmin } from '@svc/contracts'
import { type CommandDescriptor, type CommandHandler, t } from '@svc/plugin-sdk'
import { type AppInput, appOptions, reportServing, SAMPLE, servedProgram, unlessConfigured } from './app-mode.ts'
import { compiled, type Runner } from './run-command.ts'

export const devCommand: CommandDescriptor = {
  command: 'dev',
  summary: 'Serve a program and reload it whenever its file is saved',
  input: t.object({
    file: t.string({ minLength: 1, description: 'The source file.' }),
    ...appOptions,
    open: t.boolean({ default: false, description: 'Open the program in a browser.' })
  }),
  args: ['file']
}

/** Runs `svc dev`. Exit code 1 if the file has errors. */
export function serveInDevelopment(runner: Runner, admin: KernelAdmin | undefined): CommandHandler {
  return async (given, io) => {
    const { file, open = false, ...input } = given as unknown as AppInput & { file: string; open?: boolean }
    const program = await compiled(runner.compiler, file, false, io)
    if (program === null) return 1
    reportServing(file, io)
    const settings = {
      'plugins.app-runtime.watch': true,
      'plugins.app-runtime.dev': true,
      'plugins.app-runtime.open': open,
      ...unlessConfigured(admin, SAMPLE, 1)
    }
    return servedProgram(file, input, admin, settings, ['dashboard'])
  }
}
