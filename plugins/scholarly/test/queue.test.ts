import { type KernelAdmin, kernelAdmin } from '@svc/contracts'
import { definePlugin, type Plugin, waitForAbort } from '@svc/plugin-sdk'
import t from 'tap'
import { openWorld } from './kit.ts'
import { failing, ScriptedArchive } from './scripted-archive.ts'

const ADAPTER = { adapter: 'test_archive' }

t.test('failures of an archive move a job by their class', async t => {
  const cases: [ReturnType<typeof failing>, string, number | null][] = [
    [failing('rate_limit'), 'retryable_failed', 60_000],
    [failing('rate_limit', { retryAfterMs: 5_000 }), 'retryable_failed', 5_000],
    [failing('rate_limit', { retryAfterMs: 1e15 }), 'retryable_failed', 7 * 86_400_000],
    [failing('transient'), 'retryable_failed', 30_000],
    [failing('transient', { retryAfterMs: 90_000 }), 'retryable_failed', 90_000],
    [failing('auth'), 'failed', null],
    [failing('config'), 'failed', null],
    [failing('fatal'), 'failed', null],
    [failing('preflight'), 'failed', null]
  ]
  const world = await openWorld(t, { adapters: [new ScriptedArchive(cases.map(([step]) => step))] })
  for (const [at, [, status, delayMs]] of cases.entries()) {
    const publication_id = `paper-${at}`
    await world.prepare({ publication_id })
    const { ok, job } = await world.submit({ ...ADAPTER, publication_id })
    t.match(
      { ok, job },
      { ok: false, job: { status, attempt_count: 1, last_error_message: 'archive: no', lock_owner: null } }
    )
    const waits = job?.next_retry_at_ms === null ? null : Number(job?.next_retry_at_ms) - Number(job?.updated_at_ms)
    t.equal(waits, delayMs)
  }
  // Jobs that wait are not run before their time.
  t.same(await world.tick(), [])
})

t.test('a retry succeeds with the checkpoint of the failed attempt, and all attempts are recorded', async t => {
  const archive = new ScriptedArchive([
    async (_manifest, { saveCheckpoint }) => {
      await saveCheckpoint({ intent: 1 })
      return failing('transient', { code: 'http_500', httpStatus: 500 })()
    },
    async (_manifest, { checkpoint }) => `held after ${JSON.stringify(checkpoint)}`.slice(0, 4)
  ])
  let seen: unknown
  const [, second] = archive.steps
  archive.steps[1] = (manifest, context) => {
    seen = context.checkpoint
    return second?.(manifest, context) ?? 'held'
  }
  const world = await openWorld(t, { adapters: [archive] })
  const manifest = await world.prepare()
  const first = await world.submit(ADAPTER)
  t.match(first.job, { status: 'retryable_failed', last_error_code: 'http_500' })
  await world.makeDue(Number(first.job?.id))
  t.match(await world.tick(), [
    { status: 'succeeded', attempt_count: 2, last_error_class: null, last_error_code: null }
  ])
  t.same(seen, { intent: 1 })
  const { attempts } = (await world.kernel.callById('scholarly.job', { job_id: first.job?.id })) as {
    attempts: unknown[]
  }
  t.match(attempts, [
    { outcome: 'succeeded' },
    { outcome: 'failed', error_class: 'transient', code: 'http_500', retryable: true }
  ])
  const recorded = await world.execute('SELECT channel, outcome_json FROM publication_attempts ORDER BY id')
  t.same(
    recorded.map(([channel, outcome]) => [channel, JSON.parse(String(outcome)).outcome]),
    [
      ['scholarly:test_archive', 'failed'],
      ['scholarly:test_archive', 'success']
    ]
  )
  t.equal((await world.publications.get(manifest.publication_id)).state, 'held')
  const links = await world.execute('SELECT kind, value FROM publication_external_links ORDER BY kind')
  t.same(links, [
    ['doi', '10.5555/test'],
    ['url', 'https://archive.example/1']
  ])
})

t.test('approvals that are revoked after a job was queued let it wait for five minutes without an attempt', async t => {
  const archive = new ScriptedArchive()
  const world = await openWorld(t, { adapters: [archive] })
  const manifest = await world.prepare()
  const { job } = await world.submit({ ...ADAPTER, wait: false })
  t.match(job, { status: 'queued' })
  await world.execute('DELETE FROM publication_approvals WHERE approver = ?', ['ben'])
  const [waiting] = await world.tick()
  t.match(waiting, { status: 'retryable_failed', attempt_count: 0, last_error_code: 'missing_dual_approval' })
  t.equal(Number(waiting?.next_retry_at_ms) - Number(waiting?.updated_at_ms), 300_000)
  await world.approve(manifest, ['ben'])
  await world.makeDue(Number(job?.id))
  t.match(await world.tick(), [{ status: 'succeeded' }])
  t.equal(archive.submissions, 1)
})

t.test('a job whose content changed, or whose operation is unknown, fails before the archive is called', async t => {
  const archive = new ScriptedArchive()
  const world = await openWorld(t, { adapters: [archive] })
  const manifest = await world.prepare()
  await world.submit({ ...ADAPTER, wait: false })
  const next = await world.publications.prepare({ ...manifest, title: 'Changed' })
  await world.approve(next)
  t.match(await world.tick(), [{ status: 'failed', last_error_code: 'digest_changed' }])
  const { job } = await world.submit({ ...ADAPTER, wait: false })
  await world.execute("UPDATE external_submission_jobs SET operation = 'withdraw' WHERE id = ?", [Number(job?.id)])
  t.match(await world.tick(), [{ status: 'failed', last_error_code: 'operation_unknown' }])
  t.equal(archive.submissions, 0)
})

t.test('the last attempt of a job fails it, and a replay begins to count again', async t => {
  const archive = new ScriptedArchive([failing('transient')])
  const world = await openWorld(t, { settings: { max_attempts: 2 }, adapters: [archive] })
  await world.prepare()
  const { job } = await world.submit(ADAPTER)
  const id = Number(job?.id)
  await world.makeDue(id)
  t.match(await world.tick(), [{ status: 'failed', attempt_count: 2, last_error_class: 'transient' }])
  t.match(await world.kernel.callById('scholarly.inbox', {}), {
    items: [
      { id: `job-${id}`, kind: 'failure', answers: [{ operation: 'scholarly.replay', input: { job_id: id } }, {}] }
    ]
  })
  await world.kernel.callById('scholarly.replay', { job_id: id })
  t.match(await world.tick(), [{ status: 'retryable_failed', attempt_count: 3 }])
})

t.test('only failed jobs are replayed, and one with an unknown outcome after a person looked', async t => {
  const archive = new ScriptedArchive([
    failing('fatal', { code: 'outcome_unknown', outcomeUnknown: true }),
    () => 'held'
  ])
  const world = await openWorld(t, { adapters: [archive] })
  await world.prepare()
  const { job } = await world.submit(ADAPTER)
  const job_id = Number(job?.id)
  const replay = (input: object = {}) => world.kernel.callById('scholarly.replay', { job_id, ...input })
  t.match(job, { status: 'failed', last_error_code: 'outcome_unknown' })
  await t.rejects(replay(), { code: 'SCH_REPLAY_REFUSED', hint: /--confirm-absent/ })
  t.match(await replay({ confirm_absent: true }), { job: { status: 'queued' } })
  await t.rejects(replay(), { code: 'SCH_REPLAY_REFUSED' })
  t.match(await world.tick(), [{ status: 'succeeded' }])
  await t.rejects(replay(), { code: 'SCH_REPLAY_REFUSED' })
  await t.rejects(world.kernel.callById('scholarly.replay', { job_id: 99 }), { code: 'SCH_JOB_UNKNOWN' })
})

t.test('a cancelled job does not run, and one that has ended is not cancelled', async t => {
  const archive = new ScriptedArchive()
  const world = await openWorld(t, { adapters: [archive] })
  await world.prepare()
  const { job } = await world.submit({ ...ADAPTER, wait: false })
  const cancel = () => world.kernel.callById('scholarly.cancel', { job_id: job?.id })
  t.match(await cancel(), { job: { status: 'failed', last_error_code: 'cancelled' } })
  t.same(await world.tick(), [])
  await t.rejects(cancel(), { code: 'SCH_CANCEL_REFUSED' })
  t.equal(archive.submissions, 0)
})

t.test('a cancelled run cannot save a checkpoint, and its receipt is not stored', async t => {
  let saved: unknown
  let world: Awaited<ReturnType<typeof openWorld>>
  const archive = new ScriptedArchive([
    async (_manifest, { saveCheckpoint }) => {
      await world.kernel.callById('scholarly.cancel', { job_id: 1 })
      saved = await saveCheckpoint({ step: 1 }).catch(error => error)
      return 'held'
    }
  ])
  world = await openWorld(t, { adapters: [archive] })
  await world.prepare()
  t.match((await world.submit(ADAPTER)).job, { status: 'failed', last_error_code: 'cancelled' })
  t.match(saved, { code: 'SCH_LEASE_LOST' })
  t.same(await world.execute('SELECT * FROM scholarly_submissions'), [])
})

t.test('a caller that disconnects interrupts the run, which continues later with its checkpoint', async t => {
  const caller = new AbortController()
  let seen: unknown
  const archive = new ScriptedArchive([
    async (_manifest, { saveCheckpoint, signal }) => {
      await saveCheckpoint({ part: 1 })
      caller.abort(new Error('disconnected'))
      await waitForAbort(signal)
      signal.throwIfAborted()
      return 'held'
    },
    (_manifest, { checkpoint }) => {
      seen = checkpoint
      return 'held'
    }
  ])
  const world = await openWorld(t, { adapters: [archive] })
  await world.prepare()
  const input = { publication_id: 'paper-1', submit: true, ...ADAPTER }
  await t.rejects(world.kernel.callById('scholarly.submit', input, { signal: caller.signal }))
  // The outcome is stored after the caller has gone.
  for (;;) {
    const [job] = await world.jobs()
    if (job?.last_error_code === 'interrupted') break
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  t.match(await world.tick(), [{ status: 'succeeded' }])
  t.same(seen, { part: 1 })
})

t.test('a process that lost its lock changes nothing, and the receipt of the other one stays', async t => {
  let world: Awaited<ReturnType<typeof openWorld>>
  let lost: unknown
  const archive = new ScriptedArchive([
    async (_manifest, { saveCheckpoint, checkpoint }) => {
      await saveCheckpoint({ by: 'first', before: checkpoint })
      // Another process took over: a later claim has another generation.
      await world.execute('UPDATE scholarly_job_state SET lock_generation = lock_generation + 1')
      lost = await saveCheckpoint({ by: 'first again' }).catch(error => error)
      return 'held'
    }
  ])
  world = await openWorld(t, { adapters: [archive] })
  await world.prepare()
  t.match((await world.submit(ADAPTER)).job, { status: 'running' })
  t.match(lost, { code: 'SCH_LEASE_LOST' })
  t.same(await world.execute('SELECT checkpoint_json, receipt_json FROM scholarly_job_state'), [
    [JSON.stringify({ by: 'first', before: null }), null]
  ])
})

t.test('two processes on one database run each job once', async t => {
  const archives = [new ScriptedArchive(), new ScriptedArchive()]
  const first = await openWorld(t, { adapters: [archives[0] as ScriptedArchive] })
  const second = await openWorld(t, { adapters: [archives[1] as ScriptedArchive], databaseFile: first.databaseFile })
  for (let at = 0; at < 12; at++) {
    await first.prepare({ publication_id: `paper-${at}` })
    await first.submit({ ...ADAPTER, publication_id: `paper-${at}`, wait: false })
  }
  await Promise.all([first.tick(), second.tick()])
  t.equal((archives[0]?.submissions ?? 0) + (archives[1]?.submissions ?? 0), 12)
  t.same(new Set((await first.jobs()).map(({ status }) => status)), new Set(['succeeded']))
})

t.test('concurrent submissions of one content create one job and one call', async t => {
  const archive = new ScriptedArchive()
  const world = await openWorld(t, { adapters: [archive] })
  await world.prepare()
  const answers = await Promise.all(Array.from({ length: 8 }, () => world.submit(ADAPTER)))
  t.same(new Set(answers.map(({ job }) => job?.status)), new Set(['succeeded']))
  t.equal(archive.submissions, 1)
  t.equal((await world.jobs()).length, 1)
})

t.test('a serving process runs queued jobs by itself', async t => {
  const archive = new ScriptedArchive()
  const world = await openWorld(t, { settings: { worker_interval_seconds: 3_600 }, adapters: [archive] })
  await world.prepare()
  await world.submit({ ...ADAPTER, wait: false })
  for (;;) {
    const [job] = await world.jobs()
    if (job?.status === 'succeeded') break
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  t.equal(archive.submissions, 1)
})

t.test('a process that is no server runs no jobs in the background', async t => {
  const single = definePlugin({
    name: 'single-command',
    provides: [kernelAdmin],
    activate: ctx =>
      ctx.provide(kernelAdmin, { serves: true, isServer: false, settings: () => [] } as unknown as KernelAdmin)
  })
  const archive = new ScriptedArchive()
  const settings = { worker_interval_seconds: 3_600, status_interval_seconds: 1 }
  const world = await openWorld(t, { settings, adapters: [archive], plugins: [single as Plugin] })
  await world.prepare()
  await world.submit({ ...ADAPTER, wait: false })
  await new Promise(resolve => setTimeout(resolve, 200))
  t.match(await world.jobs(), [{ status: 'queued', attempt_count: 0 }])
  t.match(await world.tick(), [{ status: 'succeeded' }])
})

t.test('a known secret reaches neither errors nor tables', async t => {
  const token = 'very-secret-token-4711'
  const archive = new ScriptedArchive([
    failing('transient', {}, `archive: refused ${token}`),
    async (_manifest, { saveCheckpoint }) => {
      await saveCheckpoint({ token })
      return 'held'
    }
  ])
  const world = await openWorld(t, { settings: { zenodo_access_token: token }, adapters: [archive] })
  await world.prepare()
  const first = await world.submit(ADAPTER)
  t.notMatch(JSON.stringify(first), token)
  await world.makeDue(Number(first.job?.id))
  t.match(await world.tick(), [{ status: 'failed', last_error_code: 'checkpoint_invalid' }])
  for (const table of [
    'external_submission_jobs',
    'external_submission_attempts',
    'scholarly_job_state',
    'publication_attempts'
  ])
    t.notMatch(JSON.stringify(await world.execute(`SELECT * FROM ${table}`)), token)
  t.notMatch(JSON.stringify(world.kernel.log), token)
})

t.test('the caller sees the progress of uploads, once for each percent', async t => {
  const archive = new ScriptedArchive([
    (_manifest, { progress }) => {
      for (let sentBytes = 0; sentBytes <= 1_000; sentBytes += 1)
        progress({ file: 'a.pdf', sentBytes, totalBytes: 1_000 })
      return 'held'
    }
  ])
  const world = await openWorld(t, { adapters: [archive] })
  await world.prepare()
  const events: unknown[] = []
  const steps: unknown[] = []
  const input = { publication_id: 'paper-1', submit: true, ...ADAPTER }
  await world.kernel.callById('scholarly.submit', input, {
    onEvent: event => void events.push(event),
    onProgress: (...step) => void steps.push(step)
  })
  t.equal(events.length, 101)
  t.match(events.at(-1), { file: 'a.pdf', sent_bytes: 1_000, total_bytes: 1_000 })
  t.same(steps.at(-1), [1_000, 1_000, 'a.pdf'])
})

t.test('a person ends a job with an unknown outcome with the submission at the archive', async t => {
  const unknown = failing('fatal', { code: 'outcome_unknown', outcomeUnknown: true })
  const archive = new ScriptedArchive([unknown])
  const world = await openWorld(t, { adapters: [archive] })
  await world.prepare()
  const { job } = await world.submit(ADAPTER)
  const record = (submission: string) => world.kernel.callById('scholarly.record', { job_id: job?.id, submission })
  try {
    failing('fatal', { code: 'http_404' })()
  } catch (error) {
    archive.remote = error as Error
  }
  await t.rejects(record('wrong'), { code: 'SCH_REFUSED' })
  t.match(await world.jobs(), [{ status: 'failed', last_error_code: 'outcome_unknown' }])
  archive.remote = 'published'
  t.match(await record('found-1'), {
    job: { status: 'succeeded', external_submission_id: 'found-1', last_error_code: null }
  })
  t.equal((await world.publications.get('paper-1')).state, 'published')
  t.match(await world.kernel.callById('scholarly.submissions', {}), {
    submissions: [{ external_submission_id: 'found-1', outcome: 'accepted' }]
  })
  await t.rejects(record('found-2'), { code: 'SCH_RECORD_REFUSED' })
  t.match(await world.submit(ADAPTER), { ok: true, job: { id: job?.id } })
  t.equal(archive.submissions, 1)
})
