import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DeclaredSecret, declaredSecretResolver, declaredSecrets, kernelPort } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import type { Fault } from './archive-server.ts'
import { TOKEN } from './deposit-kit.ts'
import { openWorld, type WorldOptions } from './kit.ts'
import { OsfServer } from './osf-server.ts'
import { ZenodoServer } from './zenodo-server.ts'

interface Archive {
  readonly name: string
  /** Beginning of a creation. */
  readonly create: string
  /** Beginning of an upload. */
  readonly upload: string
  readonly done: string
  open(t: Test): Promise<{
    readonly settings: object
    readonly server: ZenodoServer | OsfServer
    published(): number
  }>
}

const ARCHIVES: readonly Archive[] = [
  {
    name: 'zenodo',
    create: 'POST /api/deposit/depositions',
    upload: 'PUT /api/files/',
    done: 'done',
    async open(t) {
      const server = await ZenodoServer.open(t, { token: TOKEN })
      const settings = { zenodo_access_token: TOKEN, zenodo_api_base: server.origin, zenodo_http_max_attempts: 1 }
      return {
        server,
        settings: { ...settings, zenodo_settle_seconds: 0 },
        published: () => server.depositions.filter(({ state }) => state === 'done').length
      }
    }
  },
  {
    name: 'osf',
    create: 'POST /v2/nodes/',
    upload: 'PUT /v1/resources/',
    done: 'published',
    async open(t) {
      const server = await OsfServer.open(t, { token: TOKEN })
      const settings = { osf_access_token: TOKEN, ...server.settings, osf_http_max_attempts: 1 }
      return {
        server,
        settings: { ...settings, osf_settle_seconds: 0 },
        published: () => server.nodes.filter(({ attributes }) => attributes.public === true).length
      }
    }
  }
]

async function queue(t: Test, archive: Archive, options: WorldOptions = {}) {
  const opened = await archive.open(t)
  const settings = { adapter: archive.name, publish_now: true, ...opened.settings, ...options.settings }
  const world = await openWorld(t, { ...options, settings })
  return { ...opened, world }
}

for (const archive of ARCHIVES) {
  const { name, create, upload, done } = archive

  t.test(
    `${name}: an approved publication is published once, also if it is submitted several times at once`,
    async t => {
      const { world, server, published } = await queue(t, archive)
      const manifest = await world.prepare()
      const plan = await world.submit({ submit: false })
      t.match(plan, { dry_run: true, ready: true, adapter: name, files: [{ name: 'body.md' }] })
      t.same(server.seen, [])
      const answers = await Promise.all([world.submit(), world.submit(), world.submit()])
      t.equal(new Set(answers.map(({ job }) => job?.id)).size, 1)
      t.match(await world.jobs(), [{ status: 'succeeded', attempt_count: 1 }])
      t.equal((await world.publications.get('paper-1')).state, done)
      t.same([server.withDigest(manifest.content_sha3_256).length, published()], [1, 1])
      t.match(await world.kernel.callById('scholarly.status', { publication_id: 'paper-1' }), {
        submissions: [{ status: done, outcome: 'accepted' }]
      })
    }
  )

  t.test(`${name}: failures decide when the job runs again, and it never creates a second entry`, async t => {
    const rows: readonly (readonly [Fault, object, number | null])[] = [
      [{ on: create, status: 429, headers: { 'retry-after': '120' } }, { last_error_class: 'rate_limit' }, 120_000],
      [{ on: create, status: 429 }, { last_error_class: 'rate_limit' }, 60_000],
      [{ on: create, status: 503 }, { last_error_class: 'transient' }, 30_000],
      [{ on: create, cut: 'after' }, { last_error_class: 'transient' }, 30_000],
      [{ on: upload, cutBodyAfter: 10 }, { last_error_class: 'transient' }, 30_000],
      [{ on: upload, status: 500 }, { last_error_class: 'transient' }, 30_000],
      [{ on: create, status: 401 }, { last_error_class: 'auth' }, null],
      [{ on: create, status: 403 }, { last_error_class: 'auth' }, null],
      [{ on: create, status: 409 }, { last_error_class: 'fatal' }, null],
      [{ on: upload, status: 404 }, { last_error_class: 'fatal' }, null],
      [{ on: create, status: 422 }, { last_error_class: 'fatal' }, null]
    ]
    const { world, server, published } = await queue(t, archive)
    for (const [index, [fault, expected, delayMs]] of rows.entries()) {
      const publication_id = `paper-${index + 1}`
      const manifest = await world.prepare({ publication_id })
      server.fail(fault)
      const { job } = await world.submit({ publication_id })
      if (job === null) throw new Error('expected a job')
      t.match(job, { ...expected, status: delayMs === null ? 'failed' : 'retryable_failed' }, JSON.stringify(fault))
      if (delayMs === null) {
        t.equal(job.next_retry_at_ms, null)
        await world.kernel.callById('scholarly.replay', { job_id: job.id })
      } else {
        t.equal(Number(job.next_retry_at_ms) - Number(job.updated_at_ms), delayMs)
        t.same(await world.tick(), [], 'it is not due yet')
        await world.makeDue(job.id)
      }
      await world.tick()
      const after = (await world.jobs()).find(({ id }) => id === job.id)
      t.match(after, { status: 'succeeded' }, JSON.stringify(fault))
      t.same([server.withDigest(manifest.content_sha3_256).length, published()], [1, index + 1], JSON.stringify(fault))
    }
  })

  t.test(`${name}: nothing is sent while the gate is shut, a switch is on, or the content is unfit`, async t => {
    const rows: readonly WorldOptions[] = [
      { publication: { armed: false } },
      { publication: { dry_run: true } },
      { settings: { disable: true } },
      { settings: { disable_live: true } },
      { settings: { [`disable_${name}`]: true } },
      { settings: { disabled: [name] } },
      { settings: { [`${name}_access_token`]: undefined } }
    ]
    for (const options of rows) {
      const { world, server } = await queue(t, archive, options)
      await world.prepare()
      await world.submit().catch(() => null)
      await world.tick()
      t.same(server.seen, [], JSON.stringify(options))
    }
    const { world, server } = await queue(t, archive)
    await world.publications.prepare({ ...(await world.prepare()), metadata_json: '{}' })
    await world.submit().catch(() => null)
    await world.tick()
    t.same(server.seen, [], 'not approved, and without a licence')
  })

  t.test(`${name}: without a setting the token is that of svc secrets`, async t => {
    const stored = storedSecret(`SVC_${name.toUpperCase()}_ACCESS_TOKEN`)
    const settings = { [`${name}_access_token`]: undefined }
    const { world, published } = await queue(t, archive, { settings, plugins: [stored.plugin] })
    await world.prepare()
    t.match(await world.submit(), { job: { status: 'succeeded' } })
    t.equal(published(), 1)
    t.match(stored.declared(), [{ id: `${name}.access_token`, policy: 'optional' }])
  })

  t.test(`${name}: a check of the token only reads, and has the class of a refusal`, async t => {
    const { world, server } = await queue(t, archive)
    t.match(await world.kernel.callById('scholarly.check', {}), { adapter: name, checked: true, text: /work/ })
    server.fail({ on: 'GET /', status: 401 })
    await t.rejects(world.kernel.callById('scholarly.check', { adapter: name }), { code: 'SCH_AUTH_FAILED' })
    t.ok(server.seen.every(({ method }) => method === 'GET'))
    t.match(await world.kernel.callById('scholarly.check', { adapter: 'echo' }), { checked: false })
    const disabled = await queue(t, archive, { settings: { disable_live: true } })
    await t.rejects(disabled.world.kernel.callById('scholarly.check', {}), { code: 'SCH_DISABLED' })
    const lacking = await queue(t, archive, { settings: { [`${name}_access_token`]: undefined } })
    await t.rejects(lacking.world.kernel.callById('scholarly.check', {}), { code: 'SCH_CONFIG_INVALID' })
    t.same([...disabled.server.seen, ...lacking.server.seen], [])
  })

  t.test(`${name}: only the files of the plan are uploaded, until a person decides otherwise`, async t => {
    const settings = { staging_dir: 'staging', upload_allowlist: ['body.md', 'paper.pdf'] }
    const { world, server, published } = await queue(t, archive, { settings })
    await world.prepare()
    await world.kernel.callById('scholarly.stage', { publication_id: 'paper-1' })
    const pdf = join(world.kernel.root, 'staging', 'paper.pdf')
    writeFileSync(pdf, 'first')
    const { steps } = await world.submit({ submit: false })
    t.ok(steps.includes('Upload paper.pdf (5 bytes, not covered by the approvals)'))
    t.match(steps.join('; '), /Upload body\.md \(\d+ bytes\);/, 'the body is covered')
    server.fail({ on: create, status: 503 })
    const { job } = await world.submit()
    t.match(job, { status: 'retryable_failed', files: [{ name: 'body.md' }, { name: 'paper.pdf', bytes: 5 }] })
    const id = Number(job?.id)
    const replay = (input = {}) => world.kernel.callById('scholarly.replay', { job_id: id, ...input })
    const before = server.seen.length
    for (const change of [() => writeFileSync(pdf, 'other'), () => rmSync(pdf)]) {
      change()
      await world.makeDue(id)
      await world.tick()
      t.match(await world.jobs(), [{ status: 'failed', last_error_class: /preflight|config/ }])
      await replay()
    }
    writeFileSync(pdf, 'second')
    await world.tick()
    t.match(await world.jobs(), [
      { last_error_code: 'files_changed', last_error_message: /paper\.pdf has another content/ }
    ])
    t.equal(server.seen.length, before, 'nothing was sent')
    t.match(await replay({ new_files: true }), { job: { files: [{}, { name: 'paper.pdf', bytes: 6 }] } })
    await world.tick()
    t.match(await world.jobs(), [{ status: 'succeeded' }])
    t.equal(published(), 1)
  })

  t.test(`${name}: the token is in no file, no log and no answer`, async t => {
    const { world, server } = await queue(t, archive)
    const echo = { message: TOKEN, errors: [{ field: 'title', message: TOKEN, detail: TOKEN }], status: 400 }
    server.fail({ on: create, status: 400, body: echo })
    await world.prepare()
    const answers: unknown[] = [await world.submit()]
    const [job] = await world.jobs()
    await world.kernel.callById('scholarly.replay', { job_id: job?.id })
    answers.push(await world.tick(), await world.jobs())
    answers.push(await world.kernel.callById('scholarly.job', { job_id: job?.id }))
    answers.push(await world.kernel.callById('scholarly.status', { publication_id: 'paper-1' }))
    answers.push(await world.kernel.callById('scholarly.adapters', {}))
    t.match(await world.jobs(), [{ status: 'succeeded' }])
    t.notMatch(JSON.stringify(answers), TOKEN)
    t.notMatch(JSON.stringify(world.kernel.log), TOKEN)
    const files = readdirSync(world.kernel.root, { recursive: true, withFileTypes: true }).filter(each => each.isFile())
    t.ok(files.some(each => each.name.startsWith('svc.db')))
    for (const file of files) t.notOk(readFileSync(join(file.parentPath, file.name)).includes(TOKEN), file.name)
  })
}

/** A resolver that has one secret. */
function storedSecret(variable: string): { readonly plugin: Plugin; declared(): readonly DeclaredSecret[] } {
  let declared = (): readonly DeclaredSecret[] => []
  const plugin = definePlugin({
    name: 'stored-secret',
    requires: { kernel: kernelPort },
    provides: [declaredSecretResolver],
    points: [declaredSecrets],
    activate(ctx, { kernel }) {
      declared = () => kernel.current.items(declaredSecrets).map(({ item }) => item)
      ctx.provide(declaredSecretResolver, {
        find: async name => ({
          id: name,
          status: 'Present',
          source: 'SecureStore',
          place: null,
          detail: null,
          present: name === variable
        }),
        resolve: async () => TOKEN
      })
    }
  })
  return { plugin: plugin as Plugin, declared: () => declared().filter(({ env }) => env === variable) }
}
