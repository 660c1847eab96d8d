import { type DeclaredSecretResolver, databaseCollections, declaredSecretResolver } from '@svc/contracts'
import client from '@svc/plugin-inference-client'
import type { Plugin } from '@svc/plugin-sdk'
import { fake, testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import providers from '#plugin'
import { NOWHERE, openWorld } from './open-providers.ts'
import { openAi, providerServer } from './provider-servers.ts'

t.test('a key from the secret resolver makes a provider eligible; a setting has priority', async t => {
  const asked: string[] = []
  const found = (id: string) =>
    ({ id, status: 'Present', source: 'SecureStore', place: 'keyring', detail: null }) as const
  const resolver: DeclaredSecretResolver = {
    find: async id => {
      if (id === 'MISTRAL_API_KEY') throw new Error('the vault is sealed')
      return { ...found(id), present: id === 'GROQ_API_KEY' }
    },
    resolve: async id => {
      asked.push(id)
      return 'stored-key'
    }
  }
  const groq = await providerServer(t, openAi('groq'))
  const cerebras = await providerServer(t, openAi('cerebras'))
  const world = await openWorld(t, {
    services: [fake(declaredSecretResolver, resolver)],
    settings: {
      profile: 'cloud_compatible',
      groq_url: groq.url,
      cerebras_url: cerebras.url,
      cerebras_api_key: 'set-key'
    }
  })
  await world.ask({ model: 'groq/openai/gpt-oss-20b' })
  await world.ask({ model: 'cerebras/gpt-oss-120b' })
  t.equal(groq.seen[0]?.headers.authorization, 'Bearer stored-key')
  t.equal(cerebras.seen[0]?.headers.authorization, 'Bearer set-key')
  t.same(asked, ['GROQ_API_KEY'])
  t.match(
    world.kernel.log.filter(line => /stored key/.test(JSON.stringify(line))),
    { length: 1 }
  )
  t.notMatch(JSON.stringify(world.kernel.log), /stored-key|set-key/)
})

t.test('without a database, usage counts in memory, quotas hold, and a selection is refused', async t => {
  const groq = await providerServer(t, openAi('groq'))
  const folder = t.testdir({})
  const kernel = await testKernel([client, providers] as Plugin[], {
    settings: {
      'inference-client': { url: NOWHERE },
      providers: {
        profile: 'cloud_compatible',
        groq_api_key: 'k',
        groq_url: groq.url,
        daily_limit: 2,
        models_file: `${folder}/models.toml`,
        catalog_cache: `${folder}/catalog.json`
      }
    }
  })
  t.teardown(() => kernel.close())
  const ask = () => kernel.callById('inference.chat', { prompt: 'hello' })
  await ask()
  await ask()
  await t.rejects(ask(), { code: 'ICL_BUSY' })
  t.match(await kernel.callById('models.usage', {}), { usage: [{ provider: 'groq', calls: 2 }] })
  await t.rejects(kernel.callById('models.set', { model: 'groq/openai/gpt-oss-20b' }), { code: 'PRV_NO_DATABASE' })
})

t.test('a database that fails loses no usage and fails no request', async t => {
  const groq = await providerServer(t, openAi('groq'))
  const broken = () => Promise.reject(new Error('disk full'))
  const collection = {
    insert: broken,
    get: broken,
    find: broken,
    patch: broken,
    upsert: broken,
    delete: broken,
    count: broken
  }
  const folder = t.testdir({})
  const kernel = await testKernel([client, providers] as Plugin[], {
    services: [fake(databaseCollections, { collection: () => collection as never })],
    settings: {
      'inference-client': { url: NOWHERE },
      providers: {
        profile: 'cloud_compatible',
        groq_api_key: 'k',
        groq_url: groq.url,
        models_file: `${folder}/models.toml`,
        catalog_cache: `${folder}/catalog.json`
      }
    }
  })
  t.teardown(() => kernel.close())
  await kernel.callById('inference.chat', { prompt: 'hello' })
  t.match(await kernel.callById('models.usage', {}), { usage: [{ provider: 'groq', calls: 1, tokens_in: 1_000 }] })
  t.match(JSON.stringify(kernel.log), /kept in memory only/)
})
