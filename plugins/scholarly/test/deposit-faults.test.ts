import type { FailureClass } from '@svc/contracts'
import t from 'tap'
import type { Fault } from './archive-server.ts'
import { Attempts, failureOf } from './deposit-kit.ts'
import { ARCHIVES, type DepositWorld } from './deposit-worlds.ts'

type Step = keyof DepositWorld['requests']
type FaultOf = (on: string) => Fault

const REFUSALS: readonly (readonly [string, FailureClass, FaultOf])[] = [
  ['401', 'auth', on => ({ on, status: 401 })],
  ['403', 'auth', on => ({ on, status: 403 })],
  ['404', 'fatal', on => ({ on, status: 404 })],
  ['409', 'fatal', on => ({ on, status: 409 })],
  ['422', 'fatal', on => ({ on, status: 422 })],
  ['a redirect', 'config', on => ({ on, status: 302, headers: { location: 'http://127.0.0.1:9/' } })],
  ['429', 'rate_limit', on => ({ on, status: 429, headers: { 'retry-after': '120' } })],
  ['500', 'transient', on => ({ on, status: 500 })],
  ['503', 'transient', on => ({ on, status: 503, headers: { 'retry-after': '120' } })],
  ['a cut before the effect', 'transient', on => ({ on, cut: 'before' })]
]
const STEPS: readonly Step[] = ['find', 'create', 'read', 'upload', 'publish']
/** A 409 of OSF's file service means that the file exists, which the adapter checks. */
const ANSWERED = new Set(['osf upload 409'])

for (const { name, open } of ARCHIVES) {
  for (const step of STEPS) {
    t.test(`${name}: each refusal of ${step} has its class, and the next attempt completes the only entry`, async t => {
      for (const [title, failureClass, faultOf] of REFUSALS) {
        if (ANSWERED.has(`${name} ${step} ${title}`)) continue
        const world = await open(t, { publish_now: true })
        const attempts = new Attempts({ attempts: 1 })
        world.server.fail(faultOf(world.requests[step]))
        const failure = await failureOf(world.adapter.submit(world.manifest, attempts.context()))
        t.equal(failure.failureClass, failureClass, `${step}: ${title}`)
        t.equal(failure.retryAfterMs, title === '429' || title === '503' ? 120_000 : undefined)
        await world.adapter.submit(world.manifest, attempts.context())
        t.same([world.entries(), world.published(), world.files().length], [1, 1, 1], `${step}: ${title}`)
      }
    })

    t.test(`${name}: ${step} may end before its answer`, async t => {
      const world = await open(t, { publish_now: true })
      const attempts = new Attempts({ attempts: 1 })
      world.server.fail({ on: world.requests[step], cut: 'after' })
      await world.adapter.submit(world.manifest, attempts.context()).catch(() => null)
      await world.adapter.submit(world.manifest, attempts.context())
      t.same([world.entries(), world.published(), world.files().length], [1, 1, 1])
      t.equal(world.server.count(world.requests.upload), 1, 'a complete file is not sent again')
    })
  }

  t.test(`${name}: a date in Retry-After is a time to wait`, async t => {
    const world = await open(t)
    const date = new Date(Date.now() + 3_600_000).toUTCString()
    world.server.fail({ on: world.requests.create, status: 429, headers: { 'retry-after': date } })
    const failure = await failureOf(world.adapter.submit(world.manifest, new Attempts().context()))
    t.ok((failure.retryAfterMs ?? 0) > 3_000_000, `${failure.retryAfterMs} ms`)
    t.ok((failure.retryAfterMs ?? 0) <= 3_600_000, `${failure.retryAfterMs} ms`)
  })

  t.test(`${name}: a server that sends nothing is a transient failure`, async t => {
    const world = await open(t)
    world.server.fail({ on: world.requests.find, delayMs: 1_000 })
    const attempts = new Attempts({ attempts: 1, silenceMs: 100 })
    const failure = await failureOf(world.adapter.submit(world.manifest, attempts.context()))
    t.match(failure, { failureClass: 'transient', code: 'timeout' })
  })

  t.test(
    `${name}: requests that failed for a moment are repeated, but never a creation that may have worked`,
    async t => {
      const world = await open(t, { publish_now: true })
      const attempts = new Attempts({ attempts: 3 })
      world.server.fail(
        { on: world.requests.find, status: 503 },
        { on: world.requests.read, cut: 'after' },
        { on: world.requests.upload, status: 500, times: 2 }
      )
      await world.adapter.submit(world.manifest, attempts.context())
      t.equal(world.server.count(world.requests.upload), 3)
      const other = await open(t)
      other.server.fail({ on: other.requests.create, status: 502 })
      const failure = await failureOf(other.adapter.submit(other.manifest, new Attempts({ attempts: 3 }).context()))
      t.match(failure, { failureClass: 'transient', outcomeUnknown: true })
      t.equal(other.server.count(other.requests.create), 1)
    }
  )

  t.test(`${name}: after a creation without an answer the lists are read until the entry is in them`, async t => {
    const world = await open(t, { zenodo_settle_seconds: 600, osf_settle_seconds: 600 }, { lagMs: 400 })
    const attempts = new Attempts({ attempts: 1 })
    world.server.fail({ on: world.requests.create, cut: 'after' })
    t.match(await failureOf(world.adapter.submit(world.manifest, attempts.context())), { failureClass: 'transient' })
    for (;;) {
      const failure = await world.adapter.submit(world.manifest, attempts.context()).then(
        () => null,
        error => error
      )
      if (failure === null) break
      t.match(failure, { failureClass: 'transient', code: 'entry_unsettled', outcomeUnknown: true })
      t.ok(failure.retryAfterMs > 0)
    }
    t.equal(world.entries(), 1)
    t.equal(world.server.count(world.requests.create), 1)
  })

  t.test(`${name}: an entry of a lost database is found and not created again`, async t => {
    const world = await open(t)
    const first = await world.adapter.submit(world.manifest, new Attempts().context())
    const second = await world.adapter.submit(world.manifest, new Attempts().context())
    t.equal(second.external_submission_id, first.external_submission_id)
    t.equal(world.entries(), 1)
  })

  t.test(`${name}: a lost lease stops the submission before the next request`, async t => {
    const world = await open(t)
    const context = new Attempts().context()
    const lost = new Error('lease lost')
    await t.rejects(
      world.adapter.submit(world.manifest, { ...context, saveCheckpoint: () => Promise.reject(lost) }),
      lost
    )
    t.equal(world.entries(), 0)
  })

  t.test(`${name}: an abort ends a submission, and the next attempt continues it`, async t => {
    const world = await open(t, { publish_now: true })
    const attempts = new Attempts()
    const abort = new AbortController()
    world.server.fail({ on: world.requests.read, delayMs: 5_000 })
    const submitting = world.adapter.submit(world.manifest, attempts.context(abort.signal))
    while (world.entries() === 0 || world.server.count(world.requests.read) === 0) await new Promise(setImmediate)
    abort.abort(new Error('stopped'))
    await t.rejects(submitting, { message: 'stopped' })
    await world.adapter.submit(world.manifest, attempts.context())
    t.same([world.entries(), world.published()], [1, 1])
  })

  t.test(`${name}: without a token nothing is sent`, async t => {
    const world = await open(t, { zenodo_access_token: '', osf_access_token: '' })
    t.match(await world.adapter.problem(), { failureClass: 'config' })
    const failure = await failureOf(world.adapter.submit(world.manifest, new Attempts().context()))
    t.match(failure, { failureClass: 'config', code: 'token_missing' })
    t.same(world.server.seen, [])
  })

  t.test(`${name}: status checks have the class of each refusal`, async t => {
    const world = await open(t)
    const attempts = new Attempts({ attempts: 1 })
    const { external_submission_id: id } = await world.adapter.submit(world.manifest, attempts.context())
    for (const [title, failureClass, faultOf] of REFUSALS) {
      if (title === '404') continue
      world.server.fail(faultOf(world.requests.read))
      t.equal((await failureOf(world.adapter.fetchStatus(id, attempts.context()))).failureClass, failureClass, title)
    }
    world.server.fail({ on: world.requests.read, status: 404 }, { on: world.requests.read, status: 410 })
    const missing = await world.adapter.fetchStatus(id, attempts.context())
    t.equal(missing.status, 'not_found')
    t.match(JSON.parse(missing.detail_json ?? ''), { host: /^127\.0\.0\.1:/ })
    t.equal((await world.adapter.fetchStatus(id, attempts.context())).status, 'withdrawn')
  })
}
