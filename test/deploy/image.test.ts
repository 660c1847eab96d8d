import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { tsImport } from 'tsx/esm/api'
import { runSvc } from '../e2e/run-svc.ts'
import { makeProject } from '../e2e/served-project.ts'
import { DEPLOY, filesWith, ROOT } from './read.ts'

/** Settings of the image, as a user file for a project in a folder. */
const IMAGE = readFileSync(join(DEPLOY, 'image', 'svc.toml'), 'utf8')

async function readyExit(url: string): Promise<number> {
  const child = spawn(process.execPath, [join(DEPLOY, 'image', 'ready.mjs')], { env: { READY_URL: url } })
  const [code] = await once(child, 'exit')
  return code
}

t.test('the health check succeeds only if the server is ready', async t => {
  let status = 200
  const server = createServer((_request, response) => void response.writeHead(status).end())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as { port: number }
  const url = `http://127.0.0.1:${port}/ready`
  t.equal(await readyExit(url), 0)
  status = 503
  t.equal(await readyExit(url), 1)
  server.closeAllConnections()
  server.close()
  t.equal(await readyExit(url), 1, 'no server')
})

t.test('with the settings of the image, svc refuses to serve without a token', async t => {
  const folder = makeProject(t, { 'svc.toml': '', 'user/svc/svc.toml': IMAGE, 'secrets/other': 'x' })
  const env = { XDG_CONFIG_HOME: join(folder, 'user') }
  const flags = ['--only', 'http', '--set', 'plugins.secrets-file.directory=secrets', '--set', 'plugins.http.port=0']
  const without = await runSvc(folder, ['serve', ...flags], { env })
  t.not(without.code, 0)
  t.match(without.stderr, /SEC_NOT_FOUND/)
  const removed = await runSvc(folder, ['serve', ...flags, '--set', 'plugins.http.token=!unset'], { env })
  t.not(removed.code, 0)
  t.match(removed.stderr, /HTTP_TOKEN_MISSING/)
})

t.test('every file of settings for a deployment is valid', async t => {
  for (const file of filesWith(DEPLOY, '.toml')) {
    const folder = makeProject(t, { 'svc.toml': readFileSync(file, 'utf8') })
    const { code, stderr, stdout } = await runSvc(folder, ['config', 'validate'])
    t.equal(code, 0, `${file.slice(ROOT.length + 1)}: ${stderr}${stdout}`)
  }
})

t.test('the image keeps what programs read and licences require', async t => {
  const { slim } = await tsImport('../../tools/deploy/slim.ts', import.meta.url)
  const folder = t.testdir({
    lib: {
      node_modules: {
        '@svc': {
          'plugin-a': {
            dist: { 'plugin.cjs': '', 'plugin.map': '', 'types.d.ts': '' },
            'template.ts': '',
            'page.md': ''
          }
        }
      }
    },
    node_modules: {
      library: {
        'index.js': '',
        'index.js.map': '',
        'index.d.ts': '',
        'README.md': '',
        'LICENSE.md': '',
        'NOTICE.md': ''
      },
      'sql.js': { dist: { 'sql-wasm.js': '', 'sql-wasm.wasm': '', 'sql-wasm-debug.js': '', 'sql-asm.js': '' } },
      '@libsql': { 'linux-x64-gnu': { 'index.node': '' }, 'linux-x64-musl': { 'index.node': '' } }
    }
  })
  slim(folder)
  const has = (path: string): boolean => existsSync(join(folder, path))
  const own = 'lib/node_modules/@svc/plugin-a'
  for (const path of [
    `${own}/dist/plugin.cjs`,
    `${own}/template.ts`,
    `${own}/page.md`,
    'node_modules/library/index.js',
    'node_modules/library/LICENSE.md',
    'node_modules/library/NOTICE.md',
    'node_modules/sql.js/dist/sql-wasm.js',
    'node_modules/sql.js/dist/sql-wasm.wasm',
    'node_modules/@libsql/linux-x64-gnu/index.node'
  ])
    t.ok(has(path), path)
  for (const path of [
    `${own}/dist/types.d.ts`,
    'node_modules/library/index.js.map',
    'node_modules/library/index.d.ts',
    'node_modules/library/README.md',
    'node_modules/sql.js/dist/sql-asm.js',
    'node_modules/sql.js/dist/sql-wasm-debug.js',
    'node_modules/@libsql/linux-x64-musl'
  ])
    t.notOk(has(path), path)
})
