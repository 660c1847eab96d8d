import { type CommandDescriptor, defineOperation, t } from '@svc/plugin-sdk'

export const collectOperation = defineOperation({
  id: 'support.collect',
  summary: 'Collect what a bug report needs, without secrets',
  description:
    'Returns the sections of a support bundle of the running server. svc support-bundle writes them to a file.',
  input: t.object({}),
  output: t.object({
    sections: t.array(t.object({ name: t.string(), summary: t.string(), value: t.unknown() }))
  }),
  effect: 'read',
  scopes: ['kernel.admin'],
  timeoutMs: 120_000,
  expose: { rpc: true }
})

export const bundleInput = t.object({
  file: t.optional(t.string({ minLength: 1, description: 'New file. Default: a name with the time.' })),
  yes: t.boolean({ default: false, description: 'Write without asking.' })
})

export const bundleCommand: CommandDescriptor = {
  command: 'support-bundle',
  summary: 'Write a file for a bug report, without secrets',
  input: bundleInput,
  args: ['file'],
  aliases: { yes: 'y' },
  tolerant: true
}
