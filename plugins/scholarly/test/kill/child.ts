// Runs due jobs of one database until none is left, or until the process kills itself at a step of its scenario.
import { setTimeout as delay } from 'node:timers/promises'
import type { DatabaseStore } from '@svc/contracts'
import { openFile } from '@svc/plugin-database/testing'
import { type Kill, type Scenario, SETTLE_SECONDS } from './scenario.ts'
import { zenodoQueue } from './zenodo-queue.ts'

const GIVE_UP_MS = 60_000

const scenario = JSON.parse(process.env.SVC_TEST_SCENARIO ?? '') as Scenario
let steps = 0

async function step<A>(work: () => Promise<A>): Promise<A> {
  steps += 1
  const kill: Kill | null = steps === scenario.kill?.step ? scenario.kill : null
  if (kill?.when === 'before') await die()
  if (kill?.when === 'during') setTimeout(die, kill.ms)
  try {
    return await work()
  } finally {
    if (kill?.when === 'after') await die()
  }
}

/** Ends the process without any handler. Never returns. */
function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => {})
}

function withSteps(store: DatabaseStore): DatabaseStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      const call = value.bind(target) as (...args: unknown[]) => Promise<unknown>
      return name === 'batch' || name === 'execute' || name === 'transaction'
        ? (...args: unknown[]) => step(() => call(...args))
        : call
    }
  })
}

const { fetch } = globalThis
globalThis.fetch = (...args) => step(() => fetch(...args))

const database = await openFile(scenario.database, { busyTimeoutMs: 10_000, synchronous: 'normal' })
const store = withSteps(database)
const { jobs, runner } = zenodoQueue(store, { ...scenario, settleSeconds: SETTLE_SECONDS })

const { signal } = new AbortController()
const endAt = performance.now() + GIVE_UP_MS
for (;;) {
  const [job] = await jobs.list({ limit: 1 })
  if (job === undefined || job.status === 'succeeded' || job.status === 'failed') break
  if (performance.now() > endAt) throw new Error(`the job is ${job.status}: ${job.last_error_message}`)
  // Retries wait for half a minute and more; this test does not.
  if (job.status === 'retryable_failed')
    await database.execute('UPDATE external_submission_jobs SET next_retry_at_ms = 0 WHERE id = ?', [job.id])
  await runner.run(job.id, { signal })
  await delay(job.status === 'retryable_failed' || job.status === 'running' ? 100 : 5)
}
await database.close()
process.send?.({ steps })
process.disconnect?.()
