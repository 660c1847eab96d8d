import { isDeepStrictEqual } from 'node:util'
import { check, formatProblem, problemsError } from '@svc/config'
import { t as schema } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { plugin, project, web } from './project.ts'

t.test('a mistyped key is an error with file, line, column and a suggestion', async t => {
  const here = project(t, { 'svc.toml': '# mine\n[plugins.web]\nhost = "a"\n  prot = 8080\n' })
  const { problems } = here.resolve([web])
  t.strictSame(problems, [
    {
      severity: 'error',
      code: 'CFG_KEY_UNKNOWN',
      message: 'plugins.web.prot is not a setting',
      file: here.path('svc.toml'),
      line: 4,
      column: 3,
      key: 'plugins.web.prot',
      hint: 'did you mean "port"?'
    }
  ])
  t.equal(
    formatProblem(problems[0]!),
    `${here.path('svc.toml')}:4:3  CFG_KEY_UNKNOWN  plugins.web.prot is not a setting\n  did you mean "port"?`
  )
})

t.test('positions are found in nested, inline, dotted and quoted tables', async t => {
  const cases: [string, number, number, string][] = [
    ['[plugins.web.tls]\nverfiy = true', 2, 1, 'verify'],
    ['[plugins.web]\ntls = { file = "x", verfiy = true }', 2, 21, 'verify'],
    ['[plugins]\nweb.tls.verfiy = true', 2, 1, 'verify'],
    ['plugins."web".enabeld = true', 1, 1, 'enabled'],
    ['[plugins.web]\ntags = [\n  "a",\n]\nbreaker = { failure = 1 }', 5, 13, 'failures'],
    ['[kernel]\nwatsh = true', 2, 1, 'watch'],
    ['[kernl]\n', 1, 2, 'kernel']
  ]
  for (const [text, line, column, meant] of cases) {
    const { problems } = project(t, { 'svc.toml': text }).resolve([web])
    const hint = `did you mean "${meant}"?`
    t.match(problems, [{ severity: 'error', code: 'CFG_KEY_UNKNOWN', line, column, hint }], text)
    t.equal(problems.length, 1)
  }
})

t.test('the error for an invalid value names key, expected type, actual value and position', async t => {
  const cases: [string, string][] = [
    ['port = "80"', 'plugins.web.port must be an integer (minimum 1, maximum 65535), got "80"'],
    ['port = 70000', 'plugins.web.port must be an integer (minimum 1, maximum 65535), got 70000'],
    ['mode = "reckless"', 'plugins.web.mode must be one of "fast", "safe", got "reckless"'],
    ['strict = 1', 'plugins.web.strict must be true or false, got 1'],
    ['tags = "a"', 'plugins.web.tags must be a list, each a string, got "a"'],
    ['tags = ["a", 1]', 'plugins.web.tags.1 must be a string, got 1'],
    ['tls = 3', 'plugins.web.tls must be a table, got 3'],
    ['host = { a = 1 }', 'plugins.web.host must be a string, got a table'],
    ['token = "short"', 'plugins.web.token must be a string (minLength 8), got ********'],
    ['isolation = "thread"', 'plugins.web.isolation must be one of "in-process", "worker", "process", got "thread"']
  ]
  for (const [line, message] of cases) {
    const here = project(t, { 'svc.toml': `[plugins.web]\n${line}\n` })
    const config = here.resolve([web])
    const expected = { severity: 'error', code: 'CFG_VALUE_INVALID', message, file: here.path('svc.toml'), line: 2 }
    t.match(config.problems, [expected], line)
    t.equal(config.problems.length, 1, line)
    t.ok(config.plugins.get('web')?.error)
    t.strictSame(config.generalProblems, [])
  }
})

t.test('the error for an override names the option', async t => {
  const { problems } = project(t).resolve([web], { set: ['plugins.web.port=x', 'plugins.web.prot=1'] })
  t.strictSame(problems.map(({ message }) => message).sort(), [
    'plugins.web.port must be an integer (minimum 1, maximum 65535), got "x" (--set plugins.web.port)',
    'plugins.web.prot is not a setting (--set plugins.web.prot)'
  ])
})

t.test('an invalid union value is one problem, not one for each branch', async t => {
  const loose = plugin(
    'loose',
    schema.object({ size: schema.optional(schema.union([schema.integer(), schema.boolean()])) })
  )
  const { problems } = project(t, { 'svc.toml': '[plugins.loose]\nsize = "x"\n' }).resolve([loose])
  t.strictSame(
    problems.map(({ message }) => message),
    ['plugins.loose.size must be an integer or true or false, got "x"']
  )
})

t.test('the error for a missing required setting has a hint that says how to set it', async t => {
  const needy = plugin('needy', schema.object({ url: schema.string({ 'x-env': 'SVC_NEEDY_URL' }) }))
  t.match(project(t).resolve([needy]).plugins.get('needy')?.problems, [
    {
      severity: 'error',
      code: 'CFG_VALUE_MISSING',
      message: 'plugins.needy.url is required but not set; expected a string',
      hint: 'set plugins.needy.url in svc.toml, or SVC_NEEDY_URL in the environment'
    }
  ])
  t.strictSame(project(t).resolve([needy], { env: { SVC_NEEDY_URL: 'u' } }).problems, [])
  t.strictSame(
    project(t).resolve([{ ...needy, enabledByDefault: false }]).problems,
    [],
    'a disabled plugin has no such problem'
  )
  t.strictSame(project(t).resolve([needy], { set: ['plugins.needy.enabled=false'] }).problems, [])
})

t.test('default tables exist even if no file contains them', async t => {
  const config = project(t).resolve([web])
  t.strictSame(config.plugins.get('web')?.values.tls, { verify: true })
  const half = project(t, { 'svc.toml': '[plugins.web.tls]\nfile = "x"\n' }).resolve([web])
  t.strictSame(half.plugins.get('web')?.values.tls, { verify: true, file: 'x' })
})

t.test('an unknown plugin is an error if it resembles a known one, else a warning', async t => {
  const near = project(t, { 'svc.toml': '[plugins.wbe]\nport = 1\n' }).resolve([web]).generalProblems
  t.match(near, [{ severity: 'error', code: 'CFG_PLUGIN_UNKNOWN', line: 1, column: 2, hint: 'did you mean "web"?' }])
  const far = project(t, { 'svc.toml': '[plugins.orchestrator]\nport = 1\n' }).resolve([web]).generalProblems
  t.match(far, [{ severity: 'warning', code: 'CFG_PLUGIN_UNKNOWN', key: 'plugins.orchestrator' }])
})

t.test('an unknown table is an error with a suggestion', async t => {
  const meant = project(t, { 'svc.toml': '[web]\nport = 1\n' }).resolve([web]).generalProblems
  t.match(meant, [{ severity: 'error', code: 'CFG_KEY_UNKNOWN', hint: 'did you mean "plugins.web"?' }])
})

t.test('a value instead of a table is an error', async t => {
  for (const [text, key] of [
    ['kernel = 1', 'kernel'],
    ['plugins = []', 'plugins'],
    ['plugins.web = "on"', 'plugins.web']
  ] as const) {
    const { problems } = project(t, { 'svc.toml': text }).resolve([web])
    t.match(
      problems,
      [{ severity: 'error', code: 'CFG_VALUE_INVALID', message: `${key} must be a table`, line: 1 }],
      text
    )
  }
})

t.test('a plugin may have a separate table, in which reserved names are free', async t => {
  const orchestra = plugin(
    'orchestra',
    schema.object(
      {
        enabled: schema.boolean({ default: true, 'x-env': 'SVC_ORCHESTRA_ENABLED' }),
        agents: schema.integer({ default: 8 })
      },
      { 'x-section': 'orchestration' }
    )
  )
  const text =
    '[orchestration]\nenabled = false\nagents = 2\n[plugins.orchestra]\nenabled = true\nisolation = "worker"\n'
  const config = project(t, { 'svc.toml': text }).resolve([orchestra])
  t.strictSame(config.problems, [])
  const own = config.plugins.get('orchestra')
  t.strictSame(own?.values, { enabled: false, agents: 2 })
  t.equal(own?.enabled, true)
  t.equal(own?.policy.isolation, 'worker')
  t.match(config.explain('orchestration.enabled'), {
    key: 'orchestration.enabled',
    value: false,
    place: 'svc.toml:2:1'
  })
  t.match(config.explain('plugins.orchestra.enabled'), { value: true, place: 'svc.toml:5:1' })
  t.match(config.explain('plugins.orchestra.agents'), { key: 'orchestration.agents', value: 2, place: 'svc.toml:3:1' })

  const both = project(t, { 'svc.toml': '[plugins.orchestra]\nagents = 3\n' }).resolve([orchestra])
  t.match(both.explain('orchestration.agents'), { value: 3, place: 'svc.toml:2:1' }, '[plugins.NAME] also works')

  const typo = project(t, { 'svc.toml': '[orchestration]\nagnets = 3\n' }).resolve([orchestra])
  t.match(typo.problems, [
    { code: 'CFG_KEY_UNKNOWN', key: 'orchestration.agnets', line: 2, hint: 'did you mean "agents"?' }
  ])

  const rival = plugin('rival', schema.object({}, { 'x-section': 'orchestration' }))
  const { plugins } = project(t).resolve([orchestra, rival])
  t.match(plugins.get('rival')?.problems, [{ code: 'CFG_SECTION_CONFLICT', message: /rival .* orchestra$/ }])
  t.strictSame(plugins.get('orchestra')?.problems, [])
})

t.test('an older name of a separate table is still read, below the present name', async t => {
  const mesh = plugin(
    'mesh',
    schema.object(
      {
        scope: schema.string({ default: '', 'x-env': 'SVC_SCOPE' }),
        labels: schema.array(schema.string(), { default: [] })
      },
      { 'x-section': 'mesh', 'x-section-aliases': ['peers', 'the peers'] }
    )
  )
  const text = '[peers]\nscope = "old"\nlabels = ["a"]\n["the peers"]\nlabels = ["b"]\n[mesh]\nscope = "new"\n'
  const config = project(t, { 'svc.toml': text }).resolve([mesh])
  t.strictSame(config.problems, [])
  t.strictSame(config.plugins.get('mesh')?.values, { scope: 'new', labels: ['b'] })
  t.match(config.explain('mesh.labels'), { value: ['b'], place: 'svc.toml:5:1' })

  const typo = project(t, { 'svc.toml': '[peers]\nscoop = 3\n' }).resolve([mesh])
  t.match(typo.problems, [{ code: 'CFG_KEY_UNKNOWN', line: 2, hint: 'did you mean "scope"?' }])
  const flat = project(t, { 'svc.toml': 'peers = 3\n' }).resolve([mesh])
  t.match(flat.problems, [{ code: 'CFG_VALUE_INVALID', message: 'peers must be a table' }])

  const rival = plugin('rival', schema.object({}, { 'x-section': 'peers' }))
  t.match(project(t).resolve([mesh, rival]).plugins.get('rival')?.problems, [{ code: 'CFG_SECTION_CONFLICT' }])
})

t.test('a manifest that declares a reserved key is invalid', async t => {
  const greedy = plugin('greedy', schema.object({ isolation: schema.string({ default: 'x' }) }))
  t.match(project(t).resolve([greedy]).plugins.get('greedy')?.problems, [
    { severity: 'error', code: 'CFG_KEY_RESERVED', key: 'plugins.greedy.isolation' }
  ])
})

t.test('an invalid schema is a problem of its plugin', async t => {
  const broken = plugin('broken', { type: 'object', properties: { a: { type: 'strnig', default: 'x' } }, allOf: [] })
  const config = project(t).resolve([broken, web])
  t.match(config.plugins.get('broken')?.problems, [
    { severity: 'error', code: 'CFG_SCHEMA_INVALID', message: /broken/ }
  ])
  t.equal(config.plugins.get('web')?.error, null)
})

t.test('policies have defaults, and timeouts default to those of the kernel', async t => {
  const toml = '[kernel]\ndrain_timeout_ms = 5\n[plugins.web]\nrequired = true\nbreaker.failures = 2\nmemory_mb = 64\n'
  const policy = project(t, { 'svc.toml': `${toml}permissions = { fs_read = ["a"], child_process = true }\n` })
    .resolve([web])
    .plugins.get('web')?.policy
  t.strictSame(policy, {
    isolation: 'in-process',
    onBootFailure: 'abort',
    uncaught: 'degrade',
    activateTimeoutMs: 30_000,
    drainTimeoutMs: 5,
    breaker: { failures: 2, windowMs: 30_000, halfOpenMs: 10_000 },
    memoryMb: 64,
    permissions: { fsRead: ['a'], childProcess: true }
  })
  t.match(project(t).resolve([web]).plugins.get('web')?.policy, {
    onBootFailure: 'retry',
    memoryMb: null,
    permissions: null
  })
})

t.test('`enabled` is true, false or undefined', async t => {
  const enabled = (toml: string) => project(t, { 'svc.toml': toml }).resolve([web]).plugins.get('web')?.enabled
  t.equal(enabled(''), undefined)
  t.equal(enabled('[plugins.web]\nenabled = false'), false)
  t.equal(enabled('[plugins.web]\nenabled = true'), true)
})

t.test('undeclared keys are kept if the schema allows them', async t => {
  const open = plugin('open', schema.object({ a: schema.integer({ default: 1 }) }, { additionalProperties: true }))
  const config = project(t, { 'svc.toml': '[plugins.open]\nb = 2\nsince = 2024-01-02\n' }).resolve([open])
  t.strictSame(config.plugins.get('open')?.values, { a: 1, b: 2, since: '2024-01-02' }, 'dates become strings')
})

t.test('formats are checked', async t => {
  const linked = plugin('linked', schema.object({ url: schema.optional(schema.string({ format: 'uri' })) }))
  t.strictSame(project(t, { 'svc.toml': 'plugins.linked.url = "https://x.y"' }).resolve([linked]).problems, [])
  t.match(project(t, { 'svc.toml': 'plugins.linked.url = "x y"' }).resolve([linked]).problems, [
    { code: 'CFG_VALUE_INVALID', message: 'plugins.linked.url must be a string (format uri), got "x y"' }
  ])
})

t.test('changing returned values does not affect the layers', async t => {
  const sources = project(t, { 'svc.toml': '[plugins.web]\ntags = ["a"]\n' })
  const first = sources.resolve([web])
  const { tags } = first.plugins.get('web')!.values as { tags: string[] }
  tags.push('b')
  t.strictSame(first.explain('plugins.web.tags').value, ['a', 'b'], 'the plugin receives a copy')
  const again = sources.resolve([web])
  t.strictSame(again.plugins.get('web')?.values.tags, ['a'])
})

t.test('for any schema: the defaults of an empty table equal those of ajv', async () => {
  const scalar = fc.oneof(
    fc.integer().map(value => schema.integer({ default: value })),
    fc.string().map(value => schema.string({ default: value })),
    fc.constant(schema.optional(schema.string())),
    fc.constant(schema.array(schema.string(), { default: ['x'] }))
  )
  const inner = fc
    .tuple(fc.dictionary(fc.constantFrom('a', 'b', 'c'), scalar), fc.boolean())
    .map(([properties, isOptional]) => ({ ...schema.object(properties), ...(isOptional ? { default: {} } : {}) }))
  const outer = fc.dictionary(fc.constantFrom('d', 'e', 'f'), fc.oneof(scalar, inner)).map(it => schema.object(it))
  fc.assert(
    fc.property(outer, declared => {
      const quick = check(declared, {}, true)
      // The additional keyword has no effect, but forces the use of ajv.
      const slow = check({ ...declared, minProperties: 0 }, {}, true)
      return isDeepStrictEqual(quick, slow) && quick.issues.length === 0
    })
  )
})

t.test('several problems become one error with the code of the first', async t => {
  const { problems } = project(t, { 'svc.toml': '[plugins.web]\nprot = 1\nport = "x"\n' }).resolve([web])
  const error = problemsError(problems)
  t.equal(error.code, problems[0]?.code)
  for (const code of ['CFG_KEY_UNKNOWN', 'CFG_VALUE_INVALID']) t.match(error.message, code)
  t.match(error.at, { line: problems[0]?.line, path: problems[0]?.key })
  t.strictSame(error.data, { problems })
})
