import { execFile } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { SecretProgram } from '@svc/contracts'
import t, { type Test } from 'tap'
import { CHILD_ARGUMENTS } from '../../test/child-arguments.ts'

/** Writes a program whose helper leaves its process group, and keeps its output open. The helper writes its number to `pid`. */
function writeProgram(t: Test): { readonly path: string; helper(): number | null } {
  const folder = t.testdir()
  const path = join(folder, 'program.cjs')
  const pidFile = join(folder, 'pid')
  const script = `#!${process.execPath}
const { spawn } = require('node:child_process')
const { renameSync, writeFileSync } = require('node:fs')
const helper = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 600000)'], { detached: true, stdio: 'inherit' })
writeFileSync(${JSON.stringify(`${pidFile}.part`)}, String(helper.pid))
renameSync(${JSON.stringify(`${pidFile}.part`)}, ${JSON.stringify(pidFile)})
`
  writeFileSync(path, script)
  chmodSync(path, 0o755)
  return { path, helper: () => (existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : null) }
}

t.test('a run ends with its signal, also if a helper outside of the process group keeps the output open', async t => {
  const { path, helper } = writeProgram(t)
  const stop = new AbortController()
  const program = new SecretProgram({
    ...{ product: 'Strongbox', names: [path], variables: [], environment: process.env },
    signal: stop.signal
  })
  const run = program.run([], {}, 600_000).catch((error: unknown) => error)
  const started = async (): Promise<number> => {
    for (;;) {
      const pid = helper()
      if (pid !== null) return pid
      await delay(10)
    }
  }
  const pid = await Promise.race([started(), run])
  if (typeof pid !== 'number') throw pid
  t.teardown(() => process.kill(pid, 'SIGKILL'))
  stop.abort(new Error('the plugin stops'))
  t.match(await run, { code: 'SEC_BACKEND_UNAVAILABLE', message: /Strongbox.*the plugin stops/ })
  t.ok(process.kill(pid, 0), 'the helper lives')
})

t.test('without file descriptors for the output of the program, the run fails, and the process lives', async t => {
  const args = [process.execPath, ...CHILD_ARGUMENTS, join(import.meta.dirname, 'program-child.ts')]
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', 'ulimit -n 256; exec "$@"', 'sh', ...args])
  t.match(JSON.parse(stdout), { code: 'SEC_BACKEND_UNAVAILABLE', message: /EMFILE/ })
})
