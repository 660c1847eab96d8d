import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
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
const withToken = (token: string): string => `[plugins.http]\ntoken = "${token}"\n`

t.test('a file that is truncated before it is written never removes the token of a listener', async t => {
  const folder = makeProject(t, {
    'svc.toml': withToken('first-token-of-the-test'),
    'plugins/echo/package.json': pluginPackage('echo'),
    'plugins/echo/src/plugin.ts': source
  })
  const server = await serve(t, folder, ['--set', 'kernel.plugin_directories=["plugins"]'])
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

  const emptied = performance.now()
  const file = openSync(join(folder, 'svc.toml'), 'w')
  while (performance.now() - emptied < EMPTIED_FILE_MS / 2) {
    const status = await post()
    // A later answer says nothing: by then the empty file counts.
    if (performance.now() - emptied < EMPTIED_FILE_MS && status !== 401) t.fail(`answered with ${status}`)
    await pause(20)
  }
  writeSync(file, withToken('second-token-of-the-test'))
  closeSync(file)
  while ((await post('second-token-of-the-test')) !== 200) await pause(20)
  t.equal(await post(), 401)

  writeFileSync(join(folder, 'svc.toml'), '')
  while ((await post()) !== 200) await pause(50)
  t.pass('a file that stays empty is applied')
})
