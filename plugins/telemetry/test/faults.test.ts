import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { build } from 'esbuild'
import fc from 'fast-check'
import t from 'tap'
import { DogfoodTrace, redact, Spool, traceFile } from '#root'

/**
 * Compiles the script of the child into one file. Without the modules of the test runner, a write beyond the limit fails
 * instead of ending the process by a signal.
 */
async function compileChild(folder: string): Promise<string> {
  const outfile = join(folder, 'child.mjs')
  await build({
    entryPoints: [join(import.meta.dirname, 'spool-child.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    conditions: ['svc-source'],
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" }
  })
  return outfile
}
const log = { warn: () => {} }

t.test('after a process was killed while it added payloads, every acknowledged one is there and complete', async t => {
  const directory = t.testdir()
  const child = spawn(process.execPath, [await compileChild(directory), directory, '50000'], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  let printed = ''
  child.stdout.on('data', chunk => {
    printed += chunk
    if (printed.split('\n').length > 20) child.kill('SIGKILL')
  })
  await once(child, 'close')
  const acknowledged = printed.split('\n').slice(0, -1)
  const spool = new Spool(directory)
  const names = await spool.names()
  t.ok(acknowledged.length >= 20)
  t.same(
    acknowledged.filter(id => !names.includes(id)),
    []
  )
  t.same(names.slice(0, acknowledged.length), acknowledged, 'their names are in their order')
  for (const id of names) t.equal(JSON.parse((await spool.read(id)) ?? '').text.length, 50_000)
})

t.test('the unfinished file of a killed process is not a payload, and is removed later', async t => {
  const directory = t.testdir()
  const pending = join(directory, 'pending')
  mkdirSync(pending)
  const part = join(pending, '01a21abf-d291-7000-a47b-51ccfb711cac.json.part')
  writeFileSync(part, '{"a":')
  const spool = new Spool(directory)
  t.same(await spool.names(), [])
  t.match(await spool.usage(), { pending: 0, unfinished: 1 })
  await spool.add('{}')
  t.match(await spool.usage(), { pending: 1, unfinished: 1 }, 'another process may be writing it')
  utimesSync(part, 1, 1)
  await spool.add('{}')
  t.match(await spool.usage(), { pending: 2, unfinished: 0 })
})

t.test('a full disk refuses a payload, keeps the others, and leaves no part of it', async t => {
  const directory = t.testdir()
  const first = await new Spool(directory).add('{"kept": true}')
  // A file of more than 16 KiB cannot be written, as on a full disk.
  const argv = [
    '-c',
    'trap "" XFSZ; ulimit -f 32; exec "$@"',
    'bash',
    process.execPath,
    await compileChild(directory),
    directory,
    '100000',
    '1'
  ]
  const child = spawn('bash', argv, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.equal((await text(child.stdout)).trim(), 'TEL_SPOOL_FAILED')
  t.same(readdirSync(join(directory, 'pending')), [`${first}.json`])
})

t.test('a full queue refuses payloads', async t => {
  const directory = t.testdir()
  const pending = join(directory, 'pending')
  mkdirSync(pending)
  for (let index = 0; index < 10_000; index++) {
    const name = `01a21abf-d291-7000-a47b-${String(index).padStart(12, '0')}.json`
    writeFileSync(join(pending, name), '')
  }
  await t.rejects(new Spool(directory).add('{}'), { code: 'TEL_SPOOL_FULL' })
})

t.test('a broadcast becomes one line without secrets; other messages and uncertain ones do not', async t => {
  let on = true
  const folder = join(t.testdir(), 'traces')
  const trace = new DogfoodTrace({
    path: folder,
    enabled: () => on,
    minConfidence: () => 0.75,
    mask: each => each.replaceAll('known-secret', '***'),
    log
  })
  const message = { sender: 1, receiver: null, msg_type: 'free_form', payload: 'line\nwith known-secret' }
  trace.record(message)
  trace.record({ ...message, receiver: 2 })
  trace.record({ ...message, payload: '{"confidence": 0.74}' })
  trace.record({ ...message, payload: '{"confidence": 0.75}' })
  trace.record({ ...message, payload: '{"confidence": "low"' })
  on = false
  trace.record(message)
  await trace.flush()
  const lines = readFileSync(join(folder, 'a2a_traces.jsonl'), 'utf8').trimEnd().split('\n')
  t.same(
    lines.map(line => JSON.parse(line)),
    [
      {
        prompt: 'Agent 1 broadcasts a message of the type free_form',
        response: 'line\nwith ***',
        category: 'a2a_trace',
        schema_version: 'vox_dogfood_v1'
      },
      ...['{"confidence": 0.75}', '{"confidence": "low"'].map(response => ({
        prompt: 'Agent 1 broadcasts a message of the type free_form',
        response,
        category: 'a2a_trace',
        schema_version: 'vox_dogfood_v1'
      }))
    ]
  )
  t.same(trace.counts, { written: 3, dropped: 0 })
  t.equal(traceFile('/a/b.jsonl'), '/a/b.jsonl')
})

t.test('a trace continues after a torn line, and never fails the sender', async t => {
  const path = join(t.testdir({ 'x.jsonl': '{"prompt": "torn' }), 'x.jsonl')
  const warnings: string[] = []
  const options = {
    enabled: () => true,
    minConfidence: () => 0.75,
    mask: (each: string) => each,
    log: { warn: (text: string) => void warnings.push(text) }
  }
  const message = { sender: 1, receiver: null, msg_type: 'a', payload: 'b' }
  const trace = new DogfoodTrace({ path, ...options })
  trace.record(message)
  await trace.flush()
  const [torn, whole] = readFileSync(path, 'utf8').split('\n')
  t.equal(torn, '{"prompt": "torn')
  t.match(JSON.parse(whole ?? ''), { response: 'b' })
  const blocked = new DogfoodTrace({ path: `${path}/below`, ...options })
  for (let index = 0; index < 300; index++) blocked.record(message)
  await blocked.flush()
  t.same(blocked.counts, { written: 0, dropped: 300 })
  t.equal(warnings.length, 1)
})

t.test('no secret of a field or of a known form passes, and other data stays as it is', t => {
  const same = (each: string): string => each
  const names = fc.constantFrom('password', 'apiKey', 'access_token', 'Authorization', 'client-secret', 'privateKey')
  fc.assert(
    fc.property(names, fc.string({ minLength: 1 }), fc.jsonValue(), (name, secret, other) => {
      const value = redact({ outer: [{ [name]: secret }] }, same) as { outer: Record<string, unknown>[] }
      return (
        value.outer[0]?.[name] === '***' &&
        JSON.stringify(redact(JSON.parse(JSON.stringify([1, true, null])), same)) === '[1,true,null]' &&
        redact(other, same) !== undefined
      )
    })
  )
  const forms = [
    'sk-abcdefghijklmnop1234',
    'ghp_abcdefghijklmnopqrst1234',
    'Bearer abcdefgh1234',
    'AKIAABCDEFGHIJKLMNOP'
  ]
  for (const form of forms) t.notMatch(JSON.stringify(redact({ text: `a ${form} b` }, same)), form)
  const plain = { max_tokens: 5, tokens: [1, 2], text: 'a plain text', url: 'https://h/a?b=c', token_count: 'x' }
  t.same(redact(plain, same), plain)
  t.end()
})
