import type { RoutedAgent, RoutingQuestion } from '@svc/contracts'
import t from 'tap'
import { scopeTerm } from '#serving'
import { programFrom } from '../run-program.ts'

const SOURCE = `
@table
type Note { text: str }

@query
fn notes() to List[Note] { db.Note.all().scope("archive").limit(10) }

@query
fn count() to int { db.Note.all().scope("desk").limit(1000).len() }
`

const taskOn = (...paths: string[]): RoutingQuestion => ({
  description: 'Mend it',
  files: paths.map(path => ({ path, access: 'write' })) as unknown as RoutingQuestion['files'],
  capabilities: undefined,
  agent_name: undefined,
  required_labels: undefined,
  active_skill: undefined,
  workflow: undefined
})
const agent = (...labels: string[]): RoutedAgent => ({ id: 1, name: 'one', load: 0, labels })

t.test('tasks on a served program go rather to agents with the label of a scope that it names', async t => {
  const term = scopeTerm(programFrom(SOURCE, false, 'app.vox'), '/project/app.vox', '/project')
  t.equal(term?.applies?.(taskOn('app.vox')), true)
  t.equal(term?.applies?.(taskOn('other.vox', '/project/app.vox')), true)
  t.equal(term?.applies?.(taskOn('src/app.vox')), false)
  const points = (...labels: string[]) => term?.score(taskOn('app.vox'), agent(...labels)) ?? null
  t.match(points('vox:orchestration_scope:archive'), {
    value: 250,
    because: 'app.vox has a table operation of vox:orchestration_scope:archive'
  })
  t.match(points('gpu', 'vox:orchestration_scope:desk'), { value: 250 })
  t.equal(points('vox:orchestration_scope:other'), null)
  t.equal(points(), null)
})

t.test('a program without scopes adds no term', async t => {
  const source = SOURCE.replaceAll(/\.scope\("\w+"\)/g, '')
  t.equal(scopeTerm(programFrom(source), '/project/app.vox', '/project'), null)
})
