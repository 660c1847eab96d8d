import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import type { Host } from '#interpreter'
import { drivenDurable, durableProgram } from '../durable-program.ts'
import { LIMITS } from '../run-program.ts'

type MeshStep = Parameters<NonNullable<Host['meshStep']>>[0]

const schema = JSON.parse(
  readFileSync(new URL('../../../../contracts/workflow/workflow-journal.v2.schema.json', import.meta.url), 'utf8')
)
const isJournal = new Ajv2020({ allErrors: true }).compile(schema)

const SOURCE = `
activity mesh_render(scene: str, frames: int) to Result[str] with { mens: "dispatch", labels: "gpu,big", timeout: "20s" } {
    print("rendered here", scene)
    Ok("local")
}
workflow film(scene: str) to Result[str] {
    mesh_render(scene, 3)
}
activity mesh_noop() to Result[str] {
    print("body")
    Ok("body")
}
workflow ping() to Result[str] { mesh_noop() }
activity mesh_flaky() to Result[str] with { mens: "dispatch", retries: 1, initial_backoff: "1h" } { Ok("local") }
workflow flaky() to Result[str] { mesh_flaky() }
fn main(name: str) to Result[str] { film(name) with { id: name } }
fn pings() to Result[str] { ping() with { id: "ping" } }
fn flakes() to Result[str] { flaky() with { id: "flaky" } }
`

/** A program whose mesh steps are recorded, with runs that a scheduler resumes. */
function open() {
  const durable = drivenDurable()
  const steps: MeshStep[] = []
  const { interpreter, lines } = durableProgram(SOURCE, durable, { meshStep: step => void steps.push(step) })
  const begin = (name: string, args: string[] = []): void => {
    t.throws(() => interpreter.call(name, args, { ...LIMITS, milliseconds: 200 }), { code: 'RUN_WORKFLOW_PENDING' })
  }
  const answer = (run: string, step: MeshStep | undefined, value: unknown) =>
    durable.workflows.send(run, step?.signal ?? '', JSON.stringify(value))
  return { durable, steps, lines, interpreter, begin, answer, turn: (run: string) => interpreter.turn(run, LIMITS) }
}

t.test('a step for the mesh ends the turn, and its answer is the result', async t => {
  const { durable, steps, lines, begin, answer, turn } = open()
  begin('main', ['a'])
  t.match(steps, [
    {
      runId: 'a',
      operation: 'dispatch',
      workflow: 'film',
      activity: 'mesh_render',
      labels: ['gpu', 'big'],
      args: { scene: 'a', frames: 3 }
    }
  ])
  t.ok((steps[0]?.until ?? 0) > durable.now() + 10_000)
  t.match(durable.workflows.find('a'), { status: 'waiting', waitingFor: steps[0]?.signal })
  t.match(turn('a'), { kind: 'waiting' }, 'it waits on')
  t.equal(steps.length, 2, 'a step without an answer is requested again, with its key')
  t.equal(steps[1]?.signal, steps[0]?.signal)
  answer('a', steps[0], { kind: 'done', outcome: { control: 'dispatched', node_id: 'n1', output: 'film.mp4' } })
  t.match(turn('a'), { kind: 'completed' })
  t.equal(durable.workflows.find('a')?.result, '{"$tag":["Ok",["film.mp4"]]}')
  t.same(lines, [])
  const journal = durable.workflows.journal('a')
  t.ok(isJournal(journal), JSON.stringify(isJournal.errors?.slice(0, 3)))
  t.match(
    journal.map(({ event }) => event),
    ['WorkflowStarted', 'ActivityTask', 'ActivityStarted', 'MeshActivity', 'ActivityCompleted', 'WorkflowCompleted']
  )
  t.match(journal[1], { execution_boundary: 'mesh', timeout_ms: 20_000 })
  t.match(journal[3], { mesh_op: 'dispatch', control: 'dispatched', node_id: 'n1' })
})

t.test('after a control operation, the body of the activity runs', async t => {
  const { durable, steps, lines, begin, answer, turn } = open()
  begin('pings')
  t.match(steps, [{ operation: 'noop' }])
  answer('ping', steps[0], { kind: 'done', outcome: { control: 'join_ok', node_count: 2, schema_version: 1 } })
  t.match(turn('ping'), { kind: 'completed' })
  t.same(lines, ['body'])
  t.match(durable.workflows.journal('ping')[3], { event: 'MeshActivity', mesh_op: 'noop', node_count: 2 })
})

t.test('without a mesh, the step runs in this process, and the journal says why', async t => {
  const { durable, steps, lines, begin, answer, turn } = open()
  begin('main', ['b'])
  answer('b', steps[0], { kind: 'skipped', reason: 'SVC_MESH_ENABLED is not set' })
  t.match(turn('b'), { kind: 'completed' })
  t.same(lines, ['rendered here b'])
  t.match(durable.workflows.journal('b').slice(3), [
    { event: 'MeshActivitySkipped', reason: 'SVC_MESH_ENABLED is not set' },
    { event: 'LocalActivity' },
    { event: 'ActivityCompleted' },
    { event: 'WorkflowCompleted' }
  ])
})

t.test('a failed attempt, and one without an answer in time, is retried; the last one fails the step', async t => {
  const { durable, steps, begin, answer, turn } = open()
  begin('flakes')
  answer('flaky', steps[0], { kind: 'failed', error: 'the node has no memory' })
  t.match(turn('flaky'), { kind: 'waiting', signal: null }, 'it waits for the next attempt')
  durable.advance(3_700_000)
  t.match(turn('flaky'), { kind: 'waiting' })
  t.not(steps.at(-1)?.signal, steps[0]?.signal, 'each attempt has its own key')
  durable.advance(41_000)
  t.match(turn('flaky'), { kind: 'completed' })
  t.match(durable.workflows.find('flaky'), { result: /RUN_MESH_FAILED|did not answer in time/ })
  const journal = durable.workflows.journal('flaky')
  t.ok(isJournal(journal), JSON.stringify(isJournal.errors?.slice(0, 3)))
  t.match(
    journal.filter(({ event }) => event === 'ActivityAttemptFailed'),
    [
      { attempt: 1, error: 'the node has no memory' },
      { attempt: 2, error: 'the mesh did not answer in time' }
    ]
  )
})
