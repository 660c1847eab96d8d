import { applyBaseline, openMemory } from '@svc/plugin-database/testing'
import { isSvcError } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import '../../database/test/built-worker.ts'
import { JobDecisions, type JobState, JobStore, SubmissionStore, Tables } from '#root'

const TTL_MS = 1_000
const RETRY_MS = 400
const REPORT = { http_status: null, request_fingerprint: null, response_fingerprint: null, detail: {} }
const START_MS = 1_000_000

/** Job as the specification describes it. */
interface ModelJob {
  readonly id: number
  readonly key: string
  status: JobState
  owner: string | null
  generation: number
  expiresAt: number | null
  retryAt: number | null
  attempts: number
  checkpoint: string | null
  submitted: boolean
}

interface ModelClaim {
  readonly job: ModelJob
  readonly owner: string
  readonly generation: number
  readonly real: NonNullable<Awaited<ReturnType<JobStore['claim']>>>
}

interface Model {
  now: number
  readonly jobs: ModelJob[]
  /** Claims that workers believe to hold; some were taken over. */
  readonly claims: ModelClaim[]
}

type Real = Awaited<ReturnType<typeof openQueue>>

async function openQueue() {
  const database = await openMemory()
  await applyBaseline(database)
  await database.migrate(`CREATE TABLE test_clock (ms INTEGER); INSERT INTO test_clock VALUES (${START_MS})`)
  const tables = new Tables(database, '(SELECT ms FROM test_clock)')
  const queue = {
    database,
    store: new JobStore(tables),
    decisions: new JobDecisions(tables),
    submissions: new SubmissionStore(tables)
  }
  await queue.store.list({ limit: 1 })
  return queue
}

function holds({ job, owner, generation }: ModelClaim): boolean {
  return job.status === 'running' && job.owner === owner && job.generation === generation
}

function isDue({ status, retryAt, expiresAt }: ModelJob, now: number): boolean {
  if (status === 'queued' || status === 'retryable_failed') return (retryAt ?? 0) <= now
  return status === 'running' && (expiresAt ?? 0) < now
}

async function check({ jobs, now }: Model, { store }: Real): Promise<void> {
  const stored = (await store.list({ limit: 100 })).toReversed()
  const found = stored.map(({ id, status, lock_owner, lock_expires_at_ms, next_retry_at_ms, attempt_count }) => [
    id,
    status,
    lock_owner,
    lock_expires_at_ms,
    next_retry_at_ms,
    attempt_count
  ])
  const expected = jobs.map(({ id, status, owner, expiresAt, retryAt, attempts }) => [
    id,
    status,
    owner,
    expiresAt,
    retryAt,
    attempts
  ])
  if (JSON.stringify(found) !== JSON.stringify(expected))
    throw new Error(`stored ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`)
  const due = (await store.due(100)).map(({ id }) => id).sort((a, b) => a - b)
  const expectedDue = jobs.filter(job => isDue(job, now)).map(({ id }) => id)
  if (JSON.stringify(due) !== JSON.stringify(expectedDue)) throw new Error(`due ${due}, expected ${expectedDue}`)
}

type Command = fc.AsyncCommand<Model, Real>

function command(text: string, run: (model: Model, real: Real) => Promise<void>): Command {
  return {
    check: () => true,
    async run(model, real) {
      await run(model, real)
      await check(model, real)
    },
    toString: () => text
  }
}

/** Runs a write with a claim. It must fail exactly if the claim no longer holds. */
async function fenced(claim: ModelClaim, write: () => Promise<void>, apply: (job: ModelJob) => void): Promise<void> {
  const isHeld = holds(claim)
  const isLost = await write().then(
    () => false,
    error => {
      if (!isSvcError(error, 'SCH_LEASE_LOST')) throw error
      return true
    }
  )
  if (isLost === isHeld) throw new Error(`a write ${isLost ? 'failed' : 'succeeded'} against the model`)
  if (isHeld) apply(claim.job)
}

function pick<A>(items: readonly A[], index: number): A | undefined {
  return index < 0 ? items.at(index) : items[index % Math.max(1, items.length)]
}

const index = fc.nat({ max: 7 })
/** Any job or claim; more often the newest. */
const latest = fc.oneof(fc.constant(-1), fc.nat({ max: 7 }))

const claim = fc.tuple(index, fc.constantFrom('one', "o'two")).map(([at, owner]) =>
  command(`claim ${at} by ${owner}`, async (model, { store }) => {
    const job = pick(model.jobs, at)
    if (job === undefined) return
    const claimed = await store.claim(job.id, owner, TTL_MS)
    if ((claimed !== null) !== isDue(job, model.now)) throw new Error('claimed what is not due, or the reverse')
    if (claimed === null) return
    job.status = 'running'
    job.owner = owner
    job.generation += 1
    job.expiresAt = model.now + TTL_MS
    job.retryAt = null
    job.attempts += 1
    if (JSON.stringify(claimed.checkpoint) !== (job.checkpoint ?? 'null')) throw new Error('another checkpoint')
    model.claims.push({ job, owner, generation: job.generation, real: claimed })
  })
)

const COMMANDS: fc.Arbitrary<Command>[] = [
  // Most commands need a claim.
  claim,
  claim,
  fc.nat({ max: 3 }).map(key =>
    command(`enqueue ${key}`, async (model, { store }) => {
      const { job, isNew } = await store.enqueue({
        publication_id: `p${key}`,
        content_sha3_256: 'd',
        adapter: 'a',
        operation: 'submit',
        idempotency_key: `k${key}`
      })
      const known = model.jobs.find(each => each.key === `k${key}`)
      if (isNew === (known !== undefined)) throw new Error('a key has two jobs, or none')
      if (known !== undefined) return
      model.jobs.push({
        id: job.id,
        key: `k${key}`,
        status: 'queued',
        owner: null,
        generation: 0,
        expiresAt: null,
        retryAt: null,
        attempts: 0,
        checkpoint: null,
        submitted: false
      })
    })
  ),
  latest.map(at =>
    command(`renew ${at}`, async (model, { store }) => {
      const claim = pick(model.claims, at)
      if (claim === undefined) return
      await fenced(
        claim,
        () => store.renew(claim.real, TTL_MS),
        job => {
          job.expiresAt = model.now + TTL_MS
        }
      )
    })
  ),
  fc.tuple(latest, fc.nat({ max: 99 })).map(([at, value]) =>
    command(`checkpoint ${at}`, async (model, { store }) => {
      const claim = pick(model.claims, at)
      if (claim === undefined) return
      await fenced(
        claim,
        () => store.saveCheckpoint(claim.real, { value }, TTL_MS, REPORT),
        job => {
          job.expiresAt = model.now + TTL_MS
          job.checkpoint = JSON.stringify({ value })
        }
      )
    })
  ),
  fc.tuple(latest, fc.boolean(), fc.boolean()).map(([at, isRetried, counts]) =>
    command(`fail ${at}, retried ${isRetried}, counts ${counts}`, async (model, { store }) => {
      const claim = pick(model.claims, at)
      if (claim === undefined) return
      const retryInMs = isRetried ? RETRY_MS : null
      const failure = { failureClass: 'transient', code: 'x', message: 'x', retryInMs, counts } as const
      await fenced(
        claim,
        () => store.fail(claim.real, failure, REPORT),
        job => {
          job.status = isRetried ? 'retryable_failed' : 'failed'
          job.owner = null
          job.expiresAt = null
          job.retryAt = isRetried ? model.now + RETRY_MS : null
          if (!counts) job.attempts -= 1
        }
      )
    })
  ),
  latest.map(at =>
    command(`succeed ${at}`, async (model, { store }) => {
      const claim = pick(model.claims, at)
      if (claim === undefined) return
      const receipt = { adapter: 'a', external_submission_id: claim.job.key, status: 'submitted' }
      await fenced(
        claim,
        () => store.succeed(claim.real, receipt, 'pending', REPORT),
        job => {
          job.status = 'succeeded'
          job.owner = null
          job.expiresAt = null
          job.retryAt = null
          job.submitted = true
        }
      )
    })
  ),
  index.map(at =>
    command(`replay ${at}`, async (model, { decisions }) => {
      const job = pick(model.jobs, at)
      if (job === undefined) return
      if ((await decisions.replay(job.id)) !== (job.status === 'failed'))
        throw new Error('replayed what has not failed')
      if (job.status !== 'failed') return
      job.status = 'queued'
      job.retryAt = null
    })
  ),
  index.map(at =>
    command(`cancel ${at}`, async (model, { decisions }) => {
      const job = pick(model.jobs, at)
      if (job === undefined) return
      const isOpen = job.status !== 'failed' && job.status !== 'succeeded'
      if ((await decisions.cancel(job.id, 'x')) !== isOpen) throw new Error('cancelled what has ended')
      if (!isOpen) return
      job.status = 'failed'
      job.owner = null
      job.expiresAt = null
      job.retryAt = null
    })
  ),
  // Clocks are also set back.
  fc.oneof(fc.integer({ min: -700, max: 1_500 }), fc.constantFrom(RETRY_MS, TTL_MS)).map(ms =>
    command(`clock ${ms}`, async (model, { database }) => {
      model.now = Math.max(1, model.now + ms)
      await database.execute('UPDATE test_clock SET ms = ?', [model.now])
    })
  )
]

t.test('the queue behaves like its model, with lost locks and clocks that are set', async t => {
  const queue = await openQueue()
  t.teardown(() => queue.database.close())
  await fc.assert(
    fc.asyncProperty(fc.commands(COMMANDS, { maxCommands: 100, size: 'max' }), async commands => {
      for (const table of ['external_submission_jobs', 'scholarly_job_state', 'scholarly_submissions'])
        await queue.database.execute(`DELETE FROM ${table}`)
      await queue.database.execute('UPDATE test_clock SET ms = ?', [START_MS])
      const model: Model = { now: START_MS, jobs: [], claims: [] }
      await fc.asyncModelRun(() => ({ model, real: queue }), commands)
      const stored = (await queue.submissions.list({ limit: 100 })).map(each => each.external_submission_id).sort()
      const expected = model.jobs.filter(({ submitted }) => submitted).map(({ key }) => key)
      if (stored.join() !== expected.sort().join()) throw new Error(`submissions ${stored}, expected ${expected}`)
    }),
    { numRuns: 40 }
  )
})
