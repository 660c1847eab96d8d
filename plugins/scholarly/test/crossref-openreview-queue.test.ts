import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import './built-worker.ts'
import type { ArchiveServer, Fault } from './archive-server.ts'
import { PASSWORD as CROSSREF_PASSWORD, CrossrefServer, LOGIN } from './crossref-server.ts'
import { openWorld, type WorldOptions } from './kit.ts'
import { EMAIL, INVITATION, OpenReviewServer, PASSWORD, SIGNATURE } from './openreview-server.ts'

interface Archive {
  readonly name: string
  /** Beginning of the request that has the effect. */
  readonly create: string
  readonly secrets: readonly string[]
  open(t: Test): Promise<{
    readonly server: ArchiveServer
    readonly settings: object
    /** Number of entries, after the server has processed all that it received. */
    entries(): number
  }>
}

const ARCHIVES: readonly Archive[] = [
  {
    name: 'openreview',
    create: 'POST /notes/edits',
    secrets: [EMAIL, PASSWORD, 'or-token-'],
    async open(t) {
      const server = new OpenReviewServer()
      const base = await server.start()
      t.teardown(() => server.close())
      const settings = {
        openreview_email: EMAIL,
        openreview_password: PASSWORD,
        openreview_invitation: INVITATION,
        openreview_signature: SIGNATURE,
        openreview_api_base: base,
        openreview_http_max_attempts: 1,
        openreview_settle_seconds: 0
      }
      return { server, settings, entries: () => server.notes.length }
    }
  },
  {
    name: 'crossref_deposit',
    create: 'POST /servlet/deposit',
    secrets: [LOGIN, CROSSREF_PASSWORD],
    async open(t) {
      const server = new CrossrefServer()
      const base = await server.start()
      t.teardown(() => server.close())
      const settings = {
        enable_crossref: true,
        crossref_login: LOGIN,
        crossref_password: CROSSREF_PASSWORD,
        crossref_doi_prefix: '10.5555',
        crossref_depositor_name: 'Example Press',
        crossref_depositor_email: 'doi@example.org',
        crossref_resource_base: 'https://example.org/p',
        crossref_api_base: base,
        crossref_http_max_attempts: 1,
        crossref_settle_seconds: 0
      }
      return {
        server,
        settings,
        entries: () => {
          server.settle()
          return [...server.registered.values()].flat().length
        }
      }
    }
  }
]

async function queue(t: Test, archive: Archive, options: WorldOptions = {}) {
  const opened = await archive.open(t)
  const settings = { adapter: archive.name, ...opened.settings, ...options.settings }
  return { ...opened, world: await openWorld(t, { ...options, settings }) }
}

for (const archive of ARCHIVES) {
  const { name, create, secrets } = archive

  t.test(`${name}: an approved publication is sent once, and its status is known later`, async t => {
    const { world, server, entries } = await queue(t, archive)
    await world.prepare()
    t.match(await world.submit({ submit: false }), { dry_run: true, ready: true, adapter: name })
    t.equal(server.seen.length, 0, 'a plan sends nothing')
    const answers = await Promise.all([world.submit(), world.submit(), world.submit()])
    t.equal(new Set(answers.map(({ job }) => job?.id)).size, 1)
    t.match(await world.jobs(), [{ status: 'succeeded', attempt_count: 1 }])
    t.equal(entries(), 1)
    if (server instanceof OpenReviewServer)
      for (const { content, domain } of server.notes) content.venueid = { value: domain }
    t.match(await world.kernel.callById('scholarly.status', { publication_id: 'paper-1' }), {
      submissions: [{ adapter: name, outcome: 'accepted' }]
    })
    t.match(await world.kernel.callById('scholarly.check', {}), { adapter: name, checked: true })
  })

  t.test(`${name}: failures decide when the job runs again, and nothing is sent twice`, async t => {
    const rows: readonly (readonly [Fault, string, number | null])[] = [
      [{ on: create, status: 429, headers: { 'retry-after': '120' } }, 'rate_limit', 120_000],
      [{ on: create, status: 429 }, 'rate_limit', 60_000],
      [{ on: create, status: 503 }, 'transient', 30_000],
      [{ on: create, cut: 'before' }, 'transient', 30_000],
      [{ on: create, cut: 'after' }, 'transient', 30_000],
      [{ on: create, status: 401, times: 2 }, 'auth', null],
      [{ on: create, status: 403 }, 'auth', null],
      [{ on: create, status: 404 }, 'fatal', null],
      [{ on: create, status: 409 }, 'fatal', null],
      [{ on: create, status: 422 }, 'fatal', null]
    ]
    const { world, server, entries } = await queue(t, archive)
    for (const [index, [fault, failureClass, delayMs]] of rows.entries()) {
      const title = JSON.stringify(fault)
      const publication_id = `paper-${index + 1}`
      await world.prepare({ publication_id, title: `Title ${index + 1}` })
      server.faults.push(fault)
      const { job } = await world.submit({ publication_id })
      server.faults.length = 0
      if (job === null) throw new Error('expected a job')
      t.match(job, { last_error_class: failureClass, status: delayMs === null ? 'failed' : 'retryable_failed' }, title)
      if (delayMs === null) await world.kernel.callById('scholarly.replay', { job_id: job.id })
      else {
        t.equal(Number(job.next_retry_at_ms) - Number(job.updated_at_ms), delayMs, title)
        t.same(await world.tick(), [], 'it is not due yet')
        await world.makeDue(job.id)
      }
      await world.tick()
      t.match(
        (await world.jobs()).find(({ id }) => id === job.id),
        { status: 'succeeded' },
        title
      )
      t.equal(entries(), index + 1, title)
    }
  })

  t.test(`${name}: nothing is sent while the gate is shut, or a switch is on`, async t => {
    const rows: readonly WorldOptions[] = [
      { publication: { armed: false } },
      { publication: { dry_run: true } },
      { settings: { disable: true } },
      { settings: { disable_live: true } },
      { settings: { [`disable_${name}`]: true } },
      { settings: name === 'openreview' ? { openreview_email: undefined } : { enable_crossref: false } }
    ]
    for (const options of rows) {
      const { world, server } = await queue(t, archive, options)
      await world.prepare()
      await world.submit().catch(() => null)
      await world.tick()
      t.equal(server.seen.length, 0, JSON.stringify(options))
    }
  })

  t.test(`${name}: the credentials are in no file, no log and no answer`, async t => {
    const { world, server } = await queue(t, archive)
    const echo = { name: 'Error', message: secrets.join(' '), status: 400 }
    server.faults.push({ on: create, status: 400, body: echo })
    await world.prepare()
    const answers: unknown[] = [await world.submit()]
    const [job] = await world.jobs()
    await world.kernel.callById('scholarly.replay', { job_id: job?.id })
    answers.push(await world.tick(), await world.jobs(), world.kernel.log)
    answers.push(await world.kernel.callById('scholarly.job', { job_id: job?.id }))
    answers.push(await world.kernel.callById('scholarly.status', { publication_id: 'paper-1' }))
    answers.push(await world.kernel.callById('scholarly.adapters', {}))
    t.match(await world.jobs(), [{ status: 'succeeded' }])
    const files = readdirSync(world.kernel.root, { recursive: true, withFileTypes: true }).filter(each => each.isFile())
    t.ok(files.some(each => each.name.startsWith('svc.db')))
    for (const secret of secrets) {
      t.notOk(JSON.stringify(answers).includes(secret))
      for (const file of files) t.notOk(readFileSync(join(file.parentPath, file.name)).includes(secret), file.name)
    }
  })
}

t.test('openreview: a PDF of the staging folder is attached, also after a cut upload', async t => {
  const [archive] = ARCHIVES
  if (archive === undefined) throw new Error('no archive')
  const settings = { staging_dir: 'staged', upload_allowlist: ['paper.pdf'], openreview_http_max_attempts: 2 }
  const { world, server } = await queue(t, archive, { settings })
  if (!(server instanceof OpenReviewServer)) throw new Error('another server')
  await mkdir(join(world.kernel.root, 'staged'))
  const pdf = `%PDF-1.7\n${'x'.repeat(300_000)}`
  await writeFile(join(world.kernel.root, 'staged/paper.pdf'), pdf)
  await world.prepare()
  t.match(await world.submit({ submit: false }), { files: [{ name: 'paper.pdf', bytes: pdf.length }] })
  server.faults.push({ on: 'PUT /attachment', cutBodyAfter: 100_000 })
  t.match(await world.submit(), { job: { status: 'succeeded' } })
  t.equal(server.attachments.length, 1)
  t.match(server.attachments[0], { name: 'paper.pdf', content: pdf })
  t.match(server.notes[0]?.content, { pdf: { value: '/pdf/1.pdf' } })
})

t.test('arxiv_assist: a bundle is written without an armed gate, and its folder is in the receipt', async t => {
  const world = await openWorld(t, {
    settings: { adapter: 'arxiv', arxiv_staging_dir: 'bundle' },
    publication: { armed: false }
  })
  await world.prepare()
  t.match(await world.submit(), { job: { status: 'succeeded', adapter: 'arxiv_assist' } })
  t.same(readdirSync(join(world.kernel.root, 'bundle')).sort(), [
    'arxiv_bundle.tar.gz',
    'arxiv_handoff.json',
    'main.tex'
  ])
  t.match(await world.kernel.callById('scholarly.status', { publication_id: 'paper-1' }), {
    submissions: [{ adapter: 'arxiv_assist', status: 'bundle_ready', outcome: 'pending' }]
  })
  await world.prepare({ publication_id: 'paper-2', body_markdown: 'A character that PDFLaTeX lacks: 漢.' })
  await t.rejects(world.submit({ publication_id: 'paper-2' }), {
    code: 'SCH_PREFLIGHT_FAILED',
    message: /arxiv_character_unsupported.*U\+6F22/
  })
})
