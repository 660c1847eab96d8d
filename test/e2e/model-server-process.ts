import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

export const BUNDLED_MODEL = fileURLToPath(new URL('../../plugins/model-server/models/vox-tiny', import.meta.url))
export const MODEL_SERVER = fileURLToPath(
  new URL('../../plugins/model-server/bin/svc-model-server.mjs', import.meta.url)
)
export const SVC = fileURLToPath(new URL('./svc-from-source.mjs', import.meta.url))
/** Runs programs of this repository from their sources. */
export const FROM_SOURCE = [`--import=${import.meta.resolve('tsx')}`, '--conditions=svc-source']

export interface RunningServer {
  readonly url: string
  readonly child: ChildProcess
  /** Everything it has logged, line by line. */
  readonly lines: readonly string[]
  /** Its exit code, or the name of the signal that ended it. */
  readonly ended: Promise<number | string>
}

/** Starts a program that runs a model server on a free port, and resolves when its model is ready. */
export async function startModelServer(t: Test, argv: readonly string[]): Promise<RunningServer> {
  const child = spawn(process.execPath, [...FROM_SOURCE, ...argv, '--port', '0'], {
    cwd: t.testdir({}),
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const lines: string[] = []
  const url = new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', line => {
        lines.push(line)
        const address = /model-server listens on (http:\/\/[^\s"]+)/.exec(line)?.[1]
        if (address !== undefined) resolve(address)
      })
    }
    void ended.then(how => reject(new Error(`the server ended with ${how}:\n${lines.join('\n')}`)))
  })
  const server = { url: await url, child, lines, ended }
  for (let ready = false; !ready; ) ready = (await fetch(`${server.url}/ready`)).ok
  return server
}
