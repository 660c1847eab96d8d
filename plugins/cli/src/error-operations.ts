import { defineOperation, t } from '@svc/plugin-sdk'

const entry = {
  code: t.string(),
  status: t.integer({ description: 'HTTP status' }),
  meaning: t.string(),
  advice: t.nullable(t.string({ description: 'What to do' })),
  owner: t.string({ description: 'Package or plugin that defines the code' })
}

const CLI_CODE_UNKNOWN = { message: 'No error code has this name.', status: 404 }

export const errorsExplain = defineOperation({
  id: 'errors.explain',
  summary: 'Explain an error code and what to do',
  input: t.object({
    code: t.string({ minLength: 1, maxLength: 100, description: 'Code, for example HTTP_PORT_TAKEN' })
  }),
  output: t.object({ ...entry, docs: t.nullable(t.string({ description: 'URL of the entry' })), text: t.string() }),
  errors: { CLI_CODE_UNKNOWN },
  effect: 'read',
  expose: { rpc: true, cli: { command: 'errors explain', args: ['code'], view: { markdown: 'text' } } }
})

export const errorsList = defineOperation({
  id: 'errors.list',
  summary: 'List error codes with status and meaning',
  input: t.object({
    prefix: t.optional(t.string({ description: 'List only codes with this prefix, for example HTTP' }))
  }),
  output: t.object({ errors: t.array(t.object(entry)) }),
  effect: 'read',
  expose: {
    rpc: true,
    cli: {
      command: 'errors list',
      args: ['prefix'],
      view: { rows: 'errors', columns: ['code', 'status', 'meaning'] }
    }
  }
})
