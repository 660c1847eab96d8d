import { createHash, randomBytes } from 'node:crypto'
import { closeSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { Attempts, failureOf, publication } from './deposit-kit.ts'
import { ARCHIVES, type DepositArchive } from './deposit-worlds.ts'

const MIB = 1_048_576
const LARGE_BYTES = 30 * MIB

/** A world with a staging folder of two files, which is published. */
async function stagedWorld(t: Test, { algorithm, open }: DepositArchive, bytes = LARGE_BYTES) {
  const root = t.testdir({})
  mkdirSync(join(root, 'staging'))
  const large = randomBytes(bytes)
  writeFileSync(join(root, 'staging', 'data.bin'), large)
  writeFileSync(join(root, 'staging', 'note.txt'), 'A note.')
  const settings = { staging_dir: 'staging', upload_allowlist: ['data.bin', 'note.txt'], publish_deposition: true }
  const world = await open(t, settings, { projectRoot: root })
  const hashOf = (content: Uint8Array | string) => createHash(algorithm).update(content).digest('hex')
  return {
    ...world,
    largePath: join(root, 'staging', 'data.bin'),
    expected: [
      { name: 'data.bin', bytes, hash: hashOf(large) },
      { name: 'note.txt', bytes: 7, hash: hashOf('A note.') }
    ]
  }
}

for (const archive of ARCHIVES) {
  const { name } = archive
  t.test(`${name}: a file of 30 MiB is streamed, and its progress is reported`, async t => {
    const world = await stagedWorld(t, archive)
    const attempts = new Attempts()
    collectGarbage()
    const before = process.memoryUsage().arrayBuffers
    const held: number[] = []
    const context = attempts.context()
    await world.adapter.submit(world.manifest, {
      ...context,
      progress(event) {
        context.progress(event)
        if (held.length === 4 || event.sentBytes < LARGE_BYTES * (0.6 + 0.1 * held.length)) return
        held.push(Number.POSITIVE_INFINITY)
        const index = held.length - 1
        // Later, when this function holds no chunk.
        setImmediate(() => {
          collectGarbage()
          collectGarbage()
          held[index] = process.memoryUsage().arrayBuffers - before
        })
      }
    })
    t.same(world.files(), world.expected)
    t.equal(world.published(), 1)
    const least = Math.min(...held)
    t.ok(least < LARGE_BYTES / 2, `${Math.round(least / MIB)} MiB in buffers after more than half of the file`)
    const sent = attempts.progress.filter(({ file }) => file === 'data.bin').map(({ sentBytes }) => sentBytes)
    t.equal(sent.at(-1), LARGE_BYTES)
    t.ok(sent.length > 100)
    t.same(
      sent,
      sent.toSorted((a, b) => a - b)
    )
  })

  t.test(`${name}: an upload that is cut is sent again, and complete files are not`, async t => {
    const world = await stagedWorld(t, archive, 3 * MIB)
    const attempts = new Attempts({ attempts: 1 })
    world.server.fail({ on: world.requests.upload, cutBodyAfter: MIB })
    t.match(await failureOf(world.adapter.submit(world.manifest, attempts.context())), { failureClass: 'transient' })
    t.equal(world.published(), 0)
    await world.adapter.submit(world.manifest, attempts.context())
    t.same(world.files(), world.expected)
    t.equal(world.server.count(world.requests.upload), 3, 'the large file twice')
    t.same([world.entries(), world.published()], [1, 1])
  })

  t.test(`${name}: a file that changes before or during its upload is not published`, async t => {
    const world = await stagedWorld(t, archive, 3 * MIB)
    const context = new Attempts().context()
    const submitting = world.adapter.submit(world.manifest, {
      ...context,
      progress({ file, sentBytes }) {
        if (file === 'data.bin' && sentBytes > 0 && sentBytes < MIB) overwriteEnd(world.largePath, 3 * MIB)
      }
    })
    t.equal((await failureOf(submitting)).code, 'file_changed')
    t.same([world.entries(), world.published()], [1, 0])
    t.notOk(world.files().some(file => file.name === 'data.bin'))
  })

  t.test(`${name}: a file that is removed is reported by the next attempt`, async t => {
    const world = await stagedWorld(t, archive, MIB)
    const attempts = new Attempts()
    const context = attempts.context()
    const submitting = world.adapter.submit(world.manifest, {
      ...context,
      progress({ file }) {
        if (file === 'note.txt') rmSync(world.largePath, { force: true })
      }
    })
    await submitting.catch(() => null)
    rmSync(world.largePath, { force: true })
    const failure = await failureOf(world.adapter.submit(world.manifest, attempts.context()))
    t.match(failure, { failureClass: 'config', code: 'staging_missing' })
    t.equal(world.entries(), 1)
  })

  t.test(`${name}: a name with other characters is kept`, async t => {
    const file = 'données #1 100%?.txt'
    const root = t.testdir({ staging: { [file]: 'x' } })
    const settings = { staging_dir: 'staging', upload_allowlist: [file] }
    const world = await archive.open(t, settings, { projectRoot: root })
    await world.adapter.submit(world.manifest, new Attempts().context())
    t.equal(world.files()[0]?.name, file)
  })

  t.test(`${name}: an empty file is uploaded`, async t => {
    const root = t.testdir({ staging: { 'empty.csv': '' } })
    const settings = { staging_dir: 'staging', upload_allowlist: ['empty.csv'] }
    const world = await archive.open(t, settings, { projectRoot: root })
    await world.adapter.submit(world.manifest, new Attempts().context())
    t.match(world.files(), [{ name: 'empty.csv', bytes: 0 }])
  })

  t.test(`${name}: a title that the archive stores in another form is the same title`, async t => {
    const manifest = publication({ title: 'Ada’s “engines” & the <i>ﬁrst</i> program, if a < b' })
    const world = await archive.open(t, { publish_now: true }, { manifest })
    await world.adapter.submit(manifest, new Attempts().context())
    t.equal(world.published(), 1)
  })

  t.test(`${name}: a redirect of an upload is not followed`, async t => {
    const world = await stagedWorld(t, archive, MIB)
    world.server.fail({ on: world.requests.upload, status: 307, headers: { location: 'http://127.0.0.1:9/' } })
    const failure = await failureOf(world.adapter.submit(world.manifest, new Attempts().context()))
    t.match(failure, { failureClass: 'config', code: 'redirect' })
  })

  t.test(`${name}: files in folders are refused before anything is sent`, async t => {
    const root = t.testdir({ staging: { figures: { 'a.png': 'x' } } })
    const settings = { staging_dir: 'staging', upload_allowlist: ['figures/a.png'] }
    const world = await archive.open(t, settings, { projectRoot: root })
    const failure = await failureOf(world.adapter.submit(world.manifest, new Attempts().context()))
    t.match(failure, { failureClass: 'config', code: 'file_nested' })
    t.same(world.server.seen, [])
  })
}

function overwriteEnd(path: string, bytes: number): void {
  const file = openSync(path, 'r+')
  writeSync(file, 'changed', bytes - 7)
  closeSync(file)
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}
