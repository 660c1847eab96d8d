import { definePlugin, describePlugin, t as tt } from '@svc/plugin-sdk'
import t from 'tap'
import { commandTree, type Parsed, parse } from '#cli'
import { demoTree, NO_COMMANDS } from './commands.ts'

const understand = (...argv: string[]): Promise<Parsed> => parse(argv, demoTree(), NO_COMMANDS)
const inputOf = async (...argv: string[]): Promise<unknown> => {
  const parsed = await understand(...argv)
  return parsed.kind === 'command' ? parsed.input : parsed.kind
}

t.test('parses arguments into the input of a command', async t => {
  t.same(await inputOf('demo', 'greet', 'Ada'), { name: 'Ada' })
  t.same(await inputOf('demo', 'greet', 'Ada', '--tone', 'cold', '--times=3'), { name: 'Ada', tone: 'cold', times: 3 })
  t.same(await inputOf('--json', 'demo', 'greet', '007', '--set', 'a.b=c'), { name: '007' })
  t.same(await inputOf('demo', 'greet', '--', '--dashed'), { name: '--dashed' })
  t.same(await inputOf('demo', 'greet', '-'), { name: '-' })
  t.same(await inputOf('demo', 'greet', ''), { name: '' })
  t.same(await inputOf('demo', 'chat', '--no-quiet'), { quiet: false })
})

t.test('a command whose input has a version receives the flag --version', async t => {
  const manifest = describePlugin(
    definePlugin({
      name: 'pin',
      commands: [{ command: 'pin', summary: 'Pin', input: tt.object({ version: tt.optional(tt.string()) }) }],
      activate: ctx => ctx.command('pin', () => {})
    }),
    '1.0.0'
  )
  const parsed = await parse(['pin', '--version', 'v1.2.3'], commandTree([manifest]), NO_COMMANDS)
  t.match(parsed, { kind: 'command', input: { version: 'v1.2.3' } })
})

t.test('a flag consumes only one value', async t => {
  t.same(await inputOf('--set', 'a.b=c', 'demo', 'greet', 'Ada', '--set', 'd=e'), { name: 'Ada' })
})

t.test('returns the help if there are no arguments', async t => {
  const parsed = await understand()
  t.equal(parsed.kind, 'nothing')
  t.match(parsed.kind === 'nothing' && parsed.help, /svc demo +A demonstration/)
})

t.test('the help ends with the first steps that the plugins allow', async t => {
  const helpOf = async (...commands: [command: string, summary: string][]): Promise<string> => {
    const plugin = definePlugin({
      name: 'steps',
      commands: commands.map(([command, summary]) => ({ command, summary, input: tt.object({}) })),
      activate: ctx => {
        for (const [command] of commands) ctx.command(command, () => {})
      }
    })
    const parsed = await parse([], commandTree([describePlugin(plugin, '1.0.0')]), NO_COMMANDS)
    return parsed.kind === 'nothing' ? parsed.help : ''
  }
  const help = await helpOf(['up', 'Serve this folder'], ['model pull', 'Download a model'])
  t.match(help, /Begin with:\n {2}svc up {10}Serve this folder\n {2}svc model pull {2}Download a model\n\n/)
  t.match(help, /svc COMMAND --help\n*$/)
  t.notMatch(await helpOf(['other', 'Do something else']), 'Begin with')
})

const refusals: [argv: string[], code: string, message: string, hint: string | RegExp][] = [
  [['dmo'], 'CLI_COMMAND_UNKNOWN', 'svc has no command "dmo"', 'did you mean svc demo?'],
  [['demo', 'gret', 'Ada'], 'CLI_COMMAND_UNKNOWN', 'svc demo has no command "gret"', 'did you mean svc demo greet?'],
  [['zzzzzzz'], 'CLI_COMMAND_UNKNOWN', 'svc has no command "zzzzzzz"', 'see svc --help'],
  [['zzz', '--help'], 'CLI_COMMAND_UNKNOWN', 'svc has no command "zzz"', 'see svc --help'],
  [['demo'], 'CLI_COMMAND_MISSING', 'svc demo needs a command', 'one of chat, greet; see svc demo --help'],
  [['--jsn'], 'CLI_ARGUMENT_INVALID', 'svc has no flag --jsn', 'did you mean --json?'],
  [
    ['demo', 'greet', 'A', '--tine', 'x'],
    'CLI_ARGUMENT_INVALID',
    'svc demo greet has no flag --tine',
    'did you mean --tone?'
  ],
  [
    ['demo', 'greet', 'A', 'B'],
    'CLI_ARGUMENT_INVALID',
    'svc demo greet accepts 1 argument, but more are given',
    'see svc demo greet --help'
  ],
  [
    ['demo', 'greet', '--', 'A', '--json'],
    'CLI_ARGUMENT_INVALID',
    'svc demo greet accepts 1 argument, but more are given',
    /help/
  ],
  [['demo', 'greet'], 'CLI_ARGUMENT_INVALID', 'svc demo greet needs <name>', 'see svc demo greet --help'],
  [
    ['--project', 'x', 'demo', 'greet'],
    'CLI_ARGUMENT_INVALID',
    'svc demo greet needs <name>',
    'see svc demo greet --help'
  ],
  [['demo', 'greet', 'A', '--times'], 'CLI_ARGUMENT_INVALID', 'svc demo greet needs a value after --times', /help/],
  [['demo', 'greet', 'A', '--times', 'x'], 'CLI_ARGUMENT_INVALID', '--times must be a number', /^$/],
  [
    ['demo', 'greet', 'A', '--tone', 'hot'],
    'CLI_ARGUMENT_INVALID',
    'svc demo greet does not accept "hot" for tone; use one of "warm", "cold"',
    /help/
  ]
]

for (const [argv, code, message, hint] of refusals) {
  t.test(`svc ${argv.join(' ')} is rejected with a hint`, async t => {
    const error = await understand(...argv).then(
      () => t.fail('understood'),
      (caught: { code: string; message: string; hint?: string }) => caught
    )
    t.match(error, { code, message })
    t.match((error as { hint?: string }).hint ?? '', hint)
  })
}

t.test('the error for a command of a disabled plugin names the plugin', async t => {
  await t.rejects(parse(['demo', 'greet', 'A'], NO_COMMANDS, demoTree()), {
    code: 'CLI_COMMAND_UNKNOWN',
    message: 'svc demo greet belongs to the plugin demo, which is disabled',
    hint: 'svc plugins enable demo'
  })
})
