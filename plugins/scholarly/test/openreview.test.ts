import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isRemoteFailure } from '@svc/contracts'
import t, { type Test } from 'tap'
import { noteContent, noteStatus, openReview } from '#openreview'
import { type Settings, workOf } from '#root'
import { Attempts, Crash, failureOf, partsWith, publication } from './deposit-kit.ts'
import { EMAIL, INVITATION, OpenReviewServer, PASSWORD, SIGNATURE, TOKEN } from './openreview-server.ts'

interface World {
  readonly server: OpenReviewServer
  readonly clock: { now: number }
  /** Returns a new adapter, as after a start of the process. */
  adapter(settings?: Partial<Settings>): ReturnType<typeof openReview>
}

const WITH_LOGIN: Partial<Settings> = {
  openreview_access_token: undefined,
  openreview_email: EMAIL,
  openreview_password: PASSWORD
} as unknown as Partial<Settings>

async function open(t: Test): Promise<World> {
  const server = new OpenReviewServer()
  const base = await server.start()
  t.teardown(() => server.close())
  const clock = { now: Date.UTC(2026, 3, 2) }
  server.now = () => clock.now
  const adapter = (settings: Partial<Settings> = {}) =>
    openReview(
      partsWith({
        openreview_access_token: TOKEN,
        openreview_invitation: INVITATION,
        openreview_signature: SIGNATURE,
        openreview_api_base: base,
        openreview_http_max_attempts: 3,
        openreview_settle_seconds: 60,
        ...settings
      }),
      { now: () => clock.now }
    )
  return { server, clock, adapter }
}

/** Submits until there is a receipt, as the queue does; the clock moves on by the delay of each failure. */
async function finish({ adapter, clock }: World, attempts: Attempts, settings: Partial<Settings> = {}) {
  for (let attempt = 0; attempt < 6; attempt++) {
    try {
      return await adapter(settings).submit(publication(), attempts.context())
    } catch (error) {
      if (!(error instanceof Crash) && !(isRemoteFailure(error) && error.retryable)) throw error
      clock.now += isRemoteFailure(error) ? (error.retryAfterMs ?? 30_000) : 5_000
    }
  }
  throw new Error('the submission does not end')
}

t.test('a note is created once, with the committed request body, and its venue gives its status', async t => {
  const { server, adapter } = await open(t)
  const attempts = new Attempts()
  const receipt = await adapter().submit(publication(), attempts.context())
  t.match(receipt, { adapter: 'openreview', external_submission_id: 'n1Xy', status: 'submitted' })
  const edit = server.seen.find(({ url }) => url === '/notes/edits')
  const file = join(import.meta.dirname, 'fixtures/openreview/note-edit.json')
  const body = `${JSON.stringify(edit?.body, null, 2)}\n`
  if (process.env.SVC_TEST_UPDATE === '1') await writeFile(file, body)
  t.equal(body, await readFile(file, 'utf8'))
  await adapter().submit(publication(), attempts.context())
  t.equal(server.notes.length, 1, 'a repeated attempt creates none')
  const status = async () => (await adapter().fetchStatus('n1Xy', attempts.context())).status
  t.equal(await status(), 'submitted')
  for (const [venue, expected] of [
    ['Example.org/2027/Conference/Under_Review', 'under_review'],
    ['Example.org/2027/Conference/Desk_Rejected_Submission', 'rejected'],
    ['Example.org/2027/Conference/Withdrawn_Submission', 'withdrawn'],
    ['Example.org/2027/Conference', 'accepted'],
    ['Example.org/2027/Conference/Odd_Place', 'odd_place']
  ] as const) {
    server.notes[0]!.content.venueid = { value: venue }
    t.equal(await status(), expected, venue)
  }
  t.equal(noteStatus({ id: 'n', ddate: 1 }), 'withdrawn')
  t.equal((await adapter().fetchStatus('none', attempts.context())).status, 'not_found')
  t.notMatch(JSON.stringify([attempts.checkpoint, attempts.exchanges, receipt]), /never-printed/)
})

t.test('a process that ends at any step creates one note, with and without a marker field', async t => {
  const probe = await open(t)
  const complete = new Attempts()
  await probe.adapter(WITH_LOGIN).submit(publication(), complete.context())
  t.equal(complete.steps, 4, 'search, intent, note, id')
  for (const marker of [undefined, 'submission_digest']) {
    const settings = { ...WITH_LOGIN, openreview_marker_field: marker } as Partial<Settings>
    for (let step = 1; step <= complete.steps; step++) {
      for (const when of ['before', 'after'] as const) {
        const world = await open(t)
        const attempts = new Attempts()
        attempts.crashAt = { step, when }
        await t.rejects(world.adapter(settings).submit(publication(), attempts.context()), { message: when })
        attempts.crashAt = null
        const receipt = await finish(world, attempts, settings)
        t.same(
          world.server.notes.map(({ id }) => id),
          [receipt.external_submission_id],
          `step ${step}, ${when}, marker ${marker}`
        )
      }
    }
  }
})

t.test('a lost answer is followed by a search, and by another note only after the settle time', async t => {
  for (const cut of ['before', 'after'] as const) {
    const world = await open(t)
    const { server, adapter } = world
    server.faults.push({ on: 'POST /notes/edits', cut })
    const attempts = new Attempts()
    t.match(await failureOf(adapter().submit(publication(), attempts.context())), {
      failureClass: 'transient',
      outcomeUnknown: true
    })
    if (cut === 'before')
      await t.rejects(adapter().submit(publication(), attempts.context()), {
        code: 'entry_unsettled',
        retryAfterMs: 60_000
      })
    await finish(world, attempts)
    t.equal(server.notes.length, 1, cut)
  }
})

t.test('each failure has its class, and the note is created later', async t => {
  const cases = [
    [{ status: 401 }, { failureClass: 'auth' }],
    [{ status: 403, body: { name: 'ChallengeRequiredError' } }, { failureClass: 'auth' }],
    [{ status: 404 }, { failureClass: 'fatal' }],
    [{ status: 409 }, { failureClass: 'fatal' }],
    [{ status: 422 }, { failureClass: 'fatal' }],
    [
      { status: 429, headers: { 'retry-after': '1800' } },
      { failureClass: 'rate_limit', retryAfterMs: 1_800_000 }
    ],
    [
      { status: 429, headers: { 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() } },
      { failureClass: 'rate_limit', retryAfterMs: Number }
    ],
    [{ status: 502 }, { failureClass: 'transient', outcomeUnknown: true }],
    [
      { status: 200, body: { id: 'e', note: {} } },
      { failureClass: 'transient', code: 'answer_invalid' }
    ],
    [
      { delayMs: 400, cut: 'after' },
      { failureClass: 'transient', outcomeUnknown: true }
    ]
  ] as const
  for (const [fault, failure] of cases) {
    const world = await open(t)
    world.server.faults.push({ on: 'POST /notes/edits', ...fault })
    const attempts = new Attempts()
    t.match(await failureOf(world.adapter().submit(publication(), attempts.context())), failure, JSON.stringify(fault))
    world.clock.now += 60_000
    await finish(world, attempts)
    t.equal(world.server.notes.length, 1)
  }
})

t.test('an expired login is renewed once, and a wrong one or a second factor is an auth failure', async t => {
  const { server, adapter } = await open(t)
  const archive = adapter(WITH_LOGIN)
  await archive.submit(publication(), new Attempts().context())
  t.equal(server.count('POST /login'), 1)
  await archive.fetchStatus('n1Xy', new Attempts().context())
  t.equal(server.count('POST /login'), 1, 'the token is kept')
  server.logins.clear()
  t.equal((await archive.fetchStatus('n1Xy', new Attempts().context())).status, 'submitted')
  t.equal(server.count('POST /login'), 2)
  server.faults.push({ on: 'GET /notes', status: 401, times: 2 })
  await t.rejects(archive.fetchStatus('n1Xy', new Attempts().context()), { failureClass: 'auth', code: 'http_401' })
  t.equal(server.count('POST /login'), 3, 'and no more than once')
  const wrong = adapter({ ...WITH_LOGIN, openreview_password: 'or-wrong-never-printed' })
  t.notMatch(String(await failureOf(wrong.fetchStatus('n1Xy', new Attempts().context()))), /never-printed/)
  server.needsSecondFactor = true
  server.logins.clear()
  await t.rejects(adapter(WITH_LOGIN).fetchStatus('n1Xy', new Attempts().context()), {
    failureClass: 'auth',
    code: 'second_factor',
    message: /SVC_OPENREVIEW_ACCESS_TOKEN/
  })
})

t.test(
  'a note that a person created with the same title stops the submission, and an equal one is adopted',
  async t => {
    const { server, adapter } = await open(t)
    server.add({ title: { value: 'Exactly once' }, abstract: { value: 'An older abstract' } })
    await t.rejects(adapter().submit(publication(), new Attempts().context()), {
      failureClass: 'fatal',
      code: 'entry_exists',
      message: /n1Xy/
    })
    server.notes[0]!.ddate = 1
    const first = await adapter().submit(publication(), new Attempts().context())
    t.equal(first.external_submission_id, 'n2Xy')
    const lost = await adapter().submit(publication(), new Attempts().context())
    t.equal(lost.external_submission_id, 'n2Xy', 'also without the checkpoint')
    t.equal(server.notes.length, 2)
  }
)

t.test('a title of the metadata with other spaces is found after a lost answer', async t => {
  const { server, adapter, clock } = await open(t)
  server.faults.push({ on: 'POST /notes/edits', cut: 'after' })
  const metadata_json = JSON.stringify({ openreview: { content: { title: ' Exactly \n once ' } } })
  const attempts = new Attempts()
  await t.rejects(adapter().submit(publication({ metadata_json }), attempts.context()))
  clock.now += 60_000
  await adapter().submit(publication({ metadata_json }), attempts.context())
  t.equal(server.notes.length, 1)
})

t.test('a note that may exist is not created at another place', async t => {
  const world = await open(t)
  const { server, adapter, clock } = world
  server.faults.push({ on: 'POST /notes/edits', cut: 'after' })
  const attempts = new Attempts()
  await t.rejects(adapter().submit(publication(), attempts.context()))
  clock.now += 60_000
  const others: readonly Partial<Settings>[] = [
    { openreview_marker_field: 'submission_digest' },
    { openreview_invitation: 'Other.org/-/Submission' },
    { openreview_signature: '~Grace_Hopper1' }
  ]
  for (const other of others)
    await t.rejects(adapter(other).submit(publication(), attempts.context()), {
      failureClass: 'config',
      code: 'target_changed'
    })
  await finish(world, attempts)
  t.equal(server.notes.length, 1)
})

t.test('a login is not recorded, since a hash of its body would show whether a guessed password is right', async t => {
  const { server, adapter } = await open(t)
  const attempts = new Attempts()
  await adapter(WITH_LOGIN).submit(publication(), attempts.context())
  t.equal(server.count('POST /login'), 1)
  t.ok(attempts.exchanges.length > 0)
  t.notMatch(JSON.stringify(attempts.exchanges), /login/)
})

t.test('answers without an object are typed failures', async t => {
  const { server, adapter } = await open(t)
  const context = new Attempts().context()
  const answers = ['null', '[]', '{"notes":[{"id":"n","content":null}]}', '{"notes":[null]}']
  for (const body of answers) {
    server.faults.push({ on: 'GET /notes', status: 200, body })
    await t.rejects(adapter().fetchStatus('n', context), { code: 'answer_invalid' }, body)
  }
  server.faults.push({ on: 'POST /login', status: 200, body: 'null' })
  await t.rejects(adapter(WITH_LOGIN).fetchStatus('n', context), { code: 'login_refused' })
})

t.test('an unknown invitation fails the check of the access', async t => {
  const { server, adapter } = await open(t)
  t.same(await adapter().checkAccess?.(new Attempts().context()), { account: SIGNATURE })
  server.faults.push({ on: 'GET /notes', status: 404, body: { name: 'NotFoundError' } })
  await t.rejects(adapter().checkAccess?.(new Attempts().context()) as Promise<unknown>, { code: 'http_404' })
})

t.test('fields of the invitation come from the metadata', t => {
  const manifest = publication({
    metadata_json: JSON.stringify({
      creators: [{ name: 'Lovelace, Ada' }],
      openreview: { content: { authorids: ['~Ada_Lovelace1'], keywords: null, TLDR: 'Once.' } }
    })
  })
  t.same(noteContent(manifest, workOf(manifest), 'submission_digest'), {
    title: { value: 'Exactly once' },
    abstract: { value: manifest.abstract_text },
    authors: { value: ['Ada Lovelace'] },
    authorids: { value: ['~Ada_Lovelace1'] },
    TLDR: { value: 'Once.' },
    submission_digest: { value: manifest.content_sha3_256 }
  })
  const bad = (openreview: unknown) => {
    const wrong = publication({ metadata_json: JSON.stringify({ openreview }) })
    return () => noteContent(wrong, workOf(wrong), null)
  }
  t.throws(bad({ content: [] }), { failureClass: 'preflight', message: /openreview\.content/ })
  t.throws(bad({ content: { 'a/b': 1 } }), { message: /"a\/b"/ })
  for (const title of [null, '', ['Exactly once']])
    t.throws(bad({ content: { title } }), { code: 'content_invalid', message: /title/ }, 'the note could not be found')
  t.end()
})

t.test('the adapter names what it lacks, and a plan sends nothing', async t => {
  const { adapter, server } = await open(t)
  const lacking = {
    openreview_access_token: undefined,
    openreview_signature: undefined
  } as unknown as Partial<Settings>
  t.match(await adapter(lacking).problem(), {
    failureClass: 'config',
    message: /SIGNATURE; SVC_OPENREVIEW_ACCESS_TOKEN/
  })
  t.equal(await adapter().problem(), null)
  t.match(await adapter({ openreview_marker_field: 'pdf' }).problem(), {
    failureClass: 'config',
    hint: /SVC_OPENREVIEW_MARKER_FIELD/
  })
  t.match(await adapter().plan(publication(), new AbortController().signal), {
    steps: [/title/, /title, abstract, authors, keywords/],
    files: []
  })
  t.equal(server.seen.length, 0)
})
