import { createInterface } from 'node:readline/promises'
import type { CommandDescriptor, CommandHandler, CommandIo } from '@svc/plugin-sdk'
import { gpuAbsent, type InstallInput, install, NO_GPU, type ProviderOptions, wouldDownloadInVain } from './handlers.ts'
import { installGpu, installInput } from './operations.ts'

/** `svc gpu install`. A command, because it may ask on a terminal; the operation cannot. */
export const installCommand: CommandDescriptor = {
  command: 'gpu install',
  summary: installGpu.summary,
  input: installInput
}

/**
 * Returns the command handler. If there is no GPU, asks on a terminal; elsewhere throws `INF_GPU_ABSENT`. Exit code 1 if the
 * user declines.
 */
export function runInstall(options: ProviderOptions): CommandHandler {
  return async (given, io) => {
    const input = given as InstallInput
    if (input.without_gpu !== true && (await wouldDownloadInVain(options.engine, input))) {
      if (io.stdin.isTTY !== true || io.json) throw gpuAbsent()
      if (!(await confirms(`${NO_GPU}. Download it anyway?`, io))) {
        io.stderr.write('nothing was installed\n')
        return 1
      }
    }
    const onProgress = (done: number, total: number | undefined, message: string): void => {
      if (io.json) io.stderr.write(`${JSON.stringify({ progress: { done, total, message } })}\n`)
      else io.stderr.write(total === undefined ? `${message}\n` : `${message} ${done}/${total}\n`)
    }
    const installed = await install(options, input, { signal: io.signal, onProgress })
    io.stdout.write(`${io.json ? JSON.stringify(installed) : installed.text}\n`)
    return 0
  }
}

/** Asks a question on the terminal; only y or yes confirms. */
async function confirms(question: string, { stdin, stderr, signal }: CommandIo): Promise<boolean> {
  const terminal = createInterface({ input: stdin, output: stderr })
  const ended = new Promise<string>(resolve => terminal.once('close', () => resolve('')))
  try {
    const answer = await Promise.race([terminal.question(`${question} [y/N] `, { signal }), ended])
    return /^y(es)?$/i.test(answer.trim())
  } finally {
    terminal.close()
  }
}
