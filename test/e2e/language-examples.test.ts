import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { build } from '../../plugins/compiler/test/web/building.ts'
import { runSvc } from './run-svc.ts'
import { makeProject, serve, writeFiles } from './served-project.ts'

const EXAMPLES = join(import.meta.dirname, '..', '..', 'examples', 'language')
const files = Object.fromEntries(
  readdirSync(EXAMPLES)
    .filter(name => name.endsWith('.vox'))
    .map(name => [name, readFileSync(join(EXAMPLES, name), 'utf8')])
)
const names = Object.keys(files)
const sourceOf = (name: string): string => files[name] as string

const withTests = names.filter(name => /^@(?:test|forall)/m.test(sourceOf(name)))
const withMain = names.filter(name => /^fn main\(/m.test(sourceOf(name)))
const served = names.filter(name => /^(?:@query|@mutation|@server|http |@mcp|routes )/m.test(sourceOf(name)))
/** Command-line arguments by example. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = { 'word_count.vox': ['hello.vox'] }

t.test('every example can be run, tested or served', async t => {
  t.same(
    names.filter(name => ![withTests, withMain, served].some(list => list.includes(name))),
    []
  )
})

t.test('the tests of all examples pass', async t => {
  const folder = makeProject(t, files)
  const { code, stdout, stderr } = await runSvc(folder, ['test', ...withTests, '--json'])
  const { tests } = JSON.parse(stdout) as { tests: { name: string; ok: boolean; file: string }[] }
  t.same(
    tests.filter(({ ok }) => !ok),
    [],
    stderr
  )
  t.same([...new Set(tests.map(({ file }) => file))].sort(), withTests.toSorted())
  t.equal(code, 0)
})

t.test('examples with a main run to their end', async t => {
  const folder = makeProject(t, files)
  for (const name of withMain) {
    const { code, stdout, stderr } = await runSvc(folder, ['run', name, ...(ARGUMENTS[name] ?? [])])
    t.equal(code, 0, `${name}: ${stderr}`)
    t.not(stdout, '', name)
  }
})

t.test('examples without a main are served, and list their routes', async t => {
  const folder = makeProject(t, { ...files, 'svc.toml': settingsFor(served[0] as string) })
  const app = await serve(t, folder, ['--only', 'app-runtime,http,mcp'])
  const url = /app listens on (http:\/\/[^\s"]+)/.exec(await app.line(/app listens on/))?.[1] as string
  for (const [index, name] of served.entries()) {
    if (index > 0) {
      // Renamed into place: a file that is truncated first would be applied late.
      writeFiles(folder, { 'next.toml': settingsFor(name) })
      renameSync(join(folder, 'next.toml'), join(folder, 'svc.toml'))
      await app.line(new RegExp(`"msg":"generation ${index + 1}"`))
    }
    const told = await (await fetch(`${url}/openapi.json`)).text()
    const client = await (await fetch(`${url}/api/client.ts`)).text()
    const output = join(folder, `web-${index}`)
    const { code, err } = await build(join(folder, name), output)
    t.equal(code, 0, err)
    const { openapi, paths } = JSON.parse(told) as Description
    const built = ['openapi.json', 'vox-client.ts'].map(file => join(output, file))
    // For a program without an API, a build writes no API files.
    if (Object.keys(paths).length === 0) t.same(built.filter(existsSync), [], name)
    else
      t.strictSame(
        [told, client],
        built.map(readText),
        `${name}: the build and the running program have the same API files`
      )
    const ajv = new Ajv2020({ strict: false, logger: false })
    ajv.addSchema({ $id: 'https://svc.invalid/openapi', ...JSON.parse(told) })
    t.match(openapi, /^3\.1/)
    const queries = [...sourceOf(name).matchAll(/@query\nfn (\w+)/g)].map(([, query]) => `/api/query/${query}`)
    for (const path of queries) {
      const { parameters = [] } = paths[path]?.get ?? {}
      const response = await fetch(url + path)
      const needsMore = parameters.some(({ required }) => required === true)
      t.equal(response.status, needsMore ? 400 : 200, `${name} ${path}`)
      const answer = await response.json()
      const place = `paths/${path.replaceAll('/', '~1')}/get/responses/${response.status}`
      const schema = { $ref: `https://svc.invalid/openapi#/${place}/content/application~1json/schema` }
      t.ok(ajv.validate(schema, answer), `${name} ${path}: ${ajv.errorsText()}`)
    }
  }
  t.equal(await app.stop(), 0)
})

/** Returns the settings of a program, with a separate database: several programs have tables with the same names. */
function settingsFor(name: string): string {
  return `[plugins.app-runtime]\nport = 0\nprogram = "${name}"\ndatabase = "${name}.db"\n`
}

interface Description {
  readonly openapi: string
  readonly paths: Record<string, { get?: { parameters?: { required?: boolean }[] } }>
}

function readText(path: string): string {
  return readFileSync(path, 'utf8')
}
