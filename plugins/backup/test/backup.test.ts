import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BackupPart } from '@svc/contracts'
import { openFile } from '@svc/plugin-database/testing'
import t, { type Test } from 'tap'
import { Header } from 'tar'
import { generateKeys, parseIdentities, parseRecipient, verifyArchive } from '#root'
import { mountSmallDisk } from '../../../test/small-disk.ts'
import { archiveOf, databases, type Entry, make, readFiles, restore, writeFiles } from './files.ts'

// Slow disks and busy machines.
t.setTimeout(300_000)

const OPTIONS = { busyTimeoutMs: 5_000, synchronous: 'full' } as const
const signal = new AbortController().signal
const verify = (file: string, keys: Parameters<typeof verifyArchive>[0]['keys'] = { identities: [] }) =>
  verifyArchive({ file, keys, databases, onFile: () => {}, signal })

/** Returns a project with settings, a program, a key, a stored file, a cache and a database in use. */
async function openProject(t: Test) {
  const folder = t.testdir()
  const project = join(folder, 'project')
  writeFiles(project, {
    'svc.toml': '[plugins.http]\nport = 0\n',
    'svc.local.toml': 'token = "in the file"\n',
    'app/app.vox': '@table\ntype Task {\n    title: str\n}\n',
    'app/notes.txt': 'belongs to no backup',
    'node_modules/other/index.vox': 'belongs to no backup',
    '.vox/auth-secret': 'signs tokens',
    '.vox/files/ab/cdef': 'x'.repeat(3_000_000),
    '.vox/cache/large': 'can be made again',
    '.vox/daemon.lock': 'of a process'
  })
  const database = await openFile(join(project, '.vox', 'store.db'), OPTIONS)
  t.teardown(() => database.close())
  await database.migrate('CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)')
  for (let id = 1; id <= 20; id++) await database.execute('INSERT INTO note VALUES (?, ?)', [id, `note ${id}`])
  const cache: BackupPart = {
    name: 'caches',
    summary: 'caches',
    kind: 'derived',
    paths: () => [join(project, '.vox', 'cache')]
  }
  return { folder, project, database, parts: [cache], secretFiles: new Set([join(project, 'svc.local.toml')]) }
}

async function notesOf(project: string): Promise<number> {
  const database = await openFile(join(project, '.vox', 'store.db'), OPTIONS)
  try {
    return Number((await database.query('SELECT count(*) FROM note')).rows[0]?.[0])
  } finally {
    await database.close()
  }
}

t.test('a project is restored with its settings, programs, keys, files and a database in use', async t => {
  const { folder, project, database, parts } = await openProject(t)
  const { identity, recipient } = await generateKeys()
  const file = join(folder, 'backups', 'b.tar.gz.age')
  const created = await make(project, file, { parts, locks: { recipients: [parseRecipient(recipient)] } })
  t.match(created, { databases: 1, with_keys: true, encrypted: true })
  t.match(created.left_out, [{ path: 'state/cache', reason: /caches/ }])
  await database.execute("INSERT INTO note VALUES (100, 'after the backup')")
  const keys = { identities: parseIdentities(identity, 'key') }
  const manifest = await verify(file, keys)
  t.equal(manifest.files.length, created.files)
  t.match(manifest.databases, [{ path: 'state/store.db', user_version: 0, schema_version: null }])
  const target = join(folder, 'restored')
  t.match(await restore(file, target, { keys }), { databases: 1, replaced: 0, kept: null })
  t.equal(await notesOf(target), 20)
  const restored = readFiles(target)
  t.same(Object.keys(restored), ['.vox/auth-secret', '.vox/files/ab/cdef', 'app/app.vox', 'svc.local.toml', 'svc.toml'])
  const original = readFiles(project)
  for (const [name, content] of Object.entries(restored)) t.equal(content, original[name], name)
  t.same(readdirSync(join(folder, 'backups')), ['b.tar.gz.age'], 'nothing else stays')
  t.equal(statSync(file).mode & 0o777, 0o600)
})

t.test('without keys, an archive holds none, and says what it leaves out', async t => {
  const { folder, project, parts, secretFiles } = await openProject(t)
  const vault: BackupPart = {
    name: 'vault',
    summary: 'vault',
    kind: 'keys',
    paths: () => ['keys/vault.bin'],
    export: async target => writeFileSync(join(target, 'master'), 'master password')
  }
  writeFiles(project, { 'keys/vault.bin': 'sealed' })
  const file = join(folder, 'b.tar.gz')
  const created = await make(project, file, { parts: [...parts, vault], withKeys: false, secretFiles })
  const names = created.left_out.map(({ path }) => path)
  t.same(names.sort(), ['project/keys/vault.bin', 'project/svc.local.toml', 'state/auth-secret', 'state/cache'])
  const { files } = await verify(file)
  t.notOk(files.some(({ path, keys }) => keys || /secret|vault|local|parts/.test(path)))
})

t.test('parts export and import what is in no file, and a part that does not fit stops the restore', async t => {
  const { folder, project } = await openProject(t)
  let password = 'first'
  const part: BackupPart = {
    name: 'vault',
    summary: 'vault',
    kind: 'keys',
    export: async target => writeFileSync(join(target, 'master'), password),
    async check(source) {
      if (password !== '' && readFileSync(join(source, 'master'), 'utf8') !== password) throw new Error('another one')
    },
    async import(source) {
      password = readFileSync(join(source, 'master'), 'utf8')
    }
  }
  const file = join(folder, 'b.tar.gz')
  await make(project, file, { parts: [part] })
  password = 'second'
  const target = join(folder, 'restored')
  await t.rejects(restore(file, target, { parts: [part] }), { code: 'BKP_PART_CONFLICT', message: /vault/ })
  t.same(readFiles(target), {}, 'nothing was changed')
  password = ''
  await restore(file, target, { parts: [part] })
  t.equal(password, 'first')
  t.match(await restore(file, join(folder, 'other'), { parts: [] }), { parts_left_out: ['vault'] })
})

t.test('a file outside of project and state is restored inside, with its earlier path', async t => {
  const { folder, project } = await openProject(t)
  writeFiles(folder, { 'elsewhere/data.bin': 'data' })
  const origin = join(folder, 'elsewhere', 'data.bin')
  const part: BackupPart = { name: 'store', summary: 'data', kind: 'data', paths: () => [origin] }
  const file = join(folder, 'b.tar.gz')
  await make(project, file, { parts: [part] })
  const target = join(folder, 'restored')
  const { external } = await restore(file, target)
  t.same(external, [{ file: join(target, '.vox', 'restored', 'store', 'data.bin'), origin }])
  t.equal(readFileSync(external[0]?.file as string, 'utf8'), 'data')
})

t.test('a project with state is only replaced on request, and the replaced files are kept', async t => {
  const { folder, project, database, parts } = await openProject(t)
  const file = join(folder, 'b.tar.gz')
  await make(project, file, { parts })
  await database.execute("INSERT INTO note VALUES (100, 'after the backup')")
  await database.close()
  writeFiles(project, {
    'svc.toml': '# later\n',
    'app/later.vox': '// later\n',
    '.vox/later': 'x',
    '.vox/store.db-wal': ''
  })
  await t.rejects(restore(file, project), { code: 'BKP_EXISTS', hint: /--force/ })
  const dry = await restore(file, project, { dryRun: true, parts })
  t.ok(dry.replaced > 3 && dry.kept === null)
  t.equal(readFiles(project)['svc.toml'], '# later\n', 'a dry run changes nothing')
  const { kept } = await restore(file, project, { force: true, parts })
  t.equal(await notesOf(project), 20)
  const now = readFiles(project)
  t.match(now, { 'svc.toml': /port = 0/, 'app/later.vox': '// later\n', '.vox/cache/large': /again/ })
  t.notOk('.vox/later' in now)
  t.match(readFiles(kept as string), { 'project/svc.toml': '# later\n', 'state/later': 'x' })
  const before = await openFile(join(kept as string, 'state', 'store.db'), OPTIONS)
  t.equal(Number((await before.query('SELECT count(*) FROM note')).rows[0]?.[0]), 21)
  await before.close()
  t.notOk(existsSync(join(project, '.svc-restore')) || existsSync(join(project, '.vox', '.svc-restore')))
})

t.test('a restore without keys leaves the keys that are there', async t => {
  const { folder, project, database } = await openProject(t)
  const file = join(folder, 'b.tar.gz')
  await make(project, file, { withKeys: false })
  await database.close()
  writeFiles(project, { '.vox/auth-secret': 'another one' })
  await restore(file, project, { force: true })
  t.equal(readFiles(project)['.vox/auth-secret'], 'another one')
})

t.test('a restore is refused while another process has a file of the project open', async t => {
  if (process.platform !== 'linux') return
  const { folder, project, database } = await openProject(t)
  const file = join(folder, 'b.tar.gz')
  await make(project, file)
  await database.close()
  const holder = `exec 3< ${join(project, '.vox', 'auth-secret')}; echo; read line`
  const { spawn } = await import('node:child_process')
  const child = spawn('sh', ['-c', holder], { stdio: ['pipe', 'pipe', 'ignore'] })
  t.teardown(() => child.kill())
  await new Promise(resolve => child.stdout.once('data', resolve))
  const error = await restore(file, project, { force: true }).catch(caught => caught)
  t.match(error, { code: 'BKP_SERVED', message: new RegExp(`process ${child.pid} has .*auth-secret open`) })
})

t.test('damaged and incomplete archives are refused, and change nothing', async t => {
  const { folder, project } = await openProject(t)
  const file = join(folder, 'b.tar.gz')
  await make(project, file)
  const content = readFileSync(file)
  const target = join(folder, 'restored')
  const changed = Buffer.from(content)
  changed[content.length >> 1] = (changed[content.length >> 1] ?? 0) ^ 255
  for (const each of [
    content.subarray(0, content.length - 2_000),
    changed,
    Buffer.from('no archive'),
    Buffer.alloc(0)
  ]) {
    writeFileSync(join(folder, 'bad'), each)
    await t.rejects(verify(join(folder, 'bad')), { code: 'BKP_DAMAGED' })
    await t.rejects(restore(join(folder, 'bad'), target), { code: 'BKP_DAMAGED' })
  }
  t.same(readFiles(target), {})
  await t.rejects(verify(join(folder, 'missing')), { code: 'BKP_FAILED', message: /missing/ })
  const database = Buffer.concat([Buffer.from('SQLite format 3\0'), randomBytes(8_192)])
  writeFileSync(join(folder, 'bad'), archiveOf([{ path: 'state/store.db', content: database }]))
  await t.rejects(verify(join(folder, 'bad')), { code: 'BKP_DAMAGED', message: /state\/store\.db/ })
})

t.test('hostile archives are refused', async t => {
  const folder = t.testdir()
  const link = new Header({ path: 'state/link', linkpath: '/etc/passwd', type: 'SymbolicLink', size: 0, mode: 0o777 })
  link.encode()
  const named = (path: string): Entry => ({ path, content: 'x' })
  const cases: readonly (readonly [string, readonly Entry[], object?])[] = [
    ['leaves its folder', [named('state/../../../evil')]],
    ['absolute', [named('/etc/evil')]],
    ['back slashes', [named('state\\..\\evil')]],
    ['outside of the known folders', [named('home/evil')]],
    ['a link', [{ path: 'state/link', content: '', header: link.block as Buffer }]],
    ['twice', [named('state/a'), named('state/a')]],
    ['not listed', [{ path: 'state/a', content: 'x', unlisted: true }]]
  ]
  for (const [what, entries] of cases) {
    const file = join(folder, 'bad.tar.gz')
    writeFileSync(file, archiveOf(entries))
    const target = join(folder, 'target')
    await t.rejects(restore(file, target), { code: 'BKP_DAMAGED' }, what)
    t.same(readFiles(target), {}, what)
  }
  const newer = join(folder, 'newer.tar.gz')
  writeFileSync(newer, archiveOf([], { format: 2, svc_version: '9.0.0' }))
  await t.rejects(restore(newer, join(folder, 'target')), { code: 'BKP_FORMAT_NEWER', message: /9\.0\.0/ })
  const large = new Header({ path: 'state/large', size: 2 ** 33 - 1, mode: 0o600, type: 'File' })
  large.encode()
  const bomb = join(folder, 'bomb.tar.gz')
  writeFileSync(bomb, archiveOf([{ path: 'state/large', content: 'x', header: large.block as Buffer }]))
  await t.rejects(restore(bomb, join(folder, 'target')), { code: /BKP_DAMAGED|BKP_DISK_FULL/ })
})

t.test('an aborted backup leaves nothing behind', async t => {
  const { folder, project } = await openProject(t)
  const controller = new AbortController()
  const file = join(folder, 'backups', 'b.tar.gz')
  const stopped = make(project, file, {
    signal: controller.signal,
    onProgress: () => controller.abort(new Error('stopped'))
  })
  await t.rejects(stopped, { message: 'stopped' })
  t.same(readdirSync(join(folder, 'backups')), [])
  await make(project, file)
  await t.rejects(make(project, file), { code: 'BKP_EXISTS' })
})

const disk = mountSmallDisk('512k')
const needsDisk = { skip: disk === null ? 'this user may not mount a file system' : false }

t.test('a backup that does not fit on the disk leaves nothing behind', needsDisk, async t => {
  const folder = disk as string
  const { project } = await openProject(t)
  writeFiles(project, { '.vox/random': randomBytes(2_000_000) })
  await t.rejects(make(project, join(folder, 'b.tar.gz')), { code: 'BKP_DISK_FULL', hint: /free space/ })
  t.same(readdirSync(folder), [])
})
