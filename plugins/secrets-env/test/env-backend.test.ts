import { secretBackendSuite } from '@svc/contracts/conformance'
import t from 'tap'
import { envBackend } from '#root'

const suite = secretBackendSuite({
  backend: envBackend({ TOKEN: 'opensesame', EMPTY: '', OTHER: 'hidden' }),
  known: { name: 'TOKEN', value: 'opensesame' },
  unknown: 'EMPTY'
})

for (const { name, run } of suite) t.test(name, run)

t.test('an unset or empty variable is an error that names the variable', async t => {
  const backend = envBackend({ EMPTY: '', OTHER: 'hidden' })
  for (const name of ['EMPTY', 'MISSING']) {
    const error = await backend.resolve(name).catch((caught: unknown) => caught as Error)
    t.match(error, { code: 'SEC_NOT_FOUND', message: new RegExp(name) })
    t.notMatch(JSON.stringify(error), 'hidden')
  }
})
