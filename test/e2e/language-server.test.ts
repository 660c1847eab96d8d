import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Editor } from '../../plugins/compiler/test/lsp/editor.ts'
import { makeProject, pluginPackage } from './served-project.ts'

const LISTENER = `
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { rewardEvents } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'

export default definePlugin({
  name: 'listener',
  activate(ctx) {
    ctx.on(rewardEvents, event => appendFileSync(join(ctx.projectRoot, 'events.txt'), JSON.stringify(event) + '\\n'), {
      filter: { type: 'diagnostics_clean' }
    })
  }
})
`

/** Adds and fixes an error in a file twice; returns the events that another plugin received. */
async function eventsAfterFixes(t: Test, env: Record<string, string>): Promise<unknown[]> {
  const folder = makeProject(t, {
    'plugins/listener/package.json': pluginPackage('listener'),
    'plugins/listener/src/plugin.ts': LISTENER
  })
  const editor = await Editor.start(t, { cwd: folder, env })
  const file = await editor.open('a.vox', 'fn f() { }\n')
  t.same(await file.diagnostics(), [])
  for (let round = 0; round < 2; round++) {
    await file.change({ text: 'fn f() { missing }\n' })
    t.equal((await file.diagnostics()).length, 1)
    await file.change({ text: 'fn f() { 1 }\n' })
    t.same(await file.diagnostics(), [])
  }
  // The event is sent before the findings of the next file.
  await (await editor.open('b.vox', 'fn f() { }\n')).diagnostics()
  const path = join(folder, 'events.txt')
  if (!existsSync(path)) return []
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as unknown)
}

t.test('other plugins are notified of a file that loses its last finding, at a limited rate', async t => {
  t.same(await eventsAfterFixes(t, {}), [{ type: 'diagnostics_clean', file: 'file:///project/a.vox' }])
})

t.test('no plugin is notified if the setting is off', async t => {
  t.same(await eventsAfterFixes(t, { SVC_LSP_REWARD_EVENTS: 'off' }), [])
})
