import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openFile } from '@svc/plugin-database/testing'
import t from 'tap'
import { errorOf, runSvc } from './run-svc.ts'
import { makeProject, serve } from './served-project.ts'

t.setTimeout(600_000)

const PASSPHRASE = 'several random words of a person'
const MODEL = 'plugins.model-server.enabled=false'

t.test('a served project is backed up, refused for a restore, and restored elsewhere with all its data', async t => {
  const folder = makeProject(t, {
    'svc.toml': '[plugins.secrets-keyring]\nstore = "file"\nfolder = ".keys"\n',
    'app.vox': '@table\ntype Task {\n    title: str\n}\n'
  })
  const outside = t.testdir({ passphrase: `${PASSPHRASE}\n` })
  const run = (argv: readonly string[], options = {}) => runSvc(folder, argv, options)
  const server = await serve(t, folder, ['--set', MODEL])
  t.equal((await run(['memory', 'store', 'decisions/database', 'we use SQLite'])).code, 0)
  t.equal((await run(['secrets', 'set', 'HF_TOKEN', '--store', 'vault'], { stdin: 'hf-secret-of-the-vault' })).code, 0)
  const file = join(outside, 'b.tar.gz.age')

  const refused = await run(['backup', file, '--json'])
  t.match(errorOf(refused), { code: 'BKP_KEY_REQUIRED', hint: /--recipient/ })
  t.notOk(existsSync(file))
  const made = await run(['backup', file, '--passphrase-file', join(outside, 'passphrase'), '--json'])
  t.equal(made.code, 0, made.stderr)
  t.match(JSON.parse(made.stdout), { file, encrypted: true, with_keys: true, databases: 2 })
  const keys = ['--passphrase-file', join(outside, 'passphrase')]
  const checked = await run(['backup', 'verify', file, ...keys, '--json'])
  t.match(JSON.parse(checked.stdout), { healthy: true, with_keys: true })
  t.match(errorOf(await run(['backup', 'verify', file, '--json'])), { code: 'BKP_KEY_REQUIRED' })
  t.notMatch(readFileSync(file, 'latin1'), 'SQLite format 3')
  t.match(errorOf(await run(['restore', file, ...keys, '--force', '--json'])), { code: 'BKP_SERVED' })

  const target = join(outside, 'restored')
  const restored = await run(['restore', file, ...keys, '--to', target])
  t.equal(restored.code, 0, restored.stderr)
  t.equal(await server.stop(), 0)
  const notes = await runSvc(target, ['memory', 'show', 'decisions/database', '--json'])
  t.match(notes.stdout, /we use SQLite/)
  const secret = await runSvc(target, ['secrets', 'get', 'HF_TOKEN', '--reveal'])
  t.equal(secret.stdout.trim(), 'hf-secret-of-the-vault', secret.stderr)
  t.equal(readFileSync(join(target, 'app.vox'), 'utf8'), readFileSync(join(folder, 'app.vox'), 'utf8'))

  t.equal((await run(['memory', 'store', 'decisions/database', 'something else'])).code, 0)
  t.match(errorOf(await run(['restore', file, ...keys, '--json'])), { code: 'BKP_EXISTS', hint: /--force/ })
  const replaced = await run(['restore', file, ...keys, '--force', '--json'])
  t.match(JSON.parse(replaced.stdout), { kept: /before-restore/ }, replaced.stderr)
  t.match((await run(['memory', 'show', 'decisions/database', '--json'])).stdout, /we use SQLite/)
})

t.test(
  'a build that finds a newer schema changes nothing, and a backup of before the upgrade restores its data',
  async t => {
    const folder = makeProject(t, {})
    const run = (...argv: string[]) => runSvc(folder, [...argv, '--json'])
    const file = join(t.testdir({}), 'before.tar.gz')
    t.equal((await run('memory', 'store', 'notes/one', 'of before the upgrade')).code, 0)
    t.equal((await run('backup', file, '--without-keys')).code, 0)
    const database = join(folder, '.vox', 'store.db')
    const store = await openFile(database, { busyTimeoutMs: 5_000, synchronous: 'full' })
    await store.execute('INSERT INTO schema_version (version) SELECT max(version) + 1 FROM schema_version')
    await store.close()
    const content = readFileSync(database)
    t.match(errorOf(await run('memory', 'store', 'notes/two', 'of the older build')), { code: 'DBP_SCHEMA_NEWER' })
    t.ok(readFileSync(database).equals(content), 'the database is as it was')
    const restored = await run('restore', file, '--force')
    t.equal(restored.code, 0, restored.stderr)
    t.match((await run('memory', 'show', 'notes/one')).stdout, /of before the upgrade/)
  }
)

t.test('an interrupted restore is finished by the next command', async t => {
  const folder = makeProject(t, { '.vox/kept': 'old' })
  const staged = join(folder, '.vox', '.svc-restore', 'new', 'state')
  mkdirSync(staged, { recursive: true })
  mkdirSync(join(folder, '.svc-restore'))
  writeFileSync(join(staged, 'kept'), 'new')
  const steps = [{ root: 'state', action: 'replace', path: 'kept' }]
  const journal = { version: 1, state_folder: '.vox', replaced: 'test', steps }
  writeFileSync(join(folder, '.svc-restore', 'journal.json'), JSON.stringify(journal))
  const { code, stderr } = await runSvc(folder, ['plugins', 'list'])
  t.equal(code, 0)
  t.match(stderr, /an interrupted restore was finished; the replaced files are in .*before-restore/)
  t.equal(readFileSync(join(folder, '.vox', 'kept'), 'utf8'), 'new')
  t.equal(readFileSync(join(folder, '.vox', 'before-restore', 'test', 'state', 'kept'), 'utf8'), 'old')
  t.notOk(existsSync(join(folder, '.svc-restore')))
})

t.test('a server makes backups by schedule, keeps the newest, and reports failures', async t => {
  const folder = makeProject(t, {
    'svc.toml': '[plugins.backup]\nevery_hours = 0.0005\nkeep = 2\nwithout_keys = true\n'
  })
  const server = await serve(t, folder, ['--set', MODEL, '--only', 'backup,database,http,daemon,cli'])
  await server.line(/backup written/)
  const from = server.lines.length
  await server.line(/backup written/, from)
  await server.line(/backup written/, server.lines.length)
  const backups = readdirSync(join(folder, 'backups'))
  t.ok(backups.length <= 2 && backups.every(name => /^svc-backup-.*\.tar\.gz$/.test(name)), backups.join(' '))
  const status = await runSvc(folder, ['call', 'backup.status', '{}', '--json'])
  t.match(JSON.parse(status.stdout), { every_hours: 0.0005, encrypted: false, last_failure: null })
  t.match(await (await fetch(`${server.url}/metrics`)).text(), /svc_backup_last_success_seconds 1\d+/)
  writeFileSync(join(folder, 'svc.toml'), '[plugins.backup]\nevery_hours = 0.0005\nfolder = "svc.toml/backups"\n')
  await server.line(/the scheduled backup failed/)
  const inbox = await runSvc(folder, ['call', 'backup.inbox', '{}', '--json'])
  t.match(JSON.parse(inbox.stdout), { items: [{ kind: 'failure', title: 'The last backup failed' }] })
})

t.test('a support bundle of a server holds none of its secrets', async t => {
  const planted = {
    literal: 'literal-secret-of-the-file-1234',
    variable: 'secret-of-a-variable-5678',
    vault: 'hf-secret-of-the-vault-9012',
    log: 'sk-proj-secretofalogline345678'
  }
  const folder = makeProject(t, {
    'svc.toml': `[plugins.http]\ntoken = "${planted.literal}"\n[plugins.secrets-keyring]\nstore = "file"\nfolder = ".keys"\n`
  })
  const env = { GITHUB_TOKEN: planted.variable }
  t.equal((await runSvc(folder, ['secrets', 'set', 'HF_TOKEN', '--store', 'vault'], { stdin: planted.vault })).code, 0)
  const read = async (argv: readonly string[]): Promise<string> => {
    const file = join(t.testdirName, `${argv.join('-')}.tar.gz`)
    const { code, stdout, stderr } = await runSvc(folder, ['support-bundle', file, '--json'], { env })
    t.equal(code, 0, stderr)
    const manifest = JSON.parse(stdout)
    t.equal(manifest.source, argv[0])
    const text = execFileSync('tar', ['-xzOf', file], { encoding: 'utf8', maxBuffer: 2 ** 26 })
    for (const { path, sha256 } of manifest.files) t.ok(sha256.length === 64 && text.length > 0, path)
    const names = manifest.files.map(({ path }: { path: string }) => path)
    for (const name of ['versions', 'plugins', 'settings', 'log', 'requests', 'metrics', 'doctor', 'resources'])
      t.ok(names.includes(`${name}.json`), name)
    return text
  }
  t.testdir({})
  const alone = await read(['command'])
  const server = await serve(t, folder, ['--set', MODEL], undefined, env)
  await fetch(`${server.url}/api/limits?token=${planted.log}`, { headers: { authorization: `Bearer ${planted.log}` } })
  await fetch(`${server.url}/api/limits`, { headers: { authorization: `Bearer ${planted.literal}` } })
  const served = await read(['server'])
  t.match(served, /"plugins\.http\.token",\s+"value": "\*\*\*/)
  t.match(served, /"route": "\/api\/limits"/)
  for (const text of [alone, served])
    for (const [name, secret] of Object.entries(planted)) t.notOk(text.includes(secret), name)
})
