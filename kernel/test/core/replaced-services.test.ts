import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { defineOperation, definePlugin, ref, t as s, service } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const MAX_COLLECTIONS = 50

interface Version {
  readonly number: number
}

const version = service<Version>('version@1')
const shown = defineOperation({
  id: 'demo.shown',
  summary: 'Returns the version',
  input: s.object({}),
  output: s.object({ number: s.integer() }),
  effect: 'read'
})

t.test('replaced services are freed, although a plugin that refers to them stays', async t => {
  const provided: WeakRef<Version>[] = []
  const provider = (number: number) =>
    definePlugin({
      name: 'provider',
      provides: [version],
      activate(ctx) {
        const value = { number }
        provided.push(new WeakRef(value))
        ctx.provide(version, value)
      }
    })
  const user = definePlugin({
    name: 'user',
    requires: { version: ref(version) },
    operations: [shown],
    activate: (ctx, deps) => ctx.implement(shown, () => ({ number: deps.version.current.number }))
  })
  const kernel = await testKernel([user, provider(1)])
  t.teardown(() => kernel.close())
  for (const number of [2, 3, 4]) await kernel.replace(provider(number))
  t.same(await kernel.call(shown, {}), { number: 4 })
  const live = (): number => provided.filter(each => each.deref() !== undefined).length
  for (let count = 0; live() > 1 && count < MAX_COLLECTIONS; count++) {
    await turn()
    collect()
  }
  t.equal(live(), 1, 'only the service that is in use is left')
})
