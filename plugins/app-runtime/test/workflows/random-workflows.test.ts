import fc from 'fast-check'
import t from 'tap'
import type { Durable } from '#interpreter'
import { memoryDurable, type RunRecord, type WorkflowStore } from '#workflows'
import { durableProgram } from '../durable-program.ts'
import { LIMITS } from '../run-program.ts'

/** Thrown to simulate the end of the process. */
class Killed extends Error {}

type Step =
  | { readonly kind: 'activity'; readonly fails: number; readonly retries: number; readonly viaFunction: boolean }
  | { readonly kind: 'hopeless'; readonly retries: number }
  | { readonly kind: 'refusing' }
  | { readonly kind: 'wait'; readonly seconds: number }
  | { readonly kind: 'chance' }
  | { readonly kind: 'child' }
  | { readonly kind: 'branch'; readonly limit: number; readonly first: Step; readonly other: Step }

const leaf: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('activity' as const),
    fails: fc.nat(2),
    retries: fc.integer({ min: 2, max: 3 }),
    viaFunction: fc.boolean()
  }),
  fc.record({ kind: fc.constant('hopeless' as const), retries: fc.nat(2) }),
  fc.record({ kind: fc.constant('refusing' as const) }),
  fc.record({ kind: fc.constant('wait' as const), seconds: fc.integer({ min: 0, max: 7200 }) }),
  fc.record({ kind: fc.constant('chance' as const) }),
  fc.record({ kind: fc.constant('child' as const) })
)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: leaf },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('branch' as const), limit: fc.nat(20), first: leaf, other: leaf })
  }
)

const HEAD = `
activity work(name: str, fails: int) to Result[int] {
    let key = "tries of " + name
    let tries = match state_load(key) { Some(n) => n, None => 0 }
    state_save(key, tries + 1)
    print(name)
    if tries < fails { panic("not yet") }
    Ok(len(name))
}
activity hopeless(name: str) to Result[int] {
    print(name)
    panic("never")
}
activity refusing(name: str) to Result[int] {
    print(name)
    Error("no")
}
fn by_way_of(name: str, fails: int) to Result[int] { work(name, fails) with { retries: 3, id: name } }
workflow child(name: str) to Result[int] {
    let first = work(name + "a", 1) with { retries: 3, initial_backoff: "10s", id: name + "a" }
    workflow_wait("1m")
    work(name + "b", 0) with { id: name + "b" }
}
`

/** Names are also the ids of activities, so that the output shows which activities ran. */
function source(steps: readonly Step[]): string {
  const text = (each: Step, name: string): string => {
    switch (each.kind) {
      case 'activity':
        return each.viaFunction
          ? `total += by_way_of("${name}", ${each.fails}).unwrap()`
          : `total += (work("${name}", ${each.fails}) with { retries: ${each.retries}, initial_backoff: "1s", id: "${name}" }).unwrap()`
      case 'hopeless':
        return `total += match hopeless("${name}") with { retries: ${each.retries}, id: "${name}" } { Ok(n) => n, Error(_) => 5 }`
      case 'refusing':
        return `total += match refusing("${name}") with { id: "${name}" } { Ok(n) => n, Error(_) => 7 }`
      case 'wait':
        return `workflow_wait("${each.seconds}s")`
      case 'chance':
        return 'total += side_effect { std.random.int(3, 4) }'
      case 'child':
        return `total += child("${name}").unwrap()`
      case 'branch':
        return `if total > ${each.limit} { ${text(each.first, `${name}t`)} } else { ${text(each.other, `${name}e`)} }`
    }
  }
  const lines = steps.map((each, index) => `    ${text(each, `s${index}`)}`)
  return `${HEAD}\nworkflow main_flow() to Result[int] {\n    let mut total = 0\n${lines.join('\n')}\n    Ok(total)\n}\n`
}

interface Outcome {
  readonly run: Pick<RunRecord, 'status' | 'result' | 'error'>
  readonly completed: readonly string[]
  /** Activities that ran again after their completion. */
  readonly twice: readonly string[]
  readonly kills: number
}

/**
 * Runs to the end. Each of `kills` is a number of points after which the process ends: before or after a write, or in
 * the middle of an activity.
 */
function outcome(text: string, kills: readonly number[]): Outcome {
  let ahead = 0
  const memory = memoryDurable(duration => {
    ahead += duration
  })
  const { workflows } = memory
  const [left, runs, twice] = [[...kills], new Set(['r']), [] as string[]]
  let countdown = left.shift() ?? Number.POSITIVE_INFINITY
  const maybeKill = (): void => {
    if (--countdown >= 0) return
    countdown = left.shift() ?? Number.POSITIVE_INFINITY
    throw new Killed()
  }
  const completed = (): string[] => [...runs].flatMap(run => [...workflows.history(run).completed.keys()])
  const killing: WorkflowStore = {
    inTransaction: false,
    create(run) {
      runs.add(run.runId)
      return workflows.create(run)
    },
    find: run => workflows.find(run),
    claim: (...args) => workflows.claim(...args),
    history: run => workflows.history(run),
    record(...args) {
      maybeKill()
      workflows.record(...args)
      maybeKill()
    },
    adopt: () => workflows.adopt(),
    signal: (...args) => workflows.signal(...args)
  }
  const durable: Durable = { ...memory, now: () => Date.now() + ahead, workflows: killing }
  const open = () =>
    durableProgram(text, durable, {
      print: line => {
        if (completed().includes(line)) twice.push(line)
        maybeKill()
      }
    }).interpreter
  workflows.create({ runId: 'r', workflow: 'main_flow', args: '[]', parent: null, plannedSteps: 0, isCalled: false })
  let interpreter = open()
  for (;;) {
    try {
      const end = interpreter.turn('r', LIMITS)
      if (end.kind === 'completed' || end.kind === 'failed') break
      // The process was killed after its last write.
      if (end.kind === 'taken' && end.run?.status === 'completed') break
      if (end.kind === 'waiting') ahead += Math.max(0, (end.wakeAt ?? 0) - durable.now())
    } catch (thrown) {
      if (!(thrown instanceof Killed)) throw thrown
      // Waits until the lease of the process has expired.
      ahead += 100_000
      interpreter = open()
    }
  }
  const { status, result, error } = workflows.find('r') as RunRecord
  return { run: { status, result, error }, completed: completed().sort(), twice, kills: kills.length - left.length }
}

t.test('a workflow that is killed at random points has the same result', async t => {
  let killed = 0
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 1, maxLength: 6 }),
      fc.array(fc.nat(25), { minLength: 1, maxLength: 8 }),
      (steps, kills) => {
        const text = source(steps)
        const calm = outcome(text, [])
        const disturbed = outcome(text, kills)
        killed += disturbed.kills
        t.same(calm.twice, [])
        return (
          disturbed.twice.length === 0 &&
          JSON.stringify([disturbed.run, disturbed.completed]) === JSON.stringify([calm.run, calm.completed])
        )
      }
    ),
    { numRuns: 150 }
  )
  t.ok(killed > 100, `${killed} killed processes`)
})
