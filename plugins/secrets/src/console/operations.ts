import { dashboardInboxOutput, secretErrors, vaultErrors } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { ADMIN } from '../operations.ts'

/** Topic: secrets were changed here, or must be checked again. */
export const SECRETS_TOPIC = 'secrets.state'

const errors = { ...secretErrors.specs, ...vaultErrors.specs }

export const summaryOperation = defineOperation({
  id: 'secrets.summary',
  summary: 'Count the declared secrets by their state',
  description: 'Asks the backends for every secret, at most once a minute.',
  input: t.object({}),
  output: t.object({
    profile: t.string(),
    backend_mode: t.string(),
    declared: t.integer({ description: 'All declared secrets.' }),
    present: t.integer({ description: 'Secrets with an accepted value.' }),
    unmet: t.integer({ description: 'Requirements of the active profile that are not met.' }),
    invalid: t.integer({ description: 'Secrets that are empty, refused or cannot be read.' }),
    outdated: t.integer({ description: 'Secrets that must be rotated now or soon, or whose variable is deprecated.' }),
    delegations: t.integer({ description: 'Active delegations to agents.' }),
    delegations_ending: t.integer({ description: 'Active delegations that end within a day.' })
  }),
  scopes: ADMIN,
  effect: 'read',
  timeoutMs: 120_000,
  errors,
  expose: { rpc: true }
})

export const inboxOperation = defineOperation({
  id: 'secrets.inbox',
  summary: 'List required secrets that are missing or not accepted',
  input: t.object({}),
  output: dashboardInboxOutput,
  scopes: ADMIN,
  effect: 'read',
  watch: { on: [SECRETS_TOPIC], minMs: 1_000 },
  errors,
  expose: { rpc: true }
})
