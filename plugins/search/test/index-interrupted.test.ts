import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import t from 'tap'
import { project } from './index-project.ts'
import { pdfFile } from './pdf-files.ts'

const SVC = join(import.meta.dirname, '../../../kernel/bin/svc.cjs')
const FILES = 1_000
/** Progress is reported each 200 ms. */
const REPORTED_MS = 5_000

t.test('an interrupted command ends its job as cancelled, and the next one continues', async t => {
  const { root, write } = project(t)
  write({
    'svc.toml': '',
    // Documents come last. This one takes until its time limit of a minute.
    'slow.pdf': pdfFile(Array(1_500).fill(''), {
      stream: { data: deflateSync('q Q '.repeat(500_000)), filter: '/FlateDecode' }
    }),
    ...Object.fromEntries(Array.from({ length: FILES }, (_, at) => [`f${at}.txt`, `word${at}\n`.repeat(300)]))
  })
  const home = project(t).root
  const env = { ...process.env, HOME: home, XDG_STATE_HOME: home }
  const run = async (args: readonly string[], onError?: (text: string, kill: () => void) => void) => {
    const child = spawn(process.execPath, [SVC, ...args, '--json'], {
      cwd: root,
      env,
      stdio: ['ignore', 'pipe', 'pipe']
    })
    let [out, errors] = ['', '']
    child.stdout.on('data', data => {
      out += data
    })
    child.stderr.on('data', data => {
      errors += data
      onError?.(errors, () => child.kill('SIGINT'))
    })
    const [code] = await once(child, 'close')
    return { code, out, errors }
  }
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  const stopped = await run(['search', 'index'], (errors, kill) => {
    const stop = (): void => {
      if (!isStopped) kill()
      isStopped = true
    }
    timer ??= setTimeout(stop, REPORTED_MS)
    // Some files are written.
    if (/"done":[1-9]/.test(errors)) stop()
  })
  clearTimeout(timer)
  t.equal(stopped.code, 130, stopped.errors)
  t.equal(stopped.out, '')
  const state = JSON.parse((await run(['search', 'index-status'])).out)
  t.match(state, { job: { status: 'cancelled', total: FILES + 2 } })
  t.ok(state.documents > 0, `${state.documents} documents`)
  rmSync(join(root, 'slow.pdf'))
  const next = JSON.parse((await run(['search', 'index'])).out)
  t.ok(next.unchanged >= state.documents, `${next.unchanged} unchanged files`)
  t.equal(next.indexed + next.unchanged + (next.skipped.empty ?? 0), FILES + 1)
})
