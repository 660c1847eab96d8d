import t from 'tap'
import { checkFile, SourceFile } from '#root'

const options = { script: false, allowComponentFunctions: false, suppressHookLints: false }

const FUNCTIONS = `
fn yes() to bool { true }
@query fn asked(url: str) to Option[str] { None }
@mutation fn kept(token: str, platform: str = "web") to Result[bool] { Ok(true) }
@server fn opened(id: int, url: Option[str]) { print(id) }
fn quiet(anything: str) { print(anything) }
fn number(n: int) to int { n }
activity sent() to Result[bool] { Ok(true) }
type Paid = | Cash | Card
`

/** Returns `CODE of TEXT` for each finding about hooks. */
function findings(hooks: string): string[] {
  const source = `${hooks}\n${FUNCTIONS}`
  const { diagnostics } = checkFile(new SourceFile('a.vox', source), options)
  return diagnostics.map(({ code, span }) => `${code} of ${source.slice(span.start, span.end)}`)
}

t.test('valid app hooks have no findings', t => {
  const right = `
    @back_button { on_press: yes, fallback: "/" }
    @deep_link Links {
        scheme: "my-app"
        universal_link: "https://example.org:8443"
        on_link: (asked)
        routes: { "/": "/", "/t/:id": "/tasks/:id?tab=1", "/open/:id": opened, "/pay/:what/now": quiet }
    }
    @push { on_register: kept, on_notification: quiet, on_action: quiet, public_key: "${'a'.repeat(87)}" }`
  t.same(findings(right), [])
  t.same(findings('@tokens { anything: "1px" }\n@tokens { more: 1 }'), [], 'tokens may be declared several times')
  t.end()
})

t.test('a hook handler must be callable by a page, and have only parameters that the hook passes', t => {
  const wrong: readonly (readonly [hook: string, ...findings: string[]])[] = [
    ['@back_button { on_press: sent }', 'typecheck.hook.handler of sent'],
    ['@back_button { on_press: Cash }', 'typecheck.hook.handler of Cash'],
    ['@back_button { on_press: "/" }', 'typecheck.hook.handler of "/"'],
    ['@back_button { on_press: fn() { true } }', 'typecheck.hook.handler of fn() { true }'],
    ['@back_button { on_press: quiet }', 'typecheck.hook.parameter of quiet'],
    ['@deep_link { on_link: yes }', 'typecheck.hook.handler of yes'],
    ['@deep_link { on_link: number }', 'typecheck.hook.handler of number', 'typecheck.hook.parameter of number'],
    ['@deep_link { routes: { "/:n": number } }', 'typecheck.hook.handler of number'],
    ['@deep_link { routes: { "/:other": opened } }', 'typecheck.hook.parameter of opened'],
    ['@push { on_action: kept }', 'typecheck.hook.parameter of kept']
  ]
  for (const [hook, ...found] of wrong) t.same([...new Set(findings(hook))], found, hook)
  t.end()
})

t.test('a hook parameter without a value is reported once', t => {
  const { diagnostics } = checkFile(
    new SourceFile('a.vox', 'fn registered(token: str, count: int) { }\n@push { on_register: registered }'),
    options
  )
  t.same(
    diagnostics.map(({ message }) => message),
    ['`registered` needs `count`, which the hook does not pass']
  )
  t.end()
})

t.test('invalid schemes, origins, keys and paths of hooks are reported', t => {
  const link = (entries: string): string[] => findings(`@deep_link { on_link: asked ${entries} }`)
  for (const scheme of ['"My"', '"a b"', '"https"', '"javascript"', '1', 'asked']) {
    t.same(link(`scheme: ${scheme}`), [`typecheck.hook.value of ${scheme}`])
  }
  for (const origin of ['"http://example.org"', '"https://example.org/path"', '"example.org"']) {
    t.same(link(`universal_link: ${origin}`), [`typecheck.hook.value of ${origin}`])
  }
  for (const pattern of ['"t/:id"', '"/a b"', '"/a//b"', '"/:1"']) {
    t.same(link(`routes: { ${pattern}: "/" }`), [`typecheck.hook.value of ${pattern}`])
  }
  for (const path of ['"tasks"', '"//example.org"', '"/:other"', '"https://example.org/"']) {
    t.same(link(`routes: { "/a/:id": ${path} }`), [`typecheck.hook.value of ${path}`])
  }
  t.same(link('routes: "/a"'), ['typecheck.hook.value of "/a"'])
  t.same(findings('@push { on_register: kept public_key: "abc" }'), ['typecheck.hook.value of "abc"'])
  t.end()
})

t.test('duplicate hooks, and duplicate, missing or unknown entries are reported', t => {
  t.same(findings('@push { on_register: kept }\n@push Again { on_register: kept }'), [
    'typecheck.hook.duplicate of @push'
  ])
  t.same(findings('@push { on_register: kept on_register: kept }'), ['typecheck.duplicate_name of on_register'])
  t.same(findings('@deep_link { scheme: "app" }'), ['typecheck.hook.missing_entry of @deep_link'])
  t.same(findings('@deep_link { routes: { "/a": "/", "/a": "/b" } }'), ['typecheck.duplicate_name of "/a"'])
  const source = `@push { on_registr: kept }\n${FUNCTIONS}`
  const { diagnostics } = checkFile(new SourceFile('a.vox', source), options)
  t.match(
    diagnostics.find(({ code }) => code === 'typecheck.hook.unknown_entry'),
    {
      message: '`@push` has no entry `on_registr`',
      suggestions: ['its entries are `public_key`, `on_register`, `on_notification`, `on_action`'],
      fixes: [{ replacement: 'on_register', span: { start: 8, end: 18 } }]
    }
  )
  t.end()
})
