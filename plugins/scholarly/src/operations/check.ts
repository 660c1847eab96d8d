import { defineOperation, t } from '@svc/plugin-sdk'
import { adapterName, failures } from './shared.ts'

const { SCH_DATABASE_MISSING: _, ...ownFailures } = failures

export const scholarlyCheck = defineOperation({
  id: 'scholarly.check',
  summary: 'Ask an archive whether the credentials work',
  description: 'Sends requests that change nothing. Whether a token may also publish is known only when it does.',
  input: t.object({ adapter: adapterName }),
  output: t.object({
    adapter: t.string(),
    checked: t.boolean({ description: 'False if the archive has no request for it.' }),
    account: t.nullable(t.string({ description: 'Name of the account, if the archive says it.' })),
    text: t.string()
  }),
  errors: ownFailures,
  timeoutMs: 120_000,
  expose: {
    http: { method: 'POST', path: '/api/scholarly/check' },
    rpc: true,
    cli: { command: 'scholarly check', args: ['adapter'], view: { text: 'text' } }
  }
})
