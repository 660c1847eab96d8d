import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { SVC_BIN } from '../../../../test/e2e/served-project.ts'

/** A running command of svc. */
export interface Command {
  readonly child: ChildProcess
  readonly output: string[]
  readonly ended: Promise<unknown[]>
  /** Resolves to the first line that matches, including earlier ones. */
  line(pattern: RegExp): Promise<string>
}

/** Any free port, because another test may use the default management port. */
const FREE_PORT = ['--set', 'plugins.http.port=0']

/** Runs a command of svc, until the end of the test. */
export function svc(t: Test, folder: string, ...argv: string[]): Command {
  const child = spawn(process.execPath, [SVC_BIN, ...argv, ...FREE_PORT], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const output: string[] = []
  const lines = [child.stdout, child.stderr].map(input => createInterface({ input: input as NodeJS.ReadableStream }))
  for (const each of lines) each.on('line', line => output.push(line))
  return {
    child,
    output,
    ended,
    async line(pattern) {
      for (;;) {
        const found = output.find(each => pattern.test(each))
        if (found !== undefined) return found
        const next = await Promise.race([...lines.map(each => once(each, 'line')), ended.then(() => null)])
        if (next === null && !output.some(each => pattern.test(each)))
          throw new Error(`svc ended without a line that matches ${pattern}; its output:\n${output.join('\n')}`)
      }
    }
  }
}
