import { openInProcess } from '@svc/kernel/testing'
import t, { type Test } from 'tap'
import { makeProject, pluginPackage } from './served-project.ts'

const WEATHER = {
  id: 'weather.key',
  env: 'WEATHER_KEY',
  aliases: ['FORECAST_KEY'],
  remediation: 'buy a key',
  description: 'Forecasts'
}

/** Opens a project with the plugin `weather` in its folder, and returns the ids of the secrets that svc lists. */
async function listed(
  t: Test,
  {
    declarations,
    permissions,
    policy
  }: {
    readonly declarations: readonly unknown[]
    /** Permissions of the manifest. */
    readonly permissions: object
    /** Lines of the section of the plugin in `svc.toml`. */
    readonly policy: string
  }
): Promise<ReadonlyMap<string, string>> {
  const source = `
import { declaredSecrets } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
export default definePlugin({ name: 'weather', permissions: ${JSON.stringify(permissions)}, activate(ctx) {
  for (const each of ${JSON.stringify(declarations)}) ctx.contribute(declaredSecrets, each)
} })
`
  const root = makeProject(t, {
    'svc.toml': `kernel.plugin_directories = ["plugins"]\n[plugins.weather]\n${policy}\n`,
    'plugins/weather/package.json': pluginPackage('weather'),
    'plugins/weather/src/plugin.ts': source
  })
  const { kernel, close } = await openInProcess({ root, only: ['secrets', 'weather'] })
  try {
    const surface = { surface: 'internal' as const, principal: { id: 'test', role: 'owner' as const, scopes: ['*'] } }
    const { secrets } = (await kernel.invoke('secrets.doctor', {}, surface)) as {
      secrets: readonly { id: string; canonical_env: string }[]
    }
    return new Map(secrets.map(({ id, canonical_env: env }) => [id, env]))
  } finally {
    await close()
  }
}

// A confined worker may not read the file that a watched run loads into every process.
const skip = process.env.SECRET_WATCH_FOLDER === undefined ? false : 'the run searches for leaked secrets'
const isolated = 'isolation = "worker"'
const allowed = { secrets: ['WEATHER_KEY', 'FORECAST_KEY'] }

t.test('an isolated plugin in the folder of a project declares a secret that its manifest lists', { skip }, async t => {
  const found = await listed(t, { declarations: [WEATHER], permissions: allowed, policy: isolated })
  t.equal(found.get('weather.key'), 'WEATHER_KEY')
})

t.test('declarations without the permission are refused, and known secrets stay as they are', { skip }, async t => {
  const declarations = [
    { ...WEATHER, id: 'weather.alias', env: 'WEATHER_KEY', aliases: ['OTHER_KEY'] },
    { ...WEATHER, id: 'weather.forge', env: 'GITHUB_TOKEN', aliases: [] },
    { ...WEATHER, id: 'forge.gitlab_token', env: 'FORECAST_KEY', aliases: [] },
    { ...WEATHER, id: 'weather.registry', env: 'WEATHER_KEY_2', aliases: [], registry: 'github' },
    { ...WEATHER, id: 'weather.backend', env: 'WEATHER_KEY_3', aliases: [], backendKey: 'OPENAI_API_KEY' },
    { ...WEATHER, id: 'weather.form', env: 'WEATHER_KEY_4', aliases: [], description: 7 },
    { ...WEATHER, id: 'weather.terminal', env: 'WEATHER_KEY_6', aliases: [], remediation: 'buy \u001b[2J a key' },
    { ...WEATHER, id: 'weather.line', env: 'WEATHER_KEY_7', aliases: [], description: 'Forecasts\nAll is well' },
    {
      ...WEATHER,
      id: 'weather.good',
      env: 'WEATHER_KEY_5',
      aliases: [],
      registry: 'weather',
      backendKey: 'weather/key'
    }
  ]
  const names = [1, 2, 3, 4, 5, 6, 7].map(number => (number === 1 ? 'WEATHER_KEY' : `WEATHER_KEY_${number}`))
  const permissions = { secrets: [...names, 'FORECAST_KEY'] }
  const found = await listed(t, { declarations: declarations, permissions, policy: isolated })
  t.same(
    [...found.keys()].filter(id => id.startsWith('weather.')),
    ['weather.good']
  )
  t.equal(found.get('forge.github_token'), 'GITHUB_TOKEN')
  t.equal(found.get('forge.gitlab_token'), 'GITLAB_TOKEN')
})

t.test(
  'permissions in svc.toml replace those of the manifest, and a plugin in the process needs none',
  { skip },
  async t => {
    const declarations = [WEATHER]
    const granted = `${isolated}\npermissions = { secrets = ["WEATHER_KEY"] }`
    const refused = await listed(t, { declarations, permissions: allowed, policy: granted })
    t.notOk(refused.has('weather.key'), 'the alias is not granted')
    const more = `${isolated}\npermissions = { secrets = ["WEATHER_KEY", "FORECAST_KEY"] }`
    t.ok((await listed(t, { declarations, permissions: {}, policy: more })).has('weather.key'))
    t.ok((await listed(t, { declarations, permissions: {}, policy: '' })).has('weather.key'))
  }
)
