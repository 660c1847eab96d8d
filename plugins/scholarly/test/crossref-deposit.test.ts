import { isRemoteFailure } from '@svc/contracts'
import t, { type Test } from 'tap'
import { crossrefDeposit, nextTimestamp, parseDiagnostic } from '#crossref'
import type { Settings } from '#root'
import { CrossrefServer, LOGIN, PASSWORD } from './crossref-server.ts'
import { Attempts, Crash, failureOf, partsWith, publication } from './deposit-kit.ts'

const DOI = '10.5555/paper-1'

interface World {
  readonly server: CrossrefServer
  readonly folder: string
  readonly clock: { now: number }
  /** Returns a new adapter, as after a start of the process. */
  adapter(settings?: Partial<Settings>): ReturnType<typeof crossrefDeposit>
}

async function open(t: Test): Promise<World> {
  const server = new CrossrefServer()
  const base = await server.start()
  t.teardown(() => server.close())
  const folder = t.testdir()
  const clock = { now: Date.UTC(2026, 3, 2, 8, 30) }
  const adapter = (settings: Partial<Settings> = {}) =>
    crossrefDeposit(
      partsWith(
        {
          enable_crossref: true,
          crossref_login: LOGIN,
          crossref_password: PASSWORD,
          crossref_doi_prefix: '10.5555',
          crossref_depositor_name: 'Example Press',
          crossref_depositor_email: 'doi@example.org',
          crossref_resource_base: 'https://example.org/p',
          crossref_api_base: base,
          crossref_http_max_attempts: 3,
          crossref_settle_seconds: 60,
          crossref_sandbox: false,
          ...settings
        },
        folder
      ),
      { now: () => clock.now }
    )
  return { server, folder, clock, adapter }
}

/** Submits until there is a receipt, as the queue does; the clock moves on by the delay of each failure. */
async function finish({ adapter, clock }: World, attempts: Attempts) {
  for (let attempt = 0; attempt < 6; attempt++) {
    try {
      return await adapter().submit(publication(), attempts.context())
    } catch (error) {
      if (!(error instanceof Crash) && !(isRemoteFailure(error) && error.retryable)) throw error
      clock.now += isRemoteFailure(error) ? (error.retryAfterMs ?? 30_000) : 5_000
    }
  }
  throw new Error('the submission does not end')
}

t.test('a deposit is sent once, and its log leads from queued to published', async t => {
  const world = await open(t)
  const { server, adapter } = world
  server.lag = { unknown: 1, queued: 1 }
  const attempts = new Attempts()
  const manifest = publication()
  const receipt = await adapter().submit(manifest, attempts.context())
  t.match(receipt, { adapter: 'crossref_deposit', status: 'submitted', external_submission_id: /^svc-[0-9a-f]{40}$/ })
  t.match(JSON.parse(receipt.metadata_json ?? ''), { doi: DOI, url: `https://doi.org/${DOI}` })
  t.same(
    await adapter()
      .submit(manifest, attempts.context())
      .then(({ external_submission_id: id }) => id),
    receipt.external_submission_id
  )
  t.equal(server.submissions.length, 1, 'a repeated attempt sends nothing')
  t.match(server.submissions[0], { timestamp: 20260402083000000n, fileName: `${receipt.external_submission_id}.xml` })
  const status = () => adapter().fetchStatus(receipt.external_submission_id, attempts.context())
  server.submissions[0]!.lookUps = 0
  t.equal((await status()).status, 'unknown_submission')
  t.equal((await status()).status, 'queued')
  const last = await status()
  t.equal(last.status, 'published')
  t.match(JSON.parse(last.detail_json ?? ''), { batch_status: 'completed', records: [{ status: 'success', doi: DOI }] })
  const written = JSON.stringify([attempts.checkpoint, attempts.exchanges, receipt, last])
  t.notMatch(written, PASSWORD)
  t.notMatch(written, LOGIN)
})

t.test('a process that ends at any step registers a DOI once', async t => {
  const probe = await open(t)
  const complete = new Attempts()
  await probe.adapter().submit(publication(), complete.context())
  t.equal(complete.steps, 4, 'two checkpoints, the request, and the checkpoint of its answer')
  for (let step = 1; step <= complete.steps; step++) {
    for (const when of ['before', 'after'] as const) {
      for (const lag of [0, 1]) {
        const world = await open(t)
        world.server.lag = { unknown: lag, queued: 0 }
        const attempts = new Attempts()
        attempts.crashAt = { step, when }
        await t.rejects(world.adapter().submit(publication(), attempts.context()), { message: when })
        attempts.crashAt = null
        await finish(world, attempts)
        world.server.settle()
        t.equal(world.server.registered.get(DOI)?.length, 1, `step ${step}, ${when}, ${lag} look-ups late`)
        t.equal(world.server.submissions.length, 1, 'and the document arrived once')
      }
    }
  }
})

t.test('an answer that is lost is looked up, and never followed by another document at once', async t => {
  for (const cut of ['before', 'after'] as const) {
    const world = await open(t)
    const { server, adapter, clock } = world
    server.lag = { unknown: 1, queued: 0 }
    server.faults.push({ on: 'POST /servlet/deposit', cut })
    const attempts = new Attempts()
    await t.rejects(adapter().submit(publication(), attempts.context()), {
      failureClass: 'transient',
      code: 'network'
    })
    await t.rejects(adapter().submit(publication(), attempts.context()), {
      failureClass: 'transient',
      code: 'outcome_pending',
      retryAfterMs: 60_000
    })
    clock.now -= 3_600_000
    if (cut === 'before')
      await t.rejects(adapter().submit(publication(), attempts.context()), { code: 'outcome_pending' })
    clock.now += 3_700_000
    await finish(world, attempts)
    t.equal(server.submissions.length, 1)
  }
})

t.test('content that may have arrived is not sent with another DOI', async t => {
  const world = await open(t)
  const { server, adapter, clock } = world
  server.faults.push({ on: 'POST /servlet/deposit', cut: 'after' })
  const attempts = new Attempts()
  await t.rejects(adapter().submit(publication(), attempts.context()))
  clock.now += 60_000
  const other = { crossref_doi_prefix: '10.7777' }
  const changed = { failureClass: 'config', code: 'doi_changed', message: /10\.5555\/paper-1/ }
  await t.rejects(adapter(other).submit(publication(), attempts.context()), changed)
  await finish(world, attempts)
  await t.rejects(adapter(other).submit(publication(), attempts.context()), changed)
  t.equal(server.submissions.length, 1)
})

t.test('a document that is sent twice counts once, since its timestamp is the same', async t => {
  const world = await open(t)
  const { server, clock, adapter } = world
  server.lag = { unknown: 10, queued: 0 }
  server.faults.push({ on: 'POST /servlet/deposit', cut: 'after' })
  const attempts = new Attempts()
  await t.rejects(adapter().submit(publication(), attempts.context()))
  clock.now += 60_000
  await adapter().submit(publication(), attempts.context())
  t.equal(server.submissions.length, 2, 'the queue of Crossref hid the first')
  t.equal(new Set(server.submissions.map(({ xml }) => xml)).size, 1)
  server.settle()
  t.equal(server.registered.get(DOI)?.length, 1)
})

t.test('each failure has its class, and what was refused is sent again', async t => {
  const cases = [
    [{ status: 401 }, { failureClass: 'auth' }],
    [{ status: 403 }, { failureClass: 'auth' }],
    [{ status: 404 }, { failureClass: 'fatal' }],
    [{ status: 409 }, { failureClass: 'fatal' }],
    [{ status: 422 }, { failureClass: 'fatal' }],
    [
      { status: 429, headers: { 'retry-after': '30' } },
      { failureClass: 'rate_limit', retryAfterMs: 30_000 }
    ],
    [
      { status: 429, headers: { 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() } },
      { failureClass: 'rate_limit', retryAfterMs: Number }
    ],
    [{ status: 503 }, { failureClass: 'transient', outcomeUnknown: true }],
    [
      { status: 200, body: '<h2>FAILURE</h2><p>Incorrect password</p>', headers: { 'content-type': 'text/html' } },
      { failureClass: 'auth', code: 'login_refused' }
    ],
    [
      { status: 200, body: '<h2>FAILURE</h2><p>No content</p>', headers: { 'content-type': 'text/html' } },
      { failureClass: 'fatal', code: 'deposit_refused' }
    ],
    [
      { status: 200, body: '<p>Maintenance</p>', headers: { 'content-type': 'text/html' } },
      { failureClass: 'transient', code: 'answer_invalid', outcomeUnknown: true }
    ]
  ] as const
  for (const [fault, failure] of cases) {
    const world = await open(t)
    world.server.faults.push({ on: 'POST /servlet/deposit', ...fault })
    const attempts = new Attempts()
    const error = await failureOf(world.adapter().submit(publication(), attempts.context()))
    t.match(error, failure, JSON.stringify(fault))
    t.notMatch(String(error), PASSWORD)
    world.clock.now += 60_000
    await finish(world, attempts)
    t.equal(world.server.submissions.length, 1)
  }
})

t.test('a rate limit of a second and an unreachable server are repeated within the attempt', async t => {
  const { server, adapter } = await open(t)
  server.faults.push({ on: 'POST /servlet/deposit', status: 429 })
  await adapter().submit(publication(), new Attempts().context())
  t.equal(server.count('POST /servlet/deposit'), 2)
  t.equal(server.submissions.length, 1)
})

t.test('a rejected deposit fails, and a replay sends it under another name with a later timestamp', async t => {
  const world = await open(t)
  const { server, adapter, clock } = world
  server.reject = 'User not allowed to add records for prefix: 10.5555'
  const attempts = new Attempts()
  const first = await adapter().submit(publication(), attempts.context())
  const status = await adapter().fetchStatus(first.external_submission_id, attempts.context())
  t.equal(status.status, 'failed')
  t.match(status.detail_json, /not allowed to add records/)
  clock.now -= 1_000
  const second = await adapter().submit(publication(), attempts.context())
  t.equal(second.external_submission_id, `${first.external_submission_id}-2`)
  t.equal((await adapter().fetchStatus(second.external_submission_id, attempts.context())).status, 'published')
  t.equal(server.registered.get(DOI)?.length, 1)
  t.same(
    server.submissions.map(({ timestamp }) => timestamp),
    [20260402083000000n, 20260402083000010n]
  )
})

t.test('a log that is no log, too large, or contains entities is a transient failure', async t => {
  const { server, adapter } = await open(t)
  const entities = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><doi_batch_diagnostic status="&x;"/>'
  for (const body of [
    '',
    'not xml',
    '<html/>',
    entities,
    `<doi_batch_diagnostic>${' '.repeat(1_100_000)}</doi_batch_diagnostic>`
  ]) {
    server.faults.push({
      on: 'GET /servlet/submissionDownload',
      status: 200,
      body,
      headers: { 'content-type': 'text/xml' }
    })
    await t.rejects(adapter().fetchStatus('svc-1', new Attempts().context()), {
      code: 'answer_invalid',
      failureClass: 'transient'
    })
  }
  t.equal((await adapter().fetchStatus('svc-none', new Attempts().context())).status, 'unknown_submission')
})

t.test('the adapter is disabled until it is enabled, and names what it lacks', async t => {
  const { adapter, server } = await open(t)
  t.match(await adapter({ enable_crossref: false }).problem(), {
    failureClass: 'disabled',
    hint: /SVC_SCHOLARLY_ENABLE_CROSSREF/
  })
  const lacking = { crossref_doi_prefix: undefined, crossref_password: undefined } as unknown as Partial<Settings>
  t.match(await adapter(lacking).problem(), {
    failureClass: 'config',
    message: /SVC_CROSSREF_DOI_PREFIX, SVC_CROSSREF_PASSWORD/
  })
  t.equal(await adapter().problem(), null)
  const plan = await adapter().plan(publication(), new AbortController().signal)
  t.match(plan, { steps: [/10\.5555\/paper-1/, /servlet\/deposit/], files: [{ name: /\.xml$/, bytes: Number }] })
  t.equal(server.seen.length, 0, 'a plan sends nothing')
})

t.test('timestamps of a DOI increase, also after a step back of the clock and with a damaged file', async t => {
  const folder = t.testdir({ 'crossref-timestamps.json': '{"10.5555/a": 5, broken' })
  const now = Date.UTC(2026, 0, 1)
  t.equal(await nextTimestamp(folder, '10.5555/a', now), '20260101000000000')
  t.equal(await nextTimestamp(folder, '10.5555/a', now - 1_000), '20260101000000010')
  t.equal(await nextTimestamp(folder, '10.5555/b', now - 1_000), '20251231235959000')
})

t.test('timestamps of a DOI increase as the doubles of the schema, in which milliseconds are not exact', async t => {
  const folder = t.testdir()
  const start = Date.UTC(2026, 10, 27, 12, 42, 0, 779)
  let last = 0
  for (const ms of [0, 0, 1, 2, 3, -60_000, 20]) {
    const next = Number(await nextTimestamp(folder, '10.5555/a', start + ms))
    t.ok(next > last, `${ms} ms`)
    last = next
  }
})

t.test('a log with line breaks of Windows is read in linear time', t => {
  const lines = '\r\n'.repeat(100_000)
  const text = `<doi_batch_diagnostic status="queued">${lines}</doi_batch_diagnostic>`
  t.match(parseDiagnostic(text), { batch: 'queued' })
  t.end()
})
