import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runSvc } from '../e2e/run-svc.ts'
import { makeProject, pluginPackage } from '../e2e/served-project.ts'

/** Source of a plugin that writes each step, and whether the database already contains it. */
const WATCHER = `
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { databaseStore, workflowStep } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'

export default definePlugin({
  name: 'step-watcher',
  requires: { store: databaseStore },
  activate(ctx, { store }) {
    ctx.on(workflowStep, async ({ runId, step, activity }) => {
      const sql = "SELECT count(*) FROM workflow_activity_log WHERE run_id = ? AND activity_id = ? AND status = 'completed'"
      const { rows } = await store.query(sql, [runId, step])
      const line = JSON.stringify({ activity, kept: rows[0]?.[0] })
      appendFileSync(join(ctx.projectRoot, 'steps.jsonl'), line + '\\n')
    })
  }
})
`

const STORY = `
activity greet(name: str) to Result[str] { Ok("hello " + name) }
workflow story(name: str) to Result[str] { greet(name) }
fn main() to Result[str] { story("world") }
`

const KEPT = `
@table
type Note { text: str }
activity write(text: str) to Result[int] { db.Note.insert({ text: text }) }
workflow keep(name: str) to Result[int] { write(name) }
@test
fn keeps() { let kept = keep("test") }
`

t.test('a plugin receives the committed steps of workflows that a command runs', async t => {
  const folder = makeProject(t, {
    'story.vox': STORY,
    'keep.vox': KEPT,
    'plugins/step-watcher/package.json': pluginPackage('step-watcher'),
    'plugins/step-watcher/src/plugin.ts': WATCHER,
    'plugins/broken/package.json': pluginPackage('broken'),
    'plugins/broken/src/plugin.ts': `
import { definePlugin } from '@svc/plugin-sdk'
export default definePlugin({ name: 'broken', activate() { throw new Error('no luck') } })
`
  })
  const steps = (): unknown[] =>
    readFileSync(join(folder, 'steps.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as unknown)
  const ran = await runSvc(folder, ['run', 'story.vox'])
  t.match(ran, { code: 0, stderr: /plugin broken does not see the steps of workflows/ })
  t.same(steps(), [{ activity: 'greet', kept: 1 }])
  t.match(await runSvc(folder, ['workflow', 'run', 'keep.vox', 'keep', '--args', '["a"]']), { code: 0 })
  t.same(steps().slice(1), [{ activity: 'write', kept: 1 }])
  t.match(await runSvc(folder, ['test', 'keep.vox']), { code: 0 })
  t.equal(steps().length, 2, 'tests of programs do not trigger the hook')
})
