import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { type Settings, zenodoAdapter, zenodoLicense } from '#root'
import type { SeenRequest } from './archive-server.ts'
import { Attempts, failureOf, partsWith, publication, TOKEN } from './deposit-kit.ts'
import { ZenodoServer, type ZenodoServerOptions } from './zenodo-server.ts'

async function world(t: Test, settings: Partial<Settings> = {}, options: Partial<ZenodoServerOptions> = {}) {
  const server = await ZenodoServer.open(t, { token: TOKEN, ...options })
  const parts = partsWith({ zenodo_access_token: TOKEN, zenodo_api_base: server.origin, ...settings })
  return { server, adapter: zenodoAdapter(parts), manifest: publication(), attempts: new Attempts() }
}

const fixture = (name: string): unknown =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'fixtures', 'zenodo', name), 'utf8'))

const created = (server: ZenodoServer): SeenRequest | undefined => server.seen.find(({ method }) => method === 'POST')

t.test('the body of a creation is the documented one', async t => {
  const { server, adapter, manifest, attempts } = await world(t)
  await adapter.submit(manifest, attempts.context())
  t.strictSame(created(server)?.body, fixture('create-article.json'))
  t.match(created(server)?.headers, { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` })
})

t.test('the body of a creation for software without optional metadata', async t => {
  const { server, adapter, attempts } = await world(t)
  const manifest = publication({
    content_type: 'software',
    source_ref: null,
    citations_json: null,
    author: 'Doe, Jane; Richard Roe',
    metadata_json: '{"license":"Apache-2.0","doi":"https://doi.org/10.1000/XYZ"}'
  })
  await adapter.submit(manifest, attempts.context())
  t.strictSame(created(server)?.body, fixture('create-software.json'))
})

t.test('the flags decide what is uploaded and whether it is published', async t => {
  const rows: readonly (readonly [Partial<Settings>, string, readonly string[]])[] = [
    [{}, 'unsubmitted', []],
    [{ attach_manifest_body: true }, 'unsubmitted', ['body.md']],
    [{ publish_deposition: true }, 'unsubmitted', []],
    [{ attach_manifest_body: true, publish_deposition: true }, 'done', ['body.md']],
    [{ publish_now: true }, 'done', ['body.md']],
    [{ publish_now: true, draft_only: true }, 'unsubmitted', ['body.md']],
    [{ attach_manifest_body: true, publish_deposition: true, draft_only: true }, 'unsubmitted', ['body.md']]
  ]
  for (const [flags, status, files] of rows) {
    const { server, adapter, manifest, attempts } = await world(t, flags)
    const plan = await adapter.plan(manifest, new AbortController().signal)
    t.same(server.seen, [], 'a plan sends nothing')
    t.same(
      plan.files.map(({ name }) => name),
      files
    )
    t.match(plan.steps.at(-1), status === 'done' ? /^Publish/ : /^Leave/)
    t.equal((await adapter.submit(manifest, attempts.context())).status, status, JSON.stringify(flags))
    t.same([...(server.depositions[0]?.files.keys() ?? [])], files)
  }
})

t.test(
  'the receipt of a published deposition has its DOI and its address, that of a draft the reserved DOI',
  async t => {
    const draft = await world(t)
    const kept = await draft.adapter.submit(draft.manifest, draft.attempts.context())
    t.match(JSON.parse(kept.metadata_json ?? ''), { reserved_doi: '10.5072/zenodo.542201', state: 'unsubmitted' })
    const { server, adapter, manifest, attempts } = await world(t, { publish_now: true })
    const receipt = await adapter.submit(manifest, attempts.context())
    const detail = JSON.parse(receipt.metadata_json ?? '')
    t.match(detail, { doi: '10.5072/zenodo.542201', url: `${server.origin}/record/542201`, state: 'done' })
    t.notOk('reserved_doi' in detail)
    t.match(receipt.response_fingerprint, /^[0-9a-f]{64}$/)
    t.match(await adapter.fetchStatus('542201', attempts.context()), { status: 'done' })
    t.same(attempts.progress.map(({ file, sentBytes, totalBytes }) => [file, sentBytes, totalBytes]).at(-1), [
      'body.md',
      22,
      22
    ])
  }
)

t.test('a draft that was changed by a person is neither overwritten nor published', async t => {
  const changes: readonly (readonly [string, (server: ZenodoServer) => void])[] = [
    ['title', server => Object.assign(server.depositions[0]?.metadata ?? {}, { title: 'Another' })],
    ['file', server => server.depositions[0]?.files.set('extra.txt', { id: 'x', bytes: 1, md5: 'x' })]
  ]
  for (const [what, change] of changes) {
    const { server, adapter, manifest, attempts } = await world(t, { publish_now: true })
    server.fail({ on: 'PUT /api/files/', status: 503, times: 3 })
    t.match(await failureOf(adapter.submit(manifest, attempts.context())), { failureClass: 'transient' })
    change(server)
    t.match(
      await failureOf(adapter.submit(manifest, attempts.context())),
      { failureClass: 'fatal', code: 'entry_changed' },
      what
    )
    t.equal(server.depositions[0]?.state, 'unsubmitted')
    t.equal(server.count('POST /api/deposit/depositions/542201/actions/publish'), 0)
  }
})

t.test('a deposition that another process published in the meantime is a success', async t => {
  const { server, adapter, manifest, attempts } = await world(t, { publish_now: true })
  server.fail({ on: 'POST /api/deposit/depositions/542201/actions/publish', cut: 'after' })
  t.equal((await adapter.submit(manifest, attempts.context())).status, 'done')
  t.equal((await adapter.submit(manifest, attempts.context())).status, 'done')
  t.equal(server.count('POST /api/deposit/depositions/542201/actions/publish'), 1)
})

t.test('a new version by a person is not taken for the deposition, and two entries are left to a person', async t => {
  const { server, adapter, manifest, attempts } = await world(t)
  await adapter.submit(manifest, attempts.context())
  const [first] = server.depositions
  server.add({ ...first?.metadata }, first?.conceptId)
  const again = await adapter.submit(manifest, new Attempts().context())
  t.equal(again.external_submission_id, '542201')
  server.add({ ...first?.metadata })
  t.match(await failureOf(adapter.submit(manifest, new Attempts().context())), {
    failureClass: 'fatal',
    code: 'several_entries'
  })
})

t.test('a deposition among thousands is found by the newest, and too many are left to a person', async t => {
  const { server, adapter, manifest, attempts } = await world(t)
  server.fail({ on: 'POST /api/deposit/depositions', cut: 'after' })
  t.match(await failureOf(adapter.submit(manifest, attempts.context())), { failureClass: 'transient' })
  for (let index = 0; index < 60; index++) server.add({ ...server.depositions[0]?.metadata, notes: `other ${index}` })
  // The search index does not contain it yet.
  server.fail({ on: 'GET /api/deposit/depositions?', status: 200, body: [] })
  await adapter.submit(manifest, attempts.context())
  t.equal(server.withDigest(manifest.content_sha3_256).length, 1)
  const other = await world(t)
  other.server.fail({ on: 'POST /api/deposit/depositions', status: 500 })
  t.match(await failureOf(other.adapter.submit(manifest, other.attempts.context())), { failureClass: 'transient' })
  for (let index = 0; index < 1_000; index++) other.server.add({ title: `other ${index}` })
  t.match(await failureOf(other.adapter.submit(manifest, other.attempts.context())), { code: 'outcome_unknown' })
  t.equal(other.server.withDigest(manifest.content_sha3_256).length, 0)
})

t.test('old depositions are not read through, whichever way the list is sorted', async t => {
  for (const order of ['createdAt', 'modifiedAt'] as const) {
    const { server, adapter, manifest, attempts } = await world(t, {}, { order })
    for (let index = 0; index < 1_200; index++) {
      const deposition = server.add({ title: `other ${index}` }, undefined, Date.UTC(2020, 0, 1) + index * 60_000)
      if (order === 'createdAt') deposition.modifiedAt += (index % 7) * 600_000
    }
    server.fail({ on: 'POST /api/deposit/depositions', cut: 'before' })
    t.match(await failureOf(adapter.submit(manifest, attempts.context())), { failureClass: 'transient' })
    await adapter.submit(manifest, attempts.context())
    t.equal(server.withDigest(manifest.content_sha3_256).length, 1)
    t.ok(server.count('GET /api/deposit/depositions?') <= 4, order)
  }
})

t.test('the settle time is measured by the clock of Zenodo, since that of this machine may be set', async t => {
  const { server, adapter, manifest, attempts } = await world(t, { zenodo_settle_seconds: 600 })
  const date = new Date(Date.now() + 3_600_000).toUTCString()
  server.fail(
    { on: 'GET /api/deposit/depositions?', status: 200, body: [], headers: { date } },
    { on: 'POST /api/deposit/depositions', cut: 'before' }
  )
  t.match(await failureOf(adapter.submit(manifest, attempts.context())), { failureClass: 'transient' })
  t.ok(Number(attempts.checkpoint?.creating_at_ms) >= Date.parse(date))
  const later = new Date(Date.parse(date) + 599_000).toUTCString()
  server.fail({ on: 'GET /api/deposit/depositions?', status: 200, body: [], times: 2, headers: { date: later } })
  t.match(await failureOf(adapter.submit(manifest, attempts.context())), { code: 'entry_unsettled' })
  const settled = new Date(Date.parse(date) + 900_000).toUTCString()
  server.fail({ on: 'GET /api/deposit/depositions?', status: 200, body: [], times: 2, headers: { date: settled } })
  await adapter.submit(manifest, attempts.context())
  t.equal(server.withDigest(manifest.content_sha3_256).length, 1)
})

t.test('a token is sent only to the host of the settings', async t => {
  const { server, adapter, manifest, attempts } = await world(t, { publish_now: true })
  const stranger = await ZenodoServer.open(t, { token: TOKEN })
  const body = {
    id: 542_201,
    state: 'unsubmitted',
    submitted: false,
    title: manifest.title,
    metadata: { notes: manifest.content_sha3_256 },
    links: { bucket: `${stranger.base}/files/b` }
  }
  server.fail({ on: 'GET /api/deposit/depositions/', status: 200, body })
  t.match(await failureOf(adapter.submit(manifest, attempts.context())), {
    failureClass: 'fatal',
    code: 'answer_invalid'
  })
  t.same(stranger.seen, [])
})

t.test('refused metadata is named by its field, without the token that a server may repeat', async t => {
  const { server, adapter, manifest, attempts } = await world(t)
  server.fail({
    on: 'POST /api/deposit/depositions',
    status: 400,
    body: {
      status: 400,
      message: 'Validation error.',
      errors: [{ field: 'metadata.license', message: `Not a valid choice\n${TOKEN}` }]
    }
  })
  const failure = await adapter.submit(manifest, attempts.context()).catch(error => error)
  t.match(failure, { failureClass: 'fatal', code: 'http_400', httpStatus: 400 })
  t.match(failure.message, /metadata\.license: Not a valid choice \*\*\*;/)
  t.notMatch(JSON.stringify([failure.message, failure.stack, attempts]), TOKEN)
})

t.test('answers of another form are fatal failures, and a creation with one is looked for', async t => {
  for (const body of [null, [], 'text', { id: 1 }, { id: 1, state: '' }, { id: {}, state: 'done' }]) {
    const { server, adapter, manifest, attempts } = await world(t)
    server.fail({ on: 'POST /api/deposit/depositions', status: 201, body })
    t.match(await failureOf(adapter.submit(manifest, attempts.context())), {
      failureClass: 'fatal',
      code: 'answer_invalid'
    })
    t.match(attempts.checkpoint, { creating_at_ms: Number })
  }
})

t.test('settings choose the host', async t => {
  const steps = async (settings: Partial<Settings>) =>
    (await zenodoAdapter(partsWith(settings)).plan(publication(), new AbortController().signal)).steps[0]
  t.match(await steps({}), ' at zenodo.org ')
  t.match(await steps({ zenodo_sandbox: true }), ' at sandbox.zenodo.org ')
  t.match(
    await steps({ zenodo_sandbox: true, zenodo_api_base: 'https://archive.example/api/' }),
    ' at archive.example '
  )
  t.match(await failureOf(steps({ zenodo_api_base: 'https://archive.example/api?x' })), { failureClass: 'config' })
})

t.test('content that Zenodo would refuse is refused before anything is sent', async t => {
  const rows: readonly (readonly [string, Parameters<typeof publication>[0]])[] = [
    ['title_empty', { title: ' ' }],
    ['author_empty', { author: '', metadata_json: '{"license":"MIT"}' }],
    ['abstract_required', { abstract_text: null }],
    ['license_required', { metadata_json: '{}' }],
    ['license_unknown', { metadata_json: '{"license":"My-Own"}' }],
    ['access_right_unsupported', { metadata_json: '{"license":"MIT","access_right":"closed"}' }],
    ['publication_type_invalid', { metadata_json: '{"license":"MIT","publication_type":"poem"}' }],
    ['doi_invalid', { metadata_json: '{"license":"MIT","doi":"ten"}' }],
    ['content_invalid', { metadata_json: '[]' }],
    ['content_invalid', { citations_json: '{}' }]
  ]
  const { server, adapter, attempts } = await world(t)
  for (const [code, changes] of rows) {
    const manifest = publication(changes)
    t.match(await failureOf(adapter.plan(manifest, new AbortController().signal)), { failureClass: 'preflight', code })
    t.match(await failureOf(adapter.submit(manifest, attempts.context())), { failureClass: 'preflight', code })
  }
  t.same(server.seen, [])
})

t.test('a licence is an id of Zenodo, and a former SPDX id keeps its version', t => {
  t.equal(zenodoLicense('CC-BY-4.0'), 'cc-by-4.0')
  t.equal(zenodoLicense('GPL-3.0'), 'gpl-3.0-only')
  t.equal(zenodoLicense('GPL-3.0+'), 'gpl-3.0-or-later')
  t.equal(zenodoLicense('GPL-3.0-or-later'), 'gpl-3.0-or-later')
  t.throws(() => zenodoLicense('LicenseRef-1'), { code: 'license_unknown' })
  t.end()
})

t.test('no abstract can bring its own markup into the description', async t => {
  const { server, adapter } = await world(t)
  const text = fc.string({ unit: fc.constantFrom(...'<>&"\'/ab \n\r\t\u0000\u0007é😀'), minLength: 1, maxLength: 80 })
  await fc.assert(
    fc.asyncProperty(text, async abstract_text => {
      if (abstract_text.trim() === '') return
      server.seen.length = 0
      const manifest = publication({ abstract_text, publication_id: `paper-${server.depositions.length}` })
      await adapter.submit(manifest, new Attempts().context())
      const body = created(server)?.body as { metadata: { description: string } } | undefined
      const rest = String(body?.metadata.description)
        .replace(/<\/?p>|<br>/g, '')
        .replace(/&(amp|lt|gt|quot);/g, '')
      t.notMatch(rest, /[<>&"\p{Cc}]/u)
    }),
    { numRuns: 60 }
  )
})
