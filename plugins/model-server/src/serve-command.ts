import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { join, resolve } from 'node:path'
import { type CommandDescriptor, type CommandHandler, t } from '@svc/plugin-sdk'

/** Command `svc model serve`: runs a model server in a separate process, which loads nothing else. */
export const serveCommand: CommandDescriptor = {
  command: 'model serve',
  summary: 'Serve a run directory or a GGUF file in a separate process',
  input: t.object({
    model: t.string({ minLength: 1, description: 'Run directory or GGUF file of the model.' }),
    port: t.optional(t.integer({ minimum: 0, maximum: 65535, description: 'Port to listen on; default 11435.' })),
    host: t.optional(t.string({ description: 'Address to listen on; default 127.0.0.1.' })),
    model_name: t.optional(t.string({ description: 'Name of the model that clients send.' })),
    device: t.optional(t.string({ description: 'Device to run on: auto, cpu, cuda, cuda:N, metal, webgpu.' })),
    quant: t.optional(
      t.enum(['auto', 'none', 'q8', 'q4'], { description: 'Quantisation of the weights; default auto.' })
    ),
    max_tokens: t.optional(t.integer({ minimum: 1, description: 'Default maximum of generated tokens.' })),
    temperature: t.optional(t.number({ minimum: 0, description: 'Default temperature.' })),
    embedding_model: t.optional(t.string({ minLength: 1, description: 'Folder of an embedding model.' })),
    reranker_model: t.optional(t.string({ minLength: 1, description: 'Folder of a reranker.' }))
  })
}

const FORWARDED_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Returns the command handler. Exit code: the server's; 128 + n if signal n ended it; 1 if it could not be started. */
export function runServeCommand(packageRoot: string): CommandHandler {
  return async (input, io) => {
    const program = join(packageRoot, 'bin', 'svc-model-server.mjs')
    if (!existsSync(program)) {
      io.stderr.write(`svc model serve: ${program} is missing; install @svc/plugin-model-server again\n`)
      return 1
    }
    const flags = Object.entries({ ...input, model: resolve(String(input.model)) })
      .filter(([, value]) => value !== undefined)
      .flatMap(([name, value]) => [`--${name.replaceAll('_', '-')}`, String(value)])
    return runToItsEnd([...process.execArgv, program, 'serve', ...flags])
  }
}

/** Runs the child until it exits, in a separate process group, so that Ctrl-C does not reach it twice. */
function runToItsEnd(argv: readonly string[]): Promise<number> {
  return new Promise((settle, reject) => {
    const child = spawn(process.execPath, argv, { stdio: 'inherit', detached: true })
    const forward = (signal: NodeJS.Signals) => void child.kill(signal)
    for (const signal of FORWARDED_SIGNALS) process.prependListener(signal, forward)
    const finish = (end: () => void) => {
      for (const signal of FORWARDED_SIGNALS) process.off(signal, forward)
      end()
    }
    child.once('error', error => finish(() => reject(error)))
    child.once('exit', (code, signal) => {
      finish(() => settle(code ?? 128 + (signal === null ? 0 : constants.signals[signal])))
    })
  })
}
