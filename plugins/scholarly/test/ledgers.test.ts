import t from 'tap'
import { openWorld } from './kit.ts'

t.test('an approved publication is submitted to the local ledger once', async t => {
  const world = await openWorld(t)
  const manifest = await world.prepare()
  const plan = await world.submit({ submit: false })
  t.match(plan, { dry_run: true, ready: true, adapter: 'local_ledger', job: null })
  t.same(await world.jobs(), [])
  const first = await world.submit()
  const id = `local-${manifest.content_sha3_256.slice(0, 12)}-v1`
  t.match(first, { ok: true, job: { status: 'succeeded', external_submission_id: id, attempt_count: 1 } })
  const second = await world.submit()
  t.equal(second.job?.id, first.job?.id)
  t.equal((await world.jobs()).length, 1)
  t.equal((await world.publications.get('paper-1')).state, 'submitted')
  const status = (await world.kernel.callById('scholarly.status', { publication_id: 'paper-1' })) as never
  t.match(status, { ok: true, submissions: [{ status: 'local_synthetic', outcome: 'pending' }] })
})

t.test('the echo ledger has an alias, and another id', async t => {
  const world = await openWorld(t)
  const manifest = await world.prepare()
  const answer = await world.submit({ adapter: 'echo' })
  t.match(answer, {
    adapter: 'echo_ledger',
    job: { external_submission_id: `echo-${manifest.content_sha3_256.slice(0, 16)}` }
  })
  t.equal((await world.publications.get('paper-1')).state, 'recorded')
  t.match(await world.kernel.callById('scholarly.status', { publication_id: 'paper-1' }), {
    submissions: [{ status: 'echo_synthetic' }]
  })
})
