import fc from 'fast-check'
import t from 'tap'
import { meaningOf } from '#root'
import { openWorld } from './kit.ts'
import { failing, ScriptedArchive } from './scripted-archive.ts'

const ADAPTER = { adapter: 'test_archive' }

t.test('statuses are mapped by words, whatever their case and separators', async t => {
  for (const word of ['published', 'Accepted', ' DONE ']) t.equal(meaningOf(word), 'accepted')
  for (const word of ['rejected', 'failed', 'Withdrawn']) t.equal(meaningOf(word), 'rejected')
  for (const word of ['submitted', 'In Progress', 'under-review']) t.equal(meaningOf(word), 'pending')
  t.equal(meaningOf('held'), 'unknown')
  t.equal(meaningOf('held', ['held']), 'pending')
  const known = ['accepted', 'rejected', 'pending', 'unknown']
  fc.assert(fc.property(fc.string({ unit: 'binary' }), word => known.includes(meaningOf(word))))
})

t.test('a status check moves the job and the publication', async t => {
  const archive = new ScriptedArchive()
  const world = await openWorld(t, { adapters: [archive] })
  await world.prepare()
  const job_id = (await world.submit(ADAPTER)).job?.id
  const check = async (remote: string) => {
    archive.remote = remote
    return world.kernel.callById('scholarly.status', { publication_id: 'paper-1' })
  }
  const state = async () => [(await world.publications.get('paper-1')).state, (await world.jobs())[0]?.status]

  t.match(await check('held'), { submissions: [{ status: 'held', outcome: 'pending' }] })
  t.same(await state(), ['submitted', 'succeeded'])

  t.match(await check('teapot'), { submissions: [{ status: 'teapot', outcome: 'unknown', quarantined: true }] })
  t.same(await state(), ['submitted', 'succeeded'])
  t.match(await world.kernel.callById('scholarly.inbox', {}), {
    items: [{ kind: 'question', answers: [{ operation: 'scholarly.status' }] }]
  })
  t.match(await world.kernel.callById('scholarly.submissions', { quarantined: true }), {
    submissions: [{ status: 'teapot' }]
  })

  t.match(await check('rejected'), { submissions: [{ outcome: 'rejected', quarantined: false }] })
  t.same(await state(), ['rejected', 'failed'])
  await t.rejects(world.kernel.callById('scholarly.replay', { job_id }), { code: 'SCH_REPLAY_REFUSED' })

  t.match(await check('published'), { submissions: [{ outcome: 'accepted' }] })
  t.same(await state(), ['published', 'succeeded'])
  t.same(
    (await world.execute('SELECT status, meaning FROM external_status_snapshots ORDER BY id')).map(row =>
      row.join(' ')
    ),
    ['submitted pending', 'held pending', 'teapot unknown', 'rejected rejected', 'published accepted']
  )
  t.equal(archive.submissions, 1)
})

t.test('a failed status check changes nothing', async t => {
  const archive = new ScriptedArchive()
  const world = await openWorld(t, { adapters: [archive] })
  await world.prepare()
  await world.submit(ADAPTER)
  const failures: [Parameters<typeof failing>[0], string][] = [
    ['auth', 'SCH_AUTH_FAILED'],
    ['rate_limit', 'SCH_RATE_LIMITED'],
    ['transient', 'SCH_UNREACHABLE'],
    ['fatal', 'SCH_REFUSED'],
    ['config', 'SCH_CONFIG_INVALID']
  ]
  for (const [failureClass, code] of failures) {
    try {
      failing(failureClass)()
    } catch (error) {
      archive.remote = error as Error
    }
    await t.rejects(world.kernel.callById('scholarly.status', { publication_id: 'paper-1' }), {
      code,
      data: { error_class: failureClass }
    })
  }
  archive.remote = ' '
  await t.rejects(world.kernel.callById('scholarly.status', { publication_id: 'paper-1' }), { code: 'SCH_REFUSED' })
  t.match(await world.kernel.callById('scholarly.submissions', {}), {
    submissions: [{ status: 'submitted', checked_at_ms: null }]
  })
  await t.rejects(world.kernel.callById('scholarly.status', { submission: 'none' }), { code: 'SCH_SUBMISSION_UNKNOWN' })
})

t.test('one archive that fails does not hide the status of another', async t => {
  const good = new ScriptedArchive([() => 'held'], { name: 'good_archive' })
  const bad = new ScriptedArchive([() => 'held'], { name: 'bad_archive' })
  const world = await openWorld(t, { adapters: [good, bad] })
  await world.prepare()
  for (const adapter of ['good_archive', 'bad_archive']) await world.submit({ adapter })
  try {
    failing('transient')()
  } catch (error) {
    bad.remote = error as Error
  }
  good.remote = 'accepted'
  t.match(await world.kernel.callById('scholarly.status', { publication_id: 'paper-1' }), {
    ok: false,
    submissions: [
      { adapter: 'bad_archive', error_class: 'transient', outcome: 'pending' },
      { adapter: 'good_archive', error_class: null, outcome: 'accepted' }
    ]
  })
})

t.test('a serving process checks undecided submissions by itself, also after a check that failed', async t => {
  const archive = new ScriptedArchive()
  try {
    failing('transient')()
  } catch (error) {
    archive.remote = error as Error
  }
  const world = await openWorld(t, { settings: { status_interval_seconds: 1 }, adapters: [archive] })
  await world.prepare()
  await world.submit(ADAPTER)
  await world.submit({ adapter: 'local_ledger' })
  const submissions = async () =>
    ((await world.kernel.callById('scholarly.submissions', {})) as { submissions: Record<string, unknown>[] })
      .submissions
  const waitFor = async (isReached: (rows: Record<string, unknown>[]) => boolean): Promise<void> => {
    while (!isReached(await submissions())) await new Promise(resolve => setTimeout(resolve, 20))
  }
  await waitFor(rows => rows.some(({ adapter, checked_at_ms }) => adapter === 'test_archive' && checked_at_ms !== null))
  archive.remote = 'published'
  await waitFor(rows => rows.some(({ outcome }) => outcome === 'accepted'))
  t.match(
    (await submissions()).find(({ adapter }) => adapter === 'local_ledger'),
    { checked_at_ms: null }
  )
})
