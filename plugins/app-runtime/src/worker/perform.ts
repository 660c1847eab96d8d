import { openDatabase } from '../database/access.ts'
import { display } from '../interpreter/display.ts'
import { Exit, type Host } from '../interpreter/host.ts'
import { Interpreter } from '../interpreter/interpreter.ts'
import { Tagged } from '../interpreter/value.ts'
import { mainArguments } from '../main-arguments.ts'
import { performPlay } from '../playground/perform-play.ts'
import { seededRandom } from '../seeded-random.ts'
import { runTests } from '../testing/run-tests.ts'
import { bridgeTo } from '../threads/bridge.ts'
import { OutputGate } from '../threads/output-gate.ts'
import { databaseDurable } from '../workflows/database-durable.ts'
import { performReplay } from '../workflows/perform-replay.ts'
import { performWorkflow } from '../workflows/perform-workflow.ts'
import { ReplayStore, replayDurable } from '../workflows/replay-store.ts'
import type { RunRecord } from '../workflows/workflow-store.ts'
import type { Job, JobEvent, ReplayWork, RunOutcome } from './job.ts'

/** Performs a job in this thread. Throws the failure of the program. */
export function perform(job: Job, report: (message: JobEvent) => void): RunOutcome {
  const { program, limits, work } = job
  if (work.kind === 'replay') return replayed(job, work, report)
  const host = hostOf(job, report)
  const interpreter = new Interpreter(program, host)
  const begin = (): void => report({ kind: 'begun' })
  begin()
  try {
    if (work.kind === 'test') {
      runTests(interpreter, program, { ...work, limits, database: host.database, begin }, result =>
        report({ kind: 'test', result })
      )
      return { refused: null, exit: null }
    }
    if (work.kind === 'play') return performPlay(interpreter, job, host, begin)
    if (work.kind === 'workflow') return performWorkflow(interpreter, program, work, limits, begin)
    const result = interpreter.call('main', mainArguments(program, job.args), limits)
    const isRefusal = result instanceof Tagged && result.tag === 'Error'
    return { refused: isRefusal ? display(result.fields[0] ?? null) : null, exit: null }
  } catch (thrown) {
    if (thrown instanceof Exit) return { refused: null, exit: thrown.code }
    throw thrown
  } finally {
    for (const end of host.ending ?? []) end()
    host.database?.close()
  }
}

/** Replays a run. The program has no capabilities, no database and no output, so that it has no effects. */
function replayed(job: Job, { runId, runs }: ReplayWork, report: (message: JobEvent) => void): RunOutcome {
  const store = new ReplayStore(runId, runs)
  const host = { ...hostOf({ ...job, capabilities: [], database: null }, () => undefined), print: () => undefined }
  const interpreter = new Interpreter(job.program, { ...host, durable: replayDurable(store), bridge: null })
  report({ kind: 'begun' })
  const run = store.find(runId) as RunRecord
  return { refused: null, exit: null, replay: performReplay(interpreter, run, store, job.limits) }
}

function hostOf(job: Job, report: (message: JobEvent) => void): Host {
  const gate = new OutputGate(new Int32Array(job.unwritten))
  const idle = new Int32Array(new SharedArrayBuffer(4))
  let left = job.maxOutput ?? Number.POSITIVE_INFINITY
  // The line that exceeds the limit is sent, so that the receiver knows of it.
  const send = (line: Extract<JobEvent, { readonly text: string }>): void => {
    if (left < 0) return
    left -= line.text.length + 1
    report(line)
    gate.sent(line)
  }
  const bridge = bridgeTo(job.bridge)
  const sleep = (duration: number): void => {
    Atomics.wait(idle, 0, 0, duration)
  }
  const isFresh = job.work.kind === 'test' || job.work.kind === 'play'
  const database = job.database === null ? null : openDatabase(job.database, bridge, job.program, { isFresh })
  const { durable = null } = job
  return {
    print: text => send({ kind: 'print', text }),
    log: line => send({ kind: 'log', ...line }),
    now: Date.now,
    random: job.seed === null ? Math.random : seededRandom(job.seed),
    args: job.args,
    capabilities: new Set(job.capabilities),
    sleep,
    bridge,
    database,
    ...(isFresh ? {} : { stepped: step => report({ kind: 'step', step }) }),
    durable:
      database === null || durable === null ? null : databaseDurable(database.connection, durable, sleep, null, bridge),
    ending: []
  }
}
