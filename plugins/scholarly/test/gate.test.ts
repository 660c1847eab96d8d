import { isSvcError } from '@svc/plugin-sdk'
import t from 'tap'
import { openWorld } from './kit.ts'
import { ScriptedArchive } from './scripted-archive.ts'

t.test('an unknown archive is a configuration error with a suggestion', async t => {
  const world = await openWorld(t)
  await world.prepare()
  await t.rejects(world.submit({ adapter: 'local_leger' }), {
    code: 'SCH_ADAPTER_UNKNOWN',
    hint: /local_ledger/,
    data: { error_class: 'config' }
  })
  const other = await openWorld(t, { settings: { adapter: 'no_such_archive' } })
  await other.prepare()
  await t.rejects(other.submit(), { code: 'SCH_ADAPTER_UNKNOWN', data: { error_class: 'config' } })
  t.match(await other.kernel.callById('scholarly.adapters', {}), {
    adapters: [{ name: 'local_ledger', default: false }]
  })
})

t.test('switches block submissions and status checks of their archives', async t => {
  const archive = new ScriptedArchive()
  const cases: [object, string, boolean][] = [
    [{ disable: true }, 'local_ledger', true],
    [{ disable: true }, 'test_archive', true],
    [{ disable_live: true }, 'test_archive', true],
    [{ disable_live: true }, 'local_ledger', false],
    [{ disabled: ['test_archive_alias'] }, 'test_archive', true],
    [{ disabled: ['echo'] }, 'echo_ledger', true],
    [{ disable_zenodo: true }, 'zenodo', true],
    [{ disable_openreview: true }, 'openreview', true],
    [{ disable_osf: true }, 'osf', true],
    [{ disable_crossref_deposit: true }, 'crossref', true]
  ]
  for (const [settings, adapter, isBlocked] of cases) {
    const world = await openWorld(t, { settings, adapters: [archive] })
    const { content_sha3_256 } = await world.prepare()
    const blocked = { code: 'SCH_DISABLED', data: { error_class: 'disabled' } }
    const label = `${JSON.stringify(settings)} ${adapter}`
    if (isBlocked) await t.rejects(world.submit({ adapter }), blocked, label)
    else t.match(await world.submit({ adapter }), { ok: true }, label)
    const name = adapter === 'crossref' ? 'crossref_deposit' : adapter
    // A submission from before the switch was set.
    await world.execute(
      `INSERT INTO scholarly_submissions (adapter, external_submission_id, publication_id, content_sha3_256, status,
         submitted_at_ms, updated_at_ms) VALUES (?, 'x-1', 'paper-1', ?, 'submitted', 1, 1)`,
      [name, content_sha3_256]
    )
    const status = world.kernel.callById('scholarly.status', { submission: 'x-1' })
    if (isBlocked) await t.rejects(status, blocked, label)
    else t.match(await status, { ok: true }, label)
  }
  t.equal(archive.submissions, 0)
})

t.test('archives on other machines pass the whole gate, ledgers need the approvals', async t => {
  const flags = [true, false]
  for (const armed of flags)
    for (const dry_run of flags) {
      const archive = new ScriptedArchive()
      const world = await openWorld(t, { publication: { armed, dry_run }, adapters: [archive] })
      for (const [at, approvers] of [[], ['ann'], ['ann', 'ann'], ['ann', 'ben']].entries()) {
        const publication_id = `paper-${at}`
        // The approvals of the former content do not count.
        const manifest = await world.prepare({ publication_id, title: 'Former title' })
        await world.approve(await world.publications.prepare({ ...manifest, title: 'Title' }), approvers)
        const isApproved = new Set(approvers).size === 2
        const codes = [
          ...(dry_run ? ['dry_run'] : []),
          ...(isApproved ? [] : ['missing_dual_approval']),
          ...(armed ? [] : ['publish_not_armed'])
        ]
        const isOpen = codes.length === 0
        const label = `armed ${armed}, dry run ${dry_run}, approvers ${approvers}`
        const plan = await world.submit({ publication_id, adapter: 'test_archive', submit: false })
        t.match(plan, { gate_codes: codes, ready: isOpen }, label)
        const outcome = async (adapter: string): Promise<unknown> => {
          try {
            return (await world.submit({ publication_id, adapter })).job?.status
          } catch (error) {
            if (!isSvcError(error, 'SCH_GATE_CLOSED')) throw error
            return (error.data as { codes: unknown }).codes
          }
        }
        t.same(await outcome('test_archive'), isOpen ? 'succeeded' : codes, label)
        t.same(await outcome('local_ledger'), isApproved ? 'succeeded' : ['missing_dual_approval'], label)
        t.equal(archive.submissions, isOpen ? 1 : 0, label)
      }
    }
})

t.test('a publication that fails the checks of an archive is not queued', async t => {
  const archive = Object.assign(new ScriptedArchive(), { preflight: 'metadata_complete' as const })
  const world = await openWorld(t, { adapters: [archive] })
  await world.prepare({ abstract_text: null, metadata_json: null })
  t.match(await world.submit({ adapter: 'test_archive', submit: false }), { ready: false, preflight: { ok: false } })
  await t.rejects(world.submit({ adapter: 'test_archive' }), {
    code: 'SCH_PREFLIGHT_FAILED',
    data: { error_class: 'preflight' }
  })
  t.same(await world.jobs(), [])
})

t.test('an archive with a problem is listed with it, and refuses', async t => {
  const archive = new ScriptedArchive()
  archive.problemNow = { failureClass: 'config', message: 'there is no token', hint: 'set one' }
  const world = await openWorld(t, { adapters: [archive] })
  await world.prepare()
  const { adapters } = (await world.kernel.callById('scholarly.adapters', {})) as { adapters: { name: string }[] }
  t.match(
    adapters.find(({ name }) => name === 'test_archive'),
    { state: 'config', problem: 'there is no token. set one', live: true }
  )
  t.match(await world.submit({ adapter: 'test_archive', submit: false }), { problem: { error_class: 'config' } })
  await t.rejects(world.submit({ adapter: 'test_archive' }), { code: 'SCH_CONFIG_INVALID', hint: 'set one' })
})

t.test('two archives with one name are a conflict that names it', async t => {
  await t.rejects(openWorld(t, { adapters: [new ScriptedArchive([], { name: 'echo' })] }), { message: /echo/ })
})

t.test('without a database, submissions are refused and the inbox is empty', async t => {
  const world = await openWorld(t, { databaseFile: null })
  await t.rejects(world.submit(), { code: 'SCH_DATABASE_MISSING' })
  t.same(await world.kernel.callById('scholarly.inbox', {}), { items: [] })
})
