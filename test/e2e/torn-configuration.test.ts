import { closeSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { makeProject, pluginPackage, serve } from './served-project.ts'

const source = `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
const say = defineOperation({
  id: 'echo.say', summary: 'Returns the text', input: t.object({ text: t.string() }), output: t.unknown(),
  expose: { http: { method: 'POST', path: '/echo' } }
})
export default definePlugin({ name: 'echo', operations: [say], activate: ctx => ctx.implement(say, input => input) })
`
const EMPTIED_FILE_MS = 2_000
const APPLIED = /svc\.toml: empty or missing for (\d+) ms; its settings no longer apply/
const REMOVED = /plugins\.http\.token: no longer set for (\d+) ms; the change is applied/
const emptyMs = (line: string): number => Number(APPLIED.exec(line)?.[1])
const withToken = (token: string): string => `[plugins.http]\ntoken = "${token}"\n`

const ARGV = [
  '--only',
  'http,echo',
  '--set',
  'kernel.plugin_directories=["plugins"]',
  '--set',
  'kernel.log_level="debug"'
]
const WAITS = /plugins\.http\.token: set in the last run, but not now; waiting until .*svc\.toml is unchanged/

interface Guarded {
  readonly folder: string
  readonly server: Awaited<ReturnType<typeof serve>>
  /** Calls the protected operation and returns the status. */
  post(token?: string, url?: string): Promise<number>
}

async function guarded(t: Test): Promise<Guarded> {
  const folder = makeProject(t, {
    'svc.toml': withToken('first-token-of-the-test'),
    'plugins/echo/package.json': pluginPackage('echo'),
    'plugins/echo/src/plugin.ts': source
  })
  const server = await serve(t, folder, ARGV)
  const post = async (token?: string, url = server.url): Promise<number> => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const response = await fetch(`${url}/echo`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...authorization },
      body: '{"text":"hello"}'
    })
    await response.arrayBuffer()
    return response.status
  }
  t.equal(await post(), 401)
  t.equal(await post('first-token-of-the-test'), 200)
  return { folder, server, post }
}

t.test('a configuration file that is truncated before it is written never removes the token of a listener', async t => {
  const { folder, server, post } = await guarded(t)
  const answers: number[] = []
  const file = openSync(join(folder, 'svc.toml'), 'w')
  await server.line(/svc\.toml: empty or missing; reading again/)
  answers.push(await post())
  writeSync(file, withToken('second-token-of-the-test'))
  closeSync(file)
  while ((await post('second-token-of-the-test')) !== 200) {
    answers.push(await post())
    await pause(20)
  }
  t.equal(await post(), 401)

  const torn = server.lines.length
  writeFileSync(join(folder, 'svc.toml'), '')
  const applied = await server.line(APPLIED, torn)
  t.ok(emptyMs(applied) >= EMPTIED_FILE_MS, applied)
  while ((await post()) !== 200) await pause(50)
  t.pass('a file that stays empty is applied')

  // If the machine sleeps between truncation and write, the file is empty for so long that it is applied.
  const early = server.lines.slice(0, torn).filter(line => APPLIED.test(line))
  for (const line of early) t.ok(emptyMs(line) >= EMPTIED_FILE_MS, line)
  if (early.length === 0) t.same([...new Set(answers)], [401], 'no request without a token succeeds')
})

t.test(
  'a half-written configuration file without the token of a listener is not applied before it settles',
  async t => {
    const { folder, server, post } = await guarded(t)
    const file = join(folder, 'svc.toml')
    const answers: number[] = []
    writeFileSync(file, '[plugins.http]\nslow_ms = 900\n')
    await server.line(/plugins\.http\.token: no longer set; reading again/)
    answers.push(await post())
    writeFileSync(file, `${withToken('second-token-of-the-test')}slow_ms = 900\n`)
    while ((await post('second-token-of-the-test')) !== 200) {
      answers.push(await post())
      await pause(20)
    }
    const early = server.lines.filter(line => REMOVED.test(line))
    // If the machine sleeps between the two writes, the first one is applied.
    if (early.length === 0) t.same([...new Set(answers)], [401], 'no request without a token succeeds')

    const torn = server.lines.length
    writeFileSync(file, '[plugins.http]\nslow_ms = 900\n')
    const applied = await server.line(REMOVED, torn)
    t.ok(Number(REMOVED.exec(applied)?.[1]) >= EMPTIED_FILE_MS, applied)
    while ((await post()) !== 200) await pause(50)
    t.pass('a file that stays without the token is applied')
  }
)

/** Starts a server while another program keeps writing a file without the token. Ends the writing with `last`. */
async function startTorn(t: Test, folder: string, last?: string): Promise<Awaited<ReturnType<typeof serve>>> {
  const file = join(folder, 'svc.toml')
  const write = (): void => writeFileSync(file, '[plugins.http]\n')
  write()
  const writing = setInterval(write, 50)
  try {
    return await serve(t, folder, ARGV, undefined, undefined, line => {
      if (!WAITS.test(line)) return
      clearInterval(writing)
      if (last !== undefined) writeFileSync(file, last)
    })
  } finally {
    clearInterval(writing)
  }
}

t.test('a server that starts while the line with its token is missing waits for it', async t => {
  const { folder, server, post } = await guarded(t)
  await server.stop()
  const known = join(folder, '.vox', 'cache', 'guards.json')
  t.ok(JSON.parse(readFileSync(known, 'utf8')).includes('plugins.http.token'))
  t.notMatch(readFileSync(known, 'utf8'), /first-token/, 'no value is stored')
  t.equal(statSync(known).mode & 0o777, 0o600)

  const completed = await startTorn(t, folder, withToken('second-token-of-the-test'))
  t.equal(completed.lines.filter(line => WAITS.test(line)).length, 1)
  t.equal(await post(undefined, completed.url), 401)
  t.equal(await post('second-token-of-the-test', completed.url), 200)
  await completed.stop()

  const settled = await startTorn(t, folder)
  t.ok(
    settled.lines.some(line => WAITS.test(line)),
    'it waits'
  )
  t.equal(await post(undefined, settled.url), 200, 'a file that stays without the token is applied')
  await settled.stop()

  writeFileSync(join(folder, 'svc.toml'), '[plugins.http]\nslow_ms = 900\n')
  const next = await serve(t, folder, ARGV)
  t.notOk(
    next.lines.some(line => WAITS.test(line)),
    'the removed token is forgotten'
  )
})
