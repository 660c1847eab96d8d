import { coordinationErrors } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { postgresErrors } from './errors.ts'

const { CPG_NOT_CONFIGURED } = postgresErrors.specs
const { CRD_FAILED, CRD_UNAVAILABLE, CRD_VALUE_INVALID } = coordinationErrors.specs

/** Highest epoch: fences of a later one would not be exact as numbers. */
const MAX_EPOCH = 8_190

export const newEpoch = defineOperation({
  id: 'coordination.new_epoch',
  summary: 'End all leases after a backup of the PostgreSQL server was restored',
  input: t.object({
    epoch: t.optional(
      t.integer({
        minimum: 1,
        maximum: MAX_EPOCH,
        description: 'Lowest number of the new epoch, above that of each earlier restore of the same backup.'
      })
    )
  }),
  output: t.object({
    epoch: t.integer({ description: 'Number of the new epoch.' }),
    location: t.string({ description: 'Server and database.' }),
    text: t.string()
  }),
  effect: 'destructive',
  scopes: ['mesh.admin'],
  timeoutMs: 600_000,
  errors: { CPG_NOT_CONFIGURED, CRD_FAILED, CRD_UNAVAILABLE, CRD_VALUE_INVALID },
  expose: { cli: { command: 'mesh admin new-epoch', view: { text: 'text' } } }
})
