import { createHash, randomBytes } from 'node:crypto'
import dns, { type LookupOptions } from 'node:dns'
import { once } from 'node:events'
import { mkdtempSync, readdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { FileStorage, S3Blobs, S3Client, Staging } from '#storage'
import { apply, openStore } from '../schema/schema-fixture.ts'
import { KEYS, type S3Server, serveS3 } from './s3-server.ts'

t.setTimeout(120_000)

const DAY_MS = 86_400_000

const client = (s3: Pick<S3Server, 'endpoint'>, given: Partial<ConstructorParameters<typeof S3Client>[0]> = {}) =>
  new S3Client({ endpoint: s3.endpoint, region: 'eu-test-1', bucket: 'files', pathStyle: true, ...KEYS, ...given })

async function open(
  t: Test,
  given: Partial<ConstructorParameters<typeof S3Client>[0]> = {},
  domain: string | null = null
) {
  const folder = mkdtempSync(join(tmpdir(), 's3-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const s3 = await serveS3(t, 'files', domain)
  const store = await openStore()
  await apply(store, '@table type Photo { image: File }\n')
  const storage = new FileStorage({
    store,
    program: 'app.vox',
    staging: new Staging(folder, 100_000_000),
    blobs: new S3Blobs(client(s3, given), 'apps/one/'),
    columns: [{ table: 'photo', column: 'image' }]
  })
  const add = async (content: string | Buffer) =>
    storage.add(await storage.stage([Buffer.from(content)]), 'a.bin', 'text/plain')
  return { s3, store, storage, add, staged: () => readdirSync(folder) }
}

async function bytesOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

t.test('content is stored in the bucket below the prefix, and read whole and in ranges', async t => {
  const { s3, storage, add, staged } = await open(t)
  const content = randomBytes(100_000)
  const file = await add(content)
  const [key = ''] = s3.objects.keys()
  t.match(key, new RegExp(`^apps/one/[0-9a-f]{16}/${file.id.slice(0, 2)}/${file.id}$`))
  t.same(staged(), [])
  t.ok((await bytesOf(await storage.read(file.id))).equals(content))
  const range = { start: 99_000, end: 99_999 }
  t.ok((await bytesOf(await storage.read(file.id, range))).equals(content.subarray(99_000)))
  const empty = await add('')
  t.equal(s3.objects.size, 2)
  t.equal((await bytesOf(await storage.read(empty.id))).length, 0)
  await storage.discard(file.id)
  t.equal(s3.objects.size, 1)
  await t.rejects(storage.read(file.id), { code: 'RUN_FILE_UNKNOWN' })
})

t.test('a large file is sent in parts, and is visible only as a whole', async t => {
  const { s3, storage, add, staged } = await open(t)
  const content = randomBytes(17 * 2 ** 20 + 5)
  const seen: number[] = []
  s3.fault = () => {
    seen.push(s3.objects.size)
    return null
  }
  const file = await add(content)
  t.equal(s3.requests.filter(each => /^PUT .*partNumber=\d+/.test(each)).length, 3)
  t.ok(seen.every(size => size === 0))
  t.equal(hash(await bytesOf(await storage.read(file.id))), hash(content))
  t.equal(s3.uploads.size, 0)
  t.same(staged(), [])
})

t.test('requests are repeated after lost connections and overload', async t => {
  const { s3, storage, add } = await open(t)
  for (const fault of ['lost', 503, 500, 429, 'lost after the change'] as const) {
    let isLeft = true
    s3.fault = () => {
      if (!isLeft) return null
      isLeft = false
      return fault
    }
    const file = await add(`content ${fault}`)
    t.equal((await bytesOf(await storage.read(file.id))).toString(), `content ${fault}`)
  }
  t.equal(s3.objects.size, 5)
})

t.test('the answer to a joined upload may be lost', async t => {
  const { s3, storage, add } = await open(t)
  for (const fault of ['lost after the change', 'half sent'] as const) {
    let isLeft = true
    s3.fault = (method, path) => {
      if (!isLeft || method !== 'POST' || !path.includes('uploadId=')) return null
      isLeft = false
      return fault
    }
    const content = randomBytes(9 * 2 ** 20)
    const file = await add(content)
    t.equal(hash(await bytesOf(await storage.read(file.id))), hash(content), fault)
  }
})

t.test('a failed upload leaves no content, no row and no part', async t => {
  const { s3, store, add, staged } = await open(t)
  const large = randomBytes(9 * 2 ** 20)
  for (const [fault, path, code] of [
    [503, /./, 'RUN_STORAGE'],
    ['lost', /./, 'RUN_STORAGE'],
    [507, /./, 'RUN_STORAGE_FULL'],
    [500, /partNumber=2/, 'RUN_STORAGE'],
    ['lost', /partNumber=2/, 'RUN_STORAGE'],
    ['error in a 200', /./, 'RUN_STORAGE']
  ] as const) {
    s3.fault = (_, url) => (path.test(url) ? fault : null)
    await t.rejects(add(large), { code }, `${fault} ${path}`)
    t.equal(s3.objects.size, 0)
    t.same(staged(), [])
    t.same((await store.query('SELECT id FROM program_files')).rows, [])
    t.equal(s3.uploads.size, 0, `${fault} ${path}`)
  }
  s3.fault = () => null
  t.match(await add(large), { size: large.length })
})

t.test('content that changes on its way is refused by the server', async t => {
  const { s3, storage } = await open(t)
  const file = await storage.stage([Buffer.from('content')])
  const changed = { ...file, sha256: file.sha256.replace(/^./, first => (first === '0' ? '1' : '0')) }
  await t.rejects(storage.add(changed, 'a', 'text/plain'), {
    code: 'RUN_STORAGE',
    message: /XAmzContentSHA256Mismatch/
  })
  t.equal(s3.objects.size, 0)
  const short = await storage.stage([Buffer.from('content')])
  await t.rejects(storage.add({ ...short, size: 100 }, 'a', 'text/plain'), { message: /changed while it was sent/ })
  t.equal(s3.objects.size, 0)
})

t.test('a download continues where its connection was lost, and fails if it stays lost', async t => {
  const { s3, storage, add } = await open(t)
  const content = randomBytes(500_000)
  const { id } = await add(content)
  let left = 2
  s3.fault = () => (left-- > 0 ? 'half sent' : null)
  t.ok((await bytesOf(await storage.read(id))).equals(content))
  left = 2
  t.ok((await bytesOf(await storage.read(id, { start: 7, end: 400_000 }))).equals(content.subarray(7, 400_001)))
  left = 100
  await t.rejects(bytesOf(await storage.read(id)), { code: 'RUN_STORAGE', message: /connection .* was lost/ })
})

/** Lets the names below a domain lead to this machine, as a DNS server would. */
function resolveBelow(t: Test, domain: string): void {
  const { lookup } = dns
  const local = (name: string, options: LookupOptions, done: (...answer: unknown[]) => void): void => {
    if (name !== domain && !name.endsWith(`.${domain}`)) lookup(name, options, done as never)
    else if (options.all === true) done(null, [{ address: '127.0.0.1', family: 4 }])
    else done(null, '127.0.0.1', 4)
  }
  dns.lookup = local as typeof lookup
  t.teardown(() => {
    dns.lookup = lookup
  })
}

t.test('without path_style, the bucket is a part of the host name, which is signed', async t => {
  resolveBelow(t, 's3.example.test')
  const { s3, storage, add } = await open(t, { pathStyle: false }, 's3.example.test')
  const content = randomBytes(9 * 2 ** 20)
  const [large, small] = [await add(content), await add('small')]
  t.equal(s3.requests.filter(each => /^PUT .*partNumber=\d+/.test(each)).length, 2, 'in parts')
  t.match(
    s3.requests.filter(each => each.startsWith('PUT')),
    [/^PUT \/apps\/one\//]
  )
  t.same(
    [...s3.objects.keys()].map(key => key.split('/').slice(0, 2).join('/')),
    ['apps/one', 'apps/one']
  )
  t.ok((await bytesOf(await storage.read(large.id))).equals(content))
  t.equal(String(await bytesOf(await storage.read(small.id, { start: 1, end: 3 }))), 'mal')
  for (const object of s3.objects.values()) object.storedAt -= 2 * DAY_MS
  t.equal(await storage.collect(Date.now() + 2 * DAY_MS), 2, 'lists and removes')
  t.equal(s3.objects.size, 0)
  const other = new S3Blobs(client(s3, { pathStyle: false, bucket: 'missing' }), '')
  await t.rejects(other.check(), { code: 'RUN_STORAGE', message: /the bucket missing does not exist/ })
  const inPath = new S3Blobs(client(s3), '')
  await t.rejects(inPath.check(), { code: 'RUN_STORAGE', message: /NoSuchBucket/ })
})

t.test('a bucket that cannot be a part of the host name is an error, and nothing is sent', async t => {
  const { s3 } = await open(t)
  await t.rejects(new S3Blobs(client(s3, { pathStyle: false }), '').check(), {
    code: 'RUN_STORAGE',
    message: /the bucket files cannot be a part of the host name 127\.0\.0\.1/,
    hint: /path_style to true/
  })
  t.same(s3.requests, [])
})

t.test('errors name the cause and the setting, and never a key', async t => {
  const { s3 } = await open(t)
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const closed = { endpoint: `http://127.0.0.1:${(listener.address() as AddressInfo).port}` }
  listener.close()
  for (const [given, expected, server] of [
    [{ accessKey: 'AKIAWRONG' }, /does not allow the access key .*InvalidAccessKeyId/, s3],
    [{ secretKey: 'wrong-secret' }, /does not allow the access key .*SignatureDoesNotMatch/, s3],
    [{ bucket: 'missing' }, /the bucket missing does not exist/, s3],
    [{}, /127\.0\.0\.1:\d+ did not answer: ECONNREFUSED/, closed],
    [{ sessionToken: 'wrong-secret\nAKIAWRONG' }, /the settings of the bucket make no valid request/, s3],
    [{ accessKey: 'AKIAWRONG\n2' }, /the settings of the bucket make no valid request/, s3]
  ] as const) {
    const error = (await new S3Blobs(client(server, given), '').check().catch((thrown: unknown) => thrown)) as Error
    t.match(error, { code: 'RUN_STORAGE', message: expected })
    const text = JSON.stringify({ ...error, message: error.message, stack: error.stack, cause: String(error.cause) })
    for (const secret of [KEYS.accessKey, KEYS.secretKey, 'AKIAWRONG', 'wrong-secret', 'AWS4-HMAC'])
      t.notMatch(text, secret)
  }
  s3.fault = () => 'half sent'
  await t.rejects(new S3Blobs(client(s3), '').check(), { code: 'RUN_STORAGE', message: /did not answer/ })
  s3.fault = () => 301
  await t.rejects(new S3Blobs(client(s3), '').check(), { message: /at another address or in another region/ })
})

t.test('unused files, content without a row and parts of ended processes are removed after a day', async t => {
  const { s3, store, storage, add } = await open(t)
  const files: { readonly id: string }[] = []
  for (let index = 0; index < 8; index += 1) files.push(await add(`content ${index}`))
  const used = files[0]?.id ?? ''
  await store.execute('INSERT INTO photo (image) VALUES (?)', [used])
  const lost = await storage.keep(await storage.stage([Buffer.from('rolled back')]), 'a', 'text/plain')
  const other = 'apps/one/0000000000000000/ab/ab000000000000000000000000000000'
  s3.objects.set(other, { content: Buffer.from('of another database'), storedAt: 0 })
  const lostKey = [...s3.objects.keys()].find(key => key.endsWith(lost.id)) ?? ''
  const prefix = lostKey.split('/').slice(0, 3).join('/')
  s3.uploads.set('old', { key: `${prefix}/aa/aa`, parts: new Map(), startedAt: 0 })
  s3.uploads.set('recent', { key: `${prefix}/aa/ab`, parts: new Map(), startedAt: Date.now() })
  t.equal(await storage.collect(Date.now()), 0)
  t.equal(s3.objects.size, 10)
  t.same([...s3.uploads.keys()], ['recent'])
  for (const object of s3.objects.values()) object.storedAt -= 2 * DAY_MS
  await storage.collect(Date.now())
  t.equal(s3.objects.has(lostKey), false)
  t.equal(s3.objects.size, 9)
  t.equal(await storage.collect(Date.now() + 2 * DAY_MS), 7)
  t.same([...s3.objects.keys()].map(key => key.split('/').at(-1)).sort(), [used, other.split('/').at(-1)].sort())
})
