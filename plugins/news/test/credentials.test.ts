import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type DeclaredSecretResolver,
  type KernelAdmin,
  kernelPort,
  type NewsChannel,
  newsChannels,
  type Publications,
  publications
} from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { fake, testKernel } from '@svc/plugin-sdk/testing'
import secrets from '@svc/plugin-secrets'
import t, { type Test } from 'tap'
import plugin from '#plugin'
import { openChannels } from './channel-run.ts'

const REDDIT = {
  SVC_SOCIAL_REDDIT_CLIENT_ID: 'reddit_client_id',
  SVC_SOCIAL_REDDIT_CLIENT_SECRET: 'reddit_client_secret',
  SVC_SOCIAL_REDDIT_REFRESH_TOKEN: 'reddit_refresh_token',
  SVC_SOCIAL_REDDIT_USER_AGENT: 'reddit_user_agent'
}

/** Sets environment variables until the end of the test. */
function setEnvironment(t: Test, values: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(values)) {
    const before = process.env[name]
    process.env[name] = value
    t.teardown(() => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    })
  }
}

/** Opens the plugin with the real plugin `secrets`, whose auth file has these tokens. */
async function openWithSecrets(t: Test, profile: string, registries: Readonly<Record<string, string>> = {}) {
  const folder = t.testdir({})
  const tokens = Object.fromEntries(Object.entries(registries).map(([name, token]) => [name, { token }]))
  const path = join(folder, 'auth.json')
  mkdirSync(folder, { recursive: true })
  writeFileSync(path, JSON.stringify({ registries: tokens }), { mode: 0o600 })
  let channels: () => readonly NewsChannel[] = () => []
  const probe = definePlugin({
    name: 'probe',
    requires: { kernel: kernelPort },
    activate(_, { kernel }) {
      channels = () => kernel.current.items(newsChannels).map(({ item }) => item)
    }
  })
  const kernel = await testKernel([secrets, plugin, probe] as Plugin[], {
    settings: { secrets: { profile, auth_path: path, backend: 'env_only' }, news: {} },
    services: [fake(publications, {} as Publications)]
  })
  t.teardown(() => kernel.close())
  return (name: string) =>
    channels()
      .find(each => each.name === name)
      ?.problem()
}

const ALL = Object.fromEntries(Object.keys(REDDIT).map(name => [name, 'from-the-environment']))

t.test('in the profile dev, credentials come from the environment, then from the auth file', async t => {
  const problem = await openWithSecrets(t, 'dev', {
    linkedin_access_token: 'from-the-file',
    forge_token: 'from-the-file',
    ...Object.fromEntries(Object.values(REDDIT).map(name => [name, 'from-the-file']))
  })
  t.equal(await problem('reddit'), null)
  t.equal(await problem('forge'), null)
  t.match(await problem('open_collective'), { message: /^SVC_NEWS_OPENCOLLECTIVE_TOKEN is not set/ })
  setEnvironment(t, ALL)
  t.equal(await problem('reddit'), null)
})

t.test('strict profiles take the credentials of Reddit from a backend only', async t => {
  const others = ['SVC_NEWS_FORGE_TOKEN', 'CLIENT_ID', 'CLIENT_SECRET', 'REFRESH_TOKEN'].map(name =>
    name.startsWith('SVC_') ? name : `SVC_SOCIAL_YOUTUBE_${name}`
  )
  setEnvironment(t, { ...ALL, ...Object.fromEntries(others.map(name => [name, 'from-the-environment'])) })
  for (const profile of ['ci', 'prod', 'hard_cut']) {
    const problem = await openWithSecrets(
      t,
      profile,
      Object.fromEntries(Object.values(REDDIT).map(name => [name, 'x']))
    )
    t.match(await problem('reddit'), {
      message: `SVC_SOCIAL_REDDIT_CLIENT_ID is set, but the profile ${profile} wants a backend`,
      hint: /svc secrets set SVC_SOCIAL_REDDIT_CLIENT_ID --store vault/
    })
    t.equal(await problem('youtube'), null)
    t.equal(await problem('forge'), null)
  }
})

/** Reports of settings as the kernel gives them. */
function adminWith(profile: string, entries: Readonly<Record<string, { value: string; layer: string }>>) {
  const reports = Object.entries({ 'plugins.secrets.profile': { value: profile, layer: 'project' }, ...entries })
  return {
    settings: (prefix = '') =>
      reports.filter(([key]) => key.startsWith(prefix)).map(([key, more]) => ({ key, ...more }))
  } as unknown as Pick<KernelAdmin, 'settings'>
}

t.test('strict profiles accept a setting that refers to a backend, and no literal or file', async t => {
  const names = Object.values(REDDIT)
  const settings = Object.fromEntries(names.map(name => [name, 'resolved-value']))
  const problem = async (value: string | null, layer = 'project', profile = 'prod') => {
    const entries = Object.entries(REDDIT).map(
      ([variable, name]) => [name, value ?? `secret://auto/${variable}`] as const
    )
    const reports = Object.fromEntries(entries.map(([name, each]) => [`news.${name}`, { value: each, layer }]))
    const { channel } = await openChannels(t, { settings, admin: adminWith(profile, reports) })
    return channel('reddit').problem()
  }
  t.equal(await problem('secret://vault/reddit'), null)
  t.equal(await problem(null), null)
  t.match(await problem('secret://env/OTHER'), { message: /^reddit_client_id is not accepted: strict profiles/ })
  t.match(await problem('secret://auth/reddit'), { message: /from a backend only$/ })
  t.match(await problem('secret://keyring/reddit'), { message: /from a backend only$/ })
  t.match(await problem('secret://auto/SVC_NEWS_FORGE_TOKEN'), { message: /from a backend only$/ })
  t.match(await problem('***'), { message: /from a backend only$/ })
  t.equal(await problem('***', 'project', 'dev'), null)
})

t.test('a variable that the policy refuses is not used, although the setting has its value', async t => {
  const asked: string[] = []
  const resolver: DeclaredSecretResolver = {
    find: async id => {
      asked.push(id)
      const detail = `${id} is set, but the phase enforce refuses variables`
      return { id, status: 'RejectedSourcePolicy', source: null, place: id, detail, present: false }
    },
    resolve: async () => {
      throw new Error('not called')
    }
  }
  const { channel } = await openChannels(t, {
    settings: { forge_token: 'from-the-environment' },
    secrets: resolver,
    admin: adminWith('dev', { 'news.forge_token': { value: '***', layer: 'environment' } })
  })
  t.match(await channel('forge').problem(), { message: /^SVC_NEWS_FORGE_TOKEN is set, but the phase enforce/ })
  t.same(asked, ['SVC_NEWS_FORGE_TOKEN'])
})

t.test('without the plugin secrets, the value of the environment is used', async t => {
  const { channel } = await openChannels(t, {
    settings: { forge_token: 'from-the-environment' },
    admin: adminWith('dev', { 'news.forge_token': { value: '***', layer: 'environment' } })
  })
  t.equal(await channel('forge').problem(), null)
})

t.test('a resolver that fails is a problem of the channel, not of the plugin', async t => {
  const broken = () => Promise.reject(new Error('the vault is sealed'))
  const { channel } = await openChannels(t, { settings: {}, secrets: { find: broken, resolve: broken } })
  t.match(await channel('forge').problem(), { message: /^SVC_NEWS_FORGE_TOKEN cannot be read: the vault is sealed/ })
})
