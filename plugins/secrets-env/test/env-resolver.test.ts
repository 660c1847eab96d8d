import t from 'tap'
import { envResolver } from '../src/env-resolver.ts'

t.test('a reference resolves to the variable of that name', async t => {
  const resolver = envResolver({ TOKEN: 'opensesame' })
  t.equal(await resolver.resolve({ backend: 'env', name: 'TOKEN' }), 'opensesame')
})

t.test('a variable that is absent or empty is named, without any value', async t => {
  const resolver = envResolver({ EMPTY: '', OTHER: 'hidden' })
  for (const name of ['EMPTY', 'MISSING']) {
    const error = await resolver.resolve({ backend: 'env', name }).catch((caught: unknown) => caught as Error)
    t.match(error, { code: 'SEC_NOT_FOUND', message: new RegExp(name) })
    t.notMatch(JSON.stringify(error), 'hidden')
  }
})

t.test('a backend that is not here is refused by name', async t => {
  await t.rejects(envResolver({}).resolve({ backend: 'vault', name: 'x' }), {
    code: 'SEC_BACKEND_UNKNOWN',
    message: /vault/
  })
})
