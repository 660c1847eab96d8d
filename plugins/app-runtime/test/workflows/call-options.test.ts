import t, { type Test } from 'tap'
import type { Value } from '#interpreter'
import { callOptions, type JournalEntry, OPTIONS_OF, skippingDurable } from '#workflows'
import { durableProgram } from '../durable-program.ts'

const PROGRAM = (step: string, options: string): string => `
activity work() to Result[int] {
    let n = match state_load("tries") { Some(n) => n, None => 0 }
    state_save("tries", n + 1)
    if n < 3 { panic("not yet") }
    Ok(n)
}
activity mesh_work() to Result[int] { work() }
activity endless() to Result[int] { loop { } Ok(1) }
workflow w() to Result[int] { ${step}() with { ${options} } }
workflow inner() to Result[int] { Ok(1) }
workflow outer() to Result[int] {
    inner()
    Ok(2)
}
fn main() { w() with { id: "w" } }
`

/** Returns the journal of a run whose step has these options, and the ids of its steps. */
function journalOf(step: string, options: string): readonly JournalEntry[] {
  const durable = skippingDurable()
  durableProgram(PROGRAM(step, options), durable).call('main')
  return durable.workflows.journal('w')
}

const delays = (journal: readonly JournalEntry[]): number[] =>
  journal.flatMap(each => (each.event === 'ActivityRetryScheduled' ? [each.delay_ms] : []))

/** Expected effect on the journal, by option of an activity. */
const EFFECTS: Readonly<Record<string, (t: Test) => void>> = {
  retries(t) {
    t.equal(delays(journalOf('work', 'retries: 2')).length, 2)
    t.equal(delays(journalOf('work', 'retries: 5')).length, 3)
  },
  timeout(t) {
    const [, task, , failed] = journalOf('endless', 'timeout: "0ms"')
    t.match(task, { event: 'ActivityTask', timeout_ms: 0 })
    t.match(failed, { event: 'ActivityAttemptFailed', error: /^RUN_TIME_LIMIT/ })
  },
  activity_id(t) {
    t.match(journalOf('work', 'activity_id: "mine"')[1], { activity_id: 'mine' })
  },
  id(t) {
    t.match(journalOf('work', 'id: "mine"')[1], { activity_id: 'mine' })
    t.match(journalOf('work', '')[1], { activity_id: 'w-0' })
  },
  initial_backoff(t) {
    t.same(delays(journalOf('work', 'retries: 3')), [100, 200, 400])
    t.same(delays(journalOf('work', 'retries: 3, initial_backoff: "1s"')), [1000, 2000, 4000])
  },
  max_backoff(t) {
    t.same(delays(journalOf('work', 'retries: 3, max_backoff: "150ms"')), [100, 150, 150])
  },
  backoff_multiplier(t) {
    t.same(delays(journalOf('work', 'retries: 3, backoff_multiplier: 1')), [100, 100, 100])
    t.same(delays(journalOf('work', 'retries: 3, backoff_multiplier: 1.5')), [100, 150, 225])
  },
  meta(t) {
    const kind = (options: string) => journalOf('work', options).find(each => each.event === 'LocalActivity')
    t.match(kind('meta: "planning"'), { classification: 'planning' })
    t.match(kind(''), { classification: 'local' })
  },
  mens(t) {
    t.match(skipped('mens: "join"'), /^no mesh is connected, so join ran here$/)
    t.match(skipped(''), /so mesh_work ran here$/)
  },
  labels(t) {
    t.match(skipped('labels: ["gpu", "eu"]'), /and not by a node with gpu, eu$/)
    t.match(skipped('labels: "gpu,eu"'), /and not by a node with gpu, eu$/)
  }
}

function skipped(options: string): string {
  const entry = journalOf('mesh_work', options).find(each => each.event === 'MeshActivitySkipped')
  return entry?.event === 'MeshActivitySkipped' ? entry.reason : ''
}

t.test('every option of an activity has an effect', t => {
  t.same(Object.keys(EFFECTS).sort(), [...OPTIONS_OF.mesh].sort())
  for (const [option, effect] of Object.entries(EFFECTS)) {
    t.test(option, t => {
      effect(t)
      t.end()
    })
  }
  t.end()
})

t.test('every option of a workflow has an effect', t => {
  t.same([...OPTIONS_OF.workflow].sort(), ['activity_id', 'detach', 'id'])
  for (const option of ['id', 'activity_id']) {
    const durable = skippingDurable()
    durableProgram(PROGRAM('work', '').replace('{ id: "w" }', `{ ${option}: "mine" }`), durable).call('main')
    t.equal(durable.workflows.find('mine')?.workflow, 'w', option)
  }
  const durable = skippingDurable()
  const begun = PROGRAM('work', '').replace('w() with { id: "w" }', 'print(w() with { id: "w", detach: true })')
  const { lines, call } = durableProgram(begun, durable)
  call('main')
  t.same(lines, ['Ok(w)'])
  t.end()
})

t.test('unknown options and invalid values are rejected', t => {
  for (const [of, option, value, message] of [
    ['activity', 'labels', ['gpu'], /^the activity f has no option labels; it has retries/],
    ['activity', 'detach', true, /^the activity f has no option detach/],
    ['activity', 'mens', 'join', /^the activity f has no option mens/],
    ['workflow', 'retries', 2, /^the workflow f has no option retries; it has activity_id, id, detach$/],
    ['workflow', 'meta', 'local', /^the workflow f has no option meta/],
    ['mesh', 'mens', 'jion', /one of noop, join, snapshot, heartbeat, dispatch, wait, found jion$/],
    ['activity', 'meta', 'urgent', /one of local, planning, verification, reconstruction, found urgent$/],
    ['mesh', 'labels', [], /labels must be a list of non-empty strs/],
    ['mesh', 'labels', ['a', 1], /labels must be a list of non-empty strs/],
    ['mesh', 'labels', ['a', ' '], /labels must be a list of non-empty strs/]
  ] as const) {
    t.throws(() => callOptions(of, 'f', [new Map<string, Value>([[option, value]])]), { message }, `${option} ${value}`)
  }
  t.end()
})
