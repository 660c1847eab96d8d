import t from 'tap'
import { checkFile, SourceFile } from '#root'
import { runSvc } from '../../../test/e2e/run-svc.ts'
import { makeProject } from '../../../test/e2e/served-project.ts'
import { unbuilt } from './web/serving.ts'

const options = { script: false, allowComponentFunctions: true, suppressHookLints: true }
const GUARDS = ['auth', 'rate_limit', 'cors', 'webhook']

/** Returns severity and source of each rejected guard. */
function refused(source: string): string[] {
  return checkFile(new SourceFile('a.vox', source), options)
    .diagnostics.filter(({ code }) => code === 'auth.not_enforced')
    .map(({ span, severity }) => `${severity} ${source.slice(span.start, span.end)}`)
}

const GUARDED: readonly ((guard: string) => string)[] = [
  guard => `${guard}\n@query fn f() to int { 1 }`,
  guard => `@query ${guard} fn f() to int { 1 }`,
  guard => `${guard} @mutation fn f() to int { 1 }`,
  guard => `${guard} @server fn f() to int { 1 }`,
  guard => `${guard} @endpoint(kind: query) fn f() to int { 1 }`,
  guard => `${guard} http get "/a" to str { "a" }`,
  guard => `@mcp.tool "a tool" ${guard} fn f() to str { "a" }`,
  guard => `@mcp.resource "a://b" "a text" ${guard} fn f() to str { "a" }`,
  guard => `@table ${guard} type User { name: str }`,
  guard => `type User { ${guard} name: str }`,
  guard => `${guard} component C() { view: <p>"a"</p> }`,
  guard => `${guard} @island Chart { data: str }`,
  guard => `${guard} workflow w() to Result[int] { Ok(1) }`,
  guard => `${guard} activity a() to Result[int] { Ok(1) }`,
  guard => `${guard} actor A { on go() { } }`,
  guard => `actor A { ${guard} on go() { } }`,
  guard => `${guard} fn f() to int { 1 }`
]

t.test('a guard is rejected at every position', t => {
  for (const declare of GUARDED) {
    for (const name of GUARDS) {
      const source = declare(`@${name}(provider: bearer)`)
      t.same(refused(source), [`error @${name}`], source)
    }
  }
  t.end()
})

t.test('the error of a guard names the consequence and the remedy', t => {
  const [found] = checkFile(new SourceFile('a.vox', '@auth @query fn f() to int { 1 }'), options).diagnostics
  t.match(found, {
    code: 'auth.not_enforced',
    category: 'runtime_contract',
    message: '`@auth` is not enforced yet: requests would pass without it',
    suggestions: ['remove the decorator, and require a token for the whole server: set `plugins.http.token`']
  })
  t.end()
})

t.test('check, run, dev and build reject a program with a guard', { skip: unbuilt() }, async t => {
  const cwd = makeProject(t, { 'app.vox': '@auth(provider: bearer)\n@query\nfn secret() to str { "secret" }\n' })
  for (const argv of [
    ['check', 'app.vox'],
    ['run', 'app.vox', '--port', '0'],
    ['dev', 'app.vox', '--port', '0'],
    ['build', 'app.vox', '--out', 'web']
  ]) {
    const { code, stderr } = await runSvc(cwd, argv)
    t.equal(code, 1, argv.join(' '))
    t.match(stderr, /error\[auth\.not_enforced\]/, argv.join(' '))
    t.match(stderr, /app\.vox:1:1/, argv.join(' '))
  }
})
