import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync } from 'node:fs'
import { rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { DiskBlobs, FileStorage, rangeOf, Staging, safeName } from '#storage'
import { apply, openStore } from '../schema/schema-fixture.ts'

const SOURCE = '@table type Photo { image: File, small: Option[File] }\n'
const DAY_MS = 86_400_000

async function open(t: Test, folder = mkdtempSync(join(tmpdir(), 'files-'))) {
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const store = await openStore()
  await apply(store, SOURCE)
  const storage = new FileStorage({
    store,
    program: 'app.vox',
    staging: new Staging(join(folder, 'incoming'), 10_000_000),
    blobs: new DiskBlobs(folder),
    columns: [
      { table: 'photo', column: 'image' },
      { table: 'photo', column: 'small' }
    ]
  })
  const add = async (text: string) => storage.add(await storage.stage([Buffer.from(text)]), 'a.txt', 'text/plain')
  const onDisk = (): string[] =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => entry.name)
      .sort()
  return { store, storage, add, onDisk, folder }
}

t.test('files that no row refers to are removed after a day, and others never', async t => {
  const { store, storage, add, onDisk } = await open(t)
  const [unused, image, small] = [await add('unused'), await add('image'), await add('small')]
  await store.execute('INSERT INTO photo (image, small) VALUES (?, ?)', [image.id, small.id])
  t.equal(await storage.collect(Date.now()), 0)
  t.equal(await storage.collect(Date.now() + 2 * DAY_MS), 1)
  t.same(onDisk(), [image.id, small.id].sort())
  await t.rejects(storage.find(unused.id), { code: 'RUN_FILE_UNKNOWN' })
  await storage.discard(image.id)
  t.match(await storage.find(image.id), { size: 5 })
  await store.execute('UPDATE photo SET small = NULL')
  t.equal(await storage.collect(Date.now() + 2 * DAY_MS), 1)
  t.same(onDisk(), [image.id])
  await store.execute('DELETE FROM photo')
  t.equal(await storage.collect(Date.now() + 2 * DAY_MS), 1)
  t.same(onDisk(), [])
})

t.test('a file to which only another program with the same database refers is kept', async t => {
  const { store, storage, add, onDisk } = await open(t)
  const [given, unused] = [await add('given'), await add('unused')]
  await apply(store, '@table type Copy_of { the_image: File }\n', { path: 'other.vox' })
  await store.execute('INSERT INTO copy_of (the_image) VALUES (?)', [given.id])
  await storage.discard(given.id)
  t.equal(await storage.collect(Date.now() + 2 * DAY_MS), 1)
  t.same(onDisk(), [given.id])
  await t.rejects(storage.find(unused.id))
  await store.execute('DELETE FROM copy_of')
  t.equal(await storage.collect(Date.now() + 2 * DAY_MS), 1)
  t.same(onDisk(), [])
})

t.test('content of a transaction that was rolled back is removed after a day', async t => {
  const { storage, onDisk, folder } = await open(t)
  const kept = await storage.keep(await storage.stage([Buffer.from('x')]), 'a', 'text/plain')
  t.same(onDisk(), [kept.id])
  await storage.collect(Date.now())
  t.same(onDisk(), [kept.id])
  const path = readdirSync(folder, { recursive: true, encoding: 'utf8' }).find(each => each.endsWith(kept.id)) ?? ''
  const old = new Date(Date.now() - 2 * DAY_MS)
  await utimes(join(folder, path), old, old)
  await storage.collect(Date.now())
  t.same(onDisk(), [])
})

t.test('a full disk refuses a file and leaves the stored ones complete', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'small-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    t.comment('no right to mount a small disk')
    return
  }
  t.teardown(async () => {
    execFileSync('umount', ['-l', folder])
    await rm(folder, { recursive: true })
  })
  const { storage, add, onDisk } = await open(t, join(folder, 'files'))
  const first = await add('complete')
  const large = storage.stage(Array.from({ length: 40 }, () => Buffer.alloc(65_536)))
  await t.rejects(large, { code: 'RUN_STORAGE_FULL' })
  t.same(onDisk(), [first.id])
  const chunks: Buffer[] = []
  for await (const chunk of await storage.read(first.id)) chunks.push(chunk as Buffer)
  t.equal(Buffer.concat(chunks).toString(), 'complete')
  t.match(await add('again'), { size: 5 })
})

t.test('ranges and file names of clients are read strictly', async t => {
  for (const [header, expected] of [
    ['bytes=0-', { start: 0, end: 9 }],
    ['bytes=2-3', { start: 2, end: 3 }],
    ['bytes=2-99', { start: 2, end: 9 }],
    ['bytes=-3', { start: 7, end: 9 }],
    ['bytes=-99', { start: 0, end: 9 }],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=3-2', null],
    ['bytes=-', null],
    ['bytes=0-1,3-4', null],
    ['items=0-1', null]
  ] as const) {
    t.same(rangeOf(header, 10), expected, header)
  }
  for (const [name, expected] of [
    ['../../etc/passwd', 'passwd'],
    ['C:\\a\\b.png', 'b.png'],
    ['..', 'file'],
    ['', 'file'],
    ['a\r\nb\u202etxt', 'abtxt'],
    ['half \ud83d of 😀.txt', 'half \ufffd of 😀.txt'],
    ['x'.repeat(300), 'x'.repeat(200)]
  ] as const) {
    t.equal(safeName(name), expected)
  }
})
