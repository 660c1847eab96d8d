import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { finishRestore } from '@svc/contracts'
import t from 'tap'
import { make, readFiles, writeFiles } from './files.ts'

// Slow disks and busy machines.
t.setTimeout(300_000)

const OLD = { 'svc.toml': 'old', '.vox/a': 'old', '.vox/removed': 'old' }
const NEW = { 'svc.toml': 'new', '.vox/a': 'new', '.vox/added': 'new' }

t.test('a restore that is killed at any step leaves the old state or the new one', async t => {
  const folder = t.testdir()
  const [made, template, project] = ['made', 'template', 'project'].map(name => join(folder, name)) as [
    string,
    string,
    string
  ]
  writeFiles(made, NEW)
  writeFiles(template, OLD)
  const file = join(folder, 'b.tar.gz')
  await make(made, file)
  const outcomes: string[] = []
  for (let number = 1; ; number++) {
    rmSync(project, { recursive: true, force: true })
    cpSync(template, project, { recursive: true })
    const argv = [...process.execArgv, join(import.meta.dirname, 'kill-child.ts'), file, project, String(number)]
    const { signal, status, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8' })
    const state = join(project, '.vox')
    const journal = existsSync(join(project, '.svc-restore', 'journal.json'))
    await finishRestore({ project, state })
    const found = Object.fromEntries(
      Object.entries(readFiles(project)).filter(([name]) => !/svc-restore|before-restore/.test(name))
    )
    const outcome = found['svc.toml'] ?? 'none'
    t.same(found, outcome === 'old' ? OLD : NEW, `killed at call ${number}`)
    outcomes.push(outcome)
    if (signal === 'SIGKILL') {
      t.equal(outcome, journal ? 'new' : outcome, 'a journal is always finished')
      continue
    }
    t.equal(status, 0, stderr)
    break
  }
  t.equal(outcomes[0], 'old')
  t.ok(outcomes.filter(each => each === 'new').length > 3, outcomes.join(' '))
})

t.test('a journal that leads out of the project is refused', async t => {
  const project = t.testdir({ '.svc-restore': {} })
  const journal = join(project, '.svc-restore', 'journal.json')
  const steps = [{ root: 'project', action: 'replace', path: '../outside' }]
  writeFileSync(journal, JSON.stringify({ version: 1, state_folder: '.vox', replaced: 'x', steps }))
  await t.rejects(finishRestore({ project, state: join(project, '.vox') }), { code: 'BKR_JOURNAL_INVALID' })
  writeFileSync(journal, '{')
  await t.rejects(finishRestore({ project, state: join(project, '.vox') }), { code: 'BKR_JOURNAL_INVALID' })
})
