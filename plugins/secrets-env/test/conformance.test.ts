import { secretsResolverSuite } from '@svc/contracts/conformance'
import t from 'tap'
import { envResolver } from '../src/env-resolver.ts'

const suite = secretsResolverSuite({
  resolver: envResolver({ TOKEN: 'opensesame', EMPTY: '' }),
  known: { backend: 'env', name: 'TOKEN', value: 'opensesame' },
  unknown: { backend: 'env', name: 'EMPTY' }
})

for (const { name, run } of suite) t.test(name, run)
