import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { osfAdapter, type Settings } from '#root'
import { Attempts, failureOf, partsWith, publication, TOKEN } from './deposit-kit.ts'
import { OsfServer, type OsfServerOptions } from './osf-server.ts'

async function world(t: Test, settings: Partial<Settings> = {}, options: Partial<OsfServerOptions> = {}) {
  const server = await OsfServer.open(t, { token: TOKEN, ...options })
  const parts = partsWith({ osf_access_token: TOKEN, ...server.settings, ...settings })
  return { server, adapter: osfAdapter(parts), manifest: publication(), attempts: new Attempts() }
}

const fixture = (name: string): string =>
  readFileSync(join(import.meta.dirname, 'fixtures', 'osf', `${name}.json`), 'utf8')

t.test('the bodies of creation, licence and publication are the documented ones', async t => {
  const { server, adapter, manifest, attempts } = await world(t, { publish_now: true })
  const receipt = await adapter.submit(manifest, attempts.context())
  const bodies = server.seen.filter(({ method }) => method === 'POST' || method === 'PATCH')
  const id = receipt.external_submission_id
  for (const [index, name] of ['create', 'license', 'publish'].entries()) {
    t.strictSame(bodies[index]?.body, JSON.parse(fixture(name).replaceAll('NODE', id)), name)
    t.match(bodies[index]?.headers, { 'content-type': 'application/vnd.api+json' })
  }
  t.equal(bodies.length, 3)
  t.match(JSON.parse(receipt.metadata_json ?? ''), { node_id: id, public: true, url: `${server.origin}/${id}/` })
})

t.test('the flags decide what is uploaded and whether it becomes public', async t => {
  const rows: readonly (readonly [Partial<Settings>, string, readonly string[]])[] = [
    [{}, 'draft', []],
    [{ attach_manifest_body: true }, 'draft', ['body.md']],
    [{ publish_deposition: true }, 'draft', []],
    [{ attach_manifest_body: true, publish_deposition: true }, 'published', ['body.md']],
    [{ publish_now: true }, 'published', ['body.md']],
    [{ publish_now: true, draft_only: true }, 'draft', ['body.md']]
  ]
  for (const [flags, status, files] of rows) {
    const { server, adapter, manifest, attempts } = await world(t, flags)
    const plan = await adapter.plan(manifest, new AbortController().signal)
    t.same(server.seen, [], 'a plan sends nothing')
    t.match(plan.steps.at(-1), status === 'published' ? /^Make/ : /^Leave/)
    const receipt = await adapter.submit(manifest, attempts.context())
    t.equal(receipt.status, status, JSON.stringify(flags))
    t.same(
      server.nodes[0]?.files.map(({ name }) => name),
      files
    )
    t.equal((await adapter.fetchStatus(receipt.external_submission_id, attempts.context())).status, status)
  }
})

t.test('a project that was changed by a person is neither overwritten nor published', async t => {
  const file = { id: 'x', name: 'extra.txt', bytes: 1, sha256: 'x', md5: 'x', version: 1 }
  const changes: readonly (readonly [string, (server: OsfServer) => void])[] = [
    ['title', server => Object.assign(server.nodes[0]?.attributes ?? {}, { title: 'Another' })],
    ['tags', server => Object.assign(server.nodes[0]?.attributes ?? {}, { tags: [] })],
    ['file', server => server.nodes[0]?.files.push(file)]
  ]
  for (const [what, change] of changes) {
    const { server, adapter, manifest, attempts } = await world(t, { publish_now: true })
    server.fail({ on: 'PUT /v1/resources/', status: 503, times: 3 })
    t.match(await failureOf(adapter.submit(manifest, attempts.context())), { failureClass: 'transient' })
    change(server)
    t.match(
      await failureOf(adapter.submit(manifest, attempts.context())),
      { failureClass: 'fatal', code: 'entry_changed' },
      what
    )
    t.equal(server.nodes[0]?.attributes.public, false)
  }
})

t.test('an upload whose answer was lost is not sent again, and another content gets a new version', async t => {
  const { server, adapter, manifest, attempts } = await world(t, { publish_now: true })
  server.fail({ on: 'PUT /v1/resources/', cut: 'after' })
  await adapter.submit(manifest, attempts.context())
  t.equal(server.nodes[0]?.files[0]?.version, 1)
  const other = await world(t, { publish_now: true })
  other.server.fail({ on: 'PUT /v1/resources/', status: 503, times: 3 })
  t.match(await failureOf(other.adapter.submit(manifest, other.attempts.context())), { failureClass: 'transient' })
  other.server.nodes[0]?.files.push({ id: 'f1', name: 'body.md', bytes: 1, sha256: 'x', md5: 'x', version: 1 })
  await other.adapter.submit(manifest, other.attempts.context())
  t.match(other.server.nodes[0]?.files, [{ id: 'f1', version: 2, bytes: 22 }])
})

t.test('a project on the second page of a list is found', async t => {
  const { server, adapter, manifest, attempts } = await world(t)
  await adapter.submit(manifest, attempts.context())
  const [own] = server.nodes.splice(0)
  const attributes = { ...own?.attributes, tags: ['other'] }
  for (let index = 0; index < 150; index++)
    server.nodes.push({ id: `n${index}`, attributes, licenseId: null, files: [], createdAt: 0 })
  if (own !== undefined) server.nodes.push(own)
  const again = await adapter.submit(manifest, new Attempts().context())
  t.equal(again.external_submission_id, own?.id)
  t.equal(server.count('POST /v2/nodes/'), 1)
})

t.test('refused content is named, without the token that a server may repeat', async t => {
  const { server, adapter, manifest, attempts } = await world(t)
  const body = { errors: [{ source: { pointer: '/data/attributes/title' }, detail: `Title is bad: ${TOKEN}` }] }
  server.fail({ on: 'POST /v2/nodes/', status: 400, body })
  const failure = await adapter.submit(manifest, attempts.context()).catch(error => error)
  t.match(failure, { failureClass: 'fatal', code: 'http_400', httpStatus: 400 })
  t.match(failure.message, /Title is bad: \*\*\*;/)
  t.notMatch(JSON.stringify([failure.message, failure.stack, attempts]), TOKEN)
})

t.test('content that OSF would refuse is refused before anything is sent', async t => {
  const rows: readonly (readonly [string, Parameters<typeof publication>[0]])[] = [
    ['title_empty', { title: ' ' }],
    ['title_too_long', { title: 'x'.repeat(513) }],
    ['license_unknown', { metadata_json: '{"license":"ODbL-1.0"}' }],
    ['content_invalid', { metadata_json: '[]' }]
  ]
  const { server, adapter, attempts } = await world(t)
  for (const [code, changes] of rows) {
    t.match(await failureOf(adapter.plan(publication(changes), new AbortController().signal)), {
      failureClass: 'preflight',
      code
    })
    t.match(await failureOf(adapter.submit(publication(changes), attempts.context())), {
      failureClass: 'preflight',
      code
    })
  }
  t.same(server.seen, [])
})

t.test('answers with an address or a path elsewhere are refused', async t => {
  const { server, adapter, manifest, attempts } = await world(t, { publish_now: true })
  const file = { attributes: { kind: 'file', name: 'body.md', path: '/../../other', size: 1 } }
  server.fail({ on: 'GET /v1/resources/', status: 200, body: { data: [file] } })
  t.match(await failureOf(adapter.submit(manifest, attempts.context())), {
    failureClass: 'fatal',
    code: 'answer_invalid'
  })
  t.match(
    await failureOf(
      osfAdapter(partsWith({ osf_access_token: TOKEN, osf_api_base: 'http://osf.example/v2' })).fetchStatus(
        'n1',
        attempts.context()
      )
    ),
    { failureClass: 'config' }
  )
})
