import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { SVC_BIN } from './served-project.ts'

export const BUNDLED_MODEL = fileURLToPath(new URL('../../plugins/model-server/models/vox-tiny', import.meta.url))
export const MODEL_SERVER = fileURLToPath(
  new URL('../../plugins/model-server/bin/svc-model-server.mjs', import.meta.url)
)
export const SVC = SVC_BIN

export interface RunningServer {
  /** Address of the model server. */
  readonly url: string
  readonly child: ChildProcess
  /** Project folder, in which the server runs. */
  readonly folder: string
  /** Log lines so far. */
  readonly lines: readonly string[]
  /** Resolves to the exit code, or the name of the signal that ended the process. */
  readonly ended: Promise<number | string>
  /** Returns the address of another listener. */
  addressOf(listener: string): string | undefined
}

/**
 * Starts a program that runs a model server, by default in an empty project. Resolves when the model is ready. Stops
 * the program at the end of the test.
 */
export async function startModelServer(
  t: Test,
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
  folder = t.testdir({ 'svc.toml': '' })
): Promise<RunningServer> {
  const child = spawn(process.execPath, argv, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env }
  })
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const lines: string[] = []
  const addresses = new Map<string, string>()
  const url = new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', line => {
        lines.push(line)
        const [, listener = '', address = ''] = /([\w-]+) listens on (http:\/\/[^\s"]+)/.exec(line) ?? []
        addresses.set(listener, address)
        if (listener === 'model-server') resolve(address)
      })
    }
    void ended.then(how => reject(new Error(`the server ended with ${how}:\n${lines.join('\n')}`)))
  })
  const addressOf = (listener: string) => addresses.get(listener)
  const server: RunningServer = { url: await url, child, folder, lines, ended, addressOf }
  for (let ready = false; !ready; ) ready = (await fetch(`${server.url}/ready`)).ok
  return server
}
