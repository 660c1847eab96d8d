import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs'
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

interface Guarded {
  readonly folder: string
  readonly server: Awaited<ReturnType<typeof serve>>
  /** Calls the protected operation and returns the status. */
  post(token?: string): Promise<number>
}

async function guarded(t: Test): Promise<Guarded> {
  const folder = makeProject(t, {
    'svc.toml': withToken('first-token-of-the-test'),
    'plugins/echo/package.json': pluginPackage('echo'),
    'plugins/echo/src/plugin.ts': source
  })
  const server = await serve(t, folder, [
    '--set',
    'kernel.plugin_directories=["plugins"]',
    '--set',
    'kernel.log_level="debug"'
  ])
  const post = async (token?: string): Promise<number> => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const response = await fetch(`${server.url}/echo`, {
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
