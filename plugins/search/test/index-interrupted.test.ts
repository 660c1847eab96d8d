import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { project } from './index-project.ts'

const SVC = join(import.meta.dirname, '../../../kernel/bin/svc.cjs')
const FILES = 1_500

t.test('an interrupted command ends its job as cancelled, and the next one continues', async t => {
  const { root, write } = project(t)
  write({
    'svc.toml': '',
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
  let isStopped = false
  const stopped = await run(['search', 'index'], (errors, kill) => {
    // Some files are written.
    if (isStopped || !/"done":[1-9]/.test(errors)) return
    isStopped = true
    kill()
  })
  t.equal(stopped.code, 130, stopped.errors)
  t.equal(stopped.out, '')
  const state = JSON.parse((await run(['search', 'index-status'])).out)
  t.match(state, { job: { status: 'cancelled', total: FILES + 1 } })
  t.ok(state.documents > 0 && state.documents < FILES, `${state.documents} documents`)
  const next = JSON.parse((await run(['search', 'index'])).out)
  t.match(next, { unchanged: state.documents, truncated: false })
  t.equal(next.indexed + next.unchanged + (next.skipped.empty ?? 0), FILES + 1)
})
