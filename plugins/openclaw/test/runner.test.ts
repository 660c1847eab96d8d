import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BuiltInSkill, type DeclaredSecretResolver, type SkillRun, skillsGatewayErrors } from '@svc/contracts'
import t, { type Test } from 'tap'
import { CONTAINER_LIMITS, MAX_OUTPUT_BYTES, newRecord, type Settings, SkillRunner, SkillStore, scriptOf } from '#root'
import { type FakeRuntime, fakeRuntime } from './fake-runtime.ts'
import { DEFAULTS } from './open-gateway.ts'

interface Bench {
  readonly runner: SkillRunner
  readonly store: SkillStore
  readonly runtime: FakeRuntime
  readonly executed: SkillRun[]
  install(text: string, metadata?: object, approve?: boolean): Promise<void>
}

interface BenchOptions {
  readonly isDown?: boolean
  readonly settings?: Partial<Settings>
  readonly gatewayIsDown?: boolean
  readonly builtIns?: readonly BuiltInSkill[]
  readonly secrets?: Readonly<Record<string, string>>
}

function open(t: Test, options: BenchOptions = {}): Bench {
  const root = t.testdir({})
  const runtime = fakeRuntime(root, { isDown: options.isDown ?? false })
  const store = new SkillStore(join(root, 'skills'))
  const executed: SkillRun[] = []
  const runner = new SkillRunner({
    settings: { ...DEFAULTS, ...options.settings },
    store,
    gateway: {
      async execute(run) {
        if (options.gatewayIsDown) throw skillsGatewayErrors.create('SKG_UNREACHABLE', 'ws://gateway.test: refused')
        executed.push(run)
        return { sunny: true }
      }
    },
    secrets: resolver(options.secrets ?? {}),
    builtIns: () => options.builtIns ?? [],
    folders: [runtime.folder],
    environment: { ...process.env, SVC_EXTGW_TOKEN: 'hidden' }
  })
  const install: Bench['install'] = async (text, metadata = {}, approve = true) => {
    const skill = { id: 's', namespace: 'n', name: 's', version: '1', description: '', contentHash: null, author: null }
    const origin = { source: 'http://gateway.test', trust: 'community', now: 1 } as const
    const record = await store.install(
      newRecord('s', { ...skill, metadata: { ...metadata }, text: null }, text, origin),
      text
    )
    if (approve) await store.decide(record.approval_id, 'approved', 2)
  }
  return { runner, store, runtime, executed, install }
}

function resolver(values: Readonly<Record<string, string>>): DeclaredSecretResolver {
  return {
    async resolve(name) {
      const value = values[name]
      if (value === undefined) throw new Error(`${name} is not set`)
      return value
    },
    async find(id) {
      throw new Error(id)
    }
  }
}

const shell = (script: string): string => `# Skill\n\nIt runs this:\n\n\`\`\`sh\n${script}\n\`\`\`\n`
const signal = new AbortController().signal

t.test('nothing of an unapproved, denied or untrusted skill runs', async t => {
  const { runner, store, runtime, executed, install } = open(t)
  await install(shell('echo ran'), { kind: 'shell' }, false)
  await t.rejects(runner.run('s', '', signal), { code: 'SKG_NOT_APPROVED', message: 's was not approved yet' })
  await store.decide((await store.get('s')).approval_id, 'denied', 3)
  await t.rejects(runner.run('s', '', signal), { code: 'SKG_NOT_APPROVED', message: 's was denied' })
  await store.decide((await store.get('s')).approval_id, 'approved', 4)
  await store.trust('s', 'untrusted')
  await t.rejects(runner.run('s', '', signal), { code: 'SKG_UNTRUSTED' })
  await t.rejects(runner.run('missing', '', signal), { code: 'SKG_NOT_INSTALLED' })
  t.same([...runtime.runs(), ...executed], [])
})

t.test('an approved document returns its text, without a container', async t => {
  const { runner, runtime, install } = open(t)
  await install('# Read me')
  t.match(await runner.run('s', 'ignored', signal), { isolation: 'none', output: '# Read me', exit_code: null })
  t.same(runtime.runs(), [])
})

t.test('a shell skill runs in a container with all restrictions, and reads its input', async t => {
  const { runner, runtime, install } = open(t)
  await install(shell('read line; echo "got $line"; echo "$SVC_EXTGW_TOKEN" >&2; exit 4'), { kind: 'shell' })
  t.same(await runner.run('s', 'hello\n', signal), {
    slug: 's',
    kind: 'shell',
    trust: 'community',
    isolation: 'container',
    output: 'got hello\n',
    errors: '\n',
    exit_code: 4
  })
  const [args = []] = runtime.runs()
  for (const limit of CONTAINER_LIMITS) t.ok(args.includes(limit), limit)
  t.ok(args.includes('--network=none') && args.includes('--pull=never') && args.includes('--rm'))
  t.notOk(
    args.some(each => /^(-v|--volume|--mount|--privileged)/.test(each)),
    'no folder of this machine is visible'
  )
  t.equal(args[args.indexOf('alpine:3') + 1], 'sh')
})

t.test('a tool skill runs as a module of Node', async t => {
  const { runner, install } = open(t)
  const script = `let text = ''\nfor await (const chunk of process.stdin) text += chunk\nconsole.log(JSON.parse(text).a + 1)`
  await install(`~~~~js\n${script}\n~~~~`, { kind: 'tool' })
  t.match(await runner.run('s', '{"a": 1}', signal), { isolation: 'container', output: '2\n', exit_code: 0 })
})

t.test('secrets reach only the program, and are masked in its output', async t => {
  const { runner, runtime, install } = open(t, { secrets: { WEATHER_KEY: 'very-secret' } })
  await install(shell('echo "key $WEATHER_KEY"; echo "$WEATHER_KEY" >&2'), { kind: 'shell', secrets: ['WEATHER_KEY'] })
  t.match(await runner.run('s', '', signal), { output: 'key ***\n', errors: '***\n' })
  t.notMatch(JSON.stringify(runtime.runs()), /very-secret/)
  t.ok(runtime.runs()[0]?.includes('--env=WEATHER_KEY'))
})

t.test('overlapping secrets are masked whole, also in the error of a container that does not start', async t => {
  const { runner, install } = open(t, { secrets: { A_KEY: 'abc', B_KEY: 'abc-def' } })
  const secrets = ['A_KEY', 'B_KEY']
  await install(shell('echo "$B_KEY"'), { kind: 'shell', secrets })
  t.match(await runner.run('s', '', signal), { output: '***\n' })
  await install(shell('echo "$B_KEY" >&2; exit 127'), { kind: 'shell', secrets })
  await t.rejects(runner.run('s', '', signal), { code: 'SKG_RUN_FAILED', message: /did not start: \*\*\*$/ })
})

t.test('a skill whose secrets do not all resolve is refused', async t => {
  const { runner, runtime, install } = open(t, { secrets: { WEATHER_KEY: 'very-secret' } })
  await install(shell('echo ran'), { kind: 'shell', secrets: ['WEATHER_KEY', 'OTHER_KEY'] })
  await t.rejects(runner.run('s', '', signal), { code: 'SKG_SECRET_MISSING', message: /requests the secret OTHER_KEY/ })
  t.same(runtime.runs(), [])
})

t.test('a skill that writes too much, runs too long or is aborted is ended with its container', async t => {
  for (const [name, script, expected] of [
    ['output', 'while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done', 'SKG_RUN_LIMIT'],
    ['time', 'sleep 600', 'SKG_RUN_LIMIT'],
    ['abort', 'sleep 600', undefined]
  ] as const) {
    await t.test(name, async t => {
      const bench = open(t, { settings: name === 'time' ? { skill_timeout_ms: 300 } : {} })
      await bench.install(shell(script), { kind: 'shell' })
      const controller = new AbortController()
      const running = bench.runner.run('s', '', controller.signal)
      if (name === 'abort') {
        while (bench.runtime.runs().length === 0) await new Promise(resolve => setTimeout(resolve, 10))
        const container = bench.runtime
          .runs()[0]
          ?.find(each => each.startsWith('--name='))
          ?.slice(7) as string
        while (!existsSync(join(bench.runtime.folder, container))) await new Promise(resolve => setTimeout(resolve, 10))
        controller.abort(new Error('enough'))
        await t.rejects(running, { message: 'enough' })
      } else await t.rejects(running, { code: expected })
      t.equal(bench.runtime.kills().length >= 1, true)
      const id = readFileSync(join(bench.runtime.folder, bench.runtime.kills()[0] as string), 'utf8')
      t.throws(() => process.kill(Number(id), 0), { code: 'ESRCH' }, 'the process ended')
    })
  }
})

t.test('a container that does not start is an error with the reason of the runtime', async t => {
  const { runner, install } = open(t, { settings: { shell_image: 'missing' } })
  await install(shell('echo ran'), { kind: 'shell' })
  await t.rejects(runner.run('s', '', signal), {
    code: 'SKG_RUN_FAILED',
    message: 'a container of missing did not start: no such image: missing'
  })
})

t.test('without a container runtime, the gateway runs the skill in its sandbox', async t => {
  const { runner, executed, install } = open(t, { isDown: true })
  await install(shell('echo ran'), { kind: 'shell' })
  t.match(await runner.run('s', 'in', signal), { isolation: 'gateway', output: '{"sunny":true}', exit_code: null })
  t.same(executed, [{ skill: 's', command: 'in', sandbox: true }])
})

t.test('without a container runtime and a gateway, nothing runs', async t => {
  const { runner, install } = open(t, { isDown: true, gatewayIsDown: true })
  await install(shell('echo ran'), { kind: 'shell' })
  await t.rejects(runner.run('s', '', signal), { code: 'SKG_SANDBOX_UNAVAILABLE', message: /docker nor podman/ })
})

t.test('a configured runtime that is missing is not replaced by another one', async t => {
  const { runner, executed, install } = open(t, { settings: { container_runtime: 'podman' } })
  await install(shell('echo ran'), { kind: 'shell' })
  t.match(await runner.run('s', '', signal), { isolation: 'gateway' })
  t.equal(executed.length, 1)
})

t.test('a built-in skill runs in the process without an approval, within the limits', async t => {
  const skill = { version: '1', description: '', text: '# Guide' }
  const { runner } = open(t, {
    settings: { skill_timeout_ms: 50 },
    builtIns: [
      { ...skill, slug: 'guide' },
      { ...skill, slug: 'upper', run: async input => input.toUpperCase() },
      { ...skill, slug: 'slow', run: () => new Promise(() => undefined) },
      { ...skill, slug: 'large', run: async () => 'x'.repeat(MAX_OUTPUT_BYTES + 1) }
    ]
  })
  t.match(await runner.run('guide', '', signal), { trust: 'trusted', isolation: 'none', output: '# Guide' })
  t.match(await runner.run('upper', 'a', signal), { trust: 'trusted', isolation: 'process', output: 'A' })
  await t.rejects(runner.run('slow', '', signal), { code: 'SKG_RUN_LIMIT' })
  await t.rejects(runner.run('large', '', signal), { code: 'SKG_RUN_LIMIT' })
})

t.test('the script is the first fenced block', t => {
  t.equal(scriptOf('s', 'a\n```sh\none\n\ntwo\n```\n```\nthree\n```'), 'one\n\ntwo')
  t.equal(scriptOf('s', '````\n```\ninner\n```\n````'), '```\ninner\n```')
  for (const text of [
    '',
    'no code',
    '```\nopen',
    '```\n\n```',
    '```\na\0b\n```',
    `\`\`\`\n${'x'.repeat(98_305)}\n\`\`\``
  ])
    t.throws(() => scriptOf('s', text), { code: 'SKG_SKILL_INVALID' }, text.slice(0, 20))
  t.end()
})
