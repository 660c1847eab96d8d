import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runSvc } from '../../../../test/e2e/run-svc.ts'
import { makeProject } from '../../../../test/e2e/served-project.ts'

const SETTINGS = '[plugins.app-runtime]\nprogram = "app.vox"\n'
const PROGRAM = `@table
type Note { text: str }

@query
fn notes() to List[Note] { db.Note.all() }
`

t.test('a command in the project of a served program does not migrate tables implicitly', async t => {
  const cwd = makeProject(t, { 'svc.toml': SETTINGS, 'app.vox': PROGRAM })
  const before = await runSvc(cwd, ['db', 'diff', 'app.vox'])
  t.equal(before.code, 1, 'db diff reports missing tables')
  t.match(before.stdout, /Note is new/)
  t.equal((await runSvc(cwd, ['db', 'migrate', 'app.vox', '--dry-run'])).code, 0)
  t.equal((await runSvc(cwd, ['workflow', 'list'])).code, 0)
  t.equal((await runSvc(cwd, ['db', 'diff', 'app.vox'])).code, 1, 'the tables are still missing')
})

t.test('commands run in a project whose program has errors', async t => {
  const cwd = makeProject(t, { 'svc.toml': SETTINGS, 'app.vox': PROGRAM })
  writeFileSync(join(cwd, 'other.vox'), 'fn main() { print("it runs") }\n')
  writeFileSync(join(cwd, 'app.vox'), readFileSync(join(cwd, 'app.vox'), 'utf8').replace('{ text', '( text'))
  t.match(await runSvc(cwd, ['run', 'other.vox']), { code: 0, stdout: 'it runs\n' })
  const { code, stderr } = await runSvc(cwd, ['run', 'app.vox'])
  t.equal(code, 1)
  t.equal(stderr.match(/error\[E0001\]/g)?.length, 1, 'the errors are reported once')
  t.notMatch(stderr, /not active/)
})

t.test('a folder is not a program', async t => {
  const cwd = makeProject(t, { 'a/one.vox': PROGRAM, 'a/two.vox': PROGRAM, 'b/README.md': '' })
  t.match(await runSvc(cwd, ['run', 'a']), {
    code: 1,
    stderr: /a is a folder with 2 source files\n {2}hint: name one of its files/
  })
  t.match(await runSvc(cwd, ['run', 'b']), { code: 1, stderr: /CMP_SOURCES_MISSING.*b holds no source file/ })
})
