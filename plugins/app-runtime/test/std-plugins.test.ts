import { type SkillsGateway, type SpeechRecogniser, speechErrors } from '@svc/contracts'
import t from 'tap'
import type { Capability } from '#interpreter'
import { runErrors } from '#root'
import { type AnsweringPlugins, pluginAnswers } from '#threads'
import { fakeGateway, sendJson } from '../../openclaw/test/fake-gateway.ts'
import { openGateway } from '../../openclaw/test/open-gateway.ts'
import { type RanBody, runBody } from './run-body.ts'

const absent = (name: string) => async () => {
  throw runErrors.create('RUN_UNSUPPORTED', `${name} needs the plugin ${name.toLowerCase()}`)
}
const NONE: AnsweringPlugins = { speech: absent('Speech'), skills: absent('OpenClaw'), mutationKind: () => 'unknown' }

async function execute(
  body: string,
  plugins: Partial<AnsweringPlugins> | null,
  capabilities: readonly Capability[] = ['fs', 'net']
): Promise<RanBody> {
  const services = plugins === null ? {} : pluginAnswers({ ...NONE, ...plugins })
  const ran = await runBody(body, { capabilities, milliseconds: 60_000, services })
  for (const error of ran.failures) t.comment(String(error))
  return ran
}

const recogniser = {
  async transcribe(source: { readonly path: string }) {
    if (source.path.startsWith('..')) {
      throw speechErrors.create('SPC_PATH_OUTSIDE', `${source.path} leads out of the workspace`, {
        hint: 'stay inside'
      })
    }
    return { raw: 'hallo', refined: `Hello from ${source.path}` }
  }
} as unknown as SpeechRecogniser

t.test('a program gets the text of recordings, and failures as Errors', async t => {
  const { lines, ending } = await execute(
    `    print(Speech.transcribe("a.wav").unwrap())
    print(Speech.transcribe("../b.wav"))`,
    { speech: async () => recogniser }
  )
  t.same(ending, { ok: true, outcome: { refused: null, exit: null } })
  t.same(lines, ['Hello from a.wav', 'Error(../b.wav leads out of the workspace: stay inside)'])
})

t.test('a program lists and calls skills, and subscribes to domains', async t => {
  const { gateway, fake } = await openGateway(t, {
    http: { '/v1/skills': sendJson([{ name: 'weather', description: 'Shows it' }]) },
    reply: ({ method }) => (method === 'subscriptions.unsubscribe' ? { error: 'never' } : { payload: { did: method } })
  })
  const { lines, ending } = await execute(
    `    print(OpenClaw.list_skills().unwrap())
    print(OpenClaw.call("weather", "today").unwrap())
    print(OpenClaw.call("weather", { day: 2 }).unwrap())
    print(OpenClaw.subscribe("builds").unwrap())
    print(OpenClaw.notify("builds", "green").unwrap())
    print(OpenClaw.unsubscribe("builds").is_err())`,
    { skills: async () => gateway as SkillsGateway }
  )
  t.same(ending, { ok: true, outcome: { refused: null, exit: null } })
  t.same(lines, [
    '[{"name":"weather","version":"0.0.0","description":"Shows it"}]',
    '{"did":"execute.skill"}',
    '{"did":"execute.skill"}',
    '{"did":"subscriptions.subscribe"}',
    '{"did":"subscriptions.notify"}',
    'true'
  ])
  t.same(
    fake.frames.slice(1).map(({ params }) => params),
    [
      { skill_id: 'weather', command: 'today', sandbox: true },
      { skill_id: 'weather', command: '{"day":2}', sandbox: true },
      { domain: 'builds' },
      { domain: 'builds', description: 'green' },
      { domain: 'builds' }
    ]
  )
})

t.test('a missing gateway is an Error of the program', async t => {
  const gone = await fakeGateway(t)
  await gone.close()
  const { gateway } = await openGateway(t, {}, { url: gone.url, ws_url: gone.wsUrl })
  const { lines } = await execute('    print(OpenClaw.list_skills())\n    print(OpenClaw.subscribe("x").is_err())', {
    skills: async () => gateway
  })
  t.match(lines[0], `Error(${gone.url}/v1/skills: connection refused`)
  t.equal(lines[1], 'true')
})

t.test('a plugin that is not running ends the program with its name', async t => {
  for (const [call, needs] of [
    ['Speech.transcribe("a")', 'Speech needs the plugin speech'],
    ['OpenClaw.list_skills()', 'OpenClaw needs the plugin openclaw']
  ] as const) {
    const { ending } = await execute(`    print(${call})`, {})
    t.match(ending, { ok: false, failure: { code: 'RUN_UNSUPPORTED' } })
    t.match(JSON.stringify(ending), needs)
  }
})

t.test('calls of other plugins need a capability', async t => {
  for (const [call, capability] of [
    ['Speech.transcribe("a")', 'fs'],
    ['OpenClaw.list_skills()', 'net'],
    ['OpenClaw.call("a", "b")', 'net'],
    ['OpenClaw.subscribe("a")', 'net'],
    ['OpenClaw.unsubscribe("a")', 'net'],
    ['OpenClaw.notify("a", "b")', 'net']
  ] as const) {
    const others = (['fs', 'net'] as const).filter(each => each !== capability)
    const { ending } = await execute(`    print(${call})`, {}, others)
    t.match(ending, { ok: false, failure: { code: 'RUN_CAPABILITY_DENIED' } }, call)
  }
})

t.test('a program gets the kind of a tool, and unknown for a missing one', async t => {
  const body = '    print(std.agentos.mutation_kind_for_tool("svc_ping"))'
  const mutationKind = (tool: string): string => (tool === 'svc_ping' ? 'read_only' : 'unknown')
  t.same((await execute(body, { mutationKind }, [])).lines, ['read_only'])
  t.same((await execute(body, null, [])).lines, ['unknown'])
})
