import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { display } from '#interpreter'
import { type JournalEntry, skippingDurable } from '#workflows'
import { drivenDurable, durableProgram } from '../durable-program.ts'
import { LIMITS, run } from '../run-program.ts'

const schema = JSON.parse(
  readFileSync(new URL('../../../../contracts/workflow/workflow-journal.v2.schema.json', import.meta.url), 'utf8')
)
const isJournal = new Ajv2020({ allErrors: true }).compile(schema)

function events(journal: readonly JournalEntry[]): string[] {
  return journal.map(({ event }) => event)
}

const ORDER = `
activity reserve(item: str) to Result[str] {
    print("reserve", item)
    Ok("r-" + item)
}

activity charge(amount: dec) to Result[dec] with { retries: 2, timeout: "10s" } {
    print("charge")
    Ok(amount)
}

fn both(item: str) to Result[str] {
    let reservation = reserve(item)?
    let paid = charge(19.50dec)?
    Ok(reservation + " " + str(paid))
}

workflow order(item: str) to Result[str] {
    both(item)
}

fn main() {
    print(order("cup") with { id: "run-1" })
}
`

t.test('activities are steps of the workflow, even if called through functions', async t => {
  const durable = skippingDurable()
  const { lines, call } = durableProgram(ORDER, durable)
  call('main')
  t.same(lines, ['reserve cup', 'charge', 'Ok(r-cup 19.50)'])
  const step = (activity: string, activity_id: string) => ({ workflow: 'order', activity, activity_id })
  const journal_version = 1
  const steps = [
    { id: 'order-0', name: 'reserve', max_attempts: 1, timeout_ms: null },
    { id: 'order-1', name: 'charge', max_attempts: 3, timeout_ms: 10_000 }
  ]
  const expected = [
    { event: 'WorkflowStarted', journal_version, workflow: 'order', steps: 0 },
    ...steps.flatMap(({ id, name, max_attempts, timeout_ms }) => [
      {
        event: 'ActivityTask',
        journal_version,
        ...step(name, id),
        execution_boundary: 'local',
        max_attempts,
        timeout_ms,
        idempotency_key: `run-1:${id}`
      },
      { event: 'ActivityStarted', journal_version, ...step(name, id) },
      {
        event: 'LocalActivity',
        journal_version,
        activity: name,
        activity_id: id,
        status: 'executed',
        classification: 'local'
      },
      { event: 'ActivityCompleted', journal_version, ...step(name, id) }
    ]),
    { event: 'WorkflowCompleted', journal_version, workflow: 'order' }
  ]
  const journal = durable.workflows.journal('run-1')
  t.equal(JSON.stringify(journal), JSON.stringify(expected))
  t.ok(isJournal(journal), JSON.stringify(isJournal.errors))
})

t.test('outside a workflow, an activity is a plain function', async t => {
  t.same(
    run(`${ORDER}\nfn other() { print(1) }\n`.replace('print(order("cup") with { id: "run-1" })', 'print(both("x"))'))
      .lines,
    ['reserve x', 'charge', 'Ok(r-x 19.50)']
  )
})

t.test('a completed run returns its result to a call with the same id', async t => {
  const { lines, call } = durableProgram(ORDER, skippingDurable())
  call('main')
  call('main')
  t.same(lines, ['reserve cup', 'charge', 'Ok(r-cup 19.50)', 'Ok(r-cup 19.50)'])
})

const FLAKY = `
activity flaky(times: int) to Result[int] {
    let n = match state_load("tries") { Some(n) => n, None => 0 }
    state_save("tries", n + 1)
    print("try", n + 1)
    if n < times { panic("not yet") }
    Ok(n)
}

workflow w() to Result[int] {
    flaky(2) with { retries: 3, initial_backoff: "1s", activity_id: "flaky" }
}

fn main() { print(w() with { id: "w" }) }
`

t.test('failed attempts are retried, with exponential backoff', async t => {
  const durable = skippingDurable()
  const { lines, call } = durableProgram(FLAKY, durable)
  call('main')
  t.same(lines, ['try 1', 'try 2', 'try 3', 'Ok(2)'])
  const journal = durable.workflows.journal('w')
  t.same(events(journal), [
    'WorkflowStarted',
    'ActivityTask',
    'ActivityStarted',
    'ActivityAttemptFailed',
    'ActivityRetryScheduled',
    'ActivityAttemptFailed',
    'ActivityRetryScheduled',
    'LocalActivity',
    'ActivityCompleted',
    'WorkflowCompleted'
  ])
  t.match(journal[3], { attempt: 1, max_attempts: 4, error: 'RUN_PANIC: not yet', activity_id: 'flaky' })
  t.match(journal[4], { attempt: 1, next_attempt: 2, delay_ms: 1000 })
  t.match(journal[6], { attempt: 2, next_attempt: 3, delay_ms: 2000 })
  t.ok(isJournal(journal), JSON.stringify(isJournal.errors))
})

t.test('the workflow gets an Error after the last attempt, and can compensate', async t => {
  const text = `
activity never() to Result[int] { panic("no") }
activity undo() to Result[Unit] {
    print("undone")
    Ok(Unit)
}
workflow w() to Result[int] {
    match never() with { retries: 1 } {
        Ok(n) => Ok(n)
        Error(why) => {
            undo()?
            Error("failed: " + why)
        }
    }
}
fn main() { print(w()) }
`
  t.same(run(text).lines, ['undone', 'Error(failed: no)'])
})

t.test('an Error is a result, and retried only with retries', async t => {
  const text = (options: string): string => `
activity no() to Result[int] {
    print("asked")
    Error("sold out")
}
workflow w() to Result[int] { no()${options} }
fn main() { print(w()) }
`
  t.same(run(text('')).lines, ['asked', 'Error(sold out)'])
  t.same(run(text(' with { retries: 1 }')).lines, ['asked', 'asked', 'Error(sold out)'])
})

t.test('an attempt ends at its time limit', async t => {
  const text = `
activity slow() to Result[int] {
    loop { }
    Ok(1)
}
workflow w() to Result[int] { slow() with { timeout: "20ms" } }
fn main() { print(w().is_err()) }
`
  t.same(run(text, { limits: { steps: 1e9 } }).lines, ['true'])
})

t.test('non-deterministic code fails in a workflow, and is recorded by side_effect', async t => {
  const text = (body: string): string => `
workflow w() to int {
    ${body}
}
fn main() { print(w()) }
`
  t.equal(run(text('std.time.now_ms()')).code, 'RUN_WORKFLOW_UNREPEATABLE')
  t.equal(run(text('std.random.int(0, 9)')).code, 'RUN_WORKFLOW_UNREPEATABLE')
  t.equal(run(text('if std.fs.exists("/") { 1 } else { 2 }')).code, 'RUN_WORKFLOW_UNREPEATABLE')
  t.equal(run(text('side_effect { std.random.int(5, 6) }')).lines[0], '5')
  const assigns = run(text('let mut x = 1\n    side_effect { x = std.random.int(5, 6) }\n    x'))
  t.match(assigns.error?.message, 'write x = side_effect')
})

t.test('a replayed side effect has the same result, even after a jump', async t => {
  const durable = skippingDurable()
  let chance = 0
  const text = `
workflow w(leave: bool) to Result[float] {
    let first = side_effect { std.random.float() }
    side_effect {
        if leave { return Ok(std.random.float()) }
    }
    workflow_wait("1h")
    let again = side_effect { std.random.float() }
    Ok(first + again)
}
fn main() {
    print(w(false))
    print(w(true))
}
`
  const { lines, call } = durableProgram(text, durable, { random: () => ++chance })
  call('main')
  t.same(lines, ['Ok(3)', 'Ok(4)'])
})

const SIGNALLED = `
activity note(text: str) to Result[str] {
    print(text)
    Ok(text)
}
workflow approval() to Result[str] {
    note("asked")?
    workflow_wait("2h")
    let who = workflow_wait_signal("approved")
    note("approved by " + who)
}
fn main() { print(approval() with { id: "a" }) }
`

t.test('waits and signals suspend and resume a run', async t => {
  const durable = drivenDurable()
  const { lines, call, interpreter } = durableProgram(SIGNALLED, durable)
  t.throws(() => interpreter.call('main', [], { ...LIMITS, milliseconds: 300 }), { code: 'RUN_WORKFLOW_PENDING' })
  t.same(lines, ['asked'])
  const { status, wakeAt, waitingFor } = durable.workflows.find('a') ?? {}
  t.match({ status, waitingFor }, { status: 'waiting', waitingFor: null })
  t.ok((wakeAt ?? 0) > Date.now() + 7_100_000)
  durable.advance(7_200_000)
  t.match(interpreter.turn('a', LIMITS), { kind: 'waiting', signal: 'approved' })
  t.match(durable.workflows.find('a'), { status: 'waiting', wakeAt: null, waitingFor: 'approved' })
  t.ok(durable.workflows.send('a', 'approved', '"me"'))
  t.match(interpreter.turn('a', LIMITS), { kind: 'completed' })
  t.same(lines, ['asked', 'approved by me'])
  call('main')
  t.equal(lines.at(-1), 'Ok(approved by me)')
  const journal = durable.workflows.journal('a')
  t.ok(isJournal(journal), JSON.stringify(isJournal.errors))
  t.match(
    journal.filter(({ event }) => event === 'TimerWaitCompleted' || event === 'SignalWaitSatisfied'),
    [
      { activity: 'workflow_wait', activity_id: 'approval-1', waited_ms: Number },
      { activity: 'workflow_wait_signal', activity_id: 'approval-2', signal_key: 'approved' }
    ]
  )
  t.notOk(durable.workflows.send('a', 'approved', null), 'an ended run accepts no signal')
})

t.test('a workflow waits for the workflows that it calls', async t => {
  const text = `
activity step(n: int) to Result[int] {
    print("step", n)
    Ok(n)
}
workflow inner(n: int) to Result[int] {
    step(n)?
    workflow_wait("1h")
    step(n + 1)
}
workflow outer() to Result[int] {
    let a = inner(1)?
    let b = inner(10)?
    Ok(a + b)
}
fn main() { print(outer()) }
`
  const { lines, call } = durableProgram(text, skippingDurable())
  call('main')
  t.same(lines, ['step 1', 'step 2', 'step 10', 'step 11', 'Ok(13)'])
})

t.test('a detached workflow starts without a waiting caller', async t => {
  const durable = drivenDurable()
  const text = ORDER.replace('with { id: "run-1" }', 'with { id: "run-1", detach: true }')
  const { lines, call, interpreter } = durableProgram(text, durable)
  call('main')
  t.same(lines, ['Ok(run-1)'])
  t.equal(durable.notified(), 1)
  t.match(durable.workflows.find('run-1'), { status: 'pending' })
  t.match(interpreter.turn('run-1', LIMITS), { kind: 'completed' })
  const alone = durableProgram(text, skippingDurable())
  alone.call('main')
  t.same(alone.lines, ['Ok(run-1)', 'reserve cup', 'charge'], 'without a scheduler it runs before the program ends')
})

t.test('a new run has the newest version, and a run past this point the oldest', async t => {
  const text = (version: string): string => `
activity a(text: str) to Result[str] {
    print(text)
    Ok(text)
}
workflow w() to Result[int] {
    ${version}
    a("before")?
    workflow_wait_signal("go")
    Ok(v)
}
fn main() { print(w() with { id: "w" }) }
`
  const durable = drivenDurable()
  const short = { ...LIMITS, milliseconds: 200 }
  const old = durableProgram(text('let v = 0'), durable)
  t.throws(() => old.interpreter.call('main', [], short), { code: 'RUN_WORKFLOW_PENDING' })
  durable.workflows.send('w', 'go', null)
  const newer = durableProgram(text('let v = workflow.version("pay", 1, 3)'), durable)
  newer.call('main')
  t.same(newer.lines, ['Ok(1)'])
  const fresh = durableProgram(text('let v = workflow.version("pay", 1, 3)').replace('"w" })', '"x" })'), durable)
  t.throws(() => fresh.interpreter.call('main', [], short), { code: 'RUN_WORKFLOW_PENDING' })
  t.match(durable.workflows.journal('x')[1], { event: 'BranchDecision', branch: 'pay=3', activity: 'workflow.version' })
  durable.workflows.send('x', 'go', null)
  const gone = durableProgram(text('let v = workflow.version("pay", 4, 5)').replace('"w" })', '"x" })'), durable)
  t.throws(() => gone.call('main'), { code: 'RUN_WORKFLOW_CHANGED' })
})

t.test('code that differs from the recorded steps is reported', async t => {
  const durable = drivenDurable()
  const short = { ...LIMITS, milliseconds: 200 }
  const before = durableProgram(SIGNALLED.replace('workflow_wait("2h")', ''), durable)
  t.throws(() => before.interpreter.call('main', [], short), { code: 'RUN_WORKFLOW_PENDING' })
  durable.workflows.send('a', 'approved', '"me"')
  const after = durableProgram(SIGNALLED.replace('note("asked")?', ''), durable)
  t.throws(() => after.call('main'), {
    code: 'RUN_WORKFLOW_CHANGED',
    message: /approval-0.*was note and is now workflow_wait/
  })
})

t.test('a changed argument of a recorded step is reported, and names the step and the argument', async t => {
  const durable = drivenDurable()
  const text = `
activity book(city: str, nights: int) to Result[str] { Ok(city) }
workflow trip() to Result[str] {
    book("Rome", 2)?
    workflow_wait("1h")
    book("Oslo", 1)
}
fn main() { print(trip() with { id: "a" }) }
`
  const before = durableProgram(text, durable)
  t.throws(() => before.interpreter.call('main', [], { ...LIMITS, milliseconds: 300 }), {
    code: 'RUN_WORKFLOW_PENDING'
  })
  durable.advance(7_200_000)
  const after = durableProgram(text.replace('"Rome", 2', '"Rome", 3'), durable)
  t.match(after.interpreter.turn('a', LIMITS), {
    kind: 'failed',
    failure: { code: 'RUN_WORKFLOW_CHANGED', message: /argument nights of book in the step trip-0 of the run a/ }
  })
})

const COUNTING = `
activity note(n: int) to Result[int] {
    print("round", n)
    Ok(n)
}
workflow rounds(n: int, until: int) to Result[int] {
    note(n)?
    if n >= until { return Ok(n) }
    workflow.continue_as_new(n + 1, until)
}
fn main() { print(rounds(0, 4) with { id: "c" }) }
`

t.test('a run continues as new with other arguments, and without its steps', async t => {
  const durable = skippingDurable()
  const { lines, call } = durableProgram(COUNTING, durable)
  call('main')
  t.same(lines, ['round 0', 'round 1', 'round 2', 'round 3', 'round 4', 'Ok(4)'])
  const history = durable.workflows.history('c')
  t.equal(history.generation, 4)
  t.same([...history.completed.keys()], ['g4:rounds-0'], 'ids of steps differ in each generation')
  const journal = durable.workflows.journal('c')
  t.ok(isJournal(journal), JSON.stringify(isJournal.errors))
  t.match(
    journal.filter(({ event }) => event === 'WorkflowContinued'),
    [1, 2, 3, 4].map(generation => ({ workflow: 'rounds', generation, steps: 1 }))
  )
  t.equal(journal.filter(({ event }) => event === 'WorkflowStarted').length, 5)
})

t.test('continue_as_new needs the arguments of the workflow, and a workflow', async t => {
  const few = durableProgram(COUNTING.replace('(n + 1, until)', '(n + 1)'), skippingDurable())
  t.throws(() => few.call('main'), { code: 'RUN_ARGUMENTS', message: /has 1 arguments; .* rounds has 2 parameters/ })
  const outside = durableProgram('fn main() { workflow.continue_as_new() }', skippingDurable())
  t.throws(() => outside.call('main'), { code: 'RUN_UNSUPPORTED' })
})

t.test('a run has one owner at a time, and a cancelled run accepts no writes', async t => {
  const { workflows } = skippingDurable()
  workflows.create({ runId: 'r', workflow: 'w', args: '[]', parent: null, plannedSteps: 0, isCalled: false }, 1)
  const first = workflows.claim('r', { owner: 'a', now: 1, until: 100 })
  t.match(first, { runId: 'r', wasInterrupted: false })
  t.equal(workflows.claim('r', { owner: 'b', now: 50, until: 150 }), null)
  t.match(workflows.claim('r', { owner: 'b', now: 101, until: 200 }), { wasInterrupted: true })
  t.throws(() => workflows.record('r', 'a', [], 102), { code: 'RUN_WORKFLOW_LOST' })
  workflows.record('r', 'b', [{ turn: { status: 'completed', result: 'null' } }], 103)
  t.equal(workflows.claim('r', { owner: 'c', now: 300, until: 400 }), null)
})

t.test('values of every type are recorded unchanged', async t => {
  const text = `
type Shape = | Circle(r: float) | Empty
activity same(v: any) to Result[any] { Ok(v) }
workflow w(v: any) to Result[any] {
    let kept = same(v)?
    workflow_wait("1h")
    Ok((kept, same(v)? is v, type_of(kept)))
}
fn main() {
    let values: List[any] = [1, 9007199254740993, 1.0, -0.0, 12.50dec, "x", true, Some(None), Circle(2.5), Empty, (1, "a"), { b: 1, a: [] }, { "10": 1, "9": 2 }]
    for v in values { print(w(v)) }
}
`
  const { lines, call } = durableProgram(text, skippingDurable())
  call('main')
  t.same(lines, [
    'Ok((1, true, int))',
    'Ok((9007199254740993, true, int))',
    'Ok((1, true, float))',
    'Ok((0, true, float))',
    'Ok((12.50, true, dec))',
    'Ok((x, true, str))',
    'Ok((true, true, bool))',
    'Ok((Some(None), true, Option))',
    'Ok((Circle(2.5), true, Circle))',
    'Ok((Empty, true, Empty))',
    'Ok(((1, a), true, Tuple))',
    'Ok(({b: 1, a: []}, true, Object))',
    'Ok(({10: 1, 9: 2}, true, Object))'
  ])
  const wrong = durableProgram('workflow w(f: any) { f }\nfn main() { w(fn() 1) }', skippingDurable())
  t.throws(() => wrong.call('main'), { code: 'RUN_TYPE', message: /the value\[0\] is a fn, which cannot be stored/ })
  t.equal(display(null), 'null')
})
