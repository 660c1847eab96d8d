import { mkdir, mkdtemp, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ManifestContent, manifestDigest, type PublicationManifest } from '@svc/contracts'
import { schemaCheck } from '@svc/plugin-sdk/check'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { citationCff, generatedFiles, stagedFiles, writeStaging } from '#root'
import { content, openWorld } from './kit.ts'

const SIGNAL = new AbortController().signal
const OFF = { upload_allowlist: [], verify_staging_checksums: false, require_metadata_parity: false }

function manifestOf(changes: Partial<ManifestContent> = {}): PublicationManifest {
  const fields = content(changes)
  const created_at_ms = Date.UTC(2026, 0, 2)
  return {
    ...fields,
    content_sha3_256: manifestDigest(fields),
    version: 1,
    state: 'approved',
    created_at_ms,
    updated_at_ms: created_at_ms
  }
}

async function folderOf(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-staging-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

t.test('a staging folder has the planned files, with checksums that match', async t => {
  const folder = await folderOf(t)
  const manifest = manifestOf()
  const written = await writeStaging(folder, manifest)
  t.same(
    written.map(({ name }) => name),
    ['body.md', 'CITATION.cff', 'crossref_work.json', 'citations.json', 'zenodo.json']
  )
  const settings = { staging_dir: folder, ...OFF, verify_staging_checksums: true, require_metadata_parity: true }
  const files = await stagedFiles(settings, '/', manifest, SIGNAL)
  t.same(
    files?.map(({ name, bytes, sha3_256 }) => ({ name, bytes, sha3_256 })),
    written
  )
  const checksums = JSON.parse(await readFile(join(folder, 'staging_checksums.json'), 'utf8'))
  t.equal(checksums.schema_version, 1)
  t.equal(Object.keys(checksums.sha3_256).length, 5)
})

t.test('a publication without citations does not upload those of an earlier one in the folder', async t => {
  const folder = await folderOf(t)
  t.equal((await writeStaging(folder, manifestOf())).length, 5)
  const manifest = manifestOf({ citations_json: null })
  t.equal((await writeStaging(folder, manifest)).length, 4)
  const files = await stagedFiles({ staging_dir: folder, ...OFF }, '/', manifest, SIGNAL)
  t.same(
    files?.map(({ name }) => name),
    ['body.md', 'CITATION.cff', 'crossref_work.json', 'zenodo.json']
  )
})

t.test('an abort ends the checks, and not the process', async t => {
  const folder = await folderOf(t)
  const manifest = manifestOf()
  await writeStaging(folder, manifest)
  const reason = new Error('ended')
  await t.rejects(stagedFiles({ staging_dir: folder, ...OFF }, '/', manifest, AbortSignal.abort(reason)), reason)
})

t.test('without a staging folder there are no staged files', async t => {
  t.equal(await stagedFiles(OFF, '/', manifestOf(), SIGNAL), null)
})

t.test('staged files are refused', async t => {
  const manifest = manifestOf()
  const cases: [string, object, (folder: string) => Promise<unknown>, { failureClass: string; code: string }][] = [
    ['a folder that does not exist', { staging_dir: '/nowhere/at/all' }, async () => {}, config('staging_missing')],
    ['a missing file', {}, folder => rm(join(folder, 'body.md')), config('staging_missing')],
    ['missing citations', {}, folder => rm(join(folder, 'citations.json')), config('staging_missing')],
    [
      'another body than the approved one',
      {},
      folder => writeFile(join(folder, 'body.md'), 'other'),
      differs('staging_body')
    ],
    [
      'a changed file, with checksums',
      { verify_staging_checksums: true },
      folder => writeFile(join(folder, 'zenodo.json'), '{}'),
      differs('staging_checksums')
    ],
    [
      'missing checksums',
      { verify_staging_checksums: true },
      folder => rm(join(folder, 'staging_checksums.json')),
      config('staging_missing')
    ],
    [
      'checksums of another schema version',
      { verify_staging_checksums: true },
      folder => writeFile(join(folder, 'staging_checksums.json'), '{"schema_version":2,"sha3_256":{}}'),
      differs('staging_checksums')
    ],
    [
      'a file that the checksums lack, even one named as a member of every object',
      { verify_staging_checksums: true, upload_allowlist: ['constructor'] },
      folder => writeFile(join(folder, 'constructor'), 'x'),
      config('staging_checksums')
    ],
    [
      'another title',
      { require_metadata_parity: true },
      folder => writeFile(join(folder, 'zenodo.json'), '{"title":"Another"}'),
      differs('staging_title')
    ],
    [
      'metadata that is not JSON',
      { require_metadata_parity: true },
      folder => writeFile(join(folder, 'zenodo.json'), '{'),
      config('staging_json')
    ],
    ['a listed file that is missing', { upload_allowlist: ['data.csv'] }, async () => {}, config('staging_missing')],
    ['a path that climbs', { upload_allowlist: ['../x'] }, async () => {}, config('staging_path')],
    ['an absolute path', { upload_allowlist: ['/etc/passwd'] }, async () => {}, config('staging_path')],
    [
      'a link that leads outside',
      { upload_allowlist: ['data.csv'] },
      folder => symlink('/etc/hostname', join(folder, 'data.csv')),
      config('staging_path')
    ],
    ['a folder', { upload_allowlist: ['data'] }, folder => mkdir(join(folder, 'data')), config('staging_path')],
    [
      'a file above 100 MiB',
      { upload_allowlist: ['data.bin'] },
      async folder => {
        await writeFile(join(folder, 'data.bin'), '')
        await truncate(join(folder, 'data.bin'), 100 * 1024 * 1024 + 1)
      },
      config('staging_too_large')
    ]
  ]
  for (const [name, settings, change, failure] of cases)
    await t.test(name, async t => {
      const folder = await folderOf(t)
      await writeStaging(folder, manifest)
      await change(folder)
      await t.rejects(stagedFiles({ staging_dir: folder, ...OFF, ...settings }, '/', manifest, SIGNAL), failure)
    })
})

function config(code: string) {
  return { name: 'RemoteFailure', failureClass: 'config', code }
}

function differs(code: string) {
  return { name: 'RemoteFailure', failureClass: 'preflight', code }
}

t.test('a link inside of the folder, a nested file and a title with other spaces are accepted', async t => {
  const folder = await folderOf(t)
  const manifest = manifestOf()
  await writeStaging(folder, manifest)
  await mkdir(join(folder, 'data'))
  await writeFile(join(folder, 'data', 'table.csv'), 'a,b\n')
  await symlink('data/table.csv', join(folder, 'link.csv'))
  await writeFile(
    join(folder, 'zenodo.json'),
    JSON.stringify({ metadata: { title: `  ${manifest.title.replaceAll(' ', '\n ')}` } })
  )
  const settings = {
    staging_dir: folder,
    ...OFF,
    upload_allowlist: ['data/table.csv', 'link.csv'],
    require_metadata_parity: true
  }
  const files = await stagedFiles(settings, '/', manifest, SIGNAL)
  t.same(
    files?.map(({ name }) => name),
    ['data/table.csv', 'link.csv']
  )
})

t.test('CITATION.cff satisfies the schema of the format for any publication', async t => {
  const schema = JSON.parse(await readFile(join(import.meta.dirname, 'fixtures/cff/schema-1.2.0.json'), 'utf8'))
  const check = schemaCheck(schema)
  const text = fc.string({ unit: 'grapheme', maxLength: 40 })
  const creator = fc.record(
    {
      name: fc.oneof(
        text.filter(name => name.trim() !== ''),
        fc.constantFrom('Doe, Jane', 'ACME', 'Jane Doe', ', x')
      ),
      affiliation: text,
      orcid: fc.constantFrom('0000-0002-1825-0097', 'https://orcid.org/0000-0002-1694-233X')
    },
    { requiredKeys: ['name'] }
  )
  const metadata = fc.record(
    {
      license: fc.oneof(text, fc.constantFrom('MIT', 'CC-BY-4.0', 'Apache-2.0', 'BlueOak-1.0.0')),
      keywords: fc.array(text),
      publication_date: fc.oneof(text, fc.constantFrom('2026-02-30', '2026-12-31')),
      version: text,
      doi: fc.oneof(text, fc.constantFrom('10.5281/zenodo.1234', 'https://doi.org/10.1/é')),
      creators: fc.array(creator, { minLength: 1, maxLength: 3 })
    },
    { requiredKeys: [] }
  )
  fc.assert(
    fc.property(metadata, text, text, fc.option(text), (fields, title, author, abstract_text) => {
      const manifest = manifestOf({ title, author, abstract_text, metadata_json: JSON.stringify(fields) })
      const checked = check(parse(citationCff(manifest)))
      if (!checked.ok) throw new Error(checked.text)
    }),
    { numRuns: 200 }
  )
  t.equal(parse(citationCff(manifestOf())).license, 'CC-BY-4.0')
})

t.test('the file of the Crossref work names authors, references and the license', async t => {
  const file = generatedFiles(manifestOf()).find(({ name }) => name === 'crossref_work.json')
  t.match(JSON.parse(file?.text ?? ''), {
    type: 'posted-content',
    title: ['Idempotent deposits in unreliable archives'],
    author: [
      { family: 'Lovelace', given: 'Ada', sequence: 'first', ORCID: 'https://orcid.org/0000-0002-1825-0097' },
      {}
    ],
    reference: [{ key: 'gray1981', year: '1981', author: 'Gray' }],
    license: [{ URL: 'https://spdx.org/licenses/CC-BY-4.0.html' }]
  })
})

t.test('scholarly.stage writes below the project, and refuses callers that choose another place', async t => {
  const world = await openWorld(t)
  await world.prepare()
  const answer = (await world.kernel.callById('scholarly.stage', { publication_id: 'paper-1', out: 'stage' })) as {
    folder: string
    files: unknown[]
  }
  t.equal(answer.folder, join(world.kernel.root, 'stage'))
  t.equal(answer.files.length, 5)
  await symlink(await folderOf(t), join(world.kernel.root, 'link'))
  await symlink('/nowhere/at/all', join(world.kernel.root, 'broken'))
  for (const out of ['../elsewhere', '/tmp/elsewhere', 'link', 'link/deeper', 'broken', 'broken/deeper'])
    await t.rejects(
      world.kernel.callById('scholarly.stage', { publication_id: 'paper-1', out }),
      { code: 'SCH_STAGING_FAILED' },
      out
    )
  await writeFile(join(world.kernel.root, 'file'), '')
  await t.rejects(world.kernel.callById('scholarly.stage', { publication_id: 'paper-1', out: 'file' }), {
    code: 'SCH_STAGING_FAILED'
  })
})
