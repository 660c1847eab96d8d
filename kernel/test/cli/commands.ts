import {
  type CommandDescriptor,
  defineOperation,
  definePlugin,
  describePlugin,
  type PluginManifest,
  t
} from '@svc/plugin-sdk'
import { type CommandNode, commandTree } from '#cli'

const greet = defineOperation({
  id: 'demo.greet',
  summary: 'Greet a person',
  description: 'Says hello, in the words of the settings.',
  input: t.object({
    name: t.string({ description: 'Whom' }),
    tone: t.enum(['warm', 'cold'], { default: 'warm', description: 'How' }),
    times: t.optional(t.integer()),
    plugin: t.optional(t.string({ 'x-complete': 'plugins' }))
  }),
  output: t.object({ text: t.string() }),
  errors: { DEMO_MUTE: { message: 'There is nothing to say.', status: 422 } },
  effect: 'read',
  expose: {
    rpc: true,
    mcp: true,
    http: { method: 'GET', path: '/demo' },
    cli: { command: 'demo greet', args: ['name'] }
  }
})
const hidden = defineOperation({
  id: 'demo.hidden',
  summary: 'x',
  input: t.object({}),
  output: t.object({}),
  expose: { rpc: 'demo.other', cli: { command: 'demo hidden', hidden: true } }
})
const chat: CommandDescriptor = {
  command: 'demo chat',
  summary: 'Chat',
  input: t.object({ quiet: t.boolean({ default: false }) })
}

export function demoManifest(name = 'demo'): PluginManifest {
  return describePlugin(
    definePlugin({
      name,
      summary: 'A demonstration',
      config: t.object({ greeting: t.string({ default: 'Hello', description: 'First word' }) }),
      operations: [greet, hidden],
      commands: [chat],
      activate() {}
    }),
    '1.0.0'
  )
}

export function demoTree(): CommandNode {
  return commandTree([demoManifest()])
}

export const NO_COMMANDS: CommandNode = { children: new Map() }
