import type { SharedWorkflowRuns } from '@svc/contracts'
import t from 'tap'
import { noPostgres, PostgresServer } from '#root'
import { openStore } from './stores.ts'

const PLAN = { session: null, node: null, version: null }

const newRun = (runId: string, parent: string | null = null) =>
  ({ runId, workflow: 'w', program: 'p', args: '[]', parent, plannedSteps: 1, delayMs: 0, plan: PLAN }) as const

const create = (runs: SharedWorkflowRuns, runId: string, parent: string | null = null, at = 1) =>
  runs.create(newRun(runId, parent), at)

/** Claims a run that a scheduler can claim. */
async function claimed(runs: SharedWorkflowRuns, runId: string, leaseMs = 60_000) {
  const found = await runs.claimReady('p', 'me', { max: 100, leaseMs })
  const claim = found.find(each => each.runId === runId)
  if (claim === undefined) throw new Error(`${runId} was not ready`)
  return claim.token
}

const turn = { owner: 'me', now: 3 }
const WAITS = [{ turn: { status: 'waiting', wakeAt: null, waitingFor: 'go' } }] as const
const COMPLETED = [{ turn: { status: 'completed', result: '7' } }] as const

t.test('workflow runs in PostgreSQL', { skip: noPostgres }, async t => {
  const server = await PostgresServer.start({ fsync: 'off' })
  t.teardown(() => server.remove())
  const stores = [openStore(server.url()), openStore(server.url())] as const
  t.teardown(() => Promise.all(stores.map(store => store.close())))
  let last = 0
  /** Opens the runs of a new repository, with the connections of two processes. */
  const open = (): [SharedWorkflowRuns, SharedWorkflowRuns] => {
    const repository = `repository ${++last}`
    return [stores[0].workflows(repository), stores[1].workflows(repository)]
  }

  await t.test('a signal at the end of a turn is not lost, and wakes no run that has it already', async t => {
    const [runs, others] = open()
    for (let at = 0; at < 60; at++) {
      const id = `r${at}`
      await create(runs, id)
      const token = await claimed(runs, id)
      const [isStored, status] = await Promise.all([runs.record(id, token, WAITS, turn), others.send(id, 'go', '1', 3)])
      t.ok(isStored)
      t.match(status, /pending|waiting/)
      const again = await claimed(others, id)
      t.match(await others.signal(id, 'go'), { payload: '1' })
      t.ok(await others.record(id, again, COMPLETED, turn))
    }
  })

  await t.test('a cancelled run changes no more, also when it is cancelled during a write', async t => {
    const [runs, others] = open()
    for (let at = 0; at < 30; at++) {
      const id = `r${at}`
      await create(runs, id)
      const token = await claimed(runs, id)
      const [isStored, status] = await Promise.all([runs.record(id, token, COMPLETED, turn), others.cancel(id, 4)])
      t.equal((await runs.find(id))?.status, isStored ? 'completed' : 'cancelled')
      t.equal(status, isStored ? 'completed' : 'cancelled')
      t.notOk(await runs.record(id, token, COMPLETED, turn))
    }
    t.same(await runs.claimReady('p', 'me', { max: 100, leaseMs: 1 }), [], 'no item is left')
    t.equal(await runs.cancel('unknown', 1), null)
  })

  await t.test('of several writes with one token, the turn ends once', async t => {
    const [runs, others] = open()
    await create(runs, 'r')
    const token = await claimed(runs, 'r')
    const ends = [runs, others, runs, others].map(each => each.record('r', token, COMPLETED, turn))
    t.equal((await Promise.all(ends)).filter(Boolean).length, 1)
    t.match(await runs.find('r'), { status: 'completed', result: '7', completedSteps: 0 })
  })

  await t.test('a reset refuses a run that is running, and deletes the child runs of the dropped steps', async t => {
    const [runs] = open()
    await create(runs, 'r')
    const token = await claimed(runs, 'r')
    const step = (name: string, now: number) =>
      runs.record(
        'r',
        token,
        [
          {
            entries: [JSON.stringify({ event: 'ActivityStarted', activity_id: name })],
            completed: { step: name, activity: 'a', event: 'LocalActivity', result: '1' }
          }
        ],
        { owner: 'me', now }
      )
    await step('w-0', 10)
    await create(runs, 'early', 'r', 10)
    await step('w-1', 20)
    await create(runs, 'late', 'r', 21)
    await create(runs, 'later', 'late', 22)
    t.same(await runs.reset('r', 'w-1', 30), { kind: 'running', runId: 'r' })
    await runs.send('r', 'go', '1', 23)
    const signal = await runs.signal('r', 'go')
    await runs.record('r', token, [{ signal: signal?.id ?? 0 }, ...COMPLETED], { owner: 'me', now: 25 })
    t.same(await runs.reset('r', 'w-9', 30), { kind: 'unknown_step' })
    t.same(await runs.reset('nothing', null, 30), { kind: 'unknown_run' })
    t.same(await runs.reset('r', 'w-1', 30), { kind: 'reset', dropped: 1 })
    t.match(await runs.find('r'), { status: 'pending', result: null, completedSteps: 1 })
    t.same(await runs.family('r', 9), ['r', 'early'])
    t.match(await runs.signal('r', 'go'), { payload: '1' }, 'the signal can be consumed again')
    t.same(
      (await runs.history('r')).completed.map(({ step }) => step),
      ['w-0']
    )
    t.match(JSON.parse((await runs.journal('r', null)).entries.at(-1)?.entry ?? ''), {
      event: 'WorkflowReset',
      steps: 1
    })
    await claimed(runs, 'r')
  })

  await t.test('ended runs beyond the retention are deleted with their child runs and rows', async t => {
    const [runs, others] = open()
    for (const [id, now] of [
      ['old', 10],
      ['middle', 20],
      ['new', 30]
    ] as const) {
      await create(runs, id)
      await create(runs, `${id}/child`, id)
      await runs.send(id, 'go', null, 2)
      const entries = [JSON.stringify({ event: 'WorkflowStarted' })]
      await runs.record(id, await claimed(runs, id), [{ entries }, ...COMPLETED], { owner: 'me', now })
    }
    await create(others, 'open')
    const bounds = { program: null, runs: 2, before: 0 }
    t.equal(await runs.prune({ ...bounds, dryRun: true }), 1)
    const counts = await Promise.all([runs, others].map(each => each.prune({ ...bounds, dryRun: false })))
    t.same(counts.sort(), [0, 1], 'each run is deleted and counted once')
    t.equal(await runs.prune({ program: 'another', runs: 0, before: 99, dryRun: false }), 0)
    t.equal(await runs.prune({ program: 'p', runs: 9, before: 25, dryRun: false }), 1)
    const filter = { workflow: null, status: null, program: null, active: false, limit: 99 }
    const left = (await runs.list(filter)).map(({ runId }) => runId).sort()
    t.same(left, ['new', 'new/child', 'open'])
    t.same(await runs.journal('old', null), { total: 0, entries: [] })
    t.equal(await runs.signal('middle', 'go'), null)
  })

  await t.test('texts that PostgreSQL cannot store are replaced, and values come back as they were', async t => {
    const [runs] = open()
    await create(runs, 'r')
    const token = await claimed(runs, 'r')
    const result = JSON.stringify(`"\u0000" \ud800 ${'\u{1f600}'}\\ '$1`)
    const completed = { step: 'w-0', activity: 'a', event: 'LocalActivity', result }
    t.ok(await runs.record('r', token, [{ completed }], turn))
    t.equal((await runs.history('r')).completed[0]?.result, result)
    await runs.interrupted('r', token, { error: 'a\u0000b\ud800', fails: true, now: 5 })
    t.match(await runs.find('r'), { status: 'failed', error: 'a\ufffdb\ufffd' })
    t.equal(await runs.send('r', 'go', null, 6), 'failed')
    t.equal(await runs.signal('r', 'go'), null, 'an ended run gets no signal')
  })

  await t.test('an interrupted run runs again, and a new epoch refuses its former owner', async t => {
    const [runs] = open()
    await create(runs, 'r')
    const token = await claimed(runs, 'r')
    t.match(await runs.find('r'), { status: 'pending' }, 'no turn has begun')
    const attempt = { step: 'w-0', attempt: 1, status: 'started', error: null } as const
    t.ok(await runs.record('r', token, [{ attempt }], turn))
    t.match(await runs.find('r'), { status: 'running' })
    await runs.interrupted('r', token, { error: 'RUN_CRASHED', fails: false, now: 5 })
    t.notOk(await runs.record('r', token, COMPLETED, turn))
    const [again] = await runs.claimReady('p', 'me', { max: 1, leaseMs: 60_000 })
    t.match(again, { runId: 'r', wasInterrupted: true })
    await stores[0].newEpoch()
    t.notOk(await runs.record('r', again?.token ?? token, COMPLETED, turn))
    t.ok(await runs.record('r', await claimed(runs, 'r'), COMPLETED, turn))
  })

  const meshStep = { key: 'r svc.mesh:1', body: '{}' }
  const awaited = [{ meshStep, turn: { status: 'waiting', wakeAt: null, waitingFor: 'svc.mesh:1' } }] as const
  const answer = (runId: string, payload = '"a"') => ({ runId, key: 'svc.mesh:1', payload })
  const lease = { max: 9, leaseMs: 60_000 }

  await t.test('a step for the mesh is stored with its wait, or not at all', async t => {
    const [runs] = open()
    await create(runs, 'r')
    const token = await claimed(runs, 'r')
    t.notOk(await runs.record('r', { ...token, fence: token.fence - 1 }, awaited, turn))
    t.match(await runs.outlook('p', 'mesh'), { isReady: false })
    t.ok(await runs.record('r', token, awaited, turn))
    t.match(await runs.outlook('p', 'mesh'), { isReady: true })
    t.match(await runs.outlook('p'), { isReady: false }, 'the run waits')
    t.equal((await runs.claimMesh('p', 'me', lease)).length, 1)
    t.match(await runs.outlook('p', 'mesh'), { isReady: false, leased: [{ holder: 'me' }] })
  })

  await t.test('the answer of a host that lost the step to another one is refused', async t => {
    const [runs, others] = open()
    await create(runs, 'r')
    await runs.record('r', await claimed(runs, 'r'), awaited, turn)
    const [late] = await runs.claimMesh('p', 'late', { ...lease, leaseMs: 1 })
    let found = await others.claimMesh('p', 'other', lease)
    while (found.length === 0) found = await others.claimMesh('p', 'other', lease)
    const [current] = found
    if (late === undefined || current === undefined) throw new Error('not claimed')
    t.notOk(await runs.answerMesh(late.token, answer('r', '"late"'), 4))
    t.notOk(await runs.isSignalled('r', 'svc.mesh:1'))
    const ends = await Promise.all([runs, others].map(each => each.answerMesh(current.token, answer('r'), 4)))
    t.equal(ends.filter(Boolean).length, 1)
    const token = await claimed(runs, 'r')
    const signal = await runs.signal('r', 'svc.mesh:1')
    t.match(signal, { payload: '"a"' })
    t.ok(await runs.record('r', token, [{ signal: signal?.id ?? 0 }], turn))
    t.equal(await runs.signal('r', 'svc.mesh:1'), null, 'it is delivered once')
    t.ok(await runs.isSignalled('r', 'svc.mesh:1'))
  })

  await t.test('answers, cancellations and renewals at the same time do not block each other', async t => {
    const [runs, others] = open()
    for (let at = 0; at < 30; at++) {
      const id = `r${at}`
      await create(runs, id)
      const step = { ...awaited[0], meshStep: { key: id, body: id } }
      await runs.record(id, await claimed(runs, id), [step], turn)
      const [held] = await runs.claimMesh('p', 'me', lease)
      if (held === undefined) throw new Error('not claimed')
      const [isAnswered, status] = await Promise.all([
        runs.answerMesh(held.token, answer(id), 4),
        others.cancel(id, 4),
        others.extend([held.token], 60_000)
      ])
      t.ok(isAnswered)
      t.equal(status, 'cancelled')
    }
    t.match(await runs.outlook('p', 'mesh'), { isReady: false, leased: [] })
  })

  await t.test('a start with a key creates one run for ever', async t => {
    const [runs, others] = open()
    const start = (each: SharedWorkflowRuns, startKey: string) => each.create({ ...newRun('r'), startKey }, 1)
    const starts = await Promise.all([start(runs, 'k'), start(others, 'k'), start(runs, 'k')])
    t.equal(starts.filter(Boolean).length, 1)
    await runs.record('r', await claimed(runs, 'r'), COMPLETED, turn)
    t.equal(await runs.prune({ program: 'p', runs: 0, before: 0, dryRun: false }), 1)
    t.notOk(await start(others, 'k'))
    t.equal(await runs.find('r'), null)
    t.ok(await start(others, 'another'))
    const [elsewhere] = open()
    t.ok(await start(elsewhere, 'k'), 'keys of repositories differ')
  })
})
