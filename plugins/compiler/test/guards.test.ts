import { checkFile, programOf, SourceFile } from '@svc/plugin-compiler/testing'
import fc from 'fast-check'
import t from 'tap'

const options = { script: false, allowComponentFunctions: true, suppressHookLints: true }

/** Returns severity, code and source of each finding about guards. */
function found(source: string, strict = false): string[] {
  return checkFile(new SourceFile('a.vox', source), { ...options, strict })
    .diagnostics.filter(({ code }) => /auth/.test(code))
    .map(({ code, span, severity }) => `${severity} ${code} ${source.slice(span.start, span.end)}`)
}

const ENDPOINTS: readonly ((guard: string) => string)[] = [
  guard => `${guard}\n@query fn f() to int { 1 }`,
  guard => `@query ${guard} fn f() to int { 1 }`,
  guard => `${guard} @mutation fn f() to int { 1 }`,
  guard => `${guard} @server fn f() to int { 1 }`,
  guard => `${guard} @endpoint(kind: query) fn f() to int { 1 }`,
  guard => `${guard} http get "/a" to str { "a" }`
]

const TOOLS: readonly ((guard: string) => string)[] = [
  guard => `@mcp.tool "a tool" ${guard} fn f() to str { "a" }`,
  guard => `@mcp.resource "a://b" "a text" ${guard} fn f() to str { "a" }`
]

const PAGES: readonly ((guard: string) => string)[] = [
  guard => `${guard} component C() { view: <p>"a"</p> }\nroutes { "/" to C }`,
  guard =>
    `component A() { view: <p>"a"</p> }\n${guard} component C() { view: <p>"a"</p> }\nroutes { "/" to A { "/c" to C } }`
]

const OTHERS: readonly ((guard: string) => string)[] = [
  guard => `type User { ${guard} name: str }`,
  guard => `${guard} component C() { view: <p>"a"</p> }`,
  guard => `${guard} @island Chart { data: str }`,
  guard => `${guard} workflow w() to Result[int] { Ok(1) }`,
  guard => `${guard} activity a() to Result[int] { Ok(1) }`,
  guard => `${guard} actor A { on go() { } }`,
  guard => `actor A { ${guard} on go() { } }`,
  guard => `${guard} fn f() to int { 1 }`,
  guard => `${guard} @test fn f() { }`
]

const EXAMPLES = {
  auth: '@auth(provider: bearer)',
  role: '@role("admin")',
  public: '@public',
  rate_limit: '@rate_limit(by: ip, per: "1m", max: 100)',
  cors: '@cors(origins: ["https://example.org"])',
  webhook: '@webhook(provider: github, secret: "HOOK")'
}

t.test('a guard is accepted at each declaration that it can guard, and is an error elsewhere', t => {
  for (const [name, guard] of Object.entries(EXAMPLES)) {
    const isEndpointOnly = name === 'cors' || name === 'webhook'
    for (const declare of OTHERS) t.same(found(declare(guard)), [`error auth.target @${name}`], declare(guard))
    for (const declare of TOOLS)
      t.same(found(declare(guard)), isEndpointOnly ? [`error auth.target @${name}`] : [], declare(guard))
    const isOfPages = name === 'auth' || name === 'role' || name === 'public'
    for (const declare of PAGES)
      t.same(found(declare(guard)), isOfPages ? [] : [`error auth.target @${name}`], declare(guard))
    for (const declare of ENDPOINTS) {
      const source = declare(guard)
      const isGet = /@query|kind: query|http get/.test(source)
      const isWrong = name === 'webhook' && isGet && !source.includes('http')
      t.same(found(source), isWrong ? [`error auth.target @${name}`] : [], source)
    }
  }
  t.end()
})

const INVALID: readonly (readonly [decorators: string, source: string])[] = [
  ['@auth(provder: jwt)', 'provder'],
  ['@auth(provider: basic)', 'basic'],
  ['@auth(provider: jwt, scheme: jwt)', 'jwt'],
  ['@auth(optional: 1)', '1'],
  ['@auth(1)', '1'],
  ['@auth @auth', '@auth'],
  ['@auth @public', '@public'],
  ['@role', '@role'],
  ['@role("")', '""'],
  ['@role("a") @auth(optional: true)', '@auth(optional: true)'],
  ['@auth("a", optional: true)', '@auth("a", optional: true)'],
  ['@auth(redirect: "/login")', '@auth'],
  ['@auth(header: "x y")', '"x y"'],
  ['@auth(provider: jwt, header: "x-key")', '"x-key"'],
  ['@public(1)', '1'],
  ['@rate_limit(max: 10)', '@rate_limit(max: 10)'],
  ['@rate_limit(per: "1m")', '@rate_limit(per: "1m")'],
  ['@rate_limit(per: "1m", max: 0)', '0'],
  ['@rate_limit(per: "soon", max: 1)', '"soon"'],
  ['@rate_limit(per: "2d", max: 1)', '"2d"'],
  ['@rate_limit(by: planet, per: "1m", max: 1)', 'planet'],
  ['@rate_limit(per: "1m", window_secs: 60, max: 1)', '60'],
  ['@rate_limit(10, "1m")', '@rate_limit(10, "1m")'],
  ['@rate_limit("5s", user)', '@rate_limit("5s", user)'],
  ['@rate_limit(10)', '@rate_limit(10)'],
  ['@rate_limit("soon", max: 2)', '@rate_limit("soon", max: 2)'],
  ['@cors', '@cors'],
  ['@cors(origins: ["example.org"])', '"example.org"'],
  ['@cors(origins: ["https://example.org/path"])', '"https://example.org/path"']
]

t.test('a rate limit without names gets the form that it probably means', t => {
  for (const [written, meant] of [
    ['@rate_limit(10, "1m")', '@rate_limit(per: "1m", max: 10)'],
    ['@rate_limit("5s", 7, user)', '@rate_limit(by: user, per: "5s", max: 7)'],
    ['@rate_limit("soon", max: 2)', '@rate_limit(per: "1m", max: 2)']
  ] as const) {
    const source = `${written} @query fn f() to int { 1 }`
    const { diagnostics } = checkFile(new SourceFile('a.vox', source), { ...options, strict: false })
    t.match(
      diagnostics.filter(({ code }) => code === 'auth.argument'),
      [{ suggestions: [`write \`${meant}\``] }]
    )
  }
  t.end()
})

t.test('unknown, contradicting and invalid arguments of a guard are errors', t => {
  for (const [decorators, source] of INVALID)
    t.same(found(`${decorators} @query fn f() to int { 1 }`), [`error auth.argument ${source}`], decorators)
  for (const [decorators, source] of [
    ['@webhook', '@webhook'],
    ['@webhook(provider: gitlab, secret: "A")', 'gitlab'],
    ['@webhook(secret: 1)', '1']
  ])
    t.same(found(`${decorators} @server fn f() to int { 1 }`), [`error auth.argument ${source}`], `${decorators}`)
  t.end()
})

t.test('a limit by user needs a guard that proves an identity', t => {
  const limited = (auth: string, by: string) =>
    `${auth} @rate_limit(by: ${by}, per: "1m", max: 1) @query fn f() to int { 1 }`
  const refused = ['error rate_limit.needs_auth @rate_limit']
  const needing = (source: string) =>
    checkFile(new SourceFile('a.vox', source), options).diagnostics.map(({ code, severity, span }) => {
      return `${severity} ${code} ${source.slice(span.start, span.end)}`
    })
  t.same(needing(limited('', 'user')), refused)
  t.same(needing(limited('', 'api_key')), refused)
  t.same(needing(limited('', 'ip')), [])
  t.same(needing(limited('@auth', 'user')), [])
  t.same(needing(limited('@role("a")', 'user_id')), [])
  t.end()
})

t.test('once a program uses @auth, each endpoint has @auth or @public', t => {
  const source = `@auth @query fn a() to int { 1 }
@query fn b() to int { 1 }
@public @mutation fn c() to int { 1 }
http get "/d" to str { "d" }
@webhook(secret: "S") http post "/e" to str { "e" }
@mcp.tool "a tool" fn g() to str { "a" }`
  const names = ['b', '"/d"']
  t.same(
    found(source),
    names.map(name => `warning vox/auth/endpoint-missing-decorator ${name}`)
  )
  t.same(
    found(source, true),
    names.map(name => `error vox/auth/endpoint-missing-decorator ${name}`)
  )
  t.same(found('@query fn b() to int { 1 }'), [])
  t.end()
})

t.test('request.user is an error in a function without @auth, but for names of the program itself', t => {
  const unguarded = ['error auth.unguarded request.user']
  t.same(found('@query fn f() to str { request.user.id }'), unguarded)
  t.same(found('http get "/a" to str { request.user.id }'), unguarded)
  t.same(found('@auth @query fn f() to str { request.user.id }'), [])
  t.same(found('@role("a") http get "/a" to str { request.user.id }'), [])
  t.same(found('type R { user: str }\n@query fn f(request: R) to str { request.user }'), [])
  t.same(found('type R { user: str }\nlet request = R { user: "a" }\n@query fn f() to str { request.user }'), [])
  t.end()
})

t.test('any arguments of guards are read without a failure, and valid ones are bounded', t => {
  const words = 'auth role public rate_limit cors webhook'.split(' ')
  const keys = 'provider scheme optional redirect header by key per window_secs max origins origin secret'.split(' ')
  const values = [
    'jwt',
    'ip',
    'by_user',
    'github',
    'true',
    '0',
    '10',
    '9223372036854775808',
    '"1m"',
    '"1d"',
    '"/a"',
    '""'
  ]
  values.push('["https://a.b"]', '"*"', '[1]', 'f(1)', '-1', '1.5', '{ a: 1 }', '"x-key"', '"A_SECRET"')
  const argument = fc.tuple(fc.option(fc.constantFrom(...keys)), fc.constantFrom(...values))
  const decorator = fc.tuple(fc.constantFrom(...words), fc.option(fc.array(argument, { maxLength: 5 })))
  fc.assert(
    fc.property(fc.array(decorator, { minLength: 1, maxLength: 4 }), decorators => {
      const texts = decorators.map(([name, args]) => {
        const inner = args?.map(([key, value]) => (key === null ? value : `${key}: ${value}`)).join(', ')
        return inner === undefined ? `@${name}` : `@${name}(${inner})`
      })
      const checked = checkFile(new SourceFile('a.vox', `${texts.join(' ')} @mutation fn f() to int { 1 }`), options)
      if (checked.diagnostics.some(({ severity }) => severity === 'error')) return true
      return programOf(checked).guards.every(
        ({ limits, origins, webhook }) =>
          limits.every(({ max, windowMs }) => max >= 1 && windowMs >= 1 && windowMs <= 86_400_000) &&
          origins?.length !== 0 &&
          webhook?.secret !== ''
      )
    }),
    { numRuns: 2_000 }
  )
  t.end()
})
