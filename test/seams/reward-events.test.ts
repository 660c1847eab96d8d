import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runSvc } from '../e2e/run-svc.ts'
import { makeProject, pluginPackage } from '../e2e/served-project.ts'

const LISTENER = `
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { rewardEvents } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'

export default definePlugin({
  name: 'listener',
  taps: [rewardEvents],
  activate(ctx) {
    ctx.on(rewardEvents, event => appendFileSync(join(ctx.projectRoot, 'events.txt'), JSON.stringify(event) + '\\n'))
  }
})
`

t.test('single commands send reward events to plugins that declare to tap them', async t => {
  const folder = makeProject(t, {
    'plugins/listener/package.json': pluginPackage('listener'),
    'plugins/listener/src/plugin.ts': LISTENER,
    'good.vox': 'fn f() to int { 1 }\n@test fn one() { assert(f() == 1) }\n',
    'bad.vox': 'fn f() { missing }\n'
  })
  let read = 0
  const eventsOf = async (...args: string[]): Promise<Record<string, unknown>[]> => {
    await runSvc(folder, args)
    const file = join(folder, 'events.txt')
    const all = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
    const fresh = all.slice(read).map(line => JSON.parse(line) as Record<string, unknown>)
    read = all.length
    return fresh
  }
  t.same(await eventsOf('check', 'good.vox'), [{ type: 'check_completed', files: 1, errors: 0, warnings: 0 }])
  t.match(await eventsOf('check', 'bad.vox'), [{ type: 'check_failed', files: 1, errors: 1 }])
  t.same(await eventsOf('fmt', 'good.vox'), [{ type: 'fmt_completed', files: 1, errors: 0, warnings: 0 }])
  const tested = await eventsOf('test', 'good.vox')
  t.match(tested, [
    { type: 'test_pass', passed: 1, failed: 0 },
    { type: 'test_suite_green', passed: 1, ludus_dedupe_id: /^test_suite_green:.+:\d{4}-\d\d-\d\d$/ }
  ])
  t.same(await eventsOf('test', 'good.vox', '--filter', 'one'), [{ type: 'test_pass', passed: 1, failed: 0 }])
  t.same(await eventsOf('plugins', 'list'), [], 'other commands send nothing')
})
