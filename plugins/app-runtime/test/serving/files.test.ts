import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { makeProject } from '../../../../test/e2e/served-project.ts'
import { type App, args, ask, serveApp } from './served-app.ts'

t.setTimeout(120_000)

const SOURCE = `
@table
type Photo {
    title: str
    image: File
    thumbnail: Option[File]
}

type Shown { title: str, url: str, size: int }

@mutation
fn add(title: str, image: File, thumbnail: Option[File]) to Result[int] {
    if title is "" { return Error("a photo needs a title") }
    Ok(db.Photo.insert({ title: title, image: image, thumbnail: thumbnail }))
}

@server
fn sizes(files: List[File], factor: int, label: Option[str]) to List[int] {
    files.map(fn(file) file.size * factor)
}

http post "/raw"(file: File) to str { file.name + " " + file.content_type }

http post "/made"(file: File) to Response { Response.text(file.id).with_status(201) }

@query
fn photos() to List[Photo] { db.Photo.all() }

@query
fn shown() to List[Shown] {
    db.Photo.all().map(fn(photo) Shown { title: photo.title, url: std.files.url(photo.image), size: photo.image.size })
}

@query
fn short_lived(id: int) to str {
    match db.Photo.get(id) {
        Some(photo) => std.files.url(photo.image, "50ms")
        None => ""
    }
}

@query
fn distant(id: int) to str {
    match db.Photo.get(id) {
        Some(photo) => std.files.url(photo.image, "99999999d")
        None => ""
    }
}

@query
fn text(id: int) to Result[str] {
    match db.Photo.get(id) {
        Some(photo) => std.files.read(photo.image)
        None => Error("none")
    }
}

@mutation
fn put(name: str, content: str) to Result[int] {
    let file = std.files.put(name, content)?
    if content is "refuse" { return Error("refused") }
    Ok(db.Photo.insert({ title: name, image: file, thumbnail: None }))
}

@mutation
fn remove_file(id: int) to Result[Unit] {
    match db.Photo.get(id) {
        Some(photo) => std.files.delete(photo.image)
        None => Error("none")
    }
}

@mutation
fn remove(id: int) { db.Photo.delete(id) }

@query
fn files() to List[File] { std.files.list() }
`

const CONFIG = `[plugins.app-runtime.files]
max_bytes = 2_000_000
types = ["image/*", "text/plain", "text/html"]
`

const serve = (t: Test, folder = makeProject(t, { 'app.vox': SOURCE, 'svc.toml': CONFIG })): Promise<App> =>
  serveApp(t, SOURCE, {}, folder)

function form(
  values: Readonly<Record<string, string | Blob | readonly Blob[]>>,
  names: Readonly<Record<string, string>> = {}
) {
  const body = new FormData()
  for (const [name, value] of Object.entries(values)) {
    for (const each of [value].flat()) {
      if (typeof each === 'string') body.append(name, each)
      else body.append(name, each as Blob, names[name] ?? `${name}.png`)
    }
  }
  return body
}

const png = (content: string | Uint8Array<ArrayBuffer>) => new Blob([content], { type: 'image/png' })

const send = (app: App, path: string, body: FormData) => ask(app.app + path, { method: 'POST', body })

/** Paths of all files in the folder of stored files. */
function onDisk(app: App): string[] {
  return readdirSync(join(app.folder, '.vox', 'files'), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => entry.name)
}

t.test('files are uploaded with a form, stored with their row, and loaded under signed paths', async t => {
  const app = await serve(t)
  const content = Uint8Array.from({ length: 1_000_000 }, (_, index) => index % 251)
  const added = await send(
    app,
    '/api/mutation/add',
    form({ title: 'sun', image: png(content) }, { image: 'a/../sün.png' })
  )
  t.match(added, { status: 200, body: 1 })
  t.match((await app.get('/api/query/photos')).body, [
    { _id: 1, title: 'sun', image: { name: 'sün.png', content_type: 'image/png', size: 1_000_000 }, thumbnail: null }
  ])
  const [{ url }] = (await app.get('/api/query/shown')).body as [{ url: string }]
  const whole = await fetch(app.app + url)
  t.equal(whole.status, 200)
  t.equal(whole.headers.get('content-type'), 'image/png')
  t.equal(whole.headers.get('x-content-type-options'), 'nosniff')
  t.match(whole.headers.get('content-disposition'), /^inline; filename="s_n\.png"; filename\*=UTF-8''s%C3%BCn\.png$/)
  t.equal(hash(new Uint8Array(await whole.arrayBuffer())), hash(content))

  for (const [range, status, contentRange, expected] of [
    ['bytes=10-19', 206, 'bytes 10-19/1000000', content.slice(10, 20)],
    ['bytes=999990-', 206, 'bytes 999990-999999/1000000', content.slice(-10)],
    ['bytes=-5', 206, 'bytes 999995-999999/1000000', content.slice(-5)],
    ['bytes=0-0,5-6', 200, null, content],
    ['bytes=1000000-', 416, 'bytes */1000000', null]
  ] as const) {
    const response = await fetch(app.app + url, { headers: { range } })
    t.equal(response.status, status, range)
    t.equal(response.headers.get('content-range'), contentRange, range)
    const bytes = new Uint8Array(await response.arrayBuffer())
    if (expected !== null) t.equal(hash(bytes), hash(expected), range)
  }
  const etag = whole.headers.get('etag') ?? ''
  for (const tags of [etag, `"x", W/${etag}`, '*']) {
    t.equal((await fetch(app.app + url, { headers: { 'if-none-match': tags } })).status, 304, tags)
  }
  t.equal((await fetch(app.app + url, { headers: { 'if-none-match': '"x"' } })).status, 200)

  const signed = new URL(url, app.app)
  for (const [name, value] of [
    ['signature', 'x'],
    ['signature', ''],
    ['expires', String(Number(signed.searchParams.get('expires')) + 1)],
    ['expires', '99999999999999999999'],
    ['expires', '1']
  ] as const) {
    const changed = new URL(signed)
    changed.searchParams.set(name, value)
    t.match(await ask(changed.href), { status: 403, body: { code: 'RUN_FILE_URL' } }, `${name}=${value}`)
  }
  const other = new URL(signed)
  other.pathname = other.pathname.replace(/files\/./, match => match.slice(0, -1) + (match.endsWith('0') ? '1' : '0'))
  t.match(await ask(other.href), { status: 403 })
  const short = String((await app.get(`/api/query/short_lived${args({ id: 1 })}`)).body)
  await sleep(1100)
  t.match(await ask(app.app + short), { status: 403 })
  t.match(await app.get(`/api/query/distant${args({ id: 1 })}`), { body: { error: /must expire within 100 years/ } })
})

t.test('an uploaded page cannot run as a part of the application', async t => {
  const app = await serve(t)
  const page = new Blob(['<script>alert(1)</script>'], { type: 'text/html' })
  t.match(await send(app, '/api/mutation/add', form({ title: 'x', image: page }, { image: 'x.html' })), { status: 200 })
  const [{ url }] = (await app.get('/api/query/shown')).body as [{ url: string }]
  const response = await fetch(app.app + url)
  t.equal(response.headers.get('content-type'), 'application/octet-stream')
  t.match(response.headers.get('content-disposition'), /^attachment;/)
  t.match(response.headers.get('content-security-policy'), /default-src 'none'; sandbox/)
})

t.test('refused uploads leave no file', async t => {
  const app = await serve(t)
  t.match(await send(app, '/api/mutation/add', form({ title: 'x', image: png(new Uint8Array(2_000_001)) })), {
    status: 413,
    body: { code: 'RUN_FILE_TOO_LARGE' }
  })
  const zip = new Blob(['x'], { type: 'application/zip' })
  t.match(await send(app, '/api/mutation/add', form({ title: 'x', image: zip })), {
    status: 415,
    body: { code: 'RUN_FILE_TYPE' }
  })
  t.match(await send(app, '/api/mutation/add', form({ title: '', image: png('x') })), {
    status: 500,
    body: { code: 'RUN_REFUSED' }
  })
  t.match(await send(app, '/api/mutation/add', form({ title: 'x', image: png('x'), more: png('y') })), { status: 400 })
  t.match(await send(app, '/api/mutation/add', form({ title: 'x', image: [png('x'), png('y')] })), { status: 400 })
  t.match(await send(app, '/api/mutation/add', form({ title: 'x', image: png('x'), other: 'y' })), { status: 400 })
  t.match(await send(app, '/api/mutation/add', form({ title: 'x' })), { status: 400, body: { code: 'RUN_ARGUMENTS' } })
  const forged = { id: '0'.repeat(32), name: 'x', content_type: 'image/png', size: 1 }
  t.match(await app.post('/api/mutation/add', { title: 'x', image: forged }), {
    status: 409,
    body: { error: /image must be a stored file/ }
  })
  for (const id of ['x', '', '0'.repeat(31), 'G'.repeat(32), 5, null]) {
    t.match(await app.post('/api/mutation/add', { title: 'x', image: { ...forged, id } }), {
      status: 400,
      body: { code: 'RUN_ARGUMENTS', error: /image\.id: expected/ }
    })
  }
  t.match(
    await ask(`${app.app}/api/mutation/add`, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
      body: '--b\r\ncontent-disposition: form-data; name="image"; filename="a"\r\ncontent-type: image/png\r\n\r\nabc'
    }),
    { status: 400, body: { code: 'RUN_BODY' } }
  )
  t.match(
    await ask(`${app.app}/api/mutation/add`, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
      body: '--b\r\ncontent-disposition: form-data\r\n\r\nabc\r\n--b--\r\n'
    }),
    { status: 400, body: { code: 'RUN_BODY', error: /a part has no name/ } }
  )
  t.same((await app.get('/api/query/photos')).body, [])
  t.same((await app.get('/api/query/files')).body, [])
  t.same(onDisk(app), [])
})

t.test('lists of files, other arguments and routes are supported', async t => {
  const app = await serve(t)
  t.match(await send(app, '/api/sizes', form({ files: [png('abc'), png('abcd')], factor: '10', label: 'a "text"' })), {
    status: 200,
    body: [30, 40]
  })
  t.match(await send(app, '/api/sizes', form({ factor: '10' })), { status: 200, body: [] })
  const large = await fetch(`${app.app}/api/sizes`, {
    method: 'POST',
    body: form({ files: png('a'), factor: '9007199254740993' })
  })
  t.equal(await large.text(), '[9007199254740993]')
  t.match(await send(app, '/raw', form({ file: png('abc') })), { status: 200, body: 'file.png image/png' })
  const made = await send(app, '/made', form({ file: png('abc') }))
  t.equal(made.status, 201)
  t.ok(onDisk(app).includes(String(made.body)), 'a status such as 201 refuses nothing')
  const [{ image }] = await (async () => {
    await send(app, '/api/mutation/add', form({ title: 'a', image: png('abc'), thumbnail: png('d') }))
    return (await app.get('/api/query/photos')).body as [{ image: unknown }]
  })()
  t.match(await app.post('/api/mutation/add', { title: 'again', image }), { status: 200, body: 2 })
})

t.test('a program stores, reads and deletes files in its transactions', async t => {
  const app = await serve(t)
  t.same((await app.post('/api/mutation/put', { name: 'a.txt', content: 'häh' })).body, 1)
  t.same((await app.get(`/api/query/text${args({ id: 1 })}`)).body, 'häh')
  t.match((await app.get('/api/query/files')).body, [{ name: 'a.txt', content_type: 'text/plain', size: 4 }])
  t.match(await app.post('/api/mutation/put', { name: 'b.txt', content: 'refuse' }), { status: 500 })
  t.equal(((await app.get('/api/query/files')).body as unknown[]).length, 1)
  t.match(await app.post('/api/mutation/remove_file', { id: 1 }), {
    status: 500,
    body: { error: /does not exist, or a row refers to it/ }
  })
  t.same((await app.get(`/api/query/text${args({ id: 1 })}`)).body, 'häh')
})

t.test('what a killed server stored is complete after its restart', async t => {
  const app = await serve(t)
  const content = 'x'.repeat(500_000)
  const sent = Array.from({ length: 12 }, (_, index) =>
    send(app, '/api/mutation/add', form({ title: `photo ${index}`, image: png(content + index) })).catch(() => null)
  )
  await Promise.race(sent)
  await app.stop('SIGKILL')
  const answers = await Promise.all(sent)
  const again = await serve(t, app.folder)
  const photos = (await again.get('/api/query/photos')).body as { title: string }[]
  for (const [index, answer] of answers.entries()) {
    if (answer?.status === 200) t.ok(photos.some(({ title }) => title === `photo ${index}`))
  }
  for (const { title, url, size } of (await again.get('/api/query/shown')).body as {
    title: string
    url: string
    size: number
  }[]) {
    const text = await (await fetch(again.app + url)).text()
    t.equal(text, content + title.slice('photo '.length), title)
    t.equal(text.length, size)
  }
})

t.test('the generated client sends files, and its types are right', async t => {
  const app = await serve(t)
  const source = String((await app.get('/api/client.ts')).body)
  t.match(source, /add: \(title: string, image: Blob \| File_, thumbnail\?: Blob \| File_ \| null/)
  const folder = mkdtempSync(join(import.meta.dirname, 'client-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'client.ts'), source)
  const use = `import { createClient } from './client.ts'
const { add, photos, sizes, post_raw } = createClient({ baseUrl: ${JSON.stringify(app.app)} })
await add('one', new File(['abc'], 'one.png', { type: 'image/png' }))
const [photo] = await photos()
if (photo === undefined) throw new Error('no photo')
await add('two', photo.image, new Blob(['de'], { type: 'image/png' }))
const files = [new File(['abc'], 'a.png', { type: 'image/png' })]
const found = await photos()
console.log(JSON.stringify([await sizes(files, 2), await post_raw(files[0]!), found.map(each => [each.title, each.image.name, each.thumbnail?.size])]))
`
  writeFileSync(join(folder, 'use.ts'), use)
  const strict = [
    '--ignoreConfig',
    '--noEmit',
    '--strict',
    '--target',
    'es2022',
    '--module',
    'nodenext',
    '--lib',
    'es2022,dom,dom.iterable',
    '--allowImportingTsExtensions',
    '--types',
    'node'
  ]
  execFileSync('npx', ['tsc', ...strict, join(folder, 'use.ts')], { encoding: 'utf8' })
  const output = execFileSync(process.execPath, ['--import', 'tsx', join(folder, 'use.ts')], { encoding: 'utf8' })
  t.same(JSON.parse(output), [
    [6],
    'a.png image/png',
    [
      ['one', 'one.png', null],
      ['two', 'one.png', 2]
    ]
  ])
})

function hash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
