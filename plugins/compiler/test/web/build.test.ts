import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runBuild } from '#root'
import { build, builder, filesIn, run } from './building.ts'
import { SVC, unbuilt } from './serving.ts'

const SMALL = `type Point { x: int y: int }

@query
fn origin() to Point { { x: 0, y: 0 } }
`

function small(t: Test, text = SMALL): { file: string; out: string } {
  const folder = t.testdir({ 'app.vox': text })
  return { file: join(folder, 'app.vox'), out: join(folder, 'web') }
}

t.test('a build writes and reports the files of the program', async t => {
  const { file, out } = small(t)
  const { code, out: stdout, err } = await build(file, out)
  t.equal(code, 0)
  t.same(Object.keys(filesIn(out)), [
    '.vox-build.json',
    'openapi.json',
    'schemas.ts',
    'types.ts',
    'vox-app-contract.json',
    'vox-client.ts',
    'vox-tanstack-query.tsx'
  ])
  t.match(stdout, `wrote ${join(out, 'types.ts')}\n`)
  t.equal(err, `built ${out}: 6 files, 6 of them new or changed\n`)
})

t.test('build --json reports the folder, and what happened to each file', async t => {
  const { file, out } = small(t)
  await build(file, out)
  writeFileSync(file, SMALL.replaceAll('y:', 'z:'))
  const { out: stdout } = await run(runBuild(builder()), { file, out }, true)
  t.same(JSON.parse(stdout), {
    folder: out,
    written: ['openapi.json', 'schemas.ts', 'types.ts', 'vox-client.ts'],
    unchanged: ['vox-app-contract.json', 'vox-tanstack-query.tsx'],
    removed: [],
    kept: [],
    diagnostics: []
  })
})

t.test('a repeated build writes the same bytes, and does not touch unchanged files', async t => {
  const { file, out } = small(t)
  await build(file, out)
  const [before, times] = [filesIn(out), statSync(join(out, 'types.ts')).mtimeMs]
  t.match((await build(file, out)).err, '6 files, 0 of them new or changed')
  t.same(filesIn(out), before)
  t.equal(statSync(join(out, 'types.ts')).mtimeMs, times)
  await build(file, `${out}2`)
  t.same(filesIn(`${out}2`), before)
})

t.test('a build removes obsolete files, unless they were edited', async t => {
  const { file, out } = small(t)
  await build(file, out)
  writeFileSync(join(out, 'schemas.ts'), '// mine now\n')
  writeFileSync(file, 'fn main() { print("nothing else") }\n')
  const { out: stdout } = await build(file, out)
  t.same(Object.keys(filesIn(out)), ['.vox-build.json', 'schemas.ts', 'vox-app-contract.json'])
  t.match(stdout, `removed ${join(out, 'types.ts')}\n`)
  t.match(stdout, `kept ${join(out, 'schemas.ts')}, which changed after the last build\n`)
})

t.test('a build fails if it would overwrite a file of the user', async t => {
  const { file, out } = small(t)
  mkdirSync(out)
  writeFileSync(join(out, 'types.ts'), '// mine\n')
  const { code, err } = await build(file, out)
  t.equal(code, 1)
  t.match(err, `${join(out, 'types.ts')} is not a file of an earlier build, and would be overwritten`)
  t.same(filesIn(out), { 'types.ts': '// mine\n' })
})

t.test('a build of a program with errors changes nothing', async t => {
  const { file, out } = small(t)
  await build(file, out)
  const before = filesIn(out)
  writeFileSync(file, SMALL.replace('to Point', 'to str'))
  const failed = await build(file, out)
  t.equal(failed.code, 1)
  t.match(failed.err, 'error[typecheck.return_mismatch]')
  t.match(failed.err, `built nothing: ${file} has 1 error\n`)
  t.same(filesIn(out), before)
  const { out: json, code } = await run(runBuild(builder()), { file, out }, true)
  t.equal(code, 1)
  t.match(JSON.parse(json), [{ error_code: 'typecheck.return_mismatch' }])
})

t.test(
  'a build into an unwritable folder changes nothing',
  { skip: process.getuid?.() === 0 && 'root can write everywhere' },
  async t => {
    const { file, out } = small(t)
    await build(file, out)
    const before = filesIn(out)
    writeFileSync(file, `${SMALL}\n@query\nfn more() to int { 1 }\n`)
    chmodSync(out, 0o555)
    const { code, err } = await build(file, out)
    chmodSync(out, 0o755)
    t.equal(code, 1)
    t.match(err, 'cannot be written')
    t.same(filesIn(out), before)
  }
)

t.test(
  'an error for an unwritable parent folder names the folder',
  {
    skip: existsSync('/proc/self') ? false : '/proc does not exist'
  },
  async t => {
    const { file } = small(t)
    t.match(await build(file, '/proc/nothing'), { code: 1, err: /\/proc\/nothing cannot be written: ENOENT/ })
  }
)

t.test('a build that fails half-way is rolled back', async t => {
  const { file, out } = small(t)
  await build(file, out)
  const before = filesIn(out)
  writeFileSync(file, `${SMALL.replaceAll('Point', 'Place')}\nenv a { base "debian" }\n`)
  // A folder at the path of the last file makes the last step fail.
  rmSync(join(out, 'vox-app-contract.json'))
  mkdirSync(join(out, 'vox-app-contract.json', 'in-the-way'), { recursive: true })
  const { code, err } = await build(file, out)
  t.equal(code, 1)
  t.match(err, 'nothing was changed')
  const { 'vox-app-contract.json': _, ...others } = before
  t.same(filesIn(out), others)
})

t.test('a damaged or forged .vox-build.json cannot affect other files', async t => {
  const { file, out } = small(t)
  const precious = join(out, '..', 'precious.txt')
  writeFileSync(precious, 'precious')
  mkdirSync(out)
  const hash = '6ac9ba0b4b9e1c4b0f8ae4ce2c8fd5b8bc8ee3c7e5d5c3a0c1f4a3b5d6e7f8a9'
  const forged = { schema_version: 1, files: { '../precious.txt': hash, '/etc/hostname': hash } }
  for (const list of ['{ "files": ', JSON.stringify(forged), '[]', 'null']) {
    writeFileSync(join(out, '.vox-build.json'), list)
    t.equal((await build(file, out)).code, 0)
    t.equal(readFileSync(precious, 'utf8'), 'precious')
    rmSync(out, { recursive: true })
    mkdirSync(out)
  }
})

t.test('later builds do not change the scaffold', async t => {
  const { file, out } = small(t)
  await build(file, out, { scaffold: true })
  const scaffold = ['app/App.tsx', 'app/components.json', 'app/globals.css', 'app/main.tsx', 'index.html']
  for (const path of [...scaffold, 'package.json', 'tsconfig.json', 'vite.config.ts']) {
    t.ok(existsSync(join(out, path)), path)
  }
  writeFileSync(join(out, 'app/App.tsx'), '// mine\n')
  rmSync(join(out, 'index.html'))
  await build(file, out, { scaffold: true })
  t.equal(readFileSync(join(out, 'app/App.tsx'), 'utf8'), '// mine\n')
  t.ok(existsSync(join(out, 'index.html')), '--scaffold writes missing files')
  rmSync(join(out, 'index.html'))
  await build(file, out)
  t.notOk(existsSync(join(out, 'index.html')), 'a build without --scaffold writes no starter files')
  t.ok(existsSync(join(out, 'app/main.tsx')), 'a build without --scaffold removes no starter files')
  await build(file, out, {}, { scaffold: true })
  t.ok(existsSync(join(out, 'index.html')), 'the setting emit_scaffold writes the scaffold, too')
})

t.test('a build fails if the environment and the project select different layouts', async t => {
  const { file, out } = small(t)
  const { code, err } = await build(file, out, {}, { tanstackStart: true, projectTanstackStart: false })
  t.equal(code, 1)
  t.match(err, 'SVC_WEB_TANSTACK_START is true, and tanstack_start of [web] is false')
  t.notOk(existsSync(out))
  for (const settings of [{ tanstackStart: true }, { projectTanstackStart: true }]) {
    rmSync(out, { recursive: true, force: true })
    await build(file, out, { scaffold: true }, settings)
    for (const path of ['src/routes/__root.tsx', 'src/routes/index.tsx', 'src/router.tsx', 'src/routeTree.gen.ts']) {
      t.ok(existsSync(join(out, path)), path)
    }
  }
  await build(file, out, {}, { tanstackStart: false, projectTanstackStart: false })
})

t.test('build uses the layout of the project', { skip: unbuilt(), timeout: 120_000 }, async t => {
  const folder = t.testdir({ 'app.vox': SMALL, 'svc.toml': '[web]\ntanstack_start = true\n' })
  const argv = [SVC, 'build', 'app.vox', '-o', 'web', '--scaffold']
  const built = (env: Record<string, string>) =>
    spawnSync(process.execPath, argv, { cwd: folder, encoding: 'utf8', env: { ...process.env, ...env } })
  const refused = built({ SVC_WEB_TANSTACK_START: '0' })
  t.equal(refused.status, 1)
  t.match(refused.stderr, 'SVC_WEB_TANSTACK_START is false, and tanstack_start of [web] is true')
  t.notOk(existsSync(join(folder, 'web')))
  t.equal(built({}).status, 0)
  t.ok(existsSync(join(folder, 'web/src/router.tsx')))
})

t.test('--mode library generates a package instead of an application', async t => {
  const text = `${SMALL}\ncomponent Dot(at: Point) { view: <p>"."</p> }\nroutes { "/" to Dot with loader: origin }\n`
  const { file, out } = small(t, text)
  await build(file, out, { mode: 'library', scaffold: true }, { express: true })
  const files = filesIn(out)
  t.notOk(files['routes.manifest.ts'] ?? files['server.ts'] ?? files['app/main.tsx'])
  t.match(JSON.parse(files['package.json'] ?? ''), {
    name: 'app',
    exports: { '.': './index.ts' },
    peerDependencies: { '@tanstack/react-query': String, react: String, zod: String }
  })
  t.equal(
    files['index.ts'],
    `// Generated from app.vox by svc build; the next build overwrites it.

export * from './types'
export * from './schemas'
export * as client from './vox-client'
export * as hooks from './vox-tanstack-query'
export { Dot } from './Dot'
`
  )
  t.same(JSON.parse(files['routes.manifest.json'] ?? '').routes, [
    { path: '/', component: 'Dot', loader: 'origin', pending: null, error: null, children: [] }
  ])
})

const WHOLE = `${SMALL}
@table type Note { at: Point }
@mutation fn keep(at: Point) to bool { db.Note.insert({ at: at })
    true }
activity send(at: Point) to Result[bool] { Ok(true) }
url Urls { Home }
env web { base "debian" }
@tokens { brand: "#06c" }
component Dot(at: Point) { view: <p>"."</p> }
routes { "/" to Dot with loader: origin }
`

t.test('--target omits the files of other targets', async t => {
  const { file, out } = small(t, WHOLE)
  const built = async (input: Record<string, unknown>): Promise<string[]> => {
    rmSync(out, { recursive: true, force: true })
    const { code, err } = await build(file, out, input, { express: true })
    t.equal(code, 0, err)
    return Object.keys(filesIn(out)).filter(path => path !== '.vox-build.json')
  }
  const types = ['openapi.json', 'schema.ts', 'schemas.ts', 'types.ts']
  const server = ['Dockerfile.web', 'activities.ts', 'openapi.json', 'schema.ts', 'schemas.ts', 'server.ts', 'types.ts']
  const client = [...types, 'urls.ts', 'vox-app-contract.json', 'vox-client.ts']
  t.same(await built({ target: 'server' }), [...server, 'vox-app-contract.json'])
  t.same(await built({ target: 'client' }), client)
  t.same(await built({ target: 'client', mode: 'library' }), [...client, 'index.ts', 'package.json'].sort())
  const whole = await built({ target: 'fullstack' })
  t.same(whole, await built({}), '--target fullstack writes the same files as a build without a target')
  for (const path of [...server, ...client, 'Dot.tsx', 'tokens.ts', 'routes.manifest.ts'])
    t.ok(whole.includes(path), path)
})

t.test('--target server ignores errors in pages', async t => {
  const { file, out } = small(t, `${SMALL}\nroutes { "/" to Missing }\n`)
  t.equal((await build(file, out)).code, 1)
  for (const target of ['server', 'client']) t.equal((await build(file, out, { target })).code, 0, target)
})

t.test('conflicting options are rejected with an error that names both', async t => {
  const { file, out } = small(t)
  const refused: [Record<string, unknown>, string][] = [
    [{ target: 'server', scaffold: true }, '--target server builds no application, so --scaffold has no effect'],
    [{ target: 'client', scaffold: true }, '--target client builds no application, so --scaffold has no effect'],
    [
      { target: 'client', mobile_target: 'ios' },
      '--target client builds no application, so --mobile-target ios has no effect'
    ],
    [
      { mode: 'library', mobile_target: 'native' },
      '--mode library builds no application, so --mobile-target native has no effect'
    ]
  ]
  for (const [input, message] of refused) {
    await t.rejects(build(file, out, input), { code: 'CMP_OPTIONS_CONFLICT', status: 400, message })
  }
  await t.rejects(build(file, out, { mobile_target: 'android' }, { tanstackStart: true }), {
    message: '--mobile-target android requires pages without server rendering, but tanstack_start is on'
  })
  t.notOk(existsSync(out))
})

t.test('the web IR is written next to the other files on request', async t => {
  const { file, out } = small(t)
  await build(file, out, { emit_ir: true })
  t.match(JSON.parse(filesIn(out)['web-ir.v1.json'] ?? ''), { version: 'V0_1' })
  await build(file, out)
  t.notOk(filesIn(out)['web-ir.v1.json'])
})

t.test('build accepts a folder with a single source file', async t => {
  const { file, out } = small(t)
  const folder = join(file, '..')
  t.equal((await build(folder, out)).code, 0)
  writeFileSync(join(folder, 'other.vox'), SMALL)
  const { code, err } = await build(folder, out)
  t.equal(code, 1)
  t.match(err, `${folder} is a folder with 2 source files`)
})
