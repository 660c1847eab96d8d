import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { makeProject, serve } from '../../../../test/e2e/served-project.ts'
import { KEYS, type S3Server, serveS3 } from '../storage/s3-server.ts'
import { ask } from './served-app.ts'

t.setTimeout(120_000)

const SOURCE = `
@table type Photo { title: str, image: File }

@mutation
fn add(title: str, image: File) to Result[int] {
    if title is "" { return Error("a photo needs a title") }
    Ok(db.Photo.insert({ title: title, image: image }))
}

@mutation
fn put(title: str, content: str) to Result[int] {
    let file = std.files.put(title, content)?
    if content is "refuse" { return Error("refused") }
    Ok(db.Photo.insert({ title: title, image: file }))
}

@query
fn urls() to List[str] { db.Photo.all().map(fn(photo) std.files.url(photo.image)) }

@query
fn texts() to List[str] {
    db.Photo.all().map(fn(photo) match std.files.read(photo.image) { Ok(text) => text, Error(reason) => reason })
}
`

/** Serves the program with files in a bucket, whose keys come from the environment. */
async function serveWithBucket(t: Test, s3: S3Server, keys = KEYS) {
  const folder = makeProject(t, {
    'app.vox': SOURCE,
    'svc.toml': `[plugins.app-runtime.files.s3]
endpoint = ${JSON.stringify(s3.endpoint)}
bucket = "files"
region = "eu-test-1"
prefix = "app"
access_key = "secret://env/S3_ACCESS_KEY"
secret_key = "secret://env/S3_SECRET_KEY"
`
  })
  const set = ['program="app.vox"', 'port=0'].flatMap(each => ['--set', `plugins.app-runtime.${each}`])
  const argv = ['--only', 'app-runtime,http,secrets,secrets-env', ...set]
  const env = { S3_ACCESS_KEY: keys.accessKey, S3_SECRET_KEY: keys.secretKey }
  const served = await serve(t, folder, argv, undefined, env)
  const app = /app listens on (http:\/\/[^\s"]+)/.exec(await served.line(/app listens on/))?.[1] ?? ''
  return { ...served, app }
}

function form(title: string, content: string): FormData {
  const body = new FormData()
  body.append('title', title)
  body.append('image', new Blob([content], { type: 'image/png' }), 'a.png')
  return body
}

t.test('a served program keeps its files in a bucket', async t => {
  const s3 = await serveS3(t)
  const { app } = await serveWithBucket(t, s3)
  const add = (title: string, content: string) =>
    ask(`${app}/api/mutation/add`, { method: 'POST', body: form(title, content) })
  t.match(await add('sun', '0123456789'.repeat(1000)), { status: 200, body: 1 })
  t.match(await add('', 'refused'), { status: 500, body: { code: 'RUN_REFUSED' } })
  // The file of the refused call is removed while the client reads the answer.
  while (s3.objects.size > 1) await sleep(10)
  t.match([...s3.objects.keys()], [/^app\/[0-9a-f]{16}\/[0-9a-f]{2}\/[0-9a-f]{32}$/])
  const put = (content: string) =>
    ask(`${app}/api/mutation/put`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ title: 'a.txt', content })
    })
  t.match(await put('text'), { status: 200, body: 2 })
  t.match(await put('refuse'), { status: 500 })
  t.match((await ask(`${app}/api/query/texts`)).body, [/^0123/, 'text'])
  const [url = ''] = (await ask(`${app}/api/query/urls`)).body as string[]
  const range = await fetch(app + url, { headers: { range: 'bytes=5-14' } })
  t.equal(range.status, 206)
  t.equal(await range.text(), '5678901234')
  t.equal(range.headers.get('content-type'), 'image/png')
  let left = 1
  s3.fault = () => (left-- > 0 ? 'half sent' : null)
  t.equal((await (await fetch(app + url)).text()).length, 10_000)
  s3.fault = () => 503
  t.match(await ask(app + url), { status: 500, body: { code: 'RUN_STORAGE' } })
  t.match(await add('moon', 'x'), { status: 500, body: { code: 'RUN_STORAGE' } })
  s3.fault = () => null
  t.equal(((await ask(`${app}/api/query/urls`)).body as unknown[]).length, 2)
})

t.test('wrong keys are reported at the start and to no client', async t => {
  const s3 = await serveS3(t)
  const wrong = { accessKey: 'AKIAWRONGWRONG', secretKey: 'wrong/secret/wrong' }
  const served = await serveWithBucket(t, s3, wrong)
  await served.line(/does not allow the access key to use the bucket files \(403 InvalidAccessKeyId\)/)
  const answer = await ask(`${served.app}/api/mutation/add`, { method: 'POST', body: form('sun', 'x') })
  t.match(answer, { status: 500, body: { code: 'RUN_STORAGE' } })
  const told = [JSON.stringify(answer), ...served.lines].join('\n')
  for (const secret of [wrong.accessKey, wrong.secretKey, KEYS.secretKey]) t.notMatch(told, secret)
})
