import { declaredSecrets, type InboxItem } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { CachedCheck } from '#root'
import { openWorld, type World } from './world.ts'

const VALUE = 'sk-acme-0123456789abcdef'

const needs = definePlugin({
  name: 'needs',
  activate(ctx) {
    for (const name of ['key', 'other'])
      ctx.contribute(declaredSecrets, {
        id: `acme.${name}`,
        env: `ACME_${name.toUpperCase()}`,
        policy: 'required',
        description: '<b>Access to Acme</b>',
        remediation: `create a key at acme.example and run: svc secrets set ACME_${name.toUpperCase()}`
      })
  }
}) as Plugin

async function items(world: World): Promise<readonly InboxItem[]> {
  return (await world.call('secrets.inbox')).items
}

t.test('a required secret that is missing is in the inbox until it is stored', async t => {
  const world = await openWorld(t, { plugins: [needs], env: { ACME_OTHER: VALUE } })
  const [item, ...others] = await items(world)
  t.same(others, [])
  t.match(item, {
    id: 'acme.key',
    kind: 'failure',
    title: 'The secret acme.key is missing',
    body: 'ACME_KEY: <b>Access to Acme</b>. Next step: create a key at acme.example and run: svc secrets set ACME_KEY',
    link: '/ui/p/secrets/declared',
    answers: [{ operation: 'secrets.set', input: { name: 'acme.key' }, ask: ['value'] }]
  })
  t.match(await world.call('secrets.summary'), { unmet: 1, present: 1, invalid: 0, delegations: 0 })
  const [answer] = item?.answers ?? []
  await world.call(answer?.operation as string, { ...answer?.input, value: VALUE })
  t.same(await items(world), [])
  t.match(await world.call('secrets.summary'), { unmet: 0, present: 2 })
  t.notMatch(JSON.stringify([item, world.log]), VALUE)
})

t.test('a required secret that is empty says so, and cannot be stored with one click', async t => {
  const world = await openWorld(t, { plugins: [needs], env: { ACME_KEY: ' ', ACME_OTHER: VALUE } })
  t.match(await items(world), [
    { title: 'The secret acme.key is empty', body: /ACME_KEY is set, but empty\./, answers: [] }
  ])
  t.match(await world.call('secrets.summary'), { unmet: 1, invalid: 1 })
})

t.test('the secrets that the active profile requires for models are in the inbox', async t => {
  const dev = await openWorld(t, { settings: { profile: 'dev' } })
  t.same(await items(dev), [], 'the profile dev requires none')
  const ci = await openWorld(t, { settings: { profile: 'ci' }, without: ['keyring'] })
  t.match(
    (await items(ci)).map(({ title, answers }) => [title, answers.length]),
    [
      ['The secret openrouter.api_key is missing', 1],
      ['A secret for the forge is missing', 0]
    ]
  )
})

t.test('a cached check runs once at a time, and never returns a result from before a change', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom('get', 'change', 'wait', 'tick'), { maxLength: 40 }), async steps => {
      let now = 0
      let state = 0
      let running = 0
      const release: (() => void)[] = []
      const check = new CachedCheck(
        async () => {
          running += 1
          const read = state
          await new Promise<void>(resolve => release.push(resolve))
          running -= 1
          return read
        },
        10,
        () => now
      )
      const answers: Promise<void>[] = []
      for (const step of steps) {
        if (step === 'get') {
          const asked = state
          answers.push(
            check.get().then(found => {
              if (found < asked) throw new Error(`${found} is from before ${asked}`)
            })
          )
        } else if (step === 'change') {
          state += 1
          check.forget()
        } else if (step === 'tick') now += 5
        else release.splice(0).forEach(each => void each())
        await new Promise(resolve => setImmediate(resolve))
        if (running > state + 1) throw new Error(`${running} checks run at a time`)
      }
      while (running > 0) {
        release.splice(0).forEach(each => void each())
        await new Promise(resolve => setImmediate(resolve))
      }
      await Promise.all(answers)
    }),
    { numRuns: 100 }
  )
})

t.test('a failed check is not kept', async t => {
  let fails = true
  const check = new CachedCheck(async () => (fails ? Promise.reject(new Error('no vault')) : 7), 10)
  await t.rejects(check.get(), { message: 'no vault' })
  fails = false
  t.equal(await check.get(), 7)
})
